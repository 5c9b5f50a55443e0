"""Stencils against what is known of them by other means: kernel text, equations, brute force on small lattices."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files

import pytest

from fdtd.backends.cpu.loops import modules
from fdtd.backends.cuda.formula_text import stencil_text
from fdtd.errors import ConfigError
from fdtd.stencils import BOR, COUPLED_TEZ, JACOBI5, TEZ, TMZ, Formula, PlanarStencil, Stencil
from fdtd.stencils.formula import Phase
from fdtd.stencils.terms import Coefficient, Component, Difference, Read, Sum, indexed

PLANAR = {"tmz": TMZ, "tez": TEZ, "coupled tez": COUPLED_TEZ, "jacobi5": JACOBI5}


def disagreements(stencil: Stencil) -> list[str]:
    """Compare the axisymmetric stencil with the components and strides of its CUDA text: one line a difference."""
    text = _code("kernels/axisymmetric/curl.cuh")
    listed = re.search(r"enum Component \{([\w\s,]*)\}", text)
    declared = tuple(name.strip().lower().removesuffix("_phi") for name in listed[1].split(",")) if listed else ()
    found = [] if declared == stencil.fields else [f"curl.cuh declares {declared}, not {stencil.fields}"]
    strides = _code("kernels/axisymmetric/parameters.cuh")
    for array, count in (("fields", len(stencil.fields)), ("media", stencil.coefficients)):
        if f"P.{array} + (((long long)antenna * P.nz + k) * {count} + component)" not in strides:
            found.append(f"rows of `{array}` do not have {count} components")
    return found


def _code(name: str) -> str:
    """Return a CUDA file of this package without its comments."""
    return re.sub(r"//.*", "", files("fdtd").joinpath(name).read_text("utf-8"))


def test_the_axisymmetric_counts_are_what_its_kernels_have() -> None:
    assert disagreements(BOR) == []
    assert "b_z" in disagreements(replace(BOR, fields=(*BOR.fields[:5], "b_z")))[0]
    assert "`media` do not have 5" in disagreements(replace(BOR, coefficients=5))[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Counted by hand: fields, scratch, coefficients, memories, phases, low, high, back, idle, operations, moved.
        ("tmz", (3, 0, 4, 4, 2, 1, 1, 0, 1, 5 + 4, 9)),
        ("tez", (3, 0, 7, 4, 2, 1, 1, 0, 1, 3 + 9, 9)),
        # Curls are two more numbers written, then read with the two fields that they change and write again.
        ("coupled tez", (3, 2, 8, 4, 3, 2, 2, 1, 1, 3 + 9, 9 + 2 + 2 + 4)),
        ("jacobi5", (1, 1, 0, 0, 1, 1, 1, 0, 0, 5, 2)),
    ],
)
def test_counts_of_formulas(name: str, expected: tuple[int, ...]) -> None:
    one = PLANAR[name]
    assert expected == (
        len(one.fields), one.scratch, one.coefficients, one.memories, one.phases, one.low, one.high, one.back, one.idle,
        one.operations, one.moved,
    )  # fmt: skip


@pytest.mark.parametrize("stencil", PLANAR.values(), ids=PLANAR)
def test_planes_are_fields_and_scratch(stencil: PlanarStencil) -> None:
    assert stencil.planes == len(stencil.fields) + stencil.scratch


def test_places_decide_the_direction_of_a_difference() -> None:
    """d/dx of a field at nodes is the next less this one, d/dx of a field at half nodes this less the last one."""
    node, half = Component("node", (0, 0)), Component("half", (1, 0))
    forward = indexed(Difference("x", node), half.at)
    backward = indexed(Difference("x", half), node.at)
    assert [one.shift for one in vars(forward).values()] == [(1, 0), (0, 0)]
    assert [one.shift for one in vars(backward).values()] == [(0, 0), (-1, 0)]
    assert indexed(Coefficient("keep"), (1, 1)) == Read("keep", (0, 0))


def test_a_field_without_a_value_where_it_is_needed_is_refused() -> None:
    node, half = Component("node", (0, 0)), Component("half", (1, 0))
    with pytest.raises(ConfigError, match=r"half stands at \(1, 0\) half cells, .* needs it at \(0, 0\)"):
        _formula(node, half, Sum(node, half))
    with pytest.raises(ConfigError, match="is no component or coefficient"):
        _formula(node, half, node + Coefficient("gain") * Difference("x", half))


def _formula(node: Component, half: Component, becomes: Sum) -> Formula:
    return Formula(
        name="trial", title="Trial", axes="xy", components=(node, half), phases=(Phase({node: becomes}),), limit=""
    )


@pytest.mark.parametrize("name", modules())
def test_written_loops_are_those_of_the_formulas(name: str) -> None:
    """Write them again with `python -m fdtd.backends.cpu.loops`."""
    assert files("fdtd.backends.cpu").joinpath(name).read_text("utf-8") == modules()[name]


def test_text_of_a_phase() -> None:
    """H of TM_z: the field at the node is read once, and each curl is stretched once."""
    text = stencil_text(TMZ.equations)
    assert text.count("c.field(E_Z);") == 2  # once a phase that needs it, and once where numbers are only moved
    assert text.count("c.stretched(") == 4
    assert "out.at[0] = c.field(H_X) + c.coefficient(GAIN_X) * " in text
