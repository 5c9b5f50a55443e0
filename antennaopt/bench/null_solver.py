"""An evaluation that solves nothing: outcomes of the size and shape of real ones, to measure what a run costs beside.

Workers import this module by its name.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

THETA_DEG = tuple(2.0 * place for place in range(91))


def null_evaluate(
    family: str, designs: Sequence[Mapping[str, float]], plan: Mapping[str, Any], *, backend: str
) -> list[dict[str, Any]]:
    """Return an outcome a design as `evaluate` does, from a formula.

    Directivity falls with the distance of the design from the middle of a slope, so that a search has something to
    climb; everything else is the same for all.

    Args:
        family: Antenna family; of no consequence.
        designs: Full designs, SI, by dotted name.
        plan: With `frequencies_hz`, and `seconds` that an antenna pretends to take.
        backend: Of no consequence.
    """
    frequencies = tuple(plan["frequencies_hz"])
    seconds = float(plan.get("seconds", 0.0))
    if seconds:
        time.sleep(seconds * len(designs))
    outcomes = []
    for design in designs:
        off = sum((1e3 * value - place) ** 2 for place, value in enumerate(design.values()))
        outcomes.append({**_template(frequencies, round(22.0 / (1.0 + 1e-3 * off), 9)), "seconds": seconds})
    return outcomes


@lru_cache(maxsize=4)
def _pattern(count: int) -> list[list[float]]:
    return [[math.cos(0.01 * angle * (1 + place)) * 20.0 for angle in THETA_DEG] for place in range(count)]


def _template(frequencies: tuple[float, ...], directivity: float) -> dict[str, Any]:
    def each(value: float | None) -> list[float | None]:
        return [value] * len(frequencies)

    return {
        "status": "ok",
        "error": None,
        "steps": 6000,
        "cells": 81920,
        "frequency_hz": list(frequencies),
        "s11": [[0.1, -0.05] for _ in frequencies],
        "s11_db": each(-19.03),
        "directivity_dbi": each(directivity),
        "max_directivity_dbi": each(directivity),
        "gain_dbi": each(directivity - 0.02),
        "radiation_efficiency": each(0.995),
        "hpbw_e_deg": each(14.2),
        "hpbw_h_deg": each(14.9),
        "sidelobe_db": each(-21.7),
        "front_to_back_db": each(27.1),
        "crosspol_db": each(-31.0),
        "power_balance": each(1.001),
        "contour_balance": each(0.999),
        "decay_db": -61.2,
        "e_plane_dbi": _pattern(len(frequencies)),
        "h_plane_dbi": _pattern(len(frequencies)),
        "theta_deg": list(THETA_DEG),
        "stepping_seconds": 0.0,
    }
