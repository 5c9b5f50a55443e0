"""Outcomes of a batch, to and from the message of a reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, pairwise
from operator import itemgetter
from typing import Any

import msgpack
import numpy as np

from antennaopt.metrics import METRICS
from antennaopt.sent import NumbersOfOne, Sent
from antennaopt.solve.cuts import CUTS, amplitudes
from antennaopt.solve.outcome import FIELDS, KEYS, Outcome, listed
from antennaopt.unchecked import owned

_PACKED = tuple(name for name in FIELDS if name not in CUTS)
_values_of = itemgetter(*_PACKED)
S11 = "s11"
_EQUAL = (
    *("status", "error", "steps", "cells", "frequency_hz", "decay_db", "seconds", "stepping_seconds"),
    *("batch_seconds", "worker", "device", "attempt", "origin"),
)
"""What all antennas of a batch may share: it travels once where they do."""

Table = tuple[dict[str, Any], list[np.ndarray]]
"""Outcomes as a column a key, and arrays: the numbers of all, float64, then cuts in single precision, as stored."""


def pack_outcomes(outcomes: Sequence[Mapping[str, Any]], device: str | None = None) -> dict[str, Any]:
    """Return a batch's outcomes as a message: a text, and arrays as bytes, not copied where they are of one batch.

    Args:
        outcomes: Numbers, text, lists and dictionaries; NumPy's numbers and arrays become plain ones. Those of one
            batch that know it (`Outcome.sent`) are sent by its arrays.
        device: Of those that name none.

    Raises:
        TypeError: One holds something else.
        ValueError: One has a key that no outcome has, or no status.
    """
    ones = [Outcome.of(one) for one in outcomes]
    head, arrays = table_of(ones, *_batch_of(ones), device=device)
    packed = [one.reshape(-1).view(np.uint8).data for one in arrays]
    solved = sum(1 for one in ones if one.steps)
    return {"outcomes": msgpack.packb(head, default=plain), "arrays": packed, "solved": solved}


def table_of(
    ones: Sequence[Outcome], sent: Sent | None = None, places: Sequence[int] = (), *, device: str | None = None
) -> Table:
    """Return outcomes as the table that `outcomes_of` reads.

    Args:
        ones: The outcomes.
        sent: The batch that they are all of; None where they are not of one.
        places: Theirs in the batch.
        device: Of those that name none.

    Returns:
        Plain data, and C-contiguous arrays: where the whole batch is there in order its cuts are the batch's own.
    """
    at = None if sent is None or list(places) == list(range(len(sent.planes[0]))) else list(places)
    columns = _columns(ones)
    if sent is not None and sent.s11 is not None:
        columns.pop(S11, None)
    if device is not None and ones:
        columns["device"] = [one or device for one in columns.get("device", [None] * len(ones))]
    shared = {name: columns.pop(name)[0] for name in _EQUAL if name in columns and _is_same(columns[name])}
    known = {} if sent is None else sent.metrics
    others = _other_metrics(ones, known)
    metrics = {key: [one.metrics.get(key) for one in ones] for key in METRICS if key in others}
    numbers = {key: one if at is None else one[at] for key, one in known.items()}
    numbers |= {key: _numbers(column) for key, column in metrics.items() if _are_numbers(column)}
    if sent is not None and sent.s11 is not None:
        numbers[S11] = sent.s11 if at is None else sent.s11[at]
    elif S11 in columns and _are_numbers(flat := [_flat(one) for one in columns[S11]]):
        numbers[S11] = _numbers(flat)
        del columns[S11]
    numbers = {key: numbers[key].reshape(-1) for key in (*METRICS, S11) if key in numbers}
    cuts = _cuts(ones) if sent is None else _sent_cuts(sent, at)
    head = {
        "count": len(ones),
        "shared": shared,
        "columns": columns,
        "metrics": {key: column for key, column in metrics.items() if key not in numbers},
        "absent": [key for key, column in metrics.items() if _is_absent(column)],
        "numbers": {key: len(one) // len(ones) for key, one in numbers.items()},
        "cuts": [(key, places, one.dtype.kind, one.shape) for key, places, one in cuts],
    }
    whole = np.concatenate([*numbers.values()]) if numbers else np.empty(0)
    return head, [whole, *(np.ascontiguousarray(one) for _, _, one in cuts)]


def _batch_of(ones: Sequence[Outcome]) -> tuple[Sent | None, Sequence[int]]:
    """Return the batch that outcomes are all of, in order, with their places; None where they are not one."""
    of = [getattr(one, "sent", (None, -1)) for one in ones]
    sent, places = of[0][0] if of else None, range(len(of))
    if sent is None or len(of) != len(sent.planes[0]):
        return None, ()
    whole = all(one is sent and at == place for (one, at), place in zip(of, places, strict=True))
    return (sent, places) if whole else (None, ())


def _sent_cuts(sent: Sent, at: Sequence[int] | None) -> list[tuple[str, list[int], np.ndarray]]:
    """Return the cuts of a batch, or of some places of it, as `_cuts` does."""
    if not sent.planes[0].size:
        return []
    planes = sent.planes if at is None else [one[at] for one in sent.planes]
    places = list(range(len(planes[0])))
    whole = ((CUTS[0], sent.theta_deg[None]), *zip(CUTS[1:], planes, strict=True))
    return [(key, places, array) for key, array in whole]


def _other_metrics(ones: Sequence[Outcome], known: Mapping[str, np.ndarray]) -> set[str]:
    """Return the keys of metrics that are no arrays of the batch."""
    found: set[str] = set()
    for one in ones:
        metrics = one.metrics
        found.update(metrics.others if type(metrics) is NumbersOfOne and metrics.columns is known else metrics)
    return found - known.keys()


def _numbers(column: Sequence[Any]) -> np.ndarray:
    """Return lists of floats as one array."""
    return np.fromiter(chain.from_iterable(column), float)


def _are_numbers(column: Sequence[Any]) -> bool:
    """Whether a metric is a list of floats of all antennas, one a frequency, so that an array holds it to the bit."""
    lengths = {len(values) if type(values) is list else -1 for values in column}
    return len(lengths) == 1 and min(lengths) > 0 and set(map(type, chain.from_iterable(column))) == {float}


def _is_absent(column: Sequence[Any]) -> bool:
    """Whether a metric is None at all frequencies of all antennas."""
    return all(one is None or (type(one) is list and one.count(None) == len(one)) for one in column)


def _flat(pairs: Any) -> list[Any] | None:
    """Return a list of pairs as one list; None of anything else."""
    found = type(pairs) is list and {list, tuple}.issuperset(map(type, pairs)) and set(map(len, pairs)) == {2}
    return list(chain.from_iterable(pairs)) if found else None


def _cuts(ones: Sequence[Outcome]) -> list[tuple[str, list[int], np.ndarray]]:
    """Return the cuts of all outcomes, an entry a key and shape: key, places and array."""
    found = []
    for key in CUTS:
        of_shape: dict[tuple[int, ...], tuple[list[int], list[np.ndarray]]] = {}
        for place, one in enumerate(ones):
            if one.__dict__[key] is not None:
                given = one.__dict__[key]
                values = np.asarray(given) if key == CUTS[0] else amplitudes(given)
                here = of_shape.setdefault(values.shape, ([], []))
                here[0].append(place)
                here[1].append(values)
        kind = np.float32 if key == CUTS[0] else np.complex64
        for at, values in of_shape.values():
            first = values[0]
            shared_angles = key == CUTS[0] and all(one is first or np.array_equal(one, first) for one in values)
            found.append((key, at, np.stack(values[:1] if shared_angles else values).astype(kind, copy=False)))
    return found


_KINDS = {"f": np.dtype(np.float32), "c": np.dtype(np.complex64)}


def unpack_outcomes(reply: Mapping[str, Any], **about: Any) -> list[Outcome]:
    """Return the outcomes of a message of `pack_outcomes`; what they share is the same object in all.

    Args:
        reply: The message, or one with more keys.
        about: Values for all, in place of what the message has.

    Raises:
        ValueError: It has a key that no outcome has.
    """
    return outcomes_of(msgpack.unpackb(reply["outcomes"], strict_map_key=False), reply["arrays"], **about)


def outcomes_of(head: Mapping[str, Any], arrays: Sequence[Any], **about: Any) -> list[Outcome]:
    """Return the outcomes of a table of `table_of`; see `unpack_outcomes`.

    Args:
        head: Its plain data.
        arrays: As bytes, or any buffers that do not change.
        about: Values for all, in place of what the table has.

    Raises:
        ValueError: It has a key that no outcome has.
    """
    columns, metrics, count = head["columns"], head["metrics"], head["count"]
    shared = head["shared"]
    ends = accumulate((count * width for width in head["numbers"].values()), initial=0)
    parts = pairwise(ends)
    whole = np.frombuffer(arrays[0]) if len(arrays[0]) else np.empty(0)
    numbers = {key: whole[slice(*part)].reshape(count, -1) for key, part in zip(head["numbers"], parts, strict=True)}
    s11 = numbers.pop(S11).reshape(count, -1, 2) if S11 in numbers else None
    if odd := (columns.keys() | shared.keys() | metrics.keys() | numbers.keys() | about.keys()) - KEYS:
        raise ValueError(f"it has {min(odd)!r:.40}, which no outcome has")
    common = vars(Outcome.made(shared | about))
    rows = [common.copy() for _ in range(count)]
    for name in columns.keys() - about.keys():
        for row, value in zip(rows, columns[name], strict=True):
            row[name] = value
    if s11 is not None:
        for row, pairs in zip(rows, s11.tolist(), strict=True):
            row[S11] = pairs
    for place, row in enumerate(rows):
        others = {key: column[place] for key, column in metrics.items() if column[place] is not None} if metrics else {}
        row["metrics"] = NumbersOfOne(numbers, place, others)
    cuts: list[np.ndarray] = []
    for (key, places, kind, shape), data in zip(head["cuts"], arrays[1:], strict=True):
        cuts.append(np.frombuffer(data, _KINDS[kind]).reshape(shape))
        values = list(cuts[-1])
        for row, one in zip(places, values * len(places) if len(values) == 1 else values, strict=True):
            rows[row][key] = one
    outcomes = [owned(Outcome, row) for row in rows]
    if [len(one) for one in cuts] == [1, count, count] and "frequency_hz" in shared:
        sent = Sent(
            frequency_hz=shared["frequency_hz"],
            theta_deg=cuts[0][0],
            planes=(cuts[1], cuts[2]),
            metrics=numbers,
            absent=frozenset(head["absent"]),
            s11=s11,
        )
        for place, one in enumerate(outcomes):
            object.__setattr__(one, "sent", (sent, place))
    return outcomes


def _columns(ones: Sequence[Outcome]) -> dict[str, list[Any]]:
    """Return attributes of outcomes by name, as lists; what none has is left out."""
    rows = list(map(_values_of, map(vars, ones)))
    columns = {}
    for name, column in zip(_PACKED, map(list, zip(*rows, strict=True)), strict=False):
        if column[0] is not None or column.count(None) < len(column):
            columns[name] = _listed(column)
    return columns


def _listed(column: list[Any]) -> list[Any]:
    """Return a column with arrays as lists."""
    return [listed(one) for one in column] if np.ndarray in set(map(type, column)) else column


def _is_same(column: Sequence[Any]) -> bool:
    return column.count(column[0]) == len(column)


def plain(value: Any) -> Any:
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
