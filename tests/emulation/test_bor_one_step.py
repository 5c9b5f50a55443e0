"""One time step in one launch, run on the CPU by the emulation, against the two launches and the oracle."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from emulated import agree, stepped

from fdtd.backends import reference
from fdtd.errors import Unsuitable
from fdtd.schemes import Workload, one_step
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER
from fdtd.stencils import BOR

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import part, random_problem


@pytest.mark.parametrize(
    ("order", "batch", "precision", "tuning"),
    [
        (0, 1, "float64", {}),
        (1, 2, "float64", {"rows": 3, "blocks": 8}),
        (1, 1, "float32", {"rows": 2, "blocks": 16}),
        (2, 1, "float32", {"rows": 1, "blocks": 24}),
    ],
)
def test_random_problem(order: int, batch: int, precision: str, tuning: dict[str, int]) -> None:
    """Everything on, coupled nodes too; teams of some rows, rings of a few rows to all of them."""
    problem = random_problem(seed=10 * order + batch, order=order, batch=batch, steps=81, own_feeds=batch > 1)
    measured, expected = stepped(problem, "one_step", precision, launches=1, **tuning), reference.run(problem)
    agree(measured, expected, precision)


def test_an_antenna_has_its_bits_in_any_place() -> None:
    """Alone, in a batch, in two launches: all of it the same numbers, since each cell is updated in the same way."""
    problem = random_problem(seed=3, order=1, batch=3, steps=40, shape=(27, 38))
    together = stepped(problem, "one_step", "float32", launches=1)
    alone = stepped(part(problem, [1]), "one_step", "float32", launches=1, rows=3)
    apart = stepped(problem, "one_step", "float32")
    assert together.final is not None and alone.final is not None and apart.final is not None
    np.testing.assert_array_equal(alone.final[0], together.final[1])
    np.testing.assert_array_equal(alone.contour[0], together.contour[1])
    np.testing.assert_array_equal(apart.final, together.final)
    np.testing.assert_array_equal(apart.port[0], together.port[0])


def test_other_numbers_of_launches_are_refused() -> None:
    with pytest.raises(Unsuitable, match="launches = 1 or 2 a step, not 3"):
        SCHEMES["one_step"](random_problem(seed=1, order=1, steps=40), "float32", HOPPER, launches=3)


def test_rows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(Unsuitable, match="keeps 15 rows of 900 columns on chip, too many here; use two launches"):
        one_step.plan_whole(
            Workload(stencil=BOR, rows=8, columns=900, layer=10, size=8, limits=replace(HOPPER, shared_bytes=2**18))
        )
