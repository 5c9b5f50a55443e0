"""The stencil table against the kernels' text: fields, counts and reach are those that the CUDA files declare."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fdtd.stencils import BOR, COUPLED_TEZ, JACOBI5, TEZ, TMZ, PlanarStencil, Stencil

ALL = (BOR, TMZ, TEZ, COUPLED_TEZ, JACOBI5)


@pytest.mark.parametrize("stencil", ALL, ids=lambda one: f"{one.name}{one.phases}")
def test_the_table_is_what_the_kernels_have(stencil: Stencil) -> None:
    assert stencil.disagreements() == []


@pytest.mark.parametrize(
    ("stencil", "changes", "said"),
    [
        (BOR, {"fields": (*BOR.fields[:5], "b_z")}, "b_z"),
        (BOR, {"coefficients": 5}, "`media` do not have 5"),
        (TMZ, {"fields": ("e_z", "h_y", "h_x")}, "H_Y is 2, not 1"),
        (TMZ, {"coefficients": 5}, "COEFFICIENTS is 4, not 5"),
        (TEZ, {"phases": 3}, "PHASES is 2, not 3"),
        (COUPLED_TEZ, {"scratch": 0}, "PLANES is 5, not 3"),
        (COUPLED_TEZ, {"low": 1}, "low of 3 phases is not 1"),
        (JACOBI5, {"idle": 1}, "IDLE is 0, not 1"),
    ],
)
def test_a_wrong_table_is_found(stencil: Stencil, changes: dict[str, object], said: str) -> None:
    assert any(said in line for line in replace(stencil, **changes).disagreements())


@pytest.mark.parametrize("stencil", [TMZ, TEZ, COUPLED_TEZ, JACOBI5], ids=lambda one: f"{one.name}{one.phases}")
def test_planes_are_fields_and_scratch(stencil: PlanarStencil) -> None:
    assert stencil.planes == len(stencil.fields) + stencil.scratch
