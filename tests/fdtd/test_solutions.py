"""A batch's answers as columns: each antenna's, parts of a batch, and products of complex arrays that they rest on."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from fdtd.arrays import product
from fdtd.axisymmetric.solution import Solution, Solutions

NUMBERS = ("steps", "energy", "finite", "residual")
SHAPES = {
    **dict.fromkeys(NUMBERS, ()),
    **dict.fromkeys(("s11", "incident", "accepted", "radiated", "through_contour", "dissipated", "sweep_s11"), (3,)),
    "e_plane": (3, 7),
    "h_plane": (3, 7),
}


def batch(count: int) -> Solutions:
    rng = np.random.default_rng(1)
    columns = {name: rng.normal(size=(count, *shape)) for name, shape in SHAPES.items()}
    columns |= {"steps": np.arange(count), "finite": np.arange(count) != 2}
    modes = [(None,) * place for place in range(count)]
    return Solutions(
        columns=columns, sweep_frequency=np.zeros(3), modes=modes, patterns=rng.normal(size=(count, 3, 10))
    )


def equal(one: Solution, other: Solution) -> bool:
    return all(np.array_equal(getattr(one, part.name), getattr(other, part.name)) for part in fields(Solution))


def test_an_antenna_is_a_row_of_all_columns():
    whole = batch(5)
    one = whole[3]
    assert {name: type(getattr(one, name)) for name in NUMBERS} == dict(
        zip(NUMBERS, (int, float, bool, float), strict=True)
    )
    assert (one.steps, one.finite, whole[2].finite, len(one.modes)) == (3, True, False, 3)
    np.testing.assert_array_equal(one.e_plane, whole.columns["e_plane"][3])
    assert all(equal(*pair) for pair in zip(whole[1:4], [whole[1], whole[2], whole[3]], strict=True))
    assert len(list(whole)) == 5
    assert equal(whole[-1], whole[4])


def test_parts_of_a_batch():
    whole = batch(5)
    part = whole.part([4, 0])
    assert equal(part[0], whole[4]) and equal(part[1], whole[0]) and len(part) == 2
    assert part.patterns is not None and whole.patterns is not None
    np.testing.assert_array_equal(part.patterns, whole.patterns[[4, 0]])
    assert whole.part(range(5)) is whole


@pytest.mark.parametrize("shapes", [((4, 3, 9), (4, 3, 1)), ((5, 3), (1, 3)), ((3,), (3,)), ((1, 3), (5, 3))])
def test_products_of_complex_arrays(shapes):
    """Of real numbers' products, a b - c d and so on: to the bit, whatever the shapes, and where they are written."""
    rng = np.random.default_rng(2)
    x, y = (rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in shapes)
    expected = (x.real * y.real - x.imag * y.imag) + 1j * (x.imag * y.real + x.real * y.imag)
    found = product(x, y)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(product(x[..., ::-1], y[..., ::-1]), expected[..., ::-1])
    out = np.empty_like(expected)
    assert product(x, y, out=out) is out
    np.testing.assert_array_equal(out, expected)
