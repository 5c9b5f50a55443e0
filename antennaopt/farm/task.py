"""What a worker runs: one batch through the evaluation function. Imports nothing heavy; data in, data out.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import msgpack
import numpy as np

from antennaopt.metrics import METRICS
from antennaopt.solve.cuts import CUTS, amplitudes
from antennaopt.solve.device import AS_THE_WORKER, own_backend
from antennaopt.solve.figures import with_planned
from antennaopt.solve.options import SolveOptions
from antennaopt.solve.outcome import FIELDS, KEYS, Outcome, Sent, listed
from antennaopt.unchecked import owned

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
        if any(tuple(design) != names for design in designs):
            raise ValueError("the designs of a batch have different parameters, or in different order")
        return cls(names=names, values=np.array([list(design.values()) for design in designs], dtype=float))

    def to_list(self) -> list[dict[str, float]]:
        """Return the designs as plain dictionaries."""
        return [dict(zip(self.names, row, strict=True)) for row in self.values.tolist()]


_PACKED = tuple(name for name in FIELDS if name not in CUTS)
_EQUAL = ("status", "error", "cells", "frequency_hz", "device")
"""What nearly all antennas of a batch share: it travels once where they all do."""


def pack_outcomes(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a batch's outcomes as a message: a column a key, cuts as bytes of single precision, as they are stored.

    Args:
        outcomes: Numbers, text, lists and dictionaries; NumPy's numbers and arrays become plain ones.

    Raises:
        TypeError: One holds something else.
        ValueError: One has a key that no outcome has, or no status.
    """
    ones = [Outcome.of(one) for one in outcomes]
    columns = {name: _listed([one.__dict__[name] for one in ones]) for name in _PACKED}
    columns = {name: column for name, column in columns.items() if column.count(None) < len(column)}
    shared = {name: columns.pop(name)[0] for name in _EQUAL if name in columns and _is_same(columns[name])}
    metrics = {
        key: [one.metrics.get(key) for one in ones] for key in METRICS if any(key in one.metrics for one in ones)
    }
    numbers = {key: column for key, column in metrics.items() if _are_numbers(column)}
    head = {
        "count": len(ones),
        "shared": shared,
        "columns": columns,
        "metrics": {key: column for key, column in metrics.items() if key not in numbers},
        "numbers": {key: np.array(column).tobytes() for key, column in numbers.items()},
        "cuts": _packed_cuts(ones),
    }
    solved = sum(1 for one in ones if one.steps)
    return {"outcomes": msgpack.packb(head, default=_plain), "solved": solved}


def _are_numbers(column: Sequence[Any]) -> bool:
    """Whether a metric is a list of floats of all antennas, one a frequency, so that an array holds it to the bit."""
    lengths = {len(values) if type(values) is list else -1 for values in column}
    return len(lengths) == 1 and min(lengths) > 0 and set(map(type, chain.from_iterable(column))) == {float}


def _packed_cuts(ones: Sequence[Outcome]) -> list[tuple[str, list[int], str, tuple[int, ...], bytes]]:
    """Return the cuts of all outcomes, an entry a key and shape: key, places, type, shape and bytes of the array."""
    packed = []
    for key in CUTS:
        of_shape: dict[tuple[int, ...], tuple[list[int], list[np.ndarray]]] = {}
        for place, one in enumerate(ones):
            if one.__dict__[key] is not None:
                given = one.__dict__[key]
                values = np.asarray(given) if key == CUTS[0] else amplitudes(given)
                found = of_shape.setdefault(values.shape, ([], []))
                found[0].append(place)
                found[1].append(values)
        kind = np.float32 if key == CUTS[0] else np.complex64
        for at, values in of_shape.values():
            first = values[0]
            shared_angles = key == CUTS[0] and all(one is first or np.array_equal(one, first) for one in values)
            whole = np.stack(values[:1] if shared_angles else values).astype(kind, copy=False)
            packed.append((key, at, whole.dtype.kind, whole.shape, whole.tobytes()))
    return packed


_KINDS = {"f": np.dtype(np.float32), "c": np.dtype(np.complex64)}


def unpack_outcomes(reply: Mapping[str, Any], **about: Any) -> list[Outcome]:
    """Return the outcomes of a message of `pack_outcomes`; what they share is the same object in all.

    Args:
        reply: The message, or one with more keys.
        about: Values for all, in place of what the message has.

    Raises:
        ValueError: It has a key that no outcome has.
    """
    head = msgpack.unpackb(reply["outcomes"], strict_map_key=False)
    columns, metrics, count = head["columns"], head["metrics"], head["count"]
    shared = head["shared"]
    numbers = {key: np.frombuffer(one).reshape(count, -1) for key, one in head["numbers"].items()}
    if odd := (columns.keys() | shared.keys() | metrics.keys() | numbers.keys() | about.keys()) - KEYS:
        raise ValueError(f"it has {min(odd)!r:.40}, which no outcome has")
    common = vars(Outcome.made(shared | about))
    rows = [common.copy() for _ in range(count)]
    for name in columns.keys() - about.keys():
        for row, value in zip(rows, columns[name], strict=True):
            row[name] = value
    defined = _rows({key: one.tolist() for key, one in numbers.items()}, count)
    for row, values, others in zip(rows, defined, _rows(metrics, count), strict=True):
        row["metrics"] = dict(zip(numbers, values, strict=True))
        if metrics:
            row["metrics"] |= {key: one for key, one in zip(metrics, others, strict=True) if one is not None}
    cuts: list[np.ndarray] = []
    for key, places, kind, shape, data in head["cuts"]:
        cuts.append(np.frombuffer(data, _KINDS[kind]).reshape(shape))
        values = list(cuts[-1])
        for row, one in zip(places, values * len(places) if len(values) == 1 else values, strict=True):
            rows[row][key] = one
    outcomes = [owned(Outcome, row) for row in rows]
    if [len(one) for one in cuts] == [1, count, count] and "frequency_hz" in shared:
        sent = Sent(
            frequency_hz=shared["frequency_hz"], theta_deg=cuts[0][0], planes=(cuts[1], cuts[2]), metrics=numbers
        )
        for place, one in enumerate(outcomes):
            object.__setattr__(one, "sent", (sent, place))
    return outcomes


def _rows(columns: Mapping[str, Sequence[Any]], count: int) -> Iterable[tuple[Any, ...]]:
    return zip(*columns.values(), strict=True) if columns else [()] * count


def _listed(column: list[Any]) -> list[Any]:
    """Return a column with arrays as lists."""
    return [listed(one) for one in column] if np.ndarray in set(map(type, column)) else column


def _is_same(column: Sequence[Any]) -> bool:
    return column.count(column[0]) == len(column)


def _plain(value: Any) -> Any:
    """Return what MessagePack has no form for as plain data.

    Raises:
        TypeError: It is something else than numbers, text, lists and dictionaries.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    what = "a whole number beyond 64 bits" if isinstance(value, int) else type(value).__name__
    raise TypeError(f"an outcome may hold numbers, text, lists and dictionaries, not {what}")


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
        packed = pack_outcomes([one if one.device else one.changed(device=backend) for one in outcomes])
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

    Returns:
        The reply, and `worker`, this worker's name; None where it went straight.
    """
    from distributed import get_worker

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
    if not straight:
        return reply
    _send(worker, {"op": REPLIED, "token": token, "reply": msgpack.packb(reply, unicode_errors="surrogatepass")})
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
