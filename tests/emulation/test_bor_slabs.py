"""What tiles and clusters have in common: slabs of rows, with layers and without, alone and in batches."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated import agree, diagonal, stepped

from fdtd.backends import reference
from fdtd.cpml import RadialLayer

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import part, random_problem

SMALL: dict[str, dict[str, Any]] = {
    "trapezoidal": {"warps": 4, "shape": (2, 4), "depth": 3},
    "resident": {"shape": (2, 2), "cluster": 2},
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SMALL)
def test_same_bits_alone_and_in_a_batch_that_stops_antenna_by_antenna(scheme: str) -> None:
    """Antennas of a lossy batch decay at looks of their own; each is what it is alone, and the oracle's."""
    made = random_problem(seed=5, order=1, batch=3, shape=(19, 29), steps=440, decay=1e-3, start=False, lossy=True)
    problem = diagonal(made)
    together = stepped(problem, scheme, "float64", **SMALL[scheme])
    agree(together, reference.run(problem), "float64")
    assert len(set(together.steps)) > 1, together.steps
    alone = stepped(diagonal(part(made, [2])), scheme, "float64", **SMALL[scheme])
    assert alone.final is not None and together.final is not None
    np.testing.assert_array_equal(alone.final[0], together.final[2])
    np.testing.assert_array_equal(alone.port[0], together.port[2])
    np.testing.assert_array_equal(alone.contour[0], together.contour[2])


@pytest.mark.parametrize("scheme", SMALL)
@pytest.mark.parametrize("parts", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("", "axial")), "radial"])
def test_without_layers(scheme: str, parts: str) -> None:
    """No layers at all, axial ones alone, the radial one alone."""
    problem = diagonal(random_problem(seed=11, order=1, steps=40, shape=(19, 29)))
    if parts != "radial":
        problem = replace(problem, radial_layer=RadialLayer(cells=0))
    if parts != "axial":
        problem = replace(problem, axial_layers=())
    agree(stepped(problem, scheme, "float64", **SMALL[scheme]), reference.run(problem), "float64")
