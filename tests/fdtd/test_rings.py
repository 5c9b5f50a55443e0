"""Means over phi of a far field that is known on Gauss's circles alone, against the field itself."""

from __future__ import annotations

import numpy as np
import pytest
from cut_patterns import of_revolution, rippled
from scipy.constants import speed_of_light
from scipy.signal import resample

from fdtd.errors import ConfigError
from fdtd.farfield.beams import crosspol_db, flatness_db
from fdtd.farfield.box import HuygensBox
from fdtd.farfield.cuts import Cuts, window
from fdtd.farfield.masks import isoflux_db, sec2_db
from fdtd.farfield.rings import Rings, crosspol_of_rings_db, flatness_of_rings_db, rings_of
from fdtd.yee.grid import Grid
from fdtd.yee.sphere import directions_of, sphere_order

ORIGIN = 0.0, 0.0, 0.0
LAYERS = {"open": (2, 2, 2, 2, 2, 2), "half": (2, 2, 0, 2, 2, 2)}


def noise(faces: str, electrical_size: float) -> tuple[HuygensBox, np.ndarray, np.ndarray, int]:
    """A box with noise on it, 5 mm off the origin along each axis: box, spectra, frequency in Hz, order."""
    rng = np.random.default_rng(3)
    x, y, z = (np.cumsum(rng.uniform(0.6e-3, 1.2e-3, count)) + 5e-3 for count in (26, 20, 23))
    magnetic = ("y-",) if faces == "half" else ()
    grid = Grid(x=x, y=y, z=z, layers=LAYERS[faces], magnetic=magnetic)
    inside = tuple(
        (2 * bool(low), len(axis) - 1 - 2 * bool(high))
        for axis, low, high in zip((x, y, z), grid.layers[::2], grid.layers[1::2], strict=True)
    )
    box = HuygensBox(grid, inside)
    frequency = np.array([electrical_size * speed_of_light / (2 * np.pi * box.radius)])
    spectra = rng.standard_normal((1, len(box.indices))) + 1j * rng.standard_normal((1, len(box.indices)))
    return box, spectra, frequency, sphere_order(box, frequency)


def rings_with(order: int, made: tuple[HuygensBox, np.ndarray, np.ndarray, int], intervals: int = 180) -> Rings:
    """The rings from the directions of an order."""
    box, spectra, frequency, _ = made
    to = directions_of((0.0,), order)
    field = box.radiate(spectra, frequency, to.theta[3:], to.phi[3:]).reshape(1, *to.rings, 2)
    return rings_of(field, 2 * np.pi * frequency / speed_of_light, centre=box.centre, intervals=intervals)


def apart(found: np.ndarray, exact: np.ndarray) -> float:
    """Largest difference over the largest value."""
    return float(np.abs(found - exact).max() / np.abs(exact).max())


@pytest.mark.parametrize("electrical_size", [0.05, 1.0, 5.0, 12.0])
@pytest.mark.parametrize("faces", LAYERS)
def test_rings_of_noise_are_those_of_its_own_field(faces, electrical_size, measured) -> None:
    """Circles between Gauss's: directly radiated in 144 directions each, multiples of the 72 to 168 that rings have.

    The order is chosen for waves down to 1e-6 of their amplitude, so that is the error of amplitudes, next to an axis
    where they add up more. Powers have it too.
    """
    made = noise(faces, electrical_size)
    box, spectra, frequency, order = made
    found = rings_with(order, made, 18)
    around = 2 * max(72, 8 * -(-order // 2))
    theta, phi = np.linspace(0, np.pi, 19), 2 * np.pi * np.arange(around) / around
    field = box.radiate(spectra, frequency, np.repeat(theta, around), np.tile(phi, 19)).reshape(19, around, 2)
    co = (field[..., 0] * np.cos(phi) - field[..., 1] * np.sin(phi)).mean(axis=-1)
    amplitude = field[..., 0] * np.cos(phi) - field[..., 1] * np.sin(phi)
    level = np.abs(resample(amplitude, 16 * around, axis=-1)) ** 2
    cross = (np.abs(field[..., 0] * np.sin(phi) + field[..., 1] * np.cos(phi)) ** 2).max(axis=-1)
    power = (np.abs(field) ** 2).sum(axis=-1).mean(axis=-1)
    terms = [(field * np.exp(sign * 1j * phi)[:, None]).mean(axis=1) for sign in (1, -1)]
    order_one = sum((np.abs(one) ** 2).sum(axis=-1) for one in terms)
    measured("co-polar mean of noise", apart(found.co[0], co), at_most=1e-6)
    measured("cross-polar peak of noise", apart(found.cross[0], cross), at_most=5e-3)
    measured("co-polar peak of noise", apart(found.most[0], level.max(axis=-1)), at_most=5e-3)
    measured("co-polar minimum of noise", apart(found.least[0], level.min(axis=-1)), at_most=1e-2)
    measured("mean power of noise", apart(found.power[0], power), at_most=1e-6)
    measured("power of order 1 of noise", apart(found.order_one[0], order_one), at_most=1e-6)


@pytest.mark.parametrize("electrical_size", [1.0, 12.0])
def test_twice_the_directions_change_nothing(electrical_size, measured) -> None:
    made = noise("open", electrical_size)
    exact = rings_with(2 * made[-1], made)
    found = rings_with(made[-1], made)
    for name in ("co", "power", "order_one", "radiated"):
        change = apart(getattr(found, name), getattr(exact, name))
        measured(f"{name} of rings, of twice the order", change, at_most=1e-6)
    measured("cross-polar peak, of twice the order", apart(found.cross, exact.cross), at_most=5e-3)
    assert apart(rings_with(2 * made[-1] // 3, made).co, exact.co) > 1e-5


def test_cross_polarisation_of_a_body_of_revolution() -> None:
    """It is largest in the 45-degree plane, where cuts look for it; theirs is four times as dense in theta."""
    cuts = Cuts(e=rippled().e[0], h=rippled().h[0])
    found = rings_of(of_revolution(cuts, 60), np.ones(3), centre=ORIGIN)
    assert found.co == pytest.approx(cuts.co, abs=1e-11)
    for theta in (0.2, 0.3, 0.77777, np.pi / 2, np.pi):
        assert crosspol_of_rings_db(found, theta) == pytest.approx(crosspol_db(cuts, theta), abs=0.02)


def test_cross_polarisation_beside_the_plane_of_45_degrees() -> None:
    """XP = 0.3 sin(theta) cos(theta/2)^2 sin(phi): at phi = 90 degrees it is largest, at the cone's edge up to 60."""
    nodes = np.arccos(np.polynomial.legendre.leggauss(8)[0])[:, None]
    phi = np.pi * np.arange(16) / 8
    co = (1 + np.cos(nodes)) / 2
    cross = 0.3 * np.sin(nodes) * co * np.sin(phi)
    field = np.stack([co * np.cos(phi) + cross * np.sin(phi), cross * np.cos(phi) - co * np.sin(phi)], axis=-1)
    found = rings_of(field[None] + 0j, np.ones(1), centre=ORIGIN)
    for theta in (0.2, 1.0, np.pi / 2, 2.5):
        end = min(theta, np.pi / 3)
        most = 0.3 * np.sin(end) * np.cos(end / 2) ** 2
        assert crosspol_of_rings_db(found, theta) == pytest.approx(20 * np.log10(most), abs=2e-3)


def test_coverage_of_a_body_of_revolution() -> None:
    """Its co-polar amplitude is CO + XP cos(2 phi); with equal planes its figures are those of the cuts."""
    cuts = Cuts(e=rippled().e[0], h=rippled().h[0])
    found = rings_of(of_revolution(cuts, 60), np.ones(3), centre=ORIGIN, intervals=720)
    for theta in (0.31, 0.4):
        co, cross = (window(cuts.samples, 0.0, theta).amplitude(values) for values in (cuts.co, cuts.cross))
        level = 20 * np.log10(np.abs(co + cross * np.linspace(-1, 1, 201)[:, None, None]))
        assert flatness_of_rings_db(found, theta) == pytest.approx(np.ptp(level, axis=(0, 2)), abs=0.02)
    same = Cuts(e=rippled().e[0], h=rippled().e[0])
    again = rings_of(of_revolution(same, 60), np.ones(3), centre=ORIGIN, intervals=720)
    for theta in (0.31, 0.4, 1.0):
        assert flatness_of_rings_db(again, theta) == pytest.approx(flatness_db(same, theta), abs=0.02)
    for edge in (0.31, 1.0):
        assert sec2_db(again, edge) == pytest.approx(sec2_db(same, edge), abs=0.02)
    assert isoflux_db(again, 6e5, 0.1) == pytest.approx(isoflux_db(same, 6e5, 0.1), abs=0.02)


def test_refused() -> None:
    for shape in ((1, 7, 14, 2), (1, 8, 15, 2), (8, 16, 2)):
        with pytest.raises(ConfigError, match="is not on circles"):
            rings_of(np.ones(shape), np.ones(1), centre=ORIGIN)
    ones = np.ones((1, 181))
    found = Rings(co=ones, cross=ones, power=ones, order_one=ones)
    for theta in (0.0, 4.0):
        with pytest.raises(ConfigError, match="must rise, within 0 to 180 deg"):
            crosspol_of_rings_db(found, theta)
    with pytest.raises(ConfigError, match="have no co-polar levels"):
        flatness_of_rings_db(found, 1.0)
