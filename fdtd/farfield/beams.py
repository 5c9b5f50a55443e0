"""Figures of a beam from its complex cuts: widths, levels, symmetry, cross-polarisation, axial ratio.

Amplitudes are interpolated between samples, never decibels (`fdtd.farfield.cuts`). A largest value inside a window is
that of points four times as dense as the samples, joined by parabolas: at the coarsest sampling that `theta_intervals`
allows a lobe is within 0.01 dB, with eight samples a lobe within 0.001 dB. Angles are within 1e-6 degrees.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fdtd.errors import ConfigError
from fdtd.farfield import decibels
from fdtd.farfield.cuts import (
    Circles,
    Cuts,
    Points,
    check_half_angle,
    check_positive,
    interpolated,
    largest,
    squared,
    window,
)
from fdtd.farfield.polarisation import LARGEST_DB

HALF_POWER_DB = 10 * float(np.log10(2.0))

TAPER_DB = 10.0
"""Co-polar level below boresight up to which a beam is looked at where no angle is given."""

_SECANTS = 6
_OWN_POINTS = 17


def crosspol_db(cuts: Cuts, theta: float = np.pi / 2) -> np.ndarray:
    """Largest cross-polar level inside theta (rad) over co-polar boresight, dB, (...)."""
    at = window(cuts.samples, 0.0, theta)
    return decibels(largest(at.power(cuts.cross)) / cuts.boresight)


def axial_ratio_db(cuts: Cuts, theta: float) -> np.ndarray:
    """Largest axial ratio inside theta (rad) of the antenna fed in circular polarisation, dB, (...).

    20 log10 (|CO| + |XP|) / ||CO| - |XP||, the same in every plane; at most `LARGEST_DB`. On the axis, theta = 0, it is
    0 dB.
    """
    if theta == 0.0:
        return np.zeros(cuts.e.shape[:-1])
    at = window(cuts.samples, 0.0, theta)
    co, cross = (np.sqrt(at.power(values)) for values in (cuts.co, cuts.cross))
    sum_, difference = co + cross, np.abs(co - cross)
    ratio = sum_ / np.maximum(difference, np.maximum(10 ** (-LARGEST_DB / 20) * sum_, np.finfo(float).tiny))
    return np.minimum(largest(20 * np.log10(np.maximum(ratio, 1.0))), LARGEST_DB)


def flatness_db(cuts: Cuts, theta: float) -> np.ndarray:
    """Largest minus smallest co-polar level inside theta (rad), dB, (...)."""
    at = window(cuts.samples, 0.0, theta)
    level = decibels(at.power(cuts.co) / cuts.boresight[..., None])
    return largest(level) + largest(-level)


def level_db(cuts: Cuts, plane: str, theta: float) -> np.ndarray:
    """Level of a plane (`fdtd.farfield.cuts.PLANES`) at an angle (rad) over co-polar boresight, dB, (...)."""
    if not 0.0 <= theta <= np.pi * (1 + 1e-12):
        raise ConfigError(f"theta = {np.rad2deg(theta):g} deg (must be 0 to 180 deg); correct it")
    values = cuts.component(plane)
    there = interpolated(values, np.full((*values.shape[:-1], 1), float(theta)))[..., 0]
    return decibels(squared(there) / cuts.boresight)


def edge_taper_db(
    cuts: Cuts | Circles, theta: float, plane: str | None = None, *, spreading: bool = False
) -> np.ndarray:
    """Co-polar level at the rim of a reflector over that at its centre, dB, (...).

    Circles meet the rim in four points, two in each plane. Their level is that of the mean of the amplitudes there:
    amplitudes are what a reflector adds up. Where E and H plane are in phase it is `co` of cuts, |E + H| / 2.

    Args:
        cuts: Of the feed.
        theta: Half angle of the reflector, rad, below 180 degrees.
        plane: One of `fdtd.farfield.cuts.PLANES`, of circles `e` or `h`; when None `co`, of circles both planes.
        spreading: Add what the paraboloid's rim loses by its larger distance, 40 log10 cos(theta/2).
    """
    check_half_angle(theta)
    if isinstance(cuts, Cuts):
        taper = level_db(cuts, plane or "co", theta)
    else:
        planes = ("e", "h") if plane is None else (plane,)
        sides = np.array([theta, -theta])
        rows = [cuts.at(one, np.tile(sides, (math.prod(cuts.e.shape[:-1]), 1))) for one in planes]
        mean = np.abs(np.concatenate(rows, axis=-1)).mean(axis=-1).reshape(cuts.e.shape[:-1])
        taper = decibels(mean**2 / cuts.boresight)
    return taper + 40 * np.log10(np.cos(theta / 2)) if spreading else taper


def fall_angle(
    values: np.ndarray,
    level_db: float,
    between: Callable[[np.ndarray, np.ndarray], np.ndarray] = interpolated,
    whole: Points | None = None,
) -> np.ndarray:
    """Angle, rad, where a beam first falls by a level below boresight; NaN where it never does.

    The interval is that before the first point below the level; inside it the angle follows from the interpolated
    amplitude by the secant method (Illinois).

    Args:
        values: Complex samples, (..., T).
        level_db: dB, positive.
        between: Interpolates rows of samples, (cuts, T), to angles, (cuts, M).
        whole: Equally spaced points from 0 to 180 degrees, between whose samples a null may lie; when None the samples.

    Returns:
        (...).
    """
    if not 0.0 < level_db < np.inf:
        raise ConfigError(f"level_db = {level_db:g} dB (must be > 0: below boresight); give 3 for the half-power width")
    shape = values.shape[:-1]
    rows = values.reshape(-1, values.shape[-1])
    power = squared(rows) if whole is None else whole.power(rows)
    target = np.maximum(power[:, 0] * 10 ** (-level_db / 10), np.finfo(float).tiny)
    below = power < target[:, None]
    falls = below.any(axis=-1)
    k = np.where(falls, np.argmax(below, axis=-1), 1)

    def above(theta: np.ndarray) -> np.ndarray:
        there = squared(between(rows, theta[:, None])[:, 0])
        return decibels(there / target)

    step = np.pi / (power.shape[-1] - 1)
    low, high = (k - 1) * step, k * step
    place = np.arange(len(rows))
    f_low, f_high = decibels(power[place, k - 1] / target), decibels(power[place, k] / target)
    kept = np.zeros(len(rows))  # the end that the last step did not move: -1 low, 1 high
    for _ in range(_SECANTS):
        middle = _secant(low, high, f_low, f_high)
        f_middle = above(middle)
        later = f_middle >= 0.0
        low, high = np.where(later, middle, low), np.where(later, high, middle)
        f_low, f_high = (
            np.where(later, f_middle, np.where(kept < 0, f_low / 2, f_low)),
            np.where(later, np.where(kept > 0, f_high / 2, f_high), f_middle),
        )
        kept = np.where(later, 1.0, -1.0)
    return np.where(falls, _secant(low, high, f_low, f_high), np.nan).reshape(shape)


def _secant(low: np.ndarray, high: np.ndarray, f_low: np.ndarray, f_high: np.ndarray) -> np.ndarray:
    """Where the line through two points is zero, within them; the first where both are."""
    drop = f_low - f_high
    part = np.where(drop > 0.0, f_low / np.where(drop > 0.0, drop, 1.0), 0.0)
    return low + np.clip(part, 0.0, 1.0) * (high - low)


def beamwidth_deg(cuts: Cuts | Circles, plane: str, level_db: float = HALF_POWER_DB) -> np.ndarray:
    """Full width of a plane's beam at a level below boresight, degrees, (...); NaN where it never falls so far.

    Of circles it is the sum of both sides.
    """
    if isinstance(cuts, Cuts):
        whole = window(cuts.samples, 0.0, np.pi)
        return 2 * np.rad2deg(fall_angle(cuts.component(plane), level_db, whole=whole))
    return np.rad2deg(_fall_to_a_side(cuts, plane, level_db, 1) + _fall_to_a_side(cuts, plane, level_db, -1))


def _fall_to_a_side(cuts: Circles, plane: str, level_db: float, side: int) -> np.ndarray:
    whole = cuts.within(0.0, np.pi)[0 if side > 0 else 1]
    return fall_angle(cuts.component(plane), level_db, lambda _, theta: cuts.at(plane, side * theta), whole)


def beam_symmetry_db(cuts: Cuts | Circles, theta: float | None = None) -> np.ndarray:
    """Largest difference of the E- and H-plane levels inside theta, dB, (...).

    Args:
        cuts: Of the antenna.
        theta: rad; where the co-polar level is `TAPER_DB` below boresight when None (NaN where that is nowhere).

    Raises:
        ConfigError: Circles without theta: they have no co-polar level of both planes.
    """
    if theta is not None:
        each = [_apart(cuts, at.power(cuts.e), at.power(cuts.h)) for at in cuts.within(0.0, theta)]
        return np.max(each, axis=0)
    if isinstance(cuts, Circles):
        raise ConfigError("theta is missing; give the largest angle from the axis")
    end = fall_angle(cuts.co, TAPER_DB)
    angles = np.nan_to_num(end)[..., None] * np.linspace(0.0, 1.0, _OWN_POINTS)
    e, h = (squared(interpolated(values, angles)) for values in (cuts.e, cuts.h))
    return np.where(np.isnan(end), np.nan, _apart(cuts, e, h))


def _apart(cuts: Cuts | Circles, e_power: np.ndarray, h_power: np.ndarray) -> np.ndarray:
    """Largest |E level - H level| of powers (..., M), dB, (...)."""
    boresight = cuts.boresight[..., None]
    difference = decibels(e_power / boresight) - decibels(h_power / boresight)
    return np.maximum(largest(difference), largest(-difference))


def aperture_efficiency(cuts: Cuts, diameter: np.ndarray, wavenumber: np.ndarray) -> np.ndarray:
    """Directivity on axis over (pi d / wavelength)^2, that of the disc uniformly lit, (...).

    Args:
        cuts: With |E|^2 the directivity.
        diameter: Of the aperture, m; broadcasts with the cuts' leading axes.
        wavenumber: rad/m; broadcasts too.
    """
    check_positive("diameter", diameter, "m")
    return cuts.boresight / (np.asarray(diameter) * np.asarray(wavenumber) / 2) ** 2


def area_efficiency(cuts: Cuts | Circles, area: np.ndarray, wavenumber: np.ndarray) -> np.ndarray:
    """Directivity on axis over 4 pi area / wavelength^2, that of an aperture uniformly lit, (...).

    Args:
        cuts: With |E|^2 the directivity.
        area: Of the aperture, m^2; broadcasts with the cuts' leading axes.
        wavenumber: rad/m; broadcasts too.
    """
    check_positive("area", area, "m2")
    return cuts.boresight * np.pi / (np.asarray(area) * np.asarray(wavenumber) ** 2)
