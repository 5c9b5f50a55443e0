"""The lattice of a plan in numbers and words, for every solver."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_PARTS = {1: "", 2: " for half of each antenna", 4: " for a quarter of each antenna"}


def shape_of(plan: Mapping[str, Any]) -> list[int]:
    """Return the number of cells along each axis: nr, nz; or nx, ny, nz of the largest antenna of a study.

    Args:
        plan: As `to_dict` of a solver's plan wrote it.
    """
    return [int(one) for one in plan["shape"]] if "shape" in plan else [int(plan["nr"]), int(plan["nz"])]


def cell_count(plan: Mapping[str, Any]) -> int:
    """Return the number of cells, absorbing layers included."""
    return math.prod(shape_of(plan))


def lattice_text(plan: Mapping[str, Any], times: str = "x") -> str:
    """Return shape and cell for people: `54 x 94 cells of 0.514 mm`; of graded cells those at the edges of metal.

    Where a part of each antenna is solved, next to planes of symmetry, the shape is that part's, and the text says so.
    """
    most, edges = ("at most ", " at edges") if "shape" in plan else ("", "")
    part = _PARTS[plan.get("parts", 1)]
    return f"{f' {times} '.join(map(str, shape_of(plan)))} cells of {most}{plan['cell'] * 1e3:.4g} mm{edges}{part}"
