"""Every axisymmetric kernel compiles for cards of compute capability 8.0 and 9.0, with the settings of real plans."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nvrtc import RefusedError, compile_for

from antennaopt.bench.problems import full_problem
from fdtd.axisymmetric.problem import Problem
from fdtd.backends.cuda import SCHEMES
from fdtd.backends.cuda.text import flatten
from fdtd.errors import Unsuitable
from fdtd.schemes.machine import HOPPER

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import random_problem

REAL = {"float32": "float", "float64": "double"}
WHOLE_STEP: dict[str, Any] = {"launches": 1}


def text(scheme: str, precision: str, capability: int, **choice: Any) -> str:
    problem = random_problem(1, 1, shape=(61, 61), steps=40, start=False)
    return text_of(
        replace(problem, media=replace(problem.media, coupling=None)), scheme, precision, capability, **choice
    )


def text_of(problem: Problem, scheme: str, precision: str = "float32", capability: int = 90, **choice: Any) -> str:
    made = SCHEMES[scheme](problem, precision, replace(HOPPER, capability=capability), **choice)
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


@pytest.mark.parametrize("capability", [pytest.param(80, marks=pytest.mark.slow), 90])
@pytest.mark.parametrize("precision", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_one_step_in_one_launch_compiles(precision: str, capability: int) -> None:
    whole = text("one_step", precision, capability, **WHOLE_STEP)
    assert "whole_step(" in whole
    assert compile_for(whole, f"sm_{capability}").startswith(b"\x7fELF")


@pytest.mark.parametrize(
    ("scheme", "surfaces", "choice"),
    [
        ("one_step", "full", {}),
        ("one_step", "full", WHOLE_STEP),
        ("wavefront", "diagonal", {}),
        pytest.param("wavefront", "full", {}, marks=pytest.mark.slow),
        pytest.param("trapezoidal", "diagonal", {}, marks=pytest.mark.slow),
        pytest.param("resident", "diagonal", {}, marks=pytest.mark.slow),
    ],
)
def test_lenses_of_full_size_compile(scheme: str, surfaces: str, choice: dict[str, Any]) -> None:
    """256 x 320 cells, so eight cells a lane and clusters of sixteen; surfaces of searches, and of certificates."""
    lens = full_problem("bor", (256, 320), 160, 1, surfaces=surfaces)
    assert isinstance(lens, Problem)
    settings = text_of(lens, scheme, **choice)
    for wanted in {"wavefront": ("CELLS 8",), "resident": ("CELLS 8", "CLUSTER 16")}.get(scheme, ()):
        assert f"#define {wanted}\n" in settings
    assert compile_for(settings, "sm_90").startswith(b"\x7fELF")


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "cells"), [(280, 5), (400, 8), (600, 4), (800, 6)])
def test_wide_lattices_compile(columns: int, cells: int) -> None:
    """Rows in segments, of every shape that plans choose; without clusters too."""
    lens = full_problem("bor", (columns, 400), 160, 1)
    assert isinstance(lens, Problem)
    settings = text_of(lens, "trapezoidal", shape=(cells, 2))
    assert "#define SEGMENTS " in settings
    assert compile_for(settings, "sm_90").startswith(b"\x7fELF")
    settings = text_of(lens, "trapezoidal", capability=80, shape=(cells, 2))
    assert "#define CLUSTER 1\n" in settings
    assert compile_for(settings, "sm_80").startswith(b"\x7fELF")


@pytest.mark.parametrize("precision", REAL)
def test_looks_compile(precision: str) -> None:
    text = flatten("kernels/axisymmetric/looks.cu", {"REAL": REAL[precision]})
    assert compile_for(text, "sm_90").startswith(b"\x7fELF")


def test_missing_settings_are_refused_by_name() -> None:
    broken = text("wavefront", "float32", 90).replace("#define LEVELS", "#define LEVELS_NOT")
    with pytest.raises(RefusedError, match="LEVELS, RADIAL_COLUMNS, RADIAL_WARPS, RADIAL_LEVELS and TAPS must be set"):
        compile_for(broken, "sm_90")
