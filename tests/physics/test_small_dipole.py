"""A small electric dipole on the axis, along z (m = 0) and across (m = 1): pattern, directivity 1.5, order.

Along z: one segment of E_z on the axis is given a field, the response to a unit of current there; convolved with a
pulse it is that of a pulsed current, whose charges come to nothing. sin^2, D = 1.5 at 90 degrees. Measured, dB over 1.5
and largest error of the pattern over its peak, at 20, 40, 80 cells a wavelength: 0.0116, 0.0020, 0.0004; 0.0033,
0.0006, 0.0001.

Across: a current J_x = exp(-r^2 / 2 s^2), which is J_r = cos(phi), J_phi = -sin(phi) times that, on the lattice's
E_r and E_phi for r < 4 s; or a single ring of J_r at r = d/2. Of either the field in space is known in closed form
(`fdtd.farfield`), so the source's width is no error: with C and S there,

    A ~ sum r (J_r (J0 - J2) + J_phi (J0 + J2)) cos(theta),   B ~ -sum r (J_r (J0 + J2) + J_phi (J0 - J2)).

Measured directivity at theta = 0 over that, dB, at 20 and 40 cells a wavelength:

    source            20      40
    ring at d/2       0.073   0.016   (over the point dipole's 1.5: 0.094, 0.021)
    s = d             0.064   0.014
    s = 3 d           0.053   0.012

Of these, 0.041 and 0.010 are the lattice's: a current there radiates kd / (c sin(kd c) + s sin(kd s)) times as strongly
at the angle t (c, s its cosine and sine), more along the axes than between them (see `fdtd.planar.scattering`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from cavities import BACKENDS
from open_space import empty
from scipy.constants import speed_of_light
from scipy.signal import fftconvolve
from scipy.special import jv

from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.monitors import HuygensContour, Sampling
from fdtd.axisymmetric.problem import ModalSource, Problem
from fdtd.cpml import AxialLayer, RadialLayer
from fdtd.farfield import polar_weights
from fdtd.farfield.axisymmetric import FarFieldTransform
from fdtd.waveforms import GaussianPulse

FREQUENCY = 30e9
THETA = np.deg2rad(np.arange(181.0))
LAYER, ALPHA, STRENGTH = 10, 0.1 * 2 * np.pi * FREQUENCY, 0.8
Pattern = tuple[np.ndarray, np.ndarray]


def radiate(cells: int, order: int, profile: tuple[np.ndarray, np.ndarray] | None) -> Pattern:
    """A and B at `THETA` of a current sheet, or of an E_z segment on the axis; `cells` a wavelength."""
    cell = speed_of_light / FREQUENCY / cells
    reach = 4 if profile is None else len(profile[0]) + 3
    room = cells // 2 + LAYER + reach
    grid = AxisymmetricGrid(
        nr=room, nz=2 * room, cell=cell, origin=room, courant_number=0.98 * courant_limit(order), azimuthal_order=order
    )
    pulse = GaussianPulse(centre=FREQUENCY, width=0.15 * FREQUENCY)
    steps = 40 * round(pulse.duration / grid.time_step / 40 + 10)
    waveform = pulse.samples(grid.time_step)
    initial, source = None, None
    if profile is None:
        initial = np.zeros((1, 6, grid.nz, grid.nr))
        initial[0, 2, grid.origin, 0] = 1.0
    else:
        source = ModalSource(plane=grid.origin, profile_r=profile[0], profile_phi=profile[1], waveform=waveform)
    contour = HuygensContour(column=reach, bottom=grid.origin - reach, top=grid.origin + reach + 1)
    problem = Problem(
        grid=grid,
        media=empty(grid),
        sampling=Sampling(record_every=1, check_every=steps, steps=steps, decay=0.0),
        radial_layer=RadialLayer(cells=LAYER, strength=STRENGTH, alpha=ALPHA),
        axial_layers=tuple(
            AxialLayer(inner=inner, outer=outer, columns=grid.nr, strength=STRENGTH, alpha=ALPHA)
            for inner, outer in ((LAYER, 0), (grid.nz - LAYER, grid.nz))
        ),
        source=source,
        contour=contour,
        initial=initial,
    )
    samples = BACKENDS["cpu"](problem).contour[0]
    if profile is None:
        samples = fftconvolve(samples, waveform[:, np.newaxis], axes=0)[:steps]
    at_e, at_h = problem.sampling.sample_times(grid, steps)
    spectrum = np.empty((1, contour.size), dtype=complex)
    for (_, component), where in contour.sections().items():
        times = at_h if component.startswith("h") else at_e
        spectrum[:, where] = np.exp(-2j * np.pi * FREQUENCY * times)[np.newaxis] @ samples[:, where]
    a, b = FarFieldTransform(grid, contour, np.array([FREQUENCY]), THETA)(spectrum)
    return a[0], b[0]


def current(width: float) -> tuple[np.ndarray, np.ndarray]:
    """Profiles of a current along x of this standard deviation, cells; 0 is the ring at d/2."""
    if width == 0:
        return np.ones(1), np.zeros(1)
    columns = int(4 * width) + 1
    node, half = np.arange(columns), np.arange(columns) + 0.5
    return np.exp(-((half / width) ** 2) / 2), -node * np.exp(-((node / width) ** 2) / 2)


def in_space(profile: tuple[np.ndarray, np.ndarray], cells: int) -> Pattern:
    """A and B of the same currents in space, to a factor; the second profile is r J_phi."""
    columns = len(profile[0])
    sine = 2 * np.pi / cells * np.sin(THETA)[:, np.newaxis]
    node, half = np.arange(columns), np.arange(columns) + 0.5
    radial, around = half * profile[0], profile[1]
    minus, plus = ((jv(0, sine * r) - jv(2, sine * r), jv(0, sine * r) + jv(2, sine * r)) for r in (half, node))
    a = (minus[0] @ radial - plus[1] @ around) * np.cos(THETA)
    return a, -(minus[1] @ radial) + plus[0] @ around


def directivity_db(pattern: Pattern, angle: int, factor: float) -> float:
    """In the E-plane at an angle, degrees; the factor is 4, or 2 for m = 0."""
    power = (np.abs(pattern[0]) ** 2 + np.abs(pattern[1]) ** 2) @ polar_weights(len(THETA))
    return float(10 * np.log10(factor * np.abs(pattern[0][angle]) ** 2 / power))


@pytest.mark.parametrize(("cells", "bound", "pattern_bound"), [(20, 0.015, 0.005), (40, 0.003, 0.001)])
def test_along_the_axis(measured: Callable[..., float], cells: int, bound: float, pattern_bound: float) -> None:
    """Directivity at 90 degrees and the whole pattern."""
    a, _ = radiate(cells, 0, None)
    error = directivity_db((a, 0 * a), 90, 2.0) - 10 * np.log10(1.5)
    measured("directivity along z", abs(error), "dB", at_most=bound, cells_per_wavelength=cells)
    shape = np.abs(a / a[90]) ** 2 - np.sin(THETA) ** 2
    measured("pattern along z", np.abs(shape).max(), at_most=pattern_bound, cells_per_wavelength=cells)


@pytest.mark.parametrize(("width", "coarse", "fine"), [(0, 0.09, 0.02), (1, 0.08, 0.018), (3, 0.065, 0.015)])
def test_across_the_axis(measured: Callable[..., float], width: float, coarse: float, fine: float) -> None:
    """Directivity at boresight over that of the same current in space; second order."""
    errors = []
    for cells, bound in ((20, coarse), (40, fine)):
        found, exact = radiate(cells, 1, current(width)), in_space(current(width), cells)
        error = directivity_db(found, 0, 4.0) - directivity_db(exact, 0, 4.0)
        name = f"directivity across, width {width} cells"
        errors.append(measured(name, abs(error), "dB", at_most=bound, cells_per_wavelength=cells))
    assert np.log2(errors[0] / errors[1]) > 1.8


def test_current_in_space_is_a_dipole() -> None:
    """The closed form itself: a narrow current has 1.5 cos^2 and 1.5."""
    a, b = in_space(current(0), 10_000)
    assert directivity_db((a, b), 0, 4.0) == pytest.approx(10 * np.log10(1.5), abs=1e-6)
    assert np.abs(a / a[0]) == pytest.approx(np.abs(np.cos(THETA)), abs=1e-6)
    assert np.abs(b / a[0]) == pytest.approx(1.0, abs=1e-6)
