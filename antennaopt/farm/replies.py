"""Outcomes of a batch as the message of a reply, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgpack
import numpy as np

from antennaopt.metrics import METRICS
from antennaopt.sent import NumbersOfOne, Sent
from antennaopt.solve.cuts import CUTS, amplitudes
from antennaopt.solve.outcome import FIELDS, KEYS, Outcome, listed
from antennaopt.unchecked import owned

_PACKED = tuple(name for name in FIELDS if name not in CUTS)
S11 = "s11"
_EQUAL = ("status", "error", "cells", "frequency_hz", "device")
"""What nearly all antennas of a batch share: it travels once where they all do."""


def pack_outcomes(outcomes: Sequence[Mapping[str, Any]], device: str | None = None) -> dict[str, Any]:
    """Return a batch's outcomes as a message: a column a key, cuts as bytes of single precision, as they are stored.

    Args:
        outcomes: Numbers, text, lists and dictionaries; NumPy's numbers and arrays become plain ones. Those of one
            batch that know it (`Outcome.sent`) are sent by its arrays.
        device: Of those that name none.

    Raises:
        TypeError: One holds something else.
        ValueError: One has a key that no outcome has, or no status.
    """
    ones = [Outcome.of(one) for one in outcomes]
    sent = _batch_of(ones)
    as_arrays = {} if sent is None else {key: sent.metrics[key] for key in METRICS if key in sent.metrics}
    columns = {
        name: _listed([one.__dict__[name] for one in ones])
        for name in _PACKED
        if name != S11 or sent is None or sent.s11 is None
    }
    if device is not None:
        columns["device"] = [one or device for one in columns["device"]]
    columns = {name: column for name, column in columns.items() if column.count(None) < len(column)}
    shared = {name: columns.pop(name)[0] for name in _EQUAL if name in columns and _is_same(columns[name])}
    metrics = {
        key: [one.metrics.get(key) for one in ones]
        for key in METRICS
        if key not in as_arrays and any(key in one.metrics for one in ones)
    }
    numbers: dict[str, Sequence[Any]] = {key: column for key, column in metrics.items() if _are_numbers(column)}
    if S11 in columns and _are_numbers(flat := [_flat(one) for one in columns[S11]]):
        numbers[S11] = flat
        del columns[S11]
    packed = {key: np.fromiter(chain.from_iterable(one), float) for key, one in numbers.items()} | as_arrays
    if sent is not None and sent.s11 is not None:
        packed[S11] = sent.s11
    head = {
        "count": len(ones),
        "shared": shared,
        "columns": columns,
        "metrics": {key: column for key, column in metrics.items() if key not in numbers},
        "absent": [key for key, column in metrics.items() if _is_absent(column)],
        "numbers": {key: packed[key].tobytes() for key in (*METRICS, S11) if key in packed},
        "cuts": _packed_cuts(ones) if sent is None else _sent_cuts(sent),
    }
    solved = sum(1 for one in ones if one.steps)
    return {"outcomes": msgpack.packb(head, default=plain), "solved": solved}


def table_of_sent(sent: Sent, outcomes: Sequence[Outcome], places: Sequence[int]) -> dict[str, Any]:
    """Return outcomes of one batch as the table that `outcomes_of` reads, but for its cuts.

    Args:
        sent: The batch, of which each outcome knows.
        outcomes: Some of its outcomes.
        places: Theirs in the batch.

    Returns:
        Where the table has the bytes of a cut this one has None; `arrays` has the cuts, not copied where all of the
        batch is there.
    """
    values = [vars(one) for one in outcomes]
    columns = {name: [one[name] for one in values] for name in _PACKED if name not in (S11, "frequency_hz")}
    if sent.s11 is None:
        columns[S11] = [one[S11] for one in values]
    columns = {name: column for name, column in columns.items() if column.count(None) < len(column)}
    shared = {name: columns.pop(name)[0] for name in [*columns] if _is_same(columns[name])}
    whole = list(places) == list(range(len(sent.planes[0])))
    planes = sent.planes if whole else tuple(plane[places] for plane in sent.planes)
    numbers = sent.metrics if sent.s11 is None else {**sent.metrics, S11: sent.s11}
    others = dict.fromkeys(key for one in values for key in one["metrics"] if key not in sent.metrics)  # in order
    cuts = (sent.theta_deg[None], *planes)
    every = list(range(len(values)))
    return {
        "count": len(values),
        "shared": {**shared, "frequency_hz": sent.frequency_hz},
        "columns": columns,
        "metrics": {key: [one["metrics"].get(key) for one in values] for key in others},
        "absent": list(sent.absent),
        "numbers": {key: (one if whole else one[places]).tobytes() for key, one in numbers.items()},
        "cuts": [(key, every, one.dtype.kind, one.shape, None) for key, one in zip(CUTS, cuts, strict=True)],
        "arrays": [np.ascontiguousarray(one) for one in cuts],
    }


def _batch_of(ones: Sequence[Outcome]) -> Sent | None:
    """Return the batch that outcomes are all of, in order; None where they are not one."""
    of = [getattr(one, "sent", (None, -1)) for one in ones]
    sent = of[0][0] if of else None
    whole = sent is not None and len(of) == len(sent.planes[0]) and all(one is sent for one, _ in of)
    return sent if whole and [place for _, place in of] == list(range(len(of))) else None


def _sent_cuts(sent: Sent) -> list[tuple[str, list[int], str, tuple[int, ...], bytes]]:
    """Return the cuts of a whole batch as `_packed_cuts` does."""
    places = list(range(len(sent.planes[0])))
    whole = ((CUTS[0], sent.theta_deg[None]), *zip(CUTS[1:], sent.planes, strict=True))
    return [(key, places, array.dtype.kind, array.shape, array.tobytes()) for key, array in whole]


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
    return outcomes_of(msgpack.unpackb(reply["outcomes"], strict_map_key=False), **about)


def outcomes_of(head: Mapping[str, Any], **about: Any) -> list[Outcome]:
    """Return the outcomes of a message of `pack_outcomes` once it is a table again; see `unpack_outcomes`.

    Args:
        head: The table; arrays as bytes, or any buffer that does not change.
        about: Values for all, in place of what the message has.

    Raises:
        ValueError: It has a key that no outcome has.
    """
    columns, metrics, count = head["columns"], head["metrics"], head["count"]
    shared = head["shared"]
    numbers = {key: np.frombuffer(one).reshape(count, -1) for key, one in head["numbers"].items()}
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
        others = {key: column[place] for key, column in metrics.items() if column[place] is not None}
        row["metrics"] = NumbersOfOne(numbers, place, others)
    cuts: list[np.ndarray] = []
    for key, places, kind, shape, data in head["cuts"]:
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
