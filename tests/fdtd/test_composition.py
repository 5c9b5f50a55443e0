"""Several steps as one, against what cells do: a change of one number at the start, and counting."""

from __future__ import annotations

import numpy as np
import pytest

from fdtd.stencils import COUPLED_TEZ, JACOBI5, TEZ, TMZ, Formula
from fdtd.stencils.composition import depends, halo, tile_work
from fdtd.stencils.maxwell import YEE3D_FORMULA
from fdtd.stencils.sums import HEAT7_FORMULA, HEAT19_FORMULA
from fdtd.stencils.terms import Minus, Negative, Product, Read, Stretched, Sum, Term, Where

FORMULAS = {
    **{name: one.equations for name, one in (("tmz", TMZ), ("tez", TEZ), ("coupled", COUPLED_TEZ), ("sum", JACOBI5))},
    "yee3d": YEE3D_FORMULA, "heat7": HEAT7_FORMULA, "heat19": HEAT19_FORMULA,
}  # fmt: skip


def stepped(formula: Formula, state: dict[str, np.ndarray], steps: int) -> dict[str, np.ndarray]:
    """Step numbers on a lattice without end (it closes in itself), all coefficients 1, differences as sums.

    A sum of positive numbers never cancels, so what depends on a number changes with it.
    """
    axes = tuple(range(len(formula.axes)))

    def value(term: Term, now: dict[str, np.ndarray]) -> np.ndarray | float:
        match term:
            case Read(name, shift):
                return np.roll(now[name], tuple(-by for by in shift), axes) if name in now else 1.0
            case Sum(left, right) | Minus(left, right):
                return value(left, now) + value(right, now)
            case Product(left, right):
                return value(left, now) * value(right, now)
            case Negative(inner) | Stretched(_, _, inner) | Where(_, inner, _):
                return value(inner, now)
        return 1.0

    for _ in range(steps):
        for terms in formula.indexed_phases:
            state = state | {name: np.asarray(value(term, state)) for name, term in terms.items()}
    return state


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("name", FORMULAS)
def test_cells_that_steps_depend_on(name: str, steps: int) -> None:
    """Change the start of one component in one cell: the cells that see it are those of the boxes, to the corners."""
    formula, side = FORMULAS[name], 13
    middle, shape = (side // 2,) * len(formula.axes), (side,) * len(formula.axes)
    start = {one.name: np.ones(shape) for one in formula.components}
    usual = stepped(formula, start, steps)
    for source in formula.kept:
        changed = {key: array.copy() for key, array in start.items()}
        changed[source][middle] += 1
        seen = stepped(formula, changed, steps)
        for target in formula.kept:
            where = np.argwhere(seen[target] != usual[target]) - middle
            box = depends(formula, steps, target).get(source)
            if box is None:
                assert not len(where)
                continue
            # A cell that sees the change at distance d depends on the cell at distance -d.
            found = tuple((-int(where[:, at].max()), -int(where[:, at].min())) for at in range(len(shape)))
            assert found == box, (source, target)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_step_reaches_what_its_phases_reach(name: str) -> None:
    """The halo of plans is the sum of the phases' reaches. Coupled nodes alone could do with less: 4 in place of 6.

    Their third phase reads two cells of curls, but only to change e_x along y and e_y along x.
    """
    formula = FORMULAS[name]
    phases = range(len(formula.phases))
    for (low, high), at in zip(halo(formula, 3), range(len(formula.axes)), strict=True):
        assert low <= 3 * sum(-formula.windows[phase][at][0] for phase in phases)
        assert high <= 3 * sum(formula.windows[phase][at][1] for phase in phases)
    reach = 3 * sum(formula.high(phase) for phase in phases)
    assert max(max(pair) for pair in halo(formula, 3)) == {"coupled": 4}.get(name, reach)


def test_work_done_twice() -> None:
    """A square of 10 and two five-point sums: 12 x 12 and 10 x 10 cells formed, 14 x 14 read."""
    found = tile_work(FORMULAS["sum"], (10, 10), 2)
    assert (found.read, found.formed, found.core) == (14 * 14, 12 * 12 + 10 * 10, 100)
    assert found.again == pytest.approx(244 / 200)
    assert tile_work(FORMULAS["sum"], (10, 10), 2, units=(32, 1)).formed == 32 * 12 + 32 * 10
    # TM_z, one step: H needs one more row and column before the core, E none.
    assert tile_work(FORMULAS["tmz"], (10, 10), 1).formed == (11 * 11 + 10 * 10) / 2
    assert tile_work(FORMULAS["yee3d"], (8, 8, 8), 2).read == 12**3
