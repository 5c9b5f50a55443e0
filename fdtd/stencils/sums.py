"""Weighted sums of a point and its neighbours: `JACOBI5` in the plane, the heat equation in space with 7 and 19 points.

All inner points change at once and the rim stays, so old and new values are two arrays.

References:
    Barigou, Acceleration of real-life stencil codes on GPUs (2011), algorithm 4 (five points); Jin, Multi-level
    optimization for stencil computation beyond GPU memory (2013), sections 1.2 and 5 (7 and 19 points).
"""

from __future__ import annotations

from fdtd.stencils.formula import Formula, Phase
from fdtd.stencils.terms import Component, Place, Shifted, Term, Weight


def heat_weights(points: int, ratio: float) -> tuple[float, ...]:
    """Return the weights of `HEAT7_FORMULA` or `HEAT19_FORMULA`: of the point itself, then of each ring.

    Args:
        points: 7 or 19.
        ratio: Diffusivity dt/d^2; at most 1/6 or 3/8.
    """
    return (1 - 6 * ratio, ratio) if points == 7 else (1 - 4 * ratio, ratio / 3, ratio / 6)


def _jacobi5() -> Formula:
    value = Component("value", (0, 0))

    def at(x: int, y: int) -> Term:
        return Shifted(value, (x, y))

    # The row above comes last: where rows follow each other, the rest of the sum is known before it arrives.
    total = (at(0, -1) + ((at(-1, 0) + value) + at(1, 0))) + at(0, 1)
    return Formula(
        name="jacobi5",
        title="Five-point sum: a point becomes `weight` times the sum of itself and its four neighbours",
        axes="xy",
        components=(value,),
        phases=(Phase({value: Weight("weight") * total}),),
        rim=1,
        limit="weight <= 1/5 keeps sums bounded",
    )


def _added(terms: list[Term]) -> Term:
    total = terms[0]
    for one in terms[1:]:
        total = total + one
    return total


def _heat(name: str, title: str, limit: str, rings: tuple[str, ...]) -> Formula:
    """Return the sum with one weight for the point itself and one for each ring of neighbours at equal distance."""
    value = Component("value", (0, 0, 0))
    cube = [(x, y, z) for z in (-1, 0, 1) for y in (-1, 0, 1) for x in (-1, 0, 1)]
    total: Term = Weight("own") * value
    for squared, weight in enumerate(rings, start=1):
        ring: list[Place] = [place for place in cube if sum(one * one for one in place) == squared]
        total = total + Weight(weight) * _added([Shifted(value, place) for place in ring])
    return Formula(
        name=name, title=title, axes="xyz", components=(value,), phases=(Phase({value: total}),), rim=1, limit=limit
    )


JACOBI5_FORMULA = _jacobi5()
HEAT7_FORMULA = _heat(
    "heat7",
    "Heat equation, 7 points: u += a (sum of the 6 neighbours - 6 u), a = diffusivity dt/d^2",
    "diffusivity dt/d^2 <= 1/6",
    ("near",),
)
HEAT19_FORMULA = _heat(
    "heat19",
    "Heat equation, 19 points: u += a (1/3 of the 6 faces + 1/6 of the 12 edges - 4 u), a = diffusivity dt/d^2",
    "diffusivity dt/d^2 <= 3/8",
    ("near", "far"),
)
