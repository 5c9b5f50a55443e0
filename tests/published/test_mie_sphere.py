"""A dielectric sphere against Mie's series: lit by a plane wave, and by a small dipole next to it.

Curved dielectric in every direction of the lattice, through effective permittivity with the r-z tensor, absorbing
layers, contour and far field. Errors are relative L2 over both cuts, weighted with sin(theta); complex amplitude, and
phase, of the plane wave's scattered field; the dipole's far field to a factor. N: cells a wavelength in the sphere.

Solved as antennas are, with the full tensor and the dispersion compensated
(`fdtd.axisymmetric.media.compensate_dispersion`); and plain, without the latter. Measured, per cent:

    sphere: permittivity, radius in its wavelengths      N = 10   20     40     fitted order
    plane wave, 2.53, 1                                  3.8      0.94   0.24   1.99
    plane wave, 2.53, 1; plain                           6.8      1.66   0.41   2.02
    plane wave, 4, 1                                     5.0      1.29
    dipole 1.3 radii from the centre, 2.53, 1            2.88     0.75   0.20   1.92
    dipole 1.3 radii from the centre, 2.53, 1; plain     5.93     1.46   0.36   2.03
    dipole 1.3 radii from the centre, 4, 1               3.17     0.89   0.26   1.82
    dipole 1.3 radii from the centre, 4, 1; plain        6.55     1.74   0.43   1.96
    dipole 1.3 radii from the centre, 2.53, 2            4.47     1.06   0.31   1.93
    dipole 1.3 radii from the centre, 2.53, 2; plain     17.73    4.42   1.10   2.01

Directivity in the strongest direction, dB off at N = 10, 20, 40: 0.065, 0.024, 0.007 (2.53, 1); 0.045, 0.005, 0.001
(4, 1), plain 0.71, 0.19, 0.05; 0.138, 0.040, 0.016 (2.53, 2), plain 0.72, 0.18, 0.04.

The plain lattice's error is its dispersion inside: twice the path, three times the error. Along the axis, where most of
the waves go, the compensation takes it out. What is left then shows what the surface does: with the tensor's diagonal
only, the dipole has 4.18, 1.55, 0.67 (4, 1), order 1.3, and 3.09, 0.96, 0.37 (2.53, 1), order 1.5.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import mie_sphere
import numpy as np
import pytest
from mie_sphere import THETA, WAVELENGTH, Sphere, beside, dipole_far_field, error, mie_far_field, scattered

from fdtd.farfield import polar_weights

Measured = Callable[..., float]
LENS_LIKE, DENSE, LARGE = Sphere(2.53, 1.0), Sphere(4.0, 1.0), Sphere(2.53, 2.0)
Pattern = tuple[np.ndarray, np.ndarray]


def height(sphere: Sphere) -> float:
    """1.3 radii, rounded to the coarsest cells."""
    cell = WAVELENGTH / np.sqrt(sphere.permittivity) / 10
    return round(1.3 * sphere.metres / cell) * cell


@lru_cache
def dipole(sphere: Sphere, cells: int, *, tensor: bool = True, compensated: bool = True) -> Pattern:
    """The lattice's pattern in the scale of the series."""
    raw = beside(sphere, cells, height(sphere), tensor=tensor, compensated=compensated)
    found, exact = np.stack(raw), np.stack(_exact(sphere))
    scale = np.vdot(found, exact) / np.vdot(found, found)
    return scale * found[0], scale * found[1]


def _exact(sphere: Sphere) -> Pattern:
    return dipole_far_field(sphere, height(sphere))


def directivity_dbi(pattern: Pattern) -> np.ndarray:
    power = (np.abs(pattern[0]) ** 2 + np.abs(pattern[1]) ** 2) @ polar_weights(len(THETA))
    return 10 * np.log10(4 * np.abs(pattern[0]) ** 2 / power)


def test_series_conserves_power() -> None:
    """The far field carries the scattering cross-section, and the forward wave the same (optical theorem)."""
    for sphere in (LENS_LIKE, DENSE, LARGE):
        a, b = mie_far_field(sphere)
        k = 2 * np.pi / WAVELENGTH
        section = np.pi * ((np.abs(a) ** 2 + np.abs(b) ** 2) @ polar_weights(len(THETA)))
        assert section == pytest.approx(mie_sphere.scattering_efficiency(sphere) * np.pi * sphere.metres**2, rel=1e-9)
        assert section == pytest.approx(-4 * np.pi / k * a[0].imag, rel=1e-9)


def test_series_far_dipole_is_a_plane_wave() -> None:
    """From far above, a dipole lights the sphere with a plane wave along -z: its field is direct plus Mie's."""
    far = 4000 * WAVELENGTH
    a, b = dipole_far_field(LENS_LIKE, far)
    k = 2 * np.pi / WAVELENGTH
    direct_a, direct_b = np.cos(THETA) * np.exp(1j * k * far * np.cos(THETA)), -np.exp(1j * k * far * np.cos(THETA))
    # The wave arrives with exp(-jk far)/far and is turned over: theta -> pi - theta, E_theta changes its sign.
    mie_a, mie_b = mie_far_field(LENS_LIKE)
    scale = np.exp(-1j * k * far) / far
    assert (a - direct_a)[::-1] == pytest.approx(-scale * mie_a, abs=2e-3 * np.abs(scale * mie_a).max())
    assert (b - direct_b)[::-1] == pytest.approx(scale * mie_b, abs=2e-3 * np.abs(scale * mie_a).max())


@pytest.mark.parametrize(("cells", "bound"), [(10, 4.3), (20, 1.1)])
def test_plane_wave(measured: Measured, cells: int, bound: float) -> None:
    """Amplitude and phase of the scattered far field, nothing fitted."""
    found = error(scattered(LENS_LIKE, cells, periods=25), mie_far_field(LENS_LIKE))
    measured("plane wave, permittivity 2.53", 100 * found, "%", at_most=bound, cells_per_wavelength=cells)


@pytest.mark.slow
def test_plane_wave_order(measured: Measured) -> None:
    """Second order from 10, 20 and 40 cells."""
    errors = [error(scattered(LENS_LIKE, cells), mie_far_field(LENS_LIKE)) for cells in (10, 20, 40)]
    measured("order, plane wave", -np.polyfit(np.log([10, 20, 40]), np.log(errors), 1)[0], at_least=1.9)


@pytest.mark.parametrize(
    ("sphere", "bounds"), [(LENS_LIKE, (3.3, 0.85, 0.24)), (DENSE, (3.6, 1.0, 0.3)), (LARGE, (5.0, 1.2, 0.36))]
)
def test_dipole_beside_it(measured: Measured, sphere: Sphere, bounds: tuple[float, ...]) -> None:
    """Pattern at three cells, and the order that is aimed at for smooth dielectrics, 1.8."""
    name = f"dipole, permittivity {sphere.permittivity}, radius {sphere.radius} wavelengths"
    cells = (10, 20, 40)
    errors = [error(dipole(sphere, n), _exact(sphere)) for n in cells]
    for n, found, bound in zip(cells, errors, bounds, strict=True):
        measured(name, 100 * found, "%", at_most=bound, cells_per_wavelength=n)
    measured(f"order, {name}", -np.polyfit(np.log(cells), np.log(errors), 1)[0], at_least=1.8)


@pytest.mark.parametrize(("sphere", "bound"), [(LENS_LIKE, 0.03), (DENSE, 0.007), (LARGE, 0.05)])
def test_directivity(measured: Measured, sphere: Sphere, bound: float) -> None:
    """In the strongest direction, behind the sphere, at 20 cells a wavelength."""
    exact, found = directivity_dbi(_exact(sphere)), directivity_dbi(dipole(sphere, 20))
    strongest = int(np.argmax(exact))
    assert strongest == len(THETA) - 1
    name = f"directivity, permittivity {sphere.permittivity}, radius {sphere.radius} wavelengths"
    measured(name, abs(found[strongest] - exact[strongest]), "dB", at_most=bound, cells_per_wavelength=20)


def test_tensor_gives_the_order() -> None:
    """Without its off-diagonal entry the error at the surface is of lower order, and more than twice as large."""
    with_it, without = (
        [error(dipole(DENSE, n, tensor=tensor), _exact(DENSE)) for n in (20, 40)] for tensor in (True, False)
    )
    assert np.log2(with_it[0] / with_it[1]) > 1.7
    assert np.log2(without[0] / without[1]) < 1.4
    assert without[1] > 2 * with_it[1]


@pytest.mark.parametrize(("sphere", "factor"), [(LENS_LIKE, 1.7), (DENSE, 1.7), (LARGE, 3.5)])
def test_compensation_takes_the_dispersion_out(sphere: Sphere, factor: float) -> None:
    """At 20 cells; the plain lattice is of the second order all the same."""
    plain = [error(dipole(sphere, n, compensated=False), _exact(sphere)) for n in (10, 20)]
    assert plain[1] > factor * error(dipole(sphere, 20), _exact(sphere))
    assert np.log2(plain[0] / plain[1]) > 1.85
