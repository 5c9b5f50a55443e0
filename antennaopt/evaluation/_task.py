"""What a worker runs: one batch through the evaluation function. Imports nothing heavy; data in, data out.

An exception comes back as text, never as an object: nothing needs to be unpickled that only a worker knows.
"""

from __future__ import annotations

import faulthandler
import math
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

Evaluate = Callable[..., Sequence[Mapping[str, Any]]]
"""`evaluate(family, designs, plan, backend=...)`, one outcome a design, in order; importable by name in a worker."""

STARTED = "antennaopt-batch-started"
"""Topic on which a worker says that it began a batch."""


def solve_batch(
    evaluate: Evaluate,
    family: str,
    designs: list[dict[str, float]],
    plan: Mapping[str, Any],
    backend: str,
) -> dict[str, Any]:
    """Evaluate a batch and return plain data.

    Returns:
        Either `outcomes`, a list with one plain dictionary a design, or `error`, a traceback's text; beside it
        `seconds`, the wall time.
    """
    start = time.perf_counter()
    try:
        outcomes = [plain(outcome) for outcome in evaluate(family, designs, plan, backend=backend)]
        if len(outcomes) != len(designs):
            raise ValueError(f"evaluate returned {len(outcomes)} outcomes for {len(designs)} designs")
        for outcome in outcomes:
            if not isinstance(outcome, dict) or not isinstance(outcome.get("status"), str):
                raise TypeError("evaluate returned an outcome without a status")
            outcome.setdefault("device", backend)
    except Exception:  # whatever it is, it becomes a row with its traceback
        return {"error": traceback.format_exc(), "seconds": time.perf_counter() - start}
    return {"outcomes": outcomes, "seconds": time.perf_counter() - start}


def solve_on_worker(
    token: str, limit_s: float, evaluate: Evaluate, family: str, designs: list, plan: Mapping, backend: str
) -> dict[str, Any]:
    """Do `solve_batch` in a Dask worker, under a watchdog that ends the process when the batch takes too long.

    The watchdog is a thread of the interpreter's own that needs no lock of Python's, so it fires even when compiled
    code holds the interpreter.
    """
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(STARTED, {"token": token, "worker": worker.address, "pid": os.getpid()})
    with watchdog(limit_s):
        reply = solve_batch(evaluate, family, designs, plan, backend)
    return {**reply, "worker": str(worker.name)}


@contextmanager
def watchdog(limit_s: float) -> Iterator[None]:
    """End this process when the body takes longer than so many seconds; `math.inf` for no limit."""
    if not math.isfinite(limit_s):
        yield
        return
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(limit_s, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def plain(value: Any) -> Any:
    """Return a value as plain Python data: NumPy scalars and arrays become numbers and lists.

    Raises:
        TypeError: It is something else than numbers, text, lists and dictionaries.
    """
    if value is None or (isinstance(value, (bool, int, float, str)) and type(value).__module__ == "builtins"):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    to_list = getattr(value, "tolist", None)
    if to_list is not None:
        return plain(to_list())
    raise TypeError(f"an outcome may hold numbers, text, lists and dictionaries, not {type(value).__name__}")
