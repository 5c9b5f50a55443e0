"""Outcomes in files: what one may hold, so that a row and patterns can be made of it, and one as bytes."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from antennaopt.metrics import METRICS
from antennaopt.store.rows import CUTS

REPEATABLE = ("ok", "infeasible", "undecayed", "diverged")
"""Statuses that a duplicate would come to again; the others were the farm's fault and are solved again."""

STATUSES = (*REPEATABLE, "lost", "timeout", "error")
"""All that an outcome can have."""

Outcome = dict[str, Any]

LARGEST = 2**63 - 1
"""Whole numbers are stored with 64 bits."""

MALFORMED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""Exceptions that unpacking a malformed entry raises."""


def outcome_fault(outcome: Any, *, solved: bool = False) -> str | None:
    """Return what is wrong with an outcome, None when a row can be made of it.

    Args:
        outcome: What a file held.
        solved: Whether it must be as the solver returns it: an `ok` one with all metrics and patterns, no other keys,
            none of the statuses that a farm gives.
    """
    if not isinstance(outcome, Mapping) or not all(isinstance(key, str) for key in outcome):
        return "it is not a table"
    if outcome.get("status") not in (REPEATABLE if solved else STATUSES):
        return f"its status is {outcome.get('status')!r:.40}"
    if solved and (odd := outcome.keys() - _KEYS):
        return f"it has {min(odd)!r:.40}, which no outcome has"
    wrong = next((name for name, fits in _SCALARS.items() if name in outcome and not fits(outcome[name])), None)
    if wrong is not None:
        return f"its {wrong} is {outcome[wrong]!r:.40}"
    return _fault_of_lists(outcome, solved=solved)


def packed(outcome: Outcome) -> bytes:
    """Return an outcome as a line of JSON and, after it, the numbers of its arrays and lists of numbers.

    Lists of numbers are float64, arrays float32. As text they would cost four times as long.
    """
    plain: Outcome = {}
    doubles: list[tuple[str, int]] = []
    singles: list[tuple[str, tuple[int, ...]]] = []
    parts: list[bytes] = []
    numbers = array("d")
    for key, value in outcome.items():
        if isinstance(value, np.ndarray):
            singles.append((key, value.shape))
            parts.append(np.asarray(value, dtype="<f4").tobytes())
        elif type(value) is list and all(type(one) is float for one in value):
            doubles.append((key, len(value)))
            numbers.extend(value)
        else:
            plain[key] = value
    head = json.dumps([list(outcome), plain, doubles, singles], separators=(",", ":"))
    return b"".join((head.encode(), b"\n", np.asarray(numbers, dtype="<f8").tobytes(), *parts))


def unpacked(blob: bytes) -> Outcome:
    """Read what `packed` wrote.

    Raises:
        ValueError, TypeError, LookupError, ...: It did not write this.
    """
    head, _, rest = blob.partition(b"\n")
    keys, found, doubles, singles = json.loads(head)
    at = 0
    shapes = [(key, [count], "<f8") for key, count in doubles] + [(key, shape, "<f4") for key, shape in singles]
    for key, shape, kind in shapes:
        if key in found or not all(type(side) is int and side >= 0 for side in shape):
            raise ValueError(f"{key} is there twice or has no shape")
        end = at + math.prod(shape) * int(kind[-1])
        if end > len(rest):
            raise ValueError(f"{key} is cut short")
        values = np.frombuffer(rest[at:end], dtype=kind)
        found[key] = values.tolist() if kind == "<f8" else values.astype(np.float32).reshape(shape)
        at = end
    if at != len(rest) or len(keys) != len(found):
        raise ValueError("there is more than was named")
    return {key: found[key] for key in keys}


def _fault_of_lists(outcome: Mapping[str, Any], *, solved: bool) -> str | None:
    present = [name for name in ("s11", *METRICS) if name in outcome]
    cuts = [name for name in CUTS if name in outcome]
    ok = outcome["status"] == "ok"
    if ok and solved and (len(present) <= len(METRICS) or len(cuts) < len(CUTS)):
        missing = next(name for name in ("s11", *METRICS, *CUTS) if name not in outcome)
        return f"it has no {missing}"
    if not (ok or present or cuts or "frequency_hz" in outcome):
        return None
    frequencies = outcome.get("frequency_hz")
    if not (_is_list(frequencies, _is_positive) and frequencies and len(set(frequencies)) == len(frequencies)):
        return "its frequency_hz are not different frequencies"
    for name in present:
        fits = _is_pair if name == "s11" else _is_metric
        if not _is_list(outcome[name], fits) or len(outcome[name]) != len(frequencies):
            return f"its {name} has not one value a frequency"
    return _fault_of_cuts(outcome, cuts, len(frequencies))


def _fault_of_cuts(outcome: Mapping[str, Any], present: Sequence[str], frequencies: int) -> str | None:
    if not present:
        return None
    if len(present) < len(CUTS):
        return f"it has {present[0]} without the other cuts"
    try:
        theta, *planes = (np.asarray(outcome[name], dtype=np.float32) for name in CUTS)
    except (TypeError, ValueError, OverflowError):
        return "its cuts are not numbers"
    if theta.ndim != 1 or not theta.size or not np.isfinite(theta).all():
        return "its theta_deg are not angles"
    if any(plane.shape != (frequencies, theta.size) for plane in planes):
        return "its cuts have not one value an angle and frequency"
    return None


def _is_number(value: Any) -> bool:
    """Whether a value is a number that float64 holds, finite or not."""
    return type(value) is float or (type(value) is int and abs(value) <= 2**53)


def _is_metric(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and math.isfinite(value) and value > 0.0


def _is_seconds(value: Any) -> bool:
    return value is None or (_is_number(value) and math.isfinite(value) and value >= 0.0)


def _is_count(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value <= LARGEST)


def _is_text(value: Any) -> bool:
    """Whether a value is text that UTF-8 holds, or none."""
    if not isinstance(value, str):
        return value is None
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_number, value))


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


_SCALARS: dict[str, Callable[[Any], bool]] = {
    "error": _is_text,
    "worker": _is_text,
    "device": _is_text,
    "origin": _is_text,
    "steps": _is_count,
    "cells": _is_count,
    "attempt": _is_count,
    "seconds": _is_seconds,
    "stepping_seconds": _is_seconds,
    "decay_db": _is_metric,
}
_KEYS = frozenset(("status", "frequency_hz", "s11", *METRICS, *CUTS, *_SCALARS)) - {"origin"}
