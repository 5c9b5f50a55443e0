"""A far field on circles of latitude, for figures of a whole cone of a field without symmetry.

A field of waves of degrees below L is known from L circles of Gauss's rule in cos(theta) with 2 L directions each:
the directions that its radiated power is integrated over. Along a circle it is a sum of exp(jm phi). For each m both
components are polynomials in cos(theta) of degree L - 1, for even m of degree L - 2 times sin(theta), as the functions
d^n_m,+-1 of spherical waves are. So its values on any other circle follow, by Lagrange's polynomial at Gauss's nodes.

Degrees are counted about the middle of the sources, where they are fewest. Phases are turned there first, and back
afterwards.

The wanted component CO and the other one, XP, are those of `fdtd.farfield.polarisation`.

References:
    Hansen (ed.), Spherical Near-Field Antenna Measurements, 1988, app. A1 (functions of degree and order); Wang &
    Xiang, Math. Comp. 81 (2012) 861, theorem 3.1 (weights of Lagrange's polynomial at Gauss's nodes).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fdtd.errors import ConfigError
from fdtd.farfield import decibels, polar_weights
from fdtd.farfield.cuts import check_window, largest, squared
from fdtd.farfield.polarisation import LINEAR, axial_ratio_of_db, components

LEAST_AROUND = 72
"""Directions on a circle, at least: a step of 5 degrees."""

_NEVER_ZERO = 1e-300


@dataclass(frozen=True, kw_only=True, eq=False)
class Rings:
    """Means and largest values over phi of a far field, on T circles, equally spaced from 0 to 180 degrees.

    Attributes:
        co: Mean of the co-polar amplitude on each circle, complex, (..., T); its square is directivity.
        cross: Largest cross-polar power on each circle, (..., T).
        power: Mean of the power of both components, (..., T).
        order_one: Mean of the power of their terms cos(phi) and sin(phi), the field of a body of revolution, (..., T).
        ratio: Of circular polarisation, largest cross- over co-polar amplitude on each circle, 1 at most, (..., T).
        least: Smallest co-polar power on each circle, (..., T).
        most: Largest co-polar power on each circle, (..., T).
    """

    co: np.ndarray
    cross: np.ndarray
    power: np.ndarray
    order_one: np.ndarray
    ratio: np.ndarray | None = None
    least: np.ndarray | None = None
    most: np.ndarray | None = None

    @property
    def samples(self) -> int:
        """Number of circles, T."""
        return self.co.shape[-1]

    @property
    def radiated(self) -> np.ndarray:
        """int_0^pi of the mean power sin(theta) d theta, (...): 2 where its square is directivity."""
        return (self.power * polar_weights(self.samples)).sum(axis=-1)

    @property
    def boresight(self) -> np.ndarray:
        """Co-polar power on the axis, (...); not zero, so that it may divide."""
        return np.maximum(squared(self.co[..., 0]), np.finfo(float).tiny)


def rings_of(
    field: np.ndarray,
    wavenumber: np.ndarray,
    *,
    centre: tuple[float, float, float],
    intervals: int = 180,
    polarisation: str = LINEAR,
) -> Rings:
    """Return the circles of a far field.

    Args:
        field: E_theta and E_phi, phases about the origin, complex, (F, L, P, 2): on L circles of Gauss's rule in
            cos(theta), from -1 on, at P equally spaced phi from 0 on; both even.
        wavenumber: rad/m, (F,).
        centre: Middle of the sources, m.
        intervals: In which to divide 0 to 180 degrees; for integrals of powers 2 L at least.
        polarisation: One of `fdtd.farfield.polarisation.POLARISATIONS`.
    """
    if field.ndim != 4 or field.shape[-1] != 2 or field.shape[1] % 2 or field.shape[2] % 2:
        raise ConfigError(f"a field of shape {field.shape} is not on circles (must be F, L, P, 2 with even L and P)")
    rings, around = field.shape[1:3]
    nodes = np.arccos(np.polynomial.legendre.leggauss(rings)[0])
    theta = np.linspace(0.0, np.pi, intervals + 1)
    about = field * np.conj(_phases(wavenumber, centre, nodes, around))
    waves = np.fft.fft(about, axis=2) / around
    order = np.fft.fftfreq(around, 1 / around).astype(int)
    finer = max(LEAST_AROUND, 8 * math.ceil(around / 4))  # a multiple of 8: 45 degrees are there
    spectrum = np.zeros((len(field), len(theta), finer, 2), dtype=complex)
    for at, matrix in enumerate(_matrices(rings, intervals)):
        here = order[(order % 2 == at) & (np.abs(order) < around // 2)]
        values = waves[:, :, here].reshape(len(field), rings, -1)
        spectrum[:, :, here] = (matrix @ values).reshape(len(field), len(theta), len(here), 2)
    whole = np.fft.ifft(spectrum, axis=2) * finer
    phi = 2 * np.pi * np.arange(finer) / finer
    wanted, other = map(squared, components(whole[..., 0], whole[..., 1], phi, polarisation))
    ratio = None if polarisation == LINEAR else np.sqrt(np.minimum(_peak(_share(other, wanted)), 1.0))
    if centre[0] or centre[1]:  # beside the axis phases change the orders; along it only phases
        spectrum = np.fft.fft(whole * _phases(wavenumber, (*centre[:2], 0.0), theta, finer), axis=2) / finer
    first, last = np.moveaxis(spectrum[:, :, (1, -1)], 2, 0)  # of exp(j phi) and exp(-j phi)
    left, right = (first[..., 0] - 1j * first[..., 1], last[..., 0] + 1j * last[..., 1])  # sqrt(2) of their means
    co = (left + right) / 2 if polarisation == LINEAR else {"lhcp": left, "rhcp": right}[polarisation] / np.sqrt(2)
    return Rings(
        co=co * np.exp(1j * np.asarray(wavenumber)[:, None] * centre[2] * np.cos(theta)),
        cross=_peak(other),
        power=squared(spectrum).sum(axis=(-2, -1)),
        order_one=(squared(first) + squared(last)).sum(axis=-1),
        ratio=ratio,
        least=np.maximum(-_peak(-wanted), 0.0),
        most=_peak(wanted),
    )


def _peak(values: np.ndarray) -> np.ndarray:
    """Return the largest value on each circle, (..., T), of values all round, (..., T, around)."""
    return largest(np.concatenate([values, values[..., :2]], axis=-1))


def _share(other: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return one power over another, at most 1."""
    return np.minimum(other / np.maximum(wanted, np.finfo(float).tiny), 1.0)


def _phases(wavenumber: np.ndarray, place: tuple[float, float, float], theta: np.ndarray, around: int) -> np.ndarray:
    """Return exp(jk place.d) on circles, (F, T, around, 1)."""
    phi = 2 * np.pi * np.arange(around) / around
    x, y, z = place
    path = np.sin(theta)[:, None] * (x * np.cos(phi) + y * np.sin(phi)) + z * np.cos(theta)[:, None]
    return np.exp(1j * np.asarray(wavenumber)[:, None, None] * path)[..., None]


@lru_cache(maxsize=8)
def _matrices(rings: int, intervals: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the values at equally spaced theta from those at Gauss's nodes, (T, L), for even and for odd orders."""
    cosine, weights = np.polynomial.legendre.leggauss(rings)
    theta = np.linspace(0.0, np.pi, intervals + 1)
    factors = np.sqrt((1 - cosine**2) * weights) * np.where(np.arange(rings) % 2, -1.0, 1.0)
    apart = np.cos(theta)[:, None] - cosine
    factors = factors / np.where(np.abs(apart) < _NEVER_ZERO, _NEVER_ZERO, apart)
    odd = factors / factors.sum(axis=-1, keepdims=True)
    even = np.sin(theta)[:, None] * odd / np.sqrt(1 - cosine**2)
    for one in (even, odd):
        one.setflags(write=False)
    return even, odd


def crosspol_of_rings_db(rings: Rings, theta: float) -> np.ndarray:
    """Largest cross-polar level in all directions within theta (rad) over the co-polar one on the axis, dB, (...).

    Between circles by parabolas; at theta itself by one of the amplitudes, which begin as theta or its square.
    """
    check_window(0.0, theta)
    return decibels(_largest_within(rings.cross, theta) / rings.boresight)


def axial_ratio_of_rings_db(rings: Rings, theta: float) -> np.ndarray:
    """Largest axial ratio in all directions within theta (rad), of the wanted sense, dB, (...).

    Theta = 0 is the axis. 120 dB, that of linear polarisation, also where a direction has the other sense.

    Raises:
        ConfigError: Theta is no such angle, or the polarisation of the rings is linear.
    """
    if rings.ratio is None:
        raise ConfigError('the axial ratio is of circular polarisation; write polarisation = "rhcp" or "lhcp"')
    if theta == 0.0:
        return axial_ratio_of_db(rings.ratio[..., 0])
    check_window(0.0, theta)
    return axial_ratio_of_db(np.sqrt(_largest_within(rings.ratio**2, theta)))


def flatness_of_rings_db(rings: Rings, theta: float) -> np.ndarray:
    """Largest minus smallest co-polar level in all directions within theta (rad), dB, (...)."""
    check_window(0.0, theta)
    boresight = rings.boresight[..., None]
    highest = _largest_within(rings.most, theta, lambda _, power: decibels(power / boresight))
    return highest + _largest_within(rings.least, theta, lambda _, power: -decibels(power / boresight))


def shortfall_of_rings_db(rings: Rings, edge: float, ideal: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Largest shortfall of the co-polar level in all directions against one of theta alone, dB, (...).

    Args:
        rings: Of the antenna.
        edge: Largest angle, rad.
        ideal: Level at angles in rad, dB to the scale of the rings.
    """
    return _largest_within(rings.least, edge, lambda theta, power: ideal(theta) - decibels(power))


def _itself(_: np.ndarray, power: np.ndarray) -> np.ndarray:
    return power


def _largest_within(
    power: np.ndarray | None, theta: float, of: Callable[[np.ndarray, np.ndarray], np.ndarray] = _itself
) -> np.ndarray:
    """Return the largest value up to an angle, rad, of powers on circles (..., T), or of a function of angle and power.

    Raises:
        ConfigError: The rings were made without these powers.
    """
    if power is None:
        raise ConfigError("these rings have no co-polar levels of all directions; compute them with rings_of")
    samples = power.shape[-1]
    place = theta / np.pi * (samples - 1)
    last = min(int(place + 1e-9), samples - 1)
    here = of(np.linspace(0.0, np.pi, samples)[: last + 1], power[..., : last + 1])
    found = largest(here) if last > 1 else here.max(axis=-1)
    if place - last > 1e-9:
        middle, off = max(last, 1), place - max(last, 1)
        before, here, after = np.sqrt(np.moveaxis(power[..., middle - 1 : middle + 2], -1, 0))
        end = (here + off * (after - before) / 2 + off**2 * (after - 2 * here + before) / 2) ** 2
        found = np.maximum(found, of(np.array([theta]), end[..., None])[..., 0])
    return found
