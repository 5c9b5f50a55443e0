"""Reflection of the absorbing layers over frequency and angle, and of evanescent waves.

The measure is that of test_absorbing_layers, |E - E'| / |E| of tangential E two cells in front of the layer, E' without
walls, but in frequency, over the field of the same place: at grazing angles, where little arrives, too. A ring of
radial current at the axis lights a radial layer that begins 20 cells from it, 200 cells long, or an axial one 10 cells
below it, 110 cells wide; all layers 10 cells. The angle is that of the ray that the wall reflects to the place. The
walls that are taken away are 210 cells further out, and nothing comes back from them in the 560 steps.

At normal incidence the rest is the lattice's, -70 to -110 dB. A wave at the angle t to the normal sees sigma cos t:

    R(t) = exp(-2 cos t int sigma dr / (eps0 c)) = -8.69 * 2 * 0.8 strength N cos t dB = -111 cos t dB,

for N = 10 and strength 0.8: -48 dB at 64 degrees, -25 dB at 77, for any layer of this strength. What is measured stays
below that, as waves of a source so near are not plane.

What is measured along the walls at 0.5, 1 and 1.5 times the centre frequency, 25 cells a wavelength there, is in
`MEASURED`; as no theory gives it, the bounds are 3 dB above, a factor of 1.4.

So the aims of -60 dB at the r wall and -80 dB at the z walls hold from f0 upwards to 64 degrees, but for the r wall's
-59 at m = 2; half a wavelength less of room at half the frequency costs 10 dB and more beyond 45 degrees.

Near field: a source two cells in front of the layer, of which mostly evanescent waves arrive; against the largest
field within ten cells: see the test. A guide below cutoff, ended by a layer: with its pole at -alpha the layer
stretches the decay exp(-G z) as well, by Re s = 1 + sigma alpha / (alpha^2 + w^2), so

    R = exp(-2 G int Re s dz).

For 10 cells and alpha a tenth of the cutoff's w, int Re s dz = 18 to 12 cells at 0.4 to 0.8 of the cutoff: the layer is
worth a little more than its thickness, no absorber. Measured -24, -22, -21, -19, -17 dB at 0.4 ... 0.8 of the cutoff,
by the formula -29, -23, -19, -16, -13; a bare wall in the layer's back would send -16, -15, -14, -13, -11. Propagating
waves are what the layers are for; an antenna's evanescent field must have decayed before them: 0.25 wavelength.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from cavities import BACKENDS
from open_space import CELL, CENTRE, empty, radiate
from scipy.constants import speed_of_light

from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import HuygensContour, Sampling
from fdtd.axisymmetric.ports import lowest_te_mode
from fdtd.axisymmetric.problem import ModalSource, Problem
from fdtd.cpml import AxialLayer, RadialLayer
from fdtd.waveforms import GaussianPulse

BAND = np.linspace(0.5, 1.5, 11)  # of the centre frequency
STEPS, AWAY = 560, 210
WIDTH, HEIGHT, REACH = 20, 10, 100
PLACES = {"r": {0: 0, 42: 20, 66: 50, 75: 80}, "z": {5: 1, 40: 10, 64: 25, 81: 80}}  # angle: cells along the wall

# By wall and angle: m = 0, 1, 2, each at 0.5, 1 and 1.5 times the centre frequency, dB.
MEASURED = {
    ("r", 0): ((-73, -75, -81), (-68, -74, -79), (-62, -69, -90)),
    ("r", 42): ((-64, -66, -76), (-66, -68, -77), (-56, -67, -74)),
    ("r", 66): ((-57, -60, -63), (-57, -62, -64), (-45, -59, -59)),
    ("r", 75): ((-51, -42, -38), (-53, -54, -49), (-40, -48, -41)),
    ("z", 5): ((-104, -108, -104), (-103, -97, -96), (-104, -103, -100)),
    ("z", 40): ((-88, -96, -95), (-98, -97, -96), (-98, -99, -98)),
    ("z", 64): ((-55, -81, -96), (-78, -100, -101), (-71, -100, -101)),
    ("z", 81): ((-26, -43, -56), (-50, -67, -76), (-49, -66, -67)),
}
WORST_DB = {"r": (-60.0, -60.5, -60.0), "z": (-80.0, -92.5, -95.0)}  # up to 60 degrees, by m


def spectra(
    order: int,
    width: int,
    below: int,
    above: int,
    thickness: tuple[int, int, int],
    box: tuple[int, int, int],
    **more: int,
) -> np.ndarray:
    """Contour spectra over the band, (F, samples)."""
    samples = radiate("cpu", order, width, below, above, thickness, box, steps=STEPS, **more)
    time_step = 0.98 * courant_limit(order) * CELL / speed_of_light
    return np.exp(-1j * CENTRE * BAND[:, np.newaxis] * time_step * np.arange(STEPS)) @ samples


def tangential(spectrum: np.ndarray, box: tuple[int, int, int], wall: str) -> np.ndarray:
    """|E| along the wall, (F, places): from the bottom up at r, outwards at z."""
    sections = HuygensContour(column=box[0], bottom=0, top=box[1] + box[2]).sections()
    if wall == "r":
        e_phi, other = spectrum[:, sections["side", "e"]][:, :-1] / box[0], spectrum[:, sections["side", "e_z"]]
    else:
        radii = np.maximum(np.arange(box[0]), 1)
        e_phi, other = spectrum[:, sections["bottom", "e"]][:, :-1] / radii, spectrum[:, sections["bottom", "e_r"]]
    return np.hypot(np.abs(e_phi), np.abs(other))


@lru_cache
def reflections(order: int, wall: str) -> np.ndarray:
    """dB, (F, places along the wall), by distance from the source's foot."""
    ends = (REACH + 10, REACH + 10) if wall == "r" else (HEIGHT, 40)
    if wall == "r":
        box = (WIDTH - 2, REACH, REACH)
        near = spectra(order, WIDTH, *ends, (10, 10, 10), box)
        far = spectra(order, WIDTH + AWAY, *ends, (0, 10, 10), box)
    else:
        box = (REACH, HEIGHT - 2, 6)
        near = spectra(order, REACH + 10, *ends, (10, 10, 10), box)
        far = spectra(order, REACH + 10, HEIGHT + AWAY, 40, (10, 0, 10), box)
    level = 20 * np.log10(tangential(near - far, box, wall) / tangential(far, box, wall))
    return level[:, REACH:] if wall == "r" else level


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(("wall", "angle"), MEASURED)
def test_by_angle_and_frequency(measured: Callable[..., float], order: int, wall: str, angle: int) -> None:
    """Three dB above `MEASURED`, between its frequencies too; beyond 60 degrees within what sigma cos t allows."""
    level = reflections(order, wall)[:, PLACES[wall][angle]]
    bounds = [at + 3.0 for at in MEASURED[wall, angle][order]]
    for place, bound in zip((0, 5, 10), bounds, strict=True):
        name = f"{wall} wall, m = {order}, at {BAND[place]:g} of the centre frequency"
        measured(name, level[place], "dB", at_most=bound, angle_deg=angle)
    assert level.max() < max(bounds)
    assert angle < 60 or level.max() < -111 * np.cos(np.deg2rad(angle)) + 3


@pytest.mark.parametrize("wall", ["r", "z"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_aim_up_to_60_degrees(measured: Callable[..., float], order: int, wall: str) -> None:
    """From the centre frequency upwards, at every place up to 60 degrees (r) and 64 (z).

    The aims, -60 dB at r and -80 dB at z, and never 3.3 dB above what is measured: -60.9, -63.8, -63.0 dB at r and
    -82.7, -95.7, -98.3 dB at z for m = 0, 1, 2.
    """
    reach = {"r": int(np.tan(np.deg2rad(60)) * (WIDTH + 2)), "z": PLACES["z"][64]}[wall]
    worst = reflections(order, wall)[5:, 1:reach].max()
    measured(f"worst up to 60 degrees, {wall} wall", worst, "dB", at_most=WORST_DB[wall][order], m=order)


@pytest.mark.parametrize(("order", "radial", "axial"), [(0, -99, -115), (1, -97, -104), (2, -93, -115)])
def test_near_field(measured: Callable[..., float], order: int, radial: float, axial: float) -> None:
    """A source two cells in front of the layer, at all frequencies of the band; over the field right at the source.

    Measured for m = 0, 1, 2: -103, -100, -97 dB at r and -119, -107, -119 dB at z; the bounds are 3 to 4 dB above.
    """
    box = (WIDTH - 1, 10, 10)
    near = spectra(order, WIDTH, 50, 50, (10, 10, 10), box, column=WIDTH - 2)
    far = spectra(order, WIDTH + AWAY, 50, 50, (0, 10, 10), box, column=WIDTH - 2)
    measured("source at the r wall", worst_db(near, far, box, "r"), "dB", at_most=radial, m=order)
    box = (12, 1, 6)
    near = spectra(order, 52, 2, 40, (10, 10, 10), box)
    far = spectra(order, 52, 2 + AWAY, 40, (10, 0, 10), box)
    measured("source at the z wall", worst_db(near, far, box, "z"), "dB", at_most=axial, m=order)


def worst_db(near: np.ndarray, far: np.ndarray, box: tuple[int, int, int], wall: str) -> float:
    """Largest error over the largest field along the wall, at the worst frequency, dB."""
    error, field = tangential(near - far, box, wall), tangential(far, box, wall)
    return float(20 * np.log10(error.max(axis=1) / field.max(axis=1)).max())


def below_cutoff(layer: int, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """TE11 in a guide of 18 cells, 8 cells behind the source: f / cutoff, G d, and the voltage's spectrum there."""
    radius, plane, steps = 18, 60, 3000
    grid = AxisymmetricGrid(
        nr=radius + 2, nz=plane + 8 + length, cell=CELL, origin=0, courant_number=0.98 * courant_limit(1)
    )
    free = empty(grid)
    open_length = free.open_length.copy()
    open_length[..., radius:] = 0.0
    mode = lowest_te_mode(grid, open_length[0, :, 1], free.open_area[0, :, 1])
    cutoff = mode.cutoff_per_cell * speed_of_light / CELL / (2 * np.pi)
    alpha = 0.1 * 2 * np.pi * cutoff
    pulse = GaussianPulse(centre=0.6 * cutoff, width=0.07 * cutoff)
    end = AxialLayer(inner=grid.nz - layer, outer=grid.nz, columns=radius + 1, strength=0.8, alpha=alpha)
    problem = Problem(
        grid=grid,
        media=Media(
            permittivity=free.permittivity,
            conductivity=free.conductivity,
            open_length=open_length,
            open_area=free.open_area,
        ),
        sampling=Sampling(record_every=1, check_every=steps, steps=steps, decay=0.0),
        radial_layer=RadialLayer(cells=0),
        axial_layers=(end,) if layer else (),
        source=ModalSource(
            plane=plane, profile_r=mode.e_r, profile_phi=mode.e_phi, waveform=pulse.samples(grid.time_step)
        ),
        port=mode.monitor(plane + 8),
    )
    part = np.array([0.4, 0.5, 0.6, 0.7, 0.8])
    kernel = np.exp(-2j * np.pi * cutoff * part[:, np.newaxis] * grid.time_step * np.arange(steps))
    decay = mode.cutoff_per_cell * np.sqrt(1 - part**2)
    return part, decay, kernel @ BACKENDS["cpu"](problem).port[0][:, 0]


def test_guide_below_cutoff(measured: Callable[..., float]) -> None:
    """The layer does what its profile says, within 5 dB, and is better than the bare wall behind it.

    The formula has no echo of its own from the layer's beginning and no lattice; measured 4.7 dB above to 4.3 below it.
    """
    part, decay, near = below_cutoff(10, 10)
    _, _, far = below_cutoff(0, 200)
    level = 20 * np.log10(np.abs((near - far) / far))
    depth = (np.arange(1000) + 0.5) / 1000
    alpha = 0.1 * (1 - depth)  # over the cutoff's w, as sigma below
    sigma = 0.8 * 0.8 * 4 * depth**3 / (decay[0] / np.sqrt(1 - part[0] ** 2))
    stretch = 1 + sigma * alpha / (alpha**2 + part[:, np.newaxis] ** 2)
    expected = -20 * np.log10(np.e) * 2 * decay * 10 * stretch.mean(axis=1)
    for at, found, theory in zip(part, level, expected, strict=True):
        measured("guide below cutoff", found, "dB", at_least=theory - 5, at_most=theory + 5, frequency_over_cutoff=at)
    assert (level < -20 * np.log10(np.e) * 2 * decay * 10 - 3).all()
