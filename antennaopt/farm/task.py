"""The task of a worker: evaluate one batch. Imports nothing heavy; takes and returns plain data.

Designs travel as one matrix, outcomes as one text: Dask looks into every list and dictionary of a task and writes
numbers one by one; arrays and text it takes as they are. An exception comes back as text, never as an object: nothing
needs to be unpickled that only a worker knows.
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
from itertools import chain
from typing import Any

import msgpack
import numpy as np

from antennaopt.farm.replies import pack_outcomes
from antennaopt.farm.reply_files import write_arrays
from antennaopt.solve.device import AS_THE_WORKER, own_backend
from antennaopt.solve.figures import with_planned
from antennaopt.solve.options import SolveOptions
from antennaopt.solve.outcome import Outcome

Evaluate = Callable[..., Sequence[Mapping[str, Any]]]
"""`evaluate(family, designs, plan, backend=...)`, one outcome a design, in order; importable by name in a worker.

In a study with an evaluation cache it gets `options` too, see `antennaopt.solve.options.SolveOptions.known`.
"""

Task = tuple[Evaluate, str, str]
"""What all batches of a farm share: the function, the antenna family, the backend; or `AS_THE_WORKER`."""

STARTED = "antennaopt-batch-started"
"""Topic on which a worker reports that it began a batch."""

REPLIED = "antennaopt-batch-replied"
"""Operation of the message that brings a reply to a scheduler in the driver's process; `STARTED` is one too there."""

GOODBYE_S = 1.0
"""How long a worker whose device is out of order lives on, so that its last reply gets away."""

_BROKEN = threading.Event()  # this process's device can do nothing more


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
        if any(map(names.__ne__, map(tuple, designs))):
            raise ValueError("the designs of a batch have different parameters, or in different order")
        numbers = chain.from_iterable(design.values() for design in designs)
        values = np.fromiter(numbers, float, len(names) * len(designs))
        return cls(names=names, values=values.reshape(len(designs), len(names)))

    def to_list(self) -> list[dict[str, float]]:
        """Return the designs as plain dictionaries."""
        return [dict(zip(self.names, row, strict=True)) for row in self.values.tolist()]


def solve_batch(
    evaluate: Evaluate,
    family: str,
    designs: list[dict[str, float]],
    plan: Mapping[str, Any],
    backend: str,
    known: bytes | None = None,
) -> dict[str, Any]:
    """Evaluate a batch and return plain data.

    Args:
        evaluate: The function.
        family: Antenna family.
        designs: Full designs.
        plan: What all antennas share.
        backend: What solves.
        known: Cells that need not be solved; `evaluate` gets no options when None.

    Returns:
        Either what `unpack_outcomes` turns into one outcome a design, and `solved`, the number of antennas that took
        steps; or `error`, a traceback's text, and `broken`, whether this process can solve nothing more. And
        `seconds`, the wall time.
    """
    start = time.perf_counter()
    try:
        outcomes = [Outcome.of(one) for one in _evaluated(evaluate, family, designs, plan, known, backend=backend)]
        if len(outcomes) != len(designs):
            raise ValueError(f"evaluate returned {len(outcomes)} outcomes for {len(designs)} designs")
        outcomes = with_planned(outcomes, family, designs, plan)
        packed = pack_outcomes(outcomes, device=backend)
    except Exception as problem:  # whatever it is, it becomes a row with its traceback
        seconds = time.perf_counter() - start
        return {"error": traceback.format_exc(), "broken": backend == "cuda" and is_broken(problem), "seconds": seconds}
    return {**packed, "seconds": time.perf_counter() - start}


def _evaluated(
    evaluate: Evaluate,
    family: str,
    designs: list[dict[str, float]],
    plan: Mapping[str, Any],
    known: bytes | None,
    *,
    backend: str,
) -> Sequence[Mapping[str, Any]]:
    """Evaluate; on a device in as many parts as its memory asks for."""
    options = {} if known is None else {"options": SolveOptions(known=known)}
    if backend != "cuda":
        return evaluate(family, designs, plan, backend=backend, **options)
    from antennaopt.solve.device import evaluate_within_memory, release_memory

    return evaluate_within_memory(evaluate, family, designs, plan, release=release_memory, backend=backend, **options)


def is_broken(error: BaseException) -> bool:
    """Whether an error leaves this process without a usable device: an illegal address, a failed launch."""
    return type(error).__name__ in ("CUDARuntimeError", "CUDADriverError") and not isinstance(error, MemoryError)


def solve_on_worker(
    token: str,
    limit_s: float,
    task: Task,
    designs: Designs,
    plan: Mapping,
    known: bytes | None = None,
    *,
    straight: bool = False,
    folder: str | None = None,
) -> dict[str, Any] | None:
    """Do `solve_batch` in a Dask worker, under a watchdog that ends the process when the batch takes too long.

    The watchdog is a thread of the interpreter's own that needs no lock of Python's, so it fires even when compiled
    code holds the interpreter.

    Args:
        token: Of the batch, for messages.
        limit_s: How long it may take.
        task: What all batches share.
        designs: To solve.
        plan: As for `solve_batch`.
        known: The same.
        straight: Whether the scheduler takes `STARTED` and `REPLIED`: the reply then travels with the word that the
            batch is done. Otherwise the client asks for it, which takes four more messages.
        folder: Of the cluster, where it is on this machine: arrays of a reply that goes straight are left there.

    Returns:
        The reply, and `worker`, this worker's name; None where it went straight.
    """
    from distributed import get_worker
    from distributed.protocol.serialize import Serialized

    worker, (evaluate, family, backend) = get_worker(), task
    began = {"token": token, "worker": worker.address}
    if straight:
        _send(worker, {"op": STARTED, **began})
    else:
        worker.log_event(STARTED, began)
    if _BROKEN.is_set():
        time.sleep(2.0 * GOODBYE_S)  # what came too late is lost with this process, and tried again in the next
    with watchdog(limit_s):
        reply = solve_batch(evaluate, family, designs.to_list(), plan, _resolved(backend), known)
    if reply.get("broken"):  # another process, with another context, takes this one's place
        _BROKEN.set()
        threading.Timer(GOODBYE_S, os._exit, [1]).start()
    reply["worker"] = str(worker.name)
    arrays = reply.pop("arrays", [])
    if not straight:
        return {**reply, "arrays": [bytes(one) for one in arrays]}
    written = None if folder is None else write_arrays(folder, arrays)
    if written is not None:
        reply["file"], arrays = written, []
    frames = [msgpack.packb(reply, unicode_errors="surrogatepass"), *arrays]
    _send(worker, {"op": REPLIED, "token": token, "reply": Serialized({}, frames)})
    return None


def _send(worker: Any, message: dict[str, Any]) -> None:
    """Send the scheduler a message, before all that the worker sends it from now on."""
    worker.loop.add_callback(worker.batched_send, message)


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
    """End this process when the body takes longer than `limit_s`; `math.inf` for no limit.

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
