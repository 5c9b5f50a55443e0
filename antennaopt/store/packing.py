"""An outcome as bytes, for the evaluation cache."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from antennaopt.sent import NumbersOfOne, Sent
from antennaopt.solve.outcome import Outcome

MALFORMED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""Exceptions that unpacking a malformed entry raises."""


_FLOAT = frozenset({float})
_METRICS = "metrics of a batch"

_text = json.JSONEncoder(separators=(",", ":")).encode

_NATIVE = {"<f8": np.float64, "<f4": np.float32, "<c8": np.complex64}


def packed(outcome: Mapping[str, Any], without: frozenset[str] = frozenset()) -> bytes:
    """Return an outcome as a line of JSON and, after it, the numbers of its arrays and lists of numbers.

    Lists of numbers are float64, arrays float32 or complex64. As text they would cost four times as long.

    Args:
        outcome: With metrics, alone or of a batch.
        without: Keys that are left out.
    """
    keys: list[str] = []
    plain: dict[str, Any] = {}
    doubles: list[tuple[str, int]] = []
    arrays: list[tuple[str, tuple[int, ...], str]] = []
    numbers: list[bytes] = []
    parts: list[bytes] = []
    for key, value in _items(outcome):
        if key == _METRICS:
            names, counts, row = value
            keys += names
            doubles += counts
            numbers.append(row)
            continue
        if key in without:
            continue
        keys.append(key)
        if isinstance(value, np.ndarray):
            kind = "<c8" if value.dtype.kind == "c" else "<f4"
            arrays.append((key, value.shape, kind))
            parts.append(np.asarray(value, dtype=kind).tobytes())
        elif type(value) is list and _FLOAT.issuperset(map(type, value)):
            doubles.append((key, len(value)))
            numbers.append(struct.pack(f"<{len(value)}d", *value))
        else:
            plain[key] = value
    first, last = _head(tuple(keys), tuple(doubles), tuple(arrays))
    return b"".join((f"[{first},{_text(plain)},{last}]\n".encode(), *numbers, *parts))


def _items(outcome: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Return what is there by key; metrics that came as rows of a batch's arrays as one, of the name `_METRICS`."""
    sent, place = getattr(outcome, "sent", (None, 0))
    metrics = getattr(outcome, "metrics", None)
    if sent is None or not isinstance(outcome, Outcome) or type(metrics) is not NumbersOfOne:
        return outcome.items()
    if metrics.columns is not sent.metrics or not sent.metrics:
        return outcome.items()
    names, counts, rows = _metrics_of(sent)
    size = len(rows) // len(sent.planes[0])
    row = rows[place * size : (place + 1) * size]
    return chain(outcome.beside_metrics(), [(_METRICS, (names, counts, row))], metrics.others.items())


def _metrics_of(sent: Sent) -> tuple[list[str], list[tuple[str, int]], bytes]:
    """Return a batch's metrics: keys, numbers of each, and the numbers of one antenna after another."""
    found = sent.computed.get(_METRICS)
    if found is None:
        names = list(sent.metrics)
        counts = [(name, sent.metrics[name].shape[1]) for name in names]
        whole = np.concatenate([*sent.metrics.values()], axis=1)
        found = sent.computed[_METRICS] = names, counts, whole.astype("<f8").tobytes()
    return found


@lru_cache(maxsize=256)
def _head(*lists: tuple[Any, ...]) -> tuple[str, str]:
    """Return the parts of a head that most antennas share: before what is plain, and after it."""
    keys, doubles, arrays = map(_text, lists)
    return keys, f"{doubles},{arrays}"


def unpacked(blob: bytes) -> dict[str, Any]:
    """Read what `packed` wrote.

    Raises:
        ValueError, TypeError, LookupError, ...: It did not write this.
    """
    head, _, rest = blob.partition(b"\n")
    keys, found, doubles, arrays = json.loads(head)
    at = 0
    shapes = [(key, [count], "<f8") for key, count in doubles]
    for key, shape, kind in [*shapes, *arrays]:
        if key in found or not all(type(side) is int and side >= 0 for side in shape):
            raise ValueError(f"{key} is there twice or has no shape")
        if kind not in _NATIVE:
            raise ValueError(f"{key} holds {kind!r:.20}")
        end = at + math.prod(shape) * int(kind[-1])
        if end > len(rest):
            raise ValueError(f"{key} is cut short")
        values = np.frombuffer(rest[at:end], dtype=kind)
        found[key] = values.tolist() if kind == "<f8" else values.astype(_NATIVE[kind]).reshape(shape)
        at = end
    if at != len(rest) or len(keys) != len(found):
        raise ValueError("there is more than was named")
    return {key: found[key] for key in keys}
