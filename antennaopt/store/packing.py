"""An outcome as bytes, for the evaluation cache."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

MALFORMED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""Exceptions that unpacking a malformed entry raises."""


_NATIVE = {"<f8": np.float64, "<f4": np.float32, "<c8": np.complex64}


def packed(outcome: Mapping[str, Any]) -> bytes:
    """Return an outcome as a line of JSON and, after it, the numbers of its arrays and lists of numbers.

    Lists of numbers are float64, arrays float32 or complex64. As text they would cost four times as long.
    """
    plain: dict[str, Any] = {}
    doubles: list[tuple[str, int]] = []
    arrays: list[tuple[str, tuple[int, ...], str]] = []
    parts: list[bytes] = []
    numbers = array("d")
    for key, value in outcome.items():
        if isinstance(value, np.ndarray):
            kind = "<c8" if value.dtype.kind == "c" else "<f4"
            arrays.append((key, value.shape, kind))
            parts.append(np.asarray(value, dtype=kind).tobytes())
        elif type(value) is list and all(type(one) is float for one in value):
            doubles.append((key, len(value)))
            numbers.extend(value)
        else:
            plain[key] = value
    head = json.dumps([list(outcome), plain, doubles, arrays], separators=(",", ":"))
    return b"".join((head.encode(), b"\n", np.asarray(numbers, dtype="<f8").tobytes(), *parts))


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
