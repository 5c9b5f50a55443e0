"""Limits of a pattern over a range of angles: masks of straight lines, isoflux and sec^2 coverage.

Each figure is the worst over the range, in dB: above 0 the pattern breaks the limit by so much, below 0 it keeps that
distance from it. `fdtd.farfield.beams` says how exact levels are between samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fdtd.errors import ConfigError
from fdtd.farfield import decibels
from fdtd.farfield.cuts import Circles, Cuts, check_positive, check_window, largest, legendre, window
from fdtd.farfield.rings import Rings, shortfall_of_rings_db

Line = tuple[tuple[float, float], ...]
"""Corners of a limit, (rad, dB), joined by straight lines; two at one angle make a step."""

MASK_PLANES = ("e", "h", "both", "co", "cross")
"""What a mask may limit."""

EARTH_RADIUS = 6371e3
"""Mean radius, m."""

_SAME_ANGLE = 1e-9

_COVERED = 1e-6
"""Angle by which corners may fall short of a range, rad: 1.5707963 rad is 90 degrees."""


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Limits of the levels of one plane, or of both, over a range of angles. Make one with `Mask.of`.

    Attributes:
        plane: One of `MASK_PLANES`.
        at_most: Upper limit over the whole range; empty for none.
        at_least: Lower limit over the whole range; empty for none.
        absolute: Levels are dBi; otherwise dB over co-polar boresight.
    """

    plane: str
    at_most: Line = ()
    at_least: Line = ()
    absolute: bool = False

    @classmethod
    def of(
        cls,
        *,
        plane: str = "both",
        theta: tuple[float, float] | None = None,
        at_most: float | Sequence[Sequence[float]] | None = None,
        at_least: float | Sequence[Sequence[float]] | None = None,
        absolute: bool = False,
    ) -> Mask:
        """Return a mask.

        Args:
            plane: One of `MASK_PLANES`.
            theta: First and last angle, rad; those of the lists when None.
            at_most: Upper limit, dB or dBi: a number, or corners [theta in rad, dB] that reach over the range.
            at_least: Lower limit, the same.
            absolute: Limits are dBi.

        Raises:
            ConfigError: The plane is unknown, there is no limit, or limits are damaged, too short, or cross.
        """
        if plane not in MASK_PLANES:
            raise ConfigError(f"plane = {plane!r} is unknown (allowed: {', '.join(MASK_PLANES)}); use one of them")
        low, high = _range(theta, at_most, at_least)
        lines = [_line(name, limit, low, high) for name, limit in (("at_most", at_most), ("at_least", at_least))]
        _refuse_crossing(*lines)
        return cls(plane=plane, at_most=lines[0], at_least=lines[1], absolute=absolute)


def mask_excess_db(cuts: Cuts | Circles, mask: Mask) -> np.ndarray:
    """Largest level above the upper or below the lower limit of a mask, dB, (...); negative where all are kept.

    Levels have a floor of -120 dB; in a null a lower limit is missed by as much as the points next to it say. Of
    circles a mask limits both sides of the axis.
    """
    reference = 1.0 if mask.absolute else cuts.boresight[..., None]
    excess = []
    for plane in ("e", "h") if mask.plane == "both" else (mask.plane,):
        values = cuts.component(plane)
        for sign, line in ((1.0, mask.at_most), (-1.0, mask.at_least)):
            for (low, first), (high, last) in _pieces(line):
                for at in cuts.within(low, high):
                    limit = first + (last - first) * (at.theta - low) / (high - low)
                    excess.append(largest(sign * (decibels(at.power(values) / reference) - limit)))
    return np.max(excess, axis=0)


def _pieces(line: Line) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    return [(one, other) for one, other in pairwise(line) if other[0] > one[0]]


def _range(theta: tuple[float, float] | None, *limits: float | Sequence[Sequence[float]] | None) -> tuple[float, float]:
    lists = [limit for limit in limits if limit is not None and not isinstance(limit, (int, float))]
    if all(limit is None for limit in limits):
        raise ConfigError("at_most and at_least are both empty; give one of them, or both")
    if theta is None and not lists:
        raise ConfigError("theta is missing; add for example theta = 20 to 90 deg, or a list of limits with angles")
    if theta is None:
        if any(not one or not all(len(corner) == 2 for corner in one) for one in lists):
            raise ConfigError("at_most or at_least is no list of pairs [theta, dB]; correct it")
        theta = max(one[0][0] for one in lists), min(one[-1][0] for one in lists)
    check_window(*theta)
    return theta


def _line(name: str, limit: float | Sequence[Sequence[float]] | None, low: float, high: float) -> Line:
    """Return the corners of a limit over a range and no further."""
    if limit is None:
        return ()
    if isinstance(limit, (int, float)):
        corners = [(low, float(limit)), (high, float(limit))]
    else:
        if any(len(corner) != 2 for corner in limit) or len(limit) < 2:
            raise ConfigError(f"{name} is no list of at least two pairs [theta, dB]; correct it")
        corners = [(float(angle), float(level)) for angle, level in limit]
    if not np.isfinite(corners).all():
        raise ConfigError(f"{name} has a value that is not finite; correct it")
    for (one, _), (other, _) in pairwise(corners):
        if other < one:
            raise ConfigError(f"{name}: {_deg(other)} comes after {_deg(one)} (angles must rise); put them in order")
    first, last = corners[0][0], corners[-1][0]
    if first > low + _COVERED or last < high - _COVERED:
        raise ConfigError(
            f"{name} reaches from {_deg(first)} to {_deg(last)} (must cover theta, {_deg(low)} to {_deg(high)}); "
            "add corners or narrow theta"
        )
    return _clipped(corners, low, high)


def _clipped(corners: Sequence[tuple[float, float]], low: float, high: float) -> Line:
    inside: list[tuple[float, float]] = []
    for (start, first), (end, last) in pairwise(corners):
        left, right = max(start, low), min(end, high)
        if right - left <= _SAME_ANGLE:
            continue
        slope = (last - first) / (end - start)
        ends = (left, first + slope * (left - start)), (right, first + slope * (right - start))
        inside += [one for one in ends if not inside or one != inside[-1]]
    return ((low, inside[0][1]), *inside[1:-1], (high, inside[-1][1]))


def _refuse_crossing(at_most: Line, at_least: Line) -> None:
    """Refuse limits that no pattern keeps: straight lines are furthest across each other at their corners."""
    angles = sorted({corner[0] for corner in (*at_most, *at_least)}) if at_most and at_least else []
    for low, high in pairwise(angles):
        for angle in (low, high):
            upper, lower = (_value(line, low, high, angle) for line in (at_most, at_least))
            if lower > upper + 1e-9:
                raise ConfigError(
                    f"at_least = {lower:g} dB lies above at_most = {upper:g} dB at theta = {_deg(angle)}: no antenna "
                    "meets both; lower at_least or raise at_most"
                )


def _value(line: Line, low: float, high: float, angle: float) -> float:
    """Value at an angle of that piece of a line which reaches over low ... high."""
    middle = (low + high) / 2
    (start, first), (end, last) = next(piece for piece in _pieces(line) if piece[0][0] <= middle <= piece[1][0])
    return first + (last - first) * (angle - start) / (end - start)


def _deg(angle: float) -> str:
    return f"{np.rad2deg(angle):.6g} deg"


def isoflux_edge(height: float, elevation: float) -> float:
    """Angle off nadir, rad, from which a satellite is seen at an elevation: sin(edge) = Re cos(elevation)/(Re + h).

    Args:
        height: Over the ground, m.
        elevation: Smallest elevation of the satellite over the horizon, rad.
    """
    check_positive("height", np.array(height), "m")
    if not 0.0 <= elevation < np.pi / 2:
        raise ConfigError(f"elevation = {_deg(elevation)} (must be 0 to below 90 deg); correct it")
    return float(np.arcsin(EARTH_RADIUS * np.cos(elevation) / (EARTH_RADIUS + height)))


def slant_range(theta: np.ndarray, height: float) -> np.ndarray:
    """Distance, m, from a satellite to the ground theta (rad) off nadir; theta up to the horizon."""
    far = EARTH_RADIUS + height
    return far * np.cos(theta) - np.sqrt(np.maximum(EARTH_RADIUS**2 - (far * np.sin(theta)) ** 2, 0.0))


def isoflux_db(cuts: Cuts | Rings, height: float, elevation: float) -> np.ndarray:
    """Largest shortfall of the co-polar level against the ideal isoflux pattern, dB, (...).

    The ideal pattern gives all ground the same power density, R^2, and radiates nothing beyond the edge.

    Args:
        cuts: With |E|^2 the directivity, or gain; of rings the level of all directions is meant.
        height: Of the orbit over the ground, m.
        elevation: Of the satellite at the edge of the coverage, rad.
    """
    edge = isoflux_edge(height, elevation)
    return _shortfall(cuts, edge, ideal_db(lambda theta: slant_range(theta, height) ** 2, edge))


def sec2_db(cuts: Cuts | Rings, edge: float) -> np.ndarray:
    """Largest shortfall of the co-polar level against the ideal sec^2(theta) pattern up to an edge, dB, (...).

    Args:
        cuts: With |E|^2 the directivity, or gain; of rings the level of all directions is meant.
        edge: Of the coverage, rad, below 90 degrees.
    """
    if not 0.0 < edge < np.pi / 2:
        raise ConfigError(f"theta = {_deg(edge)} (must be above 0 and below 90 deg); correct it")
    return _shortfall(cuts, edge, ideal_db(lambda theta: np.cos(theta) ** -2.0, edge))


def ideal_db(shape: Callable[[np.ndarray], np.ndarray], edge: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the level, dBi, of an antenna that radiates all of its power inside an edge (rad) in a given shape.

    Args:
        shape: Power at angles in rad, to any scale.
        edge: Largest angle, rad.
    """
    node, weight = legendre(64)
    total = edge * (weight * shape(edge * node) * np.sin(edge * node)).sum()
    return lambda theta: decibels(2 * shape(theta) / total)


def _shortfall(cuts: Cuts | Rings, edge: float, ideal: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    if isinstance(cuts, Rings):
        return shortfall_of_rings_db(cuts, edge, ideal)
    at = window(cuts.samples, 0.0, edge)
    return largest(ideal(at.theta) - decibels(at.power(cuts.co)))
