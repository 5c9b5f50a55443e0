"""Text from formulas compiles to the machine code, byte for byte, of the text that was written by hand before.

`hand_written/` keeps that text. NVRTC gives the same code for the same text on every run.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from nvrtc import compile_for
from test_planar_kernels_compile import SCHEMES, STENCILS, texts

from fdtd.backends.cuda.formula_text import stencil_text
from fdtd.stencils import COUPLED_TEZ, JACOBI5, TEZ, TMZ

HAND_WRITTEN = Path(__file__).with_name("hand_written")
EVERYWHERE = "coupled tez"
"""In `make test` this one is compiled for every scheme, the others for the simplest."""

FORMULAS = {"tmz": TMZ, "tez": TEZ, "coupled tez": COUPLED_TEZ, "jacobi5": JACOBI5}


def by_hand(text: str, stencil: str) -> str:
    """Put the hand-written structure in place of the generated one."""
    made = stencil_text(FORMULAS[stencil].equations)
    assert text.count(made) == 1
    file = HAND_WRITTEN / f"{stencil.split()[-1]}.cuh"
    return f"#define COUPLED {int(stencil == 'coupled tez')}\n" + text.replace(made, file.read_text("utf-8"))


def same_code(stencil: str, scheme: str, precision: str, capability: int) -> None:
    for text in texts(stencil, scheme, precision, capability):
        hand = by_hand(text, stencil)
        assert hand != text
        architecture = f"sm_{capability}"
        assert compile_for(text, architecture) == compile_for(hand, architecture)


@pytest.mark.parametrize(
    ("stencil", "scheme"),
    [
        pytest.param(stencil, scheme, marks=[] if scheme == "one_step" or stencil == EVERYWHERE else [pytest.mark.slow])
        for stencil in STENCILS
        for scheme in SCHEMES
    ],
)
def test_same_machine_code(stencil: str, scheme: str) -> None:
    same_code(stencil, scheme, "float32", 90)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("stencil", STENCILS)
def test_same_machine_code_in_double_precision_and_on_older_cards(stencil: str, scheme: str) -> None:
    same_code(stencil, scheme, "float64", 90)
    if scheme != "resident":
        same_code(stencil, scheme, "float32", 80)


def test_other_text_is_other_machine_code() -> None:
    """Else the comparison would prove nothing."""
    text = texts("tmz", "one_step", "float32", 90)[0]
    changed = text.replace("c.field(E_Z, 1) - e_z", "e_z - c.field(E_Z, 1)")
    assert changed != text
    assert compile_for(changed, "sm_90") != compile_for(text, "sm_90")
