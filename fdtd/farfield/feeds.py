"""Figures of a feed of a reflector from its complex cuts: phase centre, and Kildal's efficiencies.

Both need the cuts inside a window that ends between samples; amplitudes are interpolated to the nodes of Gauss &
Legendre inside it (`fdtd.farfield.cuts`), which is exact for the powers of a well-sampled field.

References:
    P.-S. Kildal, "Factorization of the feed efficiency of paraboloids and Cassegrain antennas", IEEE Trans. Antennas
    Propag. 33 (1985) 903.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fdtd.errors import ConfigError
from fdtd.farfield.beams import TAPER_DB, fall_angle
from fdtd.farfield.cuts import (
    Circles,
    Cuts,
    check_half_angle,
    check_positive,
    interpolated,
    legendre,
    quadrature,
    squared,
)
from fdtd.farfield.rings import Rings

_OWN_NODES = 16
_CORRECTIONS = 3
_HALVES = ("e", 1), ("e", -1), ("h", 1), ("h", -1)  # of two circles: plane and side
_RIDGE = 1e-12  # of the weights' sum: of what nothing is known, as in a plane without a field


@dataclass(frozen=True, kw_only=True, eq=False)
class FeedEfficiencies:
    """Parts of the aperture efficiency of a paraboloid that a feed decides, each (...), 0 ... 1.

    Attributes:
        spillover: Power inside the rim over all power.
        bor1: Power of the field of a body of revolution over all, inside the rim; 1 of a body of revolution.
        polarisation: Co-polar power over all of that field, inside the rim.
        illumination: That of an aperture lit as the feed does, all in phase.
        phase: What the phases inside the rim leave of it, the feed's phase centre in the focus.
    """

    spillover: np.ndarray
    bor1: np.ndarray
    polarisation: np.ndarray
    illumination: np.ndarray
    phase: np.ndarray

    @property
    def feed(self) -> np.ndarray:
        """Their product."""
        return self.bor1 * self.spillover * self.polarisation * self.illumination * self.phase


def feed_efficiencies(
    cuts: Cuts | Rings, theta: float, wavenumber: np.ndarray, *, centre: np.ndarray | None = None
) -> FeedEfficiencies:
    """Split the efficiency with which a feed lights a paraboloid.

    With t0 the half angle and all integrals d theta:

        spillover     int_0^t0 (|CO|^2 + |XP|^2) sin / int_0^pi (|CO|^2 + |XP|^2) sin
        polarisation  int_0^t0 |CO|^2 sin / int_0^t0 (|CO|^2 + |XP|^2) sin
        illumination  2 cot^2(t0/2) [int_0^t0 |CO| tan(theta/2)]^2 / int_0^t0 |CO|^2 sin
        phase         |int_0^t0 CO tan(theta/2)|^2 / [int_0^t0 |CO| tan(theta/2)]^2

    These are of cuts. A field without symmetry, of rings, has terms of all azimuthal orders. Focal length f takes it
    to the aperture's points rho = 2 f tan(theta/2), where its co-polar part is CO cos^2(theta/2) / f. On the axis the
    reflector radiates the sum over the area rho d rho d phi, 2 f int int CO tan(theta/2) d theta d phi: that of the
    mean over phi alone, C(theta) = int CO d phi / 2 pi, to which only terms of order 1 add, those of a body of
    revolution. With P the mean of the power over phi and P1 its part of order 1

        spillover     int_0^t0 P sin / int_0^pi P sin
        bor1          int_0^t0 P1 sin / int_0^t0 P sin
        polarisation  int_0^t0 |C|^2 sin / int_0^t0 P1 sin

    and illumination and phase as above with C for CO. The product of all is |sum over the aperture|^2 over its area
    pi (2 f tan(t0/2))^2 and over the power, which is the aperture efficiency of any field:

        cot^2(t0/2) |int_0^2pi int_0^t0 CO tan(theta/2) d theta d phi|^2 / (pi int int (|E_theta|^2 + |E_phi|^2) sin)

    with the last integral over the whole sphere. Of a body of revolution P1 = P = |CO|^2 + |XP|^2 of its 45-degree
    plane, bor1 is 1, and the others are those of its cuts.

    Args:
        cuts: Of the feed, or its rings.
        theta: Half angle of the reflector, rad, below 180 degrees.
        wavenumber: rad/m; broadcasts with the cuts' leading axes.
        centre: z of the focus, m, that phases refer to, broadcasting too; when None the phase centre over the half
            angle, of each frequency by itself.

    Raises:
        ConfigError: The angle is no half angle, or rings have no centre.

    References:
        P.-S. Kildal & Z. Sipus, "Classification of rotationally symmetric antennas as types BOR0 and BOR1", IEEE
        Antennas Propag. Mag. 37 (1995) no. 6, 114.
    """
    check_half_angle(theta)
    if centre is None:
        if not isinstance(cuts, Cuts):
            raise ConfigError("centre is missing; rings have no phase centre of their own, give that of their circles")
        centre = phase_centre(cuts, wavenumber, theta)
    at = quadrature(cuts.samples, float(theta))
    turn = (np.asarray(wavenumber) * np.asarray(centre, dtype=float))[..., None] * (np.cos(at.theta) - 1.0)
    co = at.amplitude(cuts.co)
    sine, tangent = at.weights * np.sin(at.theta), at.weights * np.tan(at.theta / 2)
    co_power = (squared(co) * sine).sum(axis=-1)
    if isinstance(cuts, Cuts):
        inside = body = co_power + (at.power(cuts.cross) * sine).sum(axis=-1)
    else:
        both = at.amplitude(cuts.power + 1j * cuts.order_one)
        inside, body = ((part * sine).sum(axis=-1) for part in (np.real(both), np.imag(both)))
    lit = (np.sqrt(squared(co)) * tangent).sum(axis=-1)
    real, imaginary = ((part * tangent).sum(axis=-1) for part in _turned_back(co, turn))
    tiny = np.finfo(float).tiny
    return FeedEfficiencies(
        spillover=inside / np.maximum(cuts.radiated, tiny),
        bor1=body / np.maximum(inside, tiny),
        polarisation=co_power / np.maximum(body, tiny),
        illumination=2 / np.tan(theta / 2) ** 2 * lit**2 / np.maximum(co_power, tiny),
        phase=(real**2 + imaginary**2) / np.maximum(lit**2, tiny),
    )


def phase_centre(cuts: Cuts | Circles, wavenumber: np.ndarray, theta: float | None = None) -> np.ndarray:
    """Point of the axis about which the phases of both planes are most even, z in m, (...).

    A source at z has the phase k z cos(theta). The centre and one constant phase minimise the mean of the squared
    phase that is left, over the cone of `theta`: weights are |E|^2 sin(theta) and |H|^2 sin(theta), the power that
    each phase carries. A change of sign, as behind a null, is no phase error: what is left counts modulo half a turn.
    A first value comes from the phases' differences between neighbouring samples; corrections by least squares follow.
    Nothing is unwrapped. Samples as `theta_intervals` asks for tell a centre up to 1.2 radii of the antenna's sphere
    from the origin, further inside a cone narrower than 90 degrees.

    Circles need not be even: a centre beside the axis, x in the E plane and y in the H plane, is fitted with z.

    Args:
        cuts: Of the antenna; their phases refer to z = 0.
        wavenumber: rad/m; broadcasts with the cuts' leading axes.
        theta: Half angle of the cone, rad; where the co-polar level is 10 dB below boresight when None (NaN where
            that is nowhere).

    Raises:
        ConfigError: Circles without theta: they have no co-polar level of both planes.
    """
    check_positive("wavenumber", wavenumber, "rad/m")
    if isinstance(cuts, Circles):
        if theta is None:
            raise ConfigError("theta is missing; give the largest angle from the axis")
        return _turns_of_circles(cuts, float(theta)) / np.asarray(wavenumber)
    if theta is None:
        end = fall_angle(cuts.co, TAPER_DB)
        node, weight = legendre(_OWN_NODES)
        there = np.nan_to_num(end, nan=np.pi)[..., None]
        angles, measure = there * node, there * weight
        e, h = (interpolated(values, angles) for values in (cuts.e, cuts.h))
    else:
        end = np.full(cuts.e.shape[:-1], float(theta))
        at = quadrature(cuts.samples, float(theta))
        angles, measure = at.theta, at.weights
        e, h = (at.amplitude(values) for values in (cuts.e, cuts.h))
    turns = _fit(np.stack([e, h], axis=-2), angles, measure, _first_turns(cuts, end))
    return np.where(np.isnan(end), np.nan, turns / np.asarray(wavenumber))


def phase_centre_spread(centres: np.ndarray) -> np.ndarray:
    """Largest minus smallest phase centre over the band, m: centres (..., F) to (...)."""
    return centres.max(axis=-1) - centres.min(axis=-1)


def _turned_back(field: np.ndarray, angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Real and imaginary part of field exp(-j angle)."""
    real, imaginary, cosine, sine = np.real(field), np.imag(field), np.cos(angle), np.sin(angle)
    return real * cosine + imaginary * sine, imaginary * cosine - real * sine


def _first_turns(cuts: Cuts, end: np.ndarray) -> np.ndarray:
    """First value of k z, (...): from phase differences over the whole intervals inside the cone, at least over one."""
    drop = np.diff(np.cos(cuts.theta))
    above = below = 0.0
    for values in (cuts.e, cuts.h):
        weight, step = _steps(values, cuts.theta, end[..., None])
        above = above + (weight * step * drop).sum(axis=-1)
        below = below + (weight * drop**2).sum(axis=-1)
    return above / np.maximum(below, np.finfo(float).tiny)


def _steps(values: np.ndarray, theta: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and phase differences, modulo half a turn, of neighbouring samples (..., T), (..., T - 1) each.

    Weights are zero outside the cone, but for the first interval; `end`, its half angle in rad, broadcasts with them.
    """
    inside = theta[1:] <= np.maximum(np.nan_to_num(end, nan=np.pi), theta[1]) * (1 + 1e-12)
    one, other, sine = values[..., :-1], values[..., 1:], np.sin(theta)
    real = np.real(other) * np.real(one) + np.imag(other) * np.imag(one)
    imaginary = np.imag(other) * np.real(one) - np.real(other) * np.imag(one)
    weight = np.where(inside, np.hypot(real, imaginary) * (sine[:-1] + sine[1:]), 0.0)
    return weight, _half_of_double(real, imaginary)


def _fit(field: np.ndarray, angles: np.ndarray, measure: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Correct k z by least squares of the phase that it leaves.

    Args:
        field: Both planes, complex, (..., 2, M).
        angles: rad, (..., M) or (M,).
        measure: d theta of each angle, the same.
        turns: First value, (...).

    Returns:
        k z, (...).
    """
    along = (np.cos(angles) - 1.0)[..., None, :]
    weight = squared(field) * (measure * np.sin(angles))[..., None, :]
    total = np.maximum(weight.sum(axis=(-2, -1)), np.finfo(float).tiny)
    mean = ((weight * along).sum(axis=(-2, -1)) / total)[..., None, None]
    spread = np.maximum((weight * (along - mean) ** 2).sum(axis=(-2, -1)), np.finfo(float).tiny)
    for _ in range(_CORRECTIONS):
        left = _left(field, turns[..., None, None] * along, measure)
        turns = turns + (weight * (along - mean) * left).sum(axis=(-2, -1)) / spread
    return turns


def _left(field: np.ndarray, angle: np.ndarray, measure: np.ndarray) -> np.ndarray:
    """Phase of field exp(-j angle) less its mean over all rows, modulo half a turn, (..., rows, M)."""
    real, imaginary = _turned_back(field, angle)
    real, imaginary = real**2 - imaginary**2, 2 * real * imaginary  # of the square, which has no sign to change
    a, b = ((part * measure[..., None, :]).sum(axis=(-2, -1))[..., None, None] for part in (real, imaginary))
    return np.arctan2(imaginary * a - real * b, real * a + imaginary * b) / 2


def _turns_of_circles(cuts: Circles, theta: float) -> np.ndarray:
    """Return k z, (...), from the four halves of two circles: each side of the E and of the H plane."""
    right, left = cuts.cone(theta)
    angles, measure = right.theta, right.weights
    samples = np.linspace(0.0, np.pi, cuts.e.shape[-1] // 2 + 1)
    parts = ((right if side > 0 else left).amplitude(cuts.component(plane)) for plane, side in _HALVES)
    field = np.stack([*parts], axis=-2)
    weight, step = _steps(np.stack([cuts.side(*half) for half in _HALVES], axis=-2), samples, np.array(theta))
    turns = _fitted(np.diff(_moves(samples)), weight, step)
    moves, weight = _moves(angles), squared(field) * (measure * np.sin(angles))
    total = np.maximum(weight.sum(axis=(-2, -1)), np.finfo(float).tiny)
    off = [one - ((weight * one).sum(axis=(-2, -1)) / total)[..., None, None] for one in moves]
    for _ in range(_CORRECTIONS):
        turned = sum(turns[..., k, None, None] * one for k, one in enumerate(moves))
        turns = turns + _fitted(off, weight, _left(field, np.asarray(turned), measure))
    return turns[..., 0]


def _moves(angles: np.ndarray) -> np.ndarray:
    """Return the phases on each half circle of a source with k z, k x or k y of 1 rad, (3, halves, M)."""
    moves = np.zeros((3, len(_HALVES), len(angles)))
    moves[0] = np.cos(angles) - 1.0
    for place, (plane, side) in enumerate(_HALVES):
        moves[1 if plane == "e" else 2, place] = side * np.sin(angles)
    return moves


def _fitted(moves: Sequence[np.ndarray] | np.ndarray, weight: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """Return k z, k x and k y, (..., 3), whose phases fit given ones (..., halves, M) by least squares."""
    spread = np.stack([[(weight * one * other).sum(axis=(-2, -1)) for one in moves] for other in moves])
    total = np.maximum(weight.sum(axis=(-2, -1)), np.finfo(float).tiny)[..., None, None]
    spread = np.moveaxis(spread, (0, 1), (-2, -1)) + _RIDGE * total * np.eye(len(moves))
    slope = np.stack([(weight * one * phase).sum(axis=(-2, -1)) for one in moves], axis=-1)
    return np.linalg.solve(spread, slope[..., None])[..., 0]


def _half_of_double(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    """Phase modulo half a turn, -pi/2 ... pi/2, of complex values."""
    return np.arctan2(2 * real * imaginary, real**2 - imaginary**2) / 2
