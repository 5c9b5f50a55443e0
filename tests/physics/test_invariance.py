"""Results do not depend on the place of contour and absorbing layers, nor on the recording interval.

A lens and a horn on cells of 0.3 mm; largest changes over 28.5, 30 and 31.5 GHz (S11: 31 frequencies), float64.

contour  It stands 2 cells from the antenna. Moved by n cells, the far field changes by the phase error of the lattice's
         waves over n cells, n (k d)^3/24 at most (the leading term of the dispersion relation along an axis): 3.2e-4 of
         the peak a cell at 31.5 GHz. Measured a cell: lens 2.9e-4, horn 1.9e-4. Directivity, in which most of a phase
         error cancels, has no theory: its bound is what is measured (`DIRECTIVITY_DB`) and a half. S11 is the same to
         the last bit.
layers   What they send back, -80 dB as a rule: 1e-4 of a field. How much of it arrives where has no theory. Measured,
         0.15 to 0.5 wavelengths away instead of 0.25: far field 1.12e-4 of its peak, S11 4.9e-5, directivity
         0.00025 dB; the bounds are these and a half.
records  A record at the rate R folds R - f onto f. The pulse's Gaussian has nothing there (1e-40 even at every 20th
         step), but it is cut at 5 standard deviations: a jump of e^-12.5 = 3.7e-6 at either end, whose spectrum
         3.7e-6/(2 pi (R - f)) is 2e-7 of the pulse's own at R - f = 50 GHz, a few terms of it 1e-6; the cut at the end
         of the run is as much again. All of it goes as 1/(R - f). Measured at every 2nd to 20th step (the layout
         chooses the 10th), times (R - f)/50 GHz: S11 at most 8e-7, far field 6e-7; the bounds are these and 40 %.
seldom   At every 24th step the Gaussian itself folds, F = 5e-5 of it: S11 = b/a becomes (b + F b')/(a + F a'), so it is
         off by F (|S11| + |S11'|) at most, S11' that of the frequency folded in. Measured 9e-6 = 0.18 F; bounds a
         factor of two on either side.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from scipy.constants import speed_of_light

from antennaopt.families import FAMILIES, stack
from fdtd.axisymmetric.layout import Extent, Layout, lay_out
from fdtd.axisymmetric.settings import Settings
from fdtd.axisymmetric.simulation import Keep, Solution, solve
from fdtd.farfield import directivity

FREQUENCIES = (28.5e9, 30e9, 31.5e9)
CELL = 0.3e-3
FEED = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4e-3, "feed.length": 10e-3}
DESIGNS = {
    "hemispherical_lens": FEED
    | {"lens.permittivity": 2.53, "lens.loss_tangent": 0.0, "lens.radius": 6e-3, "lens.extension": 2e-3},
    "conical_horn": FEED | {"horn.length": 6e-3, "horn.aperture_radius": 7e-3, "horn.wall": 0.5e-3},
}
DIRECTIVITY_DB = {  # by cells between antenna and contour, against 2; measured
    "hemispherical_lens": {3: 7.6e-4, 4: 1.42e-3, 6: 2.45e-3, 8: 3.09e-3},
    "conical_horn": {3: 1.31e-4, 4: 2.38e-4, 6: 3.53e-4, 8: 3.14e-4},
}
WAVELENGTH = speed_of_light / min(FREQUENCIES)


def layout(family: str, distance: float | None = None) -> Layout:
    """Layers a quarter wavelength away by default, the contour two cells."""
    radius, height = FAMILIES[family].size(stack([DESIGNS[family]]))
    extent = Extent(
        r_max=float(radius[0]),
        z_min=-10.4e-3,
        z_max=float(height[0]),
        feed_radius=3.6e-3,
        feed_length=10e-3,
        permittivity=2.53,
    )
    return lay_out(
        extent,
        Settings(frequencies=FREQUENCIES, design_frequency=30e9, cell=CELL, layer_distance=distance, decay_db=80.0),
    )


@lru_cache
def solved(family: str, where: Layout) -> Solution:
    """In float64, so that nothing but what is changed makes a difference."""
    return solve(where, FAMILIES[family].scene(stack([DESIGNS[family]])), precision="float64", keep=Keep(sweep=31))[0]


def change(one: Solution, other: Solution, scale: float = 1.0) -> float:
    """Largest change of the complex far field in both planes over its peak."""
    largest = np.abs(one.e_plane).max()
    pairs = ((one.e_plane, other.e_plane), (one.h_plane, other.h_plane))
    return max(float(np.abs(first - scale * second).max() / largest) for first, second in pairs)


def boresight_db(solution: Solution) -> np.ndarray:
    """Directivity at theta = 0."""
    return 10 * np.log10(directivity(solution.e_plane, solution.h_plane)[0][:, 0])


@pytest.mark.parametrize("family", DESIGNS)
@pytest.mark.parametrize("margin", [3, 4, 6, 8])
def test_contour(measured: Callable[..., float], family: str, margin: int) -> None:
    """2 to 8 cells from the antenna on all sides, in the same domain."""
    base = layout(family, distance=12 * CELL)
    further = margin - 2
    moved = dataclasses.replace(
        base,
        contour_column=base.contour_column + further,
        contour_bottom=base.contour_bottom - further,
        contour_top=base.contour_top + further,
    )
    one, other = solved(family, base), solved(family, moved)
    place = {"margin_cells": margin, "antenna": family}
    kd = 2 * np.pi * max(FREQUENCIES) * CELL / speed_of_light
    measured("far field over its peak", change(one, other), at_most=further * kd**3 / 24, **place)
    shift = np.abs(boresight_db(one) - boresight_db(other)).max()
    measured("directivity", shift, "dB", at_most=1.5 * DIRECTIVITY_DB[family][margin], **place)
    assert np.array_equal(one.sweep_s11, other.sweep_s11)


@pytest.mark.parametrize("family", DESIGNS)
@pytest.mark.parametrize("part", [0.15, 0.4, 0.5])
def test_layers(measured: Callable[..., float], family: str, part: float) -> None:
    """0.15 to 0.5 wavelengths from the antenna, against the quarter that it is by default."""
    one, other = solved(family, layout(family)), solved(family, layout(family, part * WAVELENGTH))
    place = {"distance_wavelengths": part, "antenna": family}
    measured("far field over its peak, layers moved", change(one, other), at_most=1.7e-4, **place)
    measured("S11, layers moved", np.abs(one.sweep_s11 - other.sweep_s11).max(), at_most=7.4e-5, **place)
    shift = np.abs(boresight_db(one) - boresight_db(other)).max()
    measured("directivity, layers moved", shift, "dB", at_most=3.8e-4, **place)


def folded(where: Layout) -> float:
    """What the pulse's Gaussian has at the frequencies that sampling folds in, over what it has at those wanted."""
    rate = 1 / (where.record_every * where.grid.time_step)
    wanted = np.array(FREQUENCIES)
    distance, own = (rate - wanted - where.pulse_centre, wanted - where.pulse_centre)
    return float(np.exp((own**2 - distance**2) / (2 * where.pulse_width**2)).max())


def recorded(family: str, every: int) -> tuple[Layout, Solution]:
    """The antenna recorded every `every` steps, always over the same 7,800."""
    where = dataclasses.replace(layout(family), record_every=every, check_every=1560, steps=7800, decay=0.0)
    return where, solved(family, where)


@pytest.mark.parametrize("family", DESIGNS)
@pytest.mark.parametrize("every", [2, 5, 10, 13, 20])
def test_recording_rate(measured: Callable[..., float], family: str, every: int) -> None:
    """As often as possible and half as often as the layout has it: the same."""
    (_, one), (where, other) = recorded(family, 1), recorded(family, every)
    assert folded(where) < 1e-30
    place = {"record_every": every, "antenna": family}
    shift = np.abs(one.sweep_s11 - other.sweep_s11).max()
    tail = 50e9 / (1 / (every * where.grid.time_step) - max(FREQUENCIES))
    measured("S11, recorded less often", shift, at_most=1.1e-6 * tail, **place)
    measured("far field over its peak, recorded less often", change(one, other, every), at_most=8e-7 * tail, **place)


def test_too_seldom_is_seen(measured: Callable[..., float]) -> None:
    """Every 24th step folds the pulse onto itself: the measure itself, and that the bound on it is right."""
    (_, one), (where, other) = recorded("conical_horn", 1), recorded("conical_horn", 24)
    shift = np.abs(one.s11 - other.s11).max()
    measured("S11, recorded too seldom", shift, at_least=0.09 * folded(where), at_most=0.36 * folded(where))
