"""What a worker runs: one batch through the evaluation function. Imports nothing heavy; data in, data out.

Designs travel as one matrix, patterns as arrays, the rest as plain data: Dask looks into every list and dictionary of a
task and writes numbers one by one; an array it takes as it is. An exception comes back as text, never as an object:
nothing needs to be unpickled that only a worker knows.
"""

from __future__ import annotations

import faulthandler
import math
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from antennaopt.solve.device import AS_THE_WORKER, own_backend

Evaluate = Callable[..., Sequence[Mapping[str, Any]]]
"""`evaluate(family, designs, plan, backend=...)`, one outcome a design, in order; importable by name in a worker."""

STARTED = "antennaopt-batch-started"
"""Topic on which a worker reports that it began a batch."""

GOODBYE_S = 1.0
"""How long a worker whose device is out of order lives on, so that its last reply gets away."""

ATOMS = frozenset({type(None), bool, int, float, str})

_BROKEN = threading.Event()  # this process's device can do nothing more


CUTS = ("theta_deg", "e_plane_dbi", "h_plane_dbi")
"""Keys of an outcome that travel as arrays of float32, which is also how they are stored."""


@dataclass(frozen=True, kw_only=True)
class Designs:
    """Designs of a batch.

    Attributes:
        names: Parameters, in order.
        values: SI, shape (designs, parameters), float64.
    """

    names: tuple[str, ...]
    values: np.ndarray

    @classmethod
    def of(cls, designs: Sequence[Mapping[str, float]]) -> Designs:
        """Pack designs that all have the same parameters.

        Raises:
            ValueError: They have not.
        """
        names = tuple(designs[0])
        if any(tuple(design) != names for design in designs):
            raise ValueError("the designs of a batch have different parameters, or in different order")
        return cls(names=names, values=np.array([list(design.values()) for design in designs], dtype=float))

    def to_list(self) -> list[dict[str, float]]:
        """Return the designs as plain dictionaries."""
        return [dict(zip(self.names, row, strict=True)) for row in self.values.tolist()]


def pack_outcomes(outcomes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return outcomes with their cuts apart, as one array a key and shape; where all are equal as one for all.

    Args:
        outcomes: Plain but for their cuts, lists or arrays; they lose them.
    """
    cuts: dict[tuple[str, tuple[int, ...]], tuple[list[int], list[np.ndarray]]] = {}
    for place, outcome in enumerate(outcomes):
        for key in CUTS:
            if key in outcome:
                values = np.asarray(outcome.pop(key), dtype=np.float32)
                places, arrays = cuts.setdefault((key, values.shape), ([], []))
                places.append(place)
                arrays.append(values)
    packed = []
    for (key, _), (places, arrays) in cuts.items():
        together = np.stack(arrays)
        same = len(arrays) > 1 and bool((together == together[0]).all())
        packed.append((key, places, together[:1] if same else together))  # angles are the same for all
    return {"outcomes": outcomes, "cuts": packed}


def unpack_outcomes(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the outcomes of a reply with their cuts, arrays of float32, (frequencies, angles) and (angles,)."""
    outcomes = list(reply["outcomes"])
    for key, places, values in reply["cuts"]:
        for index, place in enumerate(places):
            outcomes[place][key] = values[min(index, len(values) - 1)]
    return outcomes


def solve_batch(
    evaluate: Evaluate,
    family: str,
    designs: list[dict[str, float]],
    plan: Mapping[str, Any],
    backend: str,
) -> dict[str, Any]:
    """Evaluate a batch and return plain data.

    Returns:
        Either what `unpack_outcomes` turns into one dictionary a design, or `error`, a traceback's text, and
        `broken`, whether this process can solve nothing more; and `seconds`, the wall time.
    """
    start = time.perf_counter()
    try:
        outcomes = [_plain_but_cuts(outcome) for outcome in _evaluated(evaluate, family, designs, plan, backend)]
        if len(outcomes) != len(designs):
            raise ValueError(f"evaluate returned {len(outcomes)} outcomes for {len(designs)} designs")
        for outcome in outcomes:
            if not isinstance(outcome, dict) or not isinstance(outcome.get("status"), str):
                raise TypeError("evaluate returned an outcome without a status")
            outcome.setdefault("device", backend)
        packed = pack_outcomes(outcomes)
    except Exception as problem:  # whatever it is, it becomes a row with its traceback
        seconds = time.perf_counter() - start
        return {"error": traceback.format_exc(), "broken": backend == "cuda" and is_broken(problem), "seconds": seconds}
    return {**packed, "seconds": time.perf_counter() - start}


def _evaluated(
    evaluate: Evaluate, family: str, designs: list[dict[str, float]], plan: Mapping[str, Any], backend: str
) -> Sequence[Mapping[str, Any]]:
    """Evaluate; on a device in as many parts as its memory asks for."""
    if backend != "cuda":
        return evaluate(family, designs, plan, backend=backend)
    from antennaopt.solve.device import evaluate_within_memory, release_memory

    return evaluate_within_memory(evaluate, family, designs, plan, release=release_memory, backend=backend)


def is_broken(error: BaseException) -> bool:
    """Whether an error leaves this process without a usable device: an illegal address, a failed launch."""
    return type(error).__name__ in ("CUDARuntimeError", "CUDADriverError") and not isinstance(error, MemoryError)


def solve_on_worker(
    token: str, limit_s: float, evaluate: Evaluate, family: str, designs: Designs, plan: Mapping, backend: str
) -> dict[str, Any]:
    """Do `solve_batch` in a Dask worker, under a watchdog that ends the process when the batch takes too long.

    The watchdog is a thread of the interpreter's own that needs no lock of Python's, so it fires even when compiled
    code holds the interpreter.
    """
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(STARTED, {"token": token, "worker": worker.address, "pid": os.getpid()})
    if _BROKEN.is_set():
        time.sleep(2.0 * GOODBYE_S)  # what came too late is lost with this process, and tried again in the next
    with watchdog(limit_s):
        reply = solve_batch(evaluate, family, designs.to_list(), plan, _resolved(backend))
    if reply.get("broken"):  # another process, with another context, takes this one's place
        _BROKEN.set()
        threading.Timer(GOODBYE_S, os._exit, [1]).start()
    return {**reply, "worker": str(worker.name)}


def solve_alone_on_worker(
    limit_s: float, evaluate: Evaluate, family: str, design: dict, plan: Mapping, options: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Solve one antenna in a Dask worker and return all that `evaluate` does, arrays too."""
    with watchdog(limit_s):
        return evaluate(family, [design], plan, **{**options, "backend": _resolved(options["backend"])})[0]


def _resolved(backend: str) -> str:
    return own_backend() if backend == AS_THE_WORKER else backend


_DEADLINES: dict[int, float] = {}  # of this process's threads, `time.monotonic()`
_ARMING = threading.Lock()


@contextmanager
def watchdog(limit_s: float) -> Iterator[None]:
    """End this process when the body takes longer than so many seconds; `math.inf` for no limit.

    Several threads may have one each: the interpreter has a single alarm, which is always set for the earliest.
    """
    if not math.isfinite(limit_s):
        yield
        return
    _set_alarm(time.monotonic() + limit_s)
    try:
        yield
    finally:
        _set_alarm(None)


def _set_alarm(deadline: float | None) -> None:
    """Put in or take out this thread's deadline."""
    with _ARMING:
        if deadline is None:
            _DEADLINES.pop(threading.get_ident(), None)
        else:
            _DEADLINES[threading.get_ident()] = deadline
        if not _DEADLINES:
            faulthandler.cancel_dump_traceback_later()
            return
        left = max(min(_DEADLINES.values()) - time.monotonic(), 1e-3)
        faulthandler.dump_traceback_later(left, exit=True, file=_nowhere())


@lru_cache(maxsize=1)
def _nowhere() -> int:
    return os.open(os.devnull, os.O_WRONLY)


def _plain_but_cuts(outcome: Any) -> Any:
    """Return an outcome as plain data, its cuts left as they are."""
    if not isinstance(outcome, Mapping):
        return plain(outcome)
    return {str(key): value if key in CUTS else plain(value) for key, value in outcome.items()}


def plain(value: Any) -> Any:
    """Return a value as plain Python data: NumPy scalars and arrays become numbers and lists.

    Raises:
        TypeError: It is something else than numbers, text, lists and dictionaries.
    """
    if type(value) in ATOMS:
        return value
    if isinstance(value, (list, tuple)):
        if ATOMS.issuperset(map(type, value)):
            return list(value)
        return [plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    to_list = getattr(value, "tolist", None)
    if to_list is not None:
        return plain(to_list())
    raise TypeError(f"an outcome may hold numbers, text, lists and dictionaries, not {type(value).__name__}")
