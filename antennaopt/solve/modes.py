"""Waves of modes in an outcome: their form and derived figures.

An outcome's `modes` has a list a frequency, of one entry a wave: `plane` (height, m), `name` (TE11, TM11, ...),
`direction`, and `s`, real and imaginary part of its power wave over that of the incident TE11 at z = 0, time convention
exp(+jwt): |s|^2 is its part of the incident power. The phase is that of the transverse electric field on the axis.
`direction` is `reflected` at the port (plane 0), `forward` (to larger z) or `backward` elsewhere. TE11 at the port is
S11. A mode is there at the frequencies at which it propagates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

REFLECTED, FORWARD, BACKWARD = "reflected", "forward", "backward"

WAVE = frozenset(("plane", "name", "direction", "s"))
"""Keys of a wave."""


def measured_at_port(modes: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of the modes that an outcome's `modes` has of the port at one frequency; TE11 always."""
    return {"TE11"} | {one["name"] for one in modes if one["direction"] == REFLECTED}


def limit_of_modes(
    coarse: Sequence[Sequence[Mapping[str, Any]]],
    fine: Sequence[Sequence[Mapping[str, Any]]],
    limit: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> list[list[dict[str, Any]]]:
    """Extrapolate an outcome's `modes` from two meshes; a wave that only the finer mesh carries stays as it is there.

    Args:
        coarse: Of the coarser mesh.
        fine: Of the finer mesh.
        limit: From both meshes' values to the limit.
    """
    found = []
    for first, second in zip(coarse, fine, strict=True):
        known = {(one["plane"], one["name"], one["direction"]): one["s"] for one in first}
        found.append([
            {**one, "s": limit(np.array(known.get((one["plane"], one["name"], one["direction"]), one["s"])),
                               np.array(one["s"])).tolist()}
            for one in second
        ])  # fmt: skip
    return found


def returned_at_port(modes: Sequence[Sequence[Mapping[str, Any]]], reflected: np.ndarray) -> np.ndarray:
    """Return the part of the incident power that comes back at the port in all modes, (F,).

    Args:
        modes: Of an outcome.
        reflected: |S11|^2, (F,).
    """
    others = [
        sum(
            one["s"][0] ** 2 + one["s"][1] ** 2
            for one in waves
            if one["direction"] == REFLECTED and one["name"] != "TE11"
        )
        for waves in modes
    ]
    return reflected + np.array(others, dtype=float)


def are_modes(value: Any, count: int) -> bool:
    """Return whether a value of a file has the form of an outcome's `modes` at a number of frequencies."""
    return isinstance(value, list) and len(value) == count and all(_are_waves(one) for one in value)


def _are_waves(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_wave, value))


def _is_wave(value: Any) -> bool:
    if not isinstance(value, Mapping) or value.keys() != WAVE:
        return False
    numbers = [value["plane"], *(value["s"] if isinstance(value["s"], (list, tuple)) else ())]
    named = all(isinstance(value[key], str) and value[key].isascii() for key in ("name", "direction"))
    return named and len(numbers) == 3 and all(type(one) is float for one in numbers)
