"""A dielectric sphere against Mie's series: lit by a plane wave, and by a small dipole beside it.

Curved dielectric in every direction of the lattice, through effective permittivity with the r-z tensor, absorbing
layers, contour and far field. Errors are relative L2 over both cuts, weighted with sin(theta); complex amplitude, and
phase, of the plane wave's scattered field; the dipole's far field to a factor. N: cells a wavelength in the sphere.

Measured, per cent:

    sphere, permittivity and radius (wavelengths in it)   N = 10   20     40      fitted order
    plane wave, 2.53, 1                                   6.8      1.65   0.41    2.02
    plane wave, 4, 1                                      8.5      2.2
    dipole 1.3 radii from the centre, 2.53, 1             5.9      1.46   0.36    2.03
    dipole 1.3 radii from the centre, 4, 1                6.5      1.74   0.43    1.96
    dipole 1.3 radii from the centre, 2.53, 2             17.7     4.42   1.10    2.01

Directivity in the strongest direction, dB off at N = 10, 20, 40: 0.025, 0.001, 0.001 (2.53, 1); 0.71, 0.19, 0.045
(4, 1, which is near a resonance); 0.72, 0.18, 0.04 (2.53, 2).

The error is the lattice's dispersion inside: twice the path, three times the error. With the permittivity inside that
gives waves their right length on the mean over directions (`compensated_permittivity` of the planar lattice) the dipole
has 3.1, 0.8 (4, 1) and 4.7, 1.6 (2.53, 2) at N = 10, 20. With the tensor's diagonal only, errors are about as large
at N = 10 and 20 and fall less from 20 to 40: 1.41 to 0.51 (4, 1), order 1.5; 1.43 to 0.42 (2.53, 1), 1.8.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import mie_sphere
import numpy as np
import pytest
from mie_sphere import THETA, WAVELENGTH, Sphere, beside, dipole_far_field, error, mie_far_field, scattered

from fdtd.farfield.metrics import polar_weights

Measured = Callable[..., float]
LENS_LIKE, DENSE, LARGE = Sphere(2.53, 1.0), Sphere(4.0, 1.0), Sphere(2.53, 2.0)
Pattern = tuple[np.ndarray, np.ndarray]


def height(sphere: Sphere) -> float:
    """1.3 radii, rounded to the coarsest cells."""
    cell = WAVELENGTH / np.sqrt(sphere.permittivity) / 10
    return round(1.3 * sphere.metres / cell) * cell


@lru_cache
def dipole(sphere: Sphere, cells: int, tensor: bool = True) -> Pattern:
    """The lattice's pattern in the scale of the series."""
    found, exact = (np.stack(pair) for pair in (beside(sphere, cells, height(sphere), tensor=tensor), _exact(sphere)))
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


@pytest.mark.parametrize(("cells", "bound"), [(10, 7.5), (20, 1.9)])
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
    ("sphere", "bounds"), [(LENS_LIKE, (6.5, 1.7, 0.45)), (DENSE, (7.5, 2.0, 0.55)), (LARGE, (20.0, 5.0, 1.3))]
)
def test_dipole_beside_it(measured: Measured, sphere: Sphere, bounds: tuple[float, ...]) -> None:
    """Pattern at three cells, and the order that is aimed at for smooth dielectrics, 1.8."""
    name = f"dipole, permittivity {sphere.permittivity}, radius {sphere.radius} wavelengths"
    cells = (10, 20, 40)
    errors = [error(dipole(sphere, n), _exact(sphere)) for n in cells]
    for n, found, bound in zip(cells, errors, bounds, strict=True):
        measured(name, 100 * found, "%", at_most=bound, cells_per_wavelength=n)
    measured(f"order, {name}", -np.polyfit(np.log(cells), np.log(errors), 1)[0], at_least=1.9)


@pytest.mark.parametrize(("sphere", "bound"), [(LENS_LIKE, 0.01), (DENSE, 0.24), (LARGE, 0.24)])
def test_directivity(measured: Measured, sphere: Sphere, bound: float) -> None:
    """In the strongest direction, behind the sphere, at 20 cells a wavelength."""
    exact, found = directivity_dbi(_exact(sphere)), directivity_dbi(dipole(sphere, 20))
    strongest = int(np.argmax(exact))
    assert strongest == len(THETA) - 1
    name = f"directivity, permittivity {sphere.permittivity}, radius {sphere.radius} wavelengths"
    measured(name, abs(found[strongest] - exact[strongest]), "dB", at_most=bound, cells_per_wavelength=20)


def test_tensor_gives_the_order() -> None:
    """Without its off-diagonal entry the error at the surface is of lower order, and shows from 20 cells on."""
    with_it, without = ([error(dipole(DENSE, n, tensor), _exact(DENSE)) for n in (20, 40)] for tensor in (True, False))
    assert np.log2(with_it[0] / with_it[1]) > 1.9
    assert np.log2(without[0] / without[1]) < 1.65
