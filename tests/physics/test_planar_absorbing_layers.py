"""Reflection of the planar absorbing layers, against a domain whose walls are too far away to reflect in time.

A point current in the middle of a square radiates a pulse centred at 25 cells a wavelength; all fields are compared on
a square contour two cells from the layers, corners included. The large domain's walls stand 150 cells further out, and
nothing comes back from them in the 560 steps. Everything else is the same lattice, so the difference is the layers'
reflection alone: propagating, grazing and evanescent, at all frequencies of the pulse. The largest error in time and
along the contour is set against the largest field there.

Measured with 10 cells, grading 4, strength 0.7, alpha a twentieth of the centre frequency, dB:

    width between layers   TM e_z    TM h_x    TE h_z    TE e_x   (component that is driven)
    20 cells               -116.6    -119.5    -116.1    -119.1
    40 cells               -115.1    -112.4    -114.1    -112.7

The worse of TM e_z and TE h_z at both widths, dB, by strength and grading: a sharp optimum of this pulse and distance.

    grading   0.5    0.6    0.7    0.8    0.9    1.0
    3         -79    -91    -91    -90    -89    -88
    4         -80    -98   -114   -107   -103   -100
    5         -82    -91    -91    -89    -86    -85

In frequency, against the largest field on the contour at 0.5, 0.75, 1, 1.25, 1.5 of the centre, the worst of all
components: -94 -108 -118 -111 -102 dB (`BOUNDS_DB` has the two groups). No theory gives any of these; the bounds are 3
to 4 dB above the worst, a factor of 1.5. A pulse cut off at -43 dB instead of -109, whose ends hold waves of a
few cells, leaves -76 (TM) and -80 (TE) with any of these: such waves are not resolved, neither by the layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.constants import c

from fdtd.backends import planar_reference
from fdtd.backends.cpu import planar
from fdtd.planar.bodies import free_space
from fdtd.planar.problem import COMPONENTS, PlanarGrid, PlanarLayer, PlanarProblem, PlanarRecords, PointCurrent, Probe
from fdtd.waveforms import GaussianPulse

CELL = 1e-3
CENTRE = c / (25 * CELL)
STEPS, MARGIN = 560, 150
CLOSED_DB = {20: -113.0, 40: -109.0}  # by width between the layers
BOUNDS_DB = {  # the component driven, at 0.5, 0.75, 1, 1.25, 1.5 of the centre frequency
    "e_z": (-99.0, -110.0, -114.0, -108.0, -99.0),
    "h_z": (-99.0, -110.0, -114.0, -108.0, -99.0),
    "e_x": (-90.5, -105.0, -116.0, -112.5, -103.0),
    "h_x": (-90.5, -105.0, -116.0, -112.5, -103.0),
}
LAYER = PlanarLayer(cells=10, alpha=0.05 * 2 * np.pi * CENTRE)
Backend = Callable[[PlanarProblem], PlanarRecords]
DOUBLE: Backend = partial(planar.run, precision="float64")


def radiate(run: Backend, polarisation: str, width: int, layer: PlanarLayer, component: str, extra: int) -> list:
    """Samples of all components on the contour of a square of `width` cells between the layers."""
    half = width // 2 + layer.cells + extra
    grid = PlanarGrid(nx=2 * half, ny=2 * half, cell=CELL, courant_number=0.5, polarisation=polarisation)
    pulse = GaussianPulse(centre=CENTRE, width=0.25 * CENTRE).samples(grid.time_step)
    reach = width // 2 - 2
    side = np.arange(-reach, reach + 1) + half
    low, high = 0 * side + side[0], 0 * side + side[-1]
    rows, columns = np.concatenate([side, side, low, high]), np.concatenate([low, high, side, side])
    problem = PlanarProblem(
        grid=grid,
        media=free_space(grid),
        layer=layer,
        steps=STEPS,
        sources=(PointCurrent(component=component, row=half, column=half, samples=pulse),),
        probes=tuple(Probe(component=name, rows=rows, columns=columns) for name in COMPONENTS[polarisation]),
    )
    return list(run(problem).samples)


def reflection_db(run: Backend, polarisation: str, width: int, layer: PlanarLayer, component: str) -> float:
    """Largest error of any component over that component's largest field, dB."""
    near = radiate(run, polarisation, width, layer, component, 0)
    far = radiate(DOUBLE, polarisation, width, layer, component, MARGIN)
    return max(float(20 * np.log10(np.abs(a - b).max() / np.abs(b).max())) for a, b in zip(near, far, strict=True))


@pytest.mark.parametrize("width", [20, 40])
@pytest.mark.parametrize("polarisation, component", [("TM", "e_z"), ("TM", "h_x"), ("TE", "h_z"), ("TE", "e_x")])
def test_all_four_layers_and_their_corners(
    measured: Callable[..., float], polarisation: str, component: str, width: int
) -> None:
    """Better than -80 dB is the aim; the bound is 3 dB above the worst component measured."""
    found = reflection_db(DOUBLE, polarisation, width, LAYER, component)
    name = f"{polarisation}, {component} driven"
    measured(name, found, "dB", at_most=CLOSED_DB[width], width_cells=width)


@pytest.mark.parametrize("polarisation, component", [("TM", "e_z"), ("TE", "h_z")])
def test_the_oracle_absorbs_alike(polarisation: str, component: str) -> None:
    assert reflection_db(planar_reference.run, polarisation, 20, LAYER, component) < CLOSED_DB[20]


def test_bare_walls_are_seen() -> None:
    """The measure itself: without layers the walls send nearly everything back."""
    assert reflection_db(DOUBLE, "TM", 20, PlanarLayer(cells=0), "e_z") > -10


@pytest.mark.parametrize("polarisation, component", [("TM", "e_z"), ("TM", "h_x"), ("TE", "h_z"), ("TE", "e_x")])
def test_by_frequency(measured: Callable[..., float], polarisation: str, component: str) -> None:
    """Over half to one and a half times the centre frequency, each frequency against its own largest field."""
    parts = np.linspace(0.5, 1.5, 5)
    kernel = np.exp(-1j * np.pi * parts[:, None] * CENTRE * CELL / c * np.arange(STEPS))  # dt = d / 2c
    worst = np.full(len(parts), -np.inf)
    near = radiate(DOUBLE, polarisation, 40, LAYER, component, 0)
    far = radiate(DOUBLE, polarisation, 40, LAYER, component, MARGIN)
    for one, other in zip(near, far, strict=True):
        error, field = (np.abs(kernel @ samples[0]).max(axis=1) for samples in (one - other, other))
        worst = np.maximum(worst, 20 * np.log10(error / field))
    for part, level, bound in zip(parts, worst, BOUNDS_DB[component], strict=True):
        measured(f"{polarisation}, {component} driven", level, "dB", at_most=bound, frequency_over_centre=part)


@pytest.mark.parametrize(("strength", "order"), [(0.6, 4.0), (1.0, 4.0), (0.7, 3.0), (0.7, 5.0)])
def test_the_default_profile_is_the_better_one(strength: float, order: float) -> None:
    """Neighbours of the defaults are at least 10 dB worse, and still better than the required -80 dB."""
    other = replace(LAYER, strength=strength, order=order)
    assert -105 < reflection_db(DOUBLE, "TE", 40, other, "h_z") < -85
