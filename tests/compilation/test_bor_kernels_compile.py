"""Every axisymmetric kernel compiles for cards of compute capability 8.0 and 9.0, with the settings of real plans."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from nvrtc import RefusedError, compile_for

from fdtd.backends.cuda import SCHEMES
from fdtd.backends.cuda.sources import flatten
from fdtd.errors import Unsuitable
from fdtd.tiling.limits import HOPPER

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import random_problem

REAL = {"float32": "float", "float64": "double"}


def text(scheme: str, precision: str, capability: int) -> str:
    problem = random_problem(1, 1, shape=(61, 61), steps=40, start=False)
    problem = replace(problem, media=replace(problem.media, coupling=None))
    made = SCHEMES[scheme](problem, precision, replace(HOPPER, capability=capability))
    return flatten(made.text, {"REAL": REAL[precision], **made.macros})


@pytest.mark.parametrize("capability", [pytest.param(80, marks=pytest.mark.slow), 90])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_compiles(scheme: str, capability: int) -> None:
    """`resident` needs clusters, which begin with 9.0; nothing else does."""
    if scheme == "resident" and capability < 90:
        with pytest.raises(Unsuitable, match=r"9\.0"):
            text(scheme, "float32", capability)
        return
    assert compile_for(text(scheme, "float32", capability), f"sm_{capability}").startswith(b"\x7fELF")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_compiles_in_double_precision(scheme: str) -> None:
    assert compile_for(text(scheme, "float64", 90), "sm_90").startswith(b"\x7fELF")


@pytest.mark.parametrize("precision", REAL)
def test_looks_compile(precision: str) -> None:
    assert compile_for(flatten("looks.cu", {"REAL": REAL[precision]}), "sm_90").startswith(b"\x7fELF")


def test_missing_settings_are_refused_by_name() -> None:
    broken = text("wavefront", "float32", 90).replace("#define LEVELS", "#define LEVELS_NOT")
    with pytest.raises(RefusedError, match="LEVELS, RADIAL_COLUMNS, RADIAL_WARPS, RADIAL_LEVELS and TAPS must be set"):
        compile_for(broken, "sm_90")
