"""Every planar kernel compiles for cards of compute capability 8.0 and 9.0, with clusters for 9.0 alone.

What is compiled is what a batch of each stencil asks a device for, so settings are those of real plans.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from nvrtc import RefusedError, compile_for

from fdtd.backends.cuda.planar import PlanarBatch, prepare
from fdtd.errors import Unsuitable
from fdtd.planar.bodies import dielectric_cylinder, free_space
from fdtd.planar.problem import JacobiProblem, PlanarGrid, PlanarLayer, PlanarProblem
from fdtd.schemes.machine import HOPPER

SCHEMES = ("one_step", "trapezoidal", "skewed", "resident")
STENCILS = ("tmz", "tez", "coupled tez", "jacobi5")


class Recorder:
    """A device that notes what it should compile."""

    def __init__(self, capability):
        self.limits, self.texts = replace(HOPPER, capability=capability), []

    def upload(self, array, copies=1):
        return None

    def address(self, buffer):
        return 0

    def program(self, text, place=0):
        self.texts.append(text)
        return self

    def set_parameters(self, data):
        pass

    def launch(self, *arguments, **settings):
        pass


def texts(stencil: str, scheme: str, precision: str, capability: int, shape: tuple[int, int] = (90, 70)) -> list[str]:
    nx, ny = shape
    problem: PlanarProblem | JacobiProblem = JacobiProblem(initial=np.zeros((1, nx, nx)), steps=8)
    if stencil != "jacobi5":
        grid = PlanarGrid(nx=nx, ny=ny, cell=1e-3, polarisation="TM" if stencil == "tmz" else "TE")
        media = free_space(grid)
        if stencil == "coupled tez":
            media = dielectric_cylinder(grid, centre=(45, 35), radius=10, permittivity=2.0)
        problem = PlanarProblem(grid=grid, media=media, layer=PlanarLayer(), steps=8)
    device = Recorder(capability)
    prepare(PlanarBatch(device, problem, precision), scheme)(8)
    return device.texts


@pytest.mark.parametrize("capability", [pytest.param(80, marks=pytest.mark.slow), 90])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("stencil", STENCILS)
def test_compiles(stencil, scheme, capability):
    if scheme == "resident" and capability < 90:
        with pytest.raises(Unsuitable, match=r"9\.0"):
            texts(stencil, scheme, "float32", capability)
        return
    for text in texts(stencil, scheme, "float32", capability):
        assert compile_for(text, f"sm_{capability}").startswith(b"\x7fELF")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("stencil", STENCILS)
def test_compiles_in_double_precision(stencil, scheme):
    for text in texts(stencil, scheme, "float64", 90):
        assert compile_for(text, "sm_90").startswith(b"\x7fELF")


def test_missing_settings_are_refused_by_name():
    text = texts("tmz", "trapezoidal", "float32", 90)[0].replace("#define WARPS", "#define WARPS_NOT")
    with pytest.raises(RefusedError, match="HEIGHT, WIDTH, WARPS and LAYERED must be set"):
        compile_for(text, "sm_90")


def test_clusters_are_refused_below_9_0():
    with pytest.raises(RefusedError):
        compile_for(texts("tmz", "resident", "float32", 90)[0], "sm_80")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("stencil", STENCILS)
def test_compiles_for_the_lattice_that_is_timed(stencil, scheme):
    """256 x 320 cells; a stencil that does not fit in a cluster there raises its reason."""
    try:
        found = texts(stencil, scheme, "float32", 90, (256, 320))
    except Unsuitable as error:
        assert scheme == "resident", error
        return
    for text in found:
        assert compile_for(text, "sm_90").startswith(b"\x7fELF")
