"""Figures of merit of a pattern: directivity, beamwidth, side lobes, front-to-back ratio, cross-polarisation.

The transform from near to far field stands in a module of each geometry.

All figures take the far field as A (E_theta in the plane phi = 0, the E-plane) and B (E_phi in the plane phi = 90
degrees, the H-plane) of a field (A cos(m phi), B sin(m phi)), m >= 1, on equally spaced angles 0 ... 180 degrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fdtd.arrays import modulus_squared

AT_ONCE = 64
"""Antennas whose patterns are worked on together: their arrays stay in a core's cache."""

LIMIT_DEG = 90.0  # of side lobes, shoulders and cross-polarisation
FLOOR_DB = -120.0  # levels below this are rounding
HALF_DB = 10 * float(np.log10(0.5))
HALVINGS = 12  # of the interval in which a beam falls below half power; the rest is a straight line
SHOULDER_BELOW_DB = -3.0  # a shoulder's highest level over boresight
SHOULDER_DESCENT = 0.5  # a shoulder's descent is less than this times the steepest before it
ROUNDING_DB = 1e-3  # a rise of a pattern that is none
EXACT_DIGITS = 9  # of a descent in dB; the rest is the rounding of float64
_NEAR_BORESIGHT = 64  # samples in which a cut's first minimum is looked for first
SAME_LEVEL = 1e-9  # dB; amplitudes that differ by no more may have the same bits
SAME_DESCENT = 0.003  # a change of descent that is none, over the steepest


@lru_cache(maxsize=8)
def polar_weights(samples: int) -> np.ndarray:
    """Weights of int_0^pi f(theta) sin(theta) d theta on equally spaced angles with both ends (Clenshaw & Curtis)."""
    n = samples - 1
    index = np.arange(samples)
    even = np.arange(0, n + 1, 2)
    scale = np.where((even == 0) | (even == n), 0.5, 1.0) * 2.0 / (1.0 - even**2.0)
    weights = 2.0 / n * (np.cos(np.pi * np.outer(index, even) / n) @ scale)
    weights[[0, -1]] /= 2
    weights.setflags(write=False)
    return weights


def decibels(ratio: np.ndarray) -> np.ndarray:
    """10 lg of a ratio of powers, not below -120 dB."""
    return 10 * np.log10(np.maximum(ratio, 10 ** (FLOOR_DB / 10)))


def directivity(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Directivity in both planes, and the power that it is normalised by.

    Args:
        a: Far field A, (..., T).
        b: Far field B, (..., T).

    Returns:
        E-plane and H-plane directivity, ratios (..., T); and int (|A|^2 + |B|^2) sin(theta) d theta, (...): D is
        4 |A|^2 over that.
    """
    in_e, in_h = modulus_squared(a), modulus_squared(b)
    power = (in_e + in_h) @ polar_weights(a.shape[-1])
    safe = np.maximum(power, np.finfo(float).tiny)[..., None]
    return 4 * in_e / safe, 4 * in_h / safe, power


def radiated_power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the third value of `directivity` of far fields (antennas, F, T), (antennas, F)."""
    weights, found = polar_weights(a.shape[-1]), np.empty(a.shape[:-1])
    for first in range(0, len(a), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        found[some] = (modulus_squared(a[some]) + modulus_squared(b[some])) @ weights
    return found


def half_power_beamwidth(pattern_db: np.ndarray, theta_deg: np.ndarray) -> np.ndarray:
    """Full width at half of the boresight level, degrees, of patterns (..., T); NaN where none falls so far by 180.

    Between the first sample below that level and the one before, the amplitude is the cubic through these two and
    their neighbours; a cut goes on evenly beyond both ends. Of a uniformly lit disc the width is within 0.3 % at all
    angles that `fdtd.farfield.cuts.theta_intervals` chooses.
    """
    below = pattern_db < pattern_db[..., :1] + HALF_DB
    k, last = np.maximum(np.argmax(below, axis=-1), 1)[..., None], pattern_db.shape[-1] - 1
    around = np.abs(k + np.arange(-2, 2))
    around = np.where(around > last, 2 * last - around, around)
    levels = np.take_along_axis(pattern_db, around, -1) - pattern_db[..., :1]
    falls, step = below.any(axis=-1), _fall(10 ** (levels / 20) - 10 ** (HALF_DB / 20))[..., None]
    width = 2 * (theta_deg[k - 1] + step * (theta_deg[k] - theta_deg[k - 1]))
    return np.where(falls, width[..., 0], np.nan)


def _fall(samples: np.ndarray) -> np.ndarray:
    """Return where the cubic through samples (..., 4) at -1, 0, 1, 2 falls below zero between 0 and 1, (...).

    A secant ends what halving brackets.
    """
    before, start, end, after = np.moveaxis(samples, -1, 0)
    first, second = start - before, before - 2 * start + end
    third = after - before + 3 * (start - end)
    low, width = np.zeros(start.shape), 1.0
    f_low, f_high = start, end
    for _ in range(HALVINGS):
        width /= 2
        middle = low + width
        f_middle = before + (middle + 1) * (first + middle / 2 * (second + (middle - 1) / 3 * third))
        later = f_middle >= 0.0
        low, f_low, f_high = (
            np.where(later, middle, low),
            np.where(later, f_middle, f_low),
            np.where(later, f_high, f_middle),
        )
    drop = f_low - f_high
    return low + width * f_low / np.where(drop > 0.0, drop, 1.0)


def side_lobe(e_db: np.ndarray, h_db: np.ndarray, theta_deg: np.ndarray, limit_deg: float = LIMIT_DEG) -> np.ndarray:
    """Highest side lobe or shoulder of either cut, theta up to the limit, dB over boresight.

    The definition of `sidelobe_db`, with L(theta) a cut in dB over boresight, theta from 0:

    - The first minimum is the first local minimum of L. Where L rises from boresight on, that is boresight.
    - A side lobe is a local maximum of L beyond the first minimum.
    - A shoulder is a side lobe that the beam has swallowed: before the first minimum, where L is -3 dB or less, a local
      minimum of the descent |dL/dtheta| that is below half of the steepest descent between boresight and it. It counts
      at the level L there.

    A minimum of L that is less than 0.001 dB deep is taken for rounding; so is one of the descent that is less deep
    than 0.3 % of the steepest descent. Levels are read between the samples: a maximum from the parabola through three
    amplitudes, a shoulder from the parabola through the descents of three intervals.

    Args:
        e_db: One cut, (..., T).
        h_db: The other, (..., T).
        theta_deg: Angles, equally spaced from 0, (T,).
        limit_deg: Largest angle of a side lobe or shoulder.

    Returns:
        Levels (...), NaN where there is none.
    """
    return np.fmax(*cut_lobe(np.stack([e_db, h_db]), theta_deg, limit_deg))


def cut_lobe(
    cut_db: np.ndarray, theta_deg: np.ndarray, limit_deg: float = LIMIT_DEG, rounding_db: float = ROUNDING_DB
) -> np.ndarray:
    """Return the highest side lobe or shoulder of each cut (..., T), dB over boresight, (...); see `side_lobe`.

    A first minimum that is less than `rounding_db` deep is none.

    Cuts stand in columns, (T, N): what runs along angles is then done for many cuts at a time.
    """
    columns = np.ascontiguousarray(cut_db.reshape(-1, cut_db.shape[-1]).T)
    levels = columns - columns[0]
    limit = limit_deg / float(theta_deg[1] - theta_deg[0]) + 1e-3  # in samples
    minimum = _first_minimum(levels, rounding_db)
    highest = np.maximum(_highest_lobe(levels, minimum, limit), _highest_shoulder(levels, minimum, limit))
    return np.where(np.isfinite(highest), highest, np.nan).reshape(cut_db.shape[:-1])


def _first_minimum(levels: np.ndarray, rounding_db: float) -> np.ndarray:
    """Samples of the first local minima of cuts (T, N), (N,); the last sample where a cut only falls.

    Most lie among the first samples, which are looked at first.
    """
    rises, found = _minimum_within(levels[:_NEAR_BORESIGHT], rounding_db)
    later = np.flatnonzero(~rises)
    if len(later):
        rises, found[later] = _minimum_within(levels[:, later], rounding_db)
        found[later[~rises]] = len(levels) - 1
    return found


def _minimum_within(levels: np.ndarray, rounding_db: float) -> tuple[np.ndarray, np.ndarray]:
    """Return which cuts (T, N) rise again, and at which samples they began to, each (N,)."""
    lowest = _so_far(np.minimum, levels)
    rises = levels > lowest + rounding_db
    bottom = np.take_along_axis(lowest, np.maximum(np.argmax(rises, axis=0) - 1, 0)[None], 0)
    return np.any(rises, axis=0), np.argmax(levels == bottom, axis=0)


def _so_far(extreme: np.ufunc, values: np.ndarray) -> np.ndarray:
    """Return the extremes of values (T, N) up to each row, as `extreme.accumulate` does in a third of its time."""
    found, reach = values.copy(), 1
    while reach < len(found):
        found[reach:] = extreme(found[reach:], found[:-reach])
        reach *= 2
    return found


def _places(where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of what is true, as `nonzero` does in a third of its time."""
    rows, columns = np.divmod(np.flatnonzero(where), where.shape[1])
    return rows, columns


def _highest_lobe(levels: np.ndarray, minimum: np.ndarray, limit: float) -> np.ndarray:
    """Highest local maxima beyond the first minimum of cuts (T, N), dB over boresight, (N,); -inf without one.

    Maxima are those of amplitudes, which are computed where levels have one, or nearly: two that differ in their last
    digits may have the same amplitude.
    """
    near = levels[: int(limit) + 3]  # a maximum at the limit has a sample beyond it
    left, centre, right = near[:-2], near[1:-1], near[2:]
    beyond = np.arange(1, len(near) - 1)[:, None] > minimum
    before, cuts = _places(beyond & (centre >= left - SAME_LEVEL) & (centre > right - SAME_LEVEL))
    left, centre, right = 10 ** (near[before + np.arange(3)[:, None], cuts] / 20)
    peak = (centre >= left) & (centre > right)
    slope, bend = (right - left) / 2, np.where(peak, left - 2 * centre + right, -1.0)
    height = np.where(peak & (before + 1 - slope / bend <= limit), centre - slope**2 / (2 * bend), 0.0)
    highest = np.zeros(levels.shape[1])
    np.maximum.at(highest, cuts, height)
    return np.where(highest > 0, 20 * np.log10(np.where(highest > 0, highest, 1.0)), -np.inf)


def _highest_shoulder(levels: np.ndarray, minimum: np.ndarray, limit: float) -> np.ndarray:
    """Highest shoulders of cuts (T, N) on their fall from boresight to the first minimum, (N,); -inf without one.

    Descents are known as means over the intervals between samples: interval k ends at sample k + 1. A shoulder lies up
    to the limit, and what follows it up to the first minimum.
    """
    near = levels[: min(int(minimum.max(initial=3)), int(limit) + 3) + 1]
    descent = _descent(near)
    steepest = _so_far(np.maximum, descent)
    before, here, after = descent[:-2], descent[1:-1], descent[2:]
    slow = (here < before) & (here <= after) & (here < SHOULDER_DESCENT * steepest[1:-1])
    slow &= np.arange(1, len(descent) - 1)[:, None] < minimum - 1
    highest = np.full(levels.shape[1], -np.inf)
    places, cuts = _places(slow)  # few, from boresight outwards: those further out are lower
    places += 1
    if not len(places):
        return highest
    whole = _descent(levels[: minimum[cuts].max() + 1, cuts])
    found = _is_followed(whole, places, minimum[cuts], steepest[places, cuts])
    places, cuts = places[found], cuts[found]
    samples = (levels[places, cuts], *(descent[places + one, cuts] for one in (-1, 0, 1)))
    for cut, k, *own in zip(cuts.tolist(), places.tolist(), *(one.tolist() for one in samples), strict=True):
        if highest[cut] == -np.inf:
            highest[cut] = _shoulder(k, limit, *own)
    return highest


def _descent(levels: np.ndarray) -> np.ndarray:
    """Return by how much levels (T, N) fall from sample to sample, dB, (T - 1, N); 0 where they rise."""
    return np.round(np.maximum(levels[:-1] - levels[1:], 0.0), EXACT_DIGITS)


def _is_followed(descent: np.ndarray, places: np.ndarray, minimum: np.ndarray, steepest: np.ndarray) -> np.ndarray:
    """Say which minima of the descent (intervals, N) are deep enough before the next one, and before the minimum."""
    row = np.arange(len(descent))[:, None]
    own = np.take_along_axis(descent, places[None], 0)
    later = (row > places) & (row < minimum)
    lower = later & (descent < own)
    until = np.where(lower.any(axis=0), np.argmax(lower, axis=0), len(descent))
    most = np.where(later & (row < until), descent, 0.0).max(axis=0, initial=0.0)
    return ~(most <= own[0] + SAME_DESCENT * steepest)


def _shoulder(k: int, limit: float, level: float, before: float, here: float, after: float) -> float:
    """Level of the shoulder at interval k of one cut; -inf where it is none.

    The parabola with the means of three intervals has its vertex at the descent's extremum, and L there is the sample
    before less the parabola's integral. Where the descent stays the same for longer, that is where it begins.

    Args:
        k: Interval.
        limit: Of the place, samples.
        level: At its beginning, dB.
        before: Descent of the interval before, dB.
        here: Its own.
        after: Of the next.
    """
    slope, bend = (after - before) / 2, before - 2 * here + after
    place = -slope / bend if after > here else -0.5  # in intervals, from the middle of interval k
    fallen = (here - bend / 24) * (place + 0.5) + slope / 2 * (place**2 - 0.25) + bend / 6 * (place**3 + 0.125)
    found = level - fallen
    return found if found <= SHOULDER_BELOW_DB + 1e-6 and k + 0.5 + place <= limit else -np.inf


def front_to_back(e_plane_db: np.ndarray) -> np.ndarray:
    """Boresight over theta = 180 degrees, dB, of patterns (..., T)."""
    return e_plane_db[..., 0] - e_plane_db[..., -1]


def cross_polarisation(a: np.ndarray, b: np.ndarray, theta_deg: np.ndarray, limit_deg: float = LIMIT_DEG) -> np.ndarray:
    """Largest cross-polar level in the 45-degree plane over co-polar boresight, dB (Ludwig's third definition, m = 1).

    References:
        Ludwig, IEEE Trans. Antennas Propag. 21 (1973) 116: co-polar (A - B)/2, cross-polar (A + B)/2 at 45 degrees.
    """
    near = np.count_nonzero(theta_deg <= limit_deg + 1e-9)
    cross = largest_power(modulus_squared(a[..., :near] + b[..., :near]))
    return decibels(cross / np.maximum(modulus_squared(a[..., 0] - b[..., 0]), np.finfo(float).tiny))


def largest_power(power: np.ndarray) -> np.ndarray:
    """Largest of powers (..., T), or of the parabolas through three amplitudes about their maxima, (...)."""
    amplitude = np.sqrt(power)
    left, centre, right = amplitude[..., :-2], amplitude[..., 1:-1], amplitude[..., 2:]
    peak = (centre >= left) & (centre > right)
    bend = np.where(peak, left - 2 * centre + right, -1.0)
    top = np.where(peak, centre - (right - left) ** 2 / (8 * bend), centre)
    ends = np.maximum(amplitude[..., 0], amplitude[..., -1])
    return np.maximum(ends, top.max(axis=-1, initial=0.0)) ** 2


@dataclass(frozen=True, kw_only=True)
class Beams:
    """Figures of patterns as a device computed them, each (...); see the functions of this module.

    Attributes:
        power: Third value of `directivity`.
        boresight_dbi: Directivity on boresight.
        largest_dbi: Largest directivity of either cut.
        front_to_back_db: As `front_to_back`.
        width_e_deg: As `half_power_beamwidth`, of the E plane.
        width_h_deg: Of the H plane.
        lobe_db: As `side_lobe`.
        cross_db: As `cross_polarisation`.
    """

    power: np.ndarray
    boresight_dbi: np.ndarray
    largest_dbi: np.ndarray
    front_to_back_db: np.ndarray
    width_e_deg: np.ndarray
    width_h_deg: np.ndarray
    lobe_db: np.ndarray
    cross_db: np.ndarray

    @classmethod
    def of(cls, numbers: np.ndarray) -> Beams:
        """Return them from what `fdtd.backends.patterns` returns, (..., numbers), on the host."""
        power, cross, boresight, back, largest_e, largest_h, width_e, width_h, lobe_e, lobe_h = np.moveaxis(
            numbers, -1, 0
        )
        return cls(
            power=np.ascontiguousarray(power),
            boresight_dbi=boresight,
            largest_dbi=np.maximum(largest_e, largest_h),
            front_to_back_db=boresight - back,
            width_e_deg=width_e,
            width_h_deg=width_h,
            lobe_db=np.fmax(lobe_e, lobe_h),
            cross_db=cross,
        )


def or_none(values: np.ndarray) -> list:
    """Plain numbers of any shape, None for NaN."""
    plain = values.astype(object)
    plain[np.isnan(values)] = None
    return plain.tolist()
