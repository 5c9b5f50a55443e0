"""What stands on the lattice: dielectric bodies and conductors of a batch of antennas, as level sets in (r, z).

A level set is a function (index, r, z) -> signed distance, m, positive inside, near enough to the true distance within
a few cells of the surface. `index` says which antenna of the batch each point belongs to; all three broadcast against
each other. Written with array operations only, so that NumPy and CuPy arrays serve alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LevelSet = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Dielectric:
    """A body of one material.

    Attributes:
        distance: Level set of the body.
        permittivity: Relative, shape (batch,).
        loss_tangent: At the design frequency, shape (batch,).
        r_max, z_min, z_max: Box that holds the body of every antenna of the batch, m.
    """

    distance: LevelSet
    permittivity: np.ndarray
    loss_tangent: np.ndarray
    r_max: float
    z_min: float
    z_max: float


@dataclass(frozen=True, kw_only=True)
class Rim:
    """A sharp edge of metal, a circle about the axis; every value has shape (batch,).

    Attributes:
        r, z: Where it stands, m.
        wall: Direction of one of its two walls, rad from +r towards +z.
        opening: Angle outside the metal, from that wall on to the other, rad; 3 pi / 2 at a right angle.
    """

    r: np.ndarray
    z: np.ndarray
    wall: np.ndarray
    opening: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A batch of antennas in air.

    Attributes:
        batch: Number of antennas.
        dielectrics: Bodies; where two overlap the later one counts.
        conductors: Level sets of perfect conductors; their union.
        rims: Their sharp edges (see `fdtd.rims`).
    """

    batch: int
    dielectrics: tuple[Dielectric, ...] = ()
    conductors: tuple[LevelSet, ...] = ()
    rims: tuple[Rim, ...] = ()


def box(r_min: np.ndarray, r_max: np.ndarray, z_min: np.ndarray, z_max: np.ndarray) -> LevelSet:
    """A ring of rectangular section; every bound has shape (batch,), m."""

    def distance(index: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        radial = np.minimum(r - r_min[index], r_max[index] - r)
        axial = np.minimum(z - z_min[index], z_max[index] - z)
        return np.minimum(radial, axial)

    return distance


def cone_shell(r0: np.ndarray, r1: np.ndarray, outer0: np.ndarray, outer1: np.ndarray, length: np.ndarray) -> LevelSet:
    """Wall of a conical horn over 0 <= z <= length, r0 to r1 inside, outer0 to outer1 outside; shapes (batch,), m."""

    def distance(index: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        slope, outer_slope = (r1 - r0) / length, (outer1 - outer0) / length
        inner = (r - r0[index] - slope[index] * z) / np.sqrt(1 + slope[index] ** 2)
        outer = (outer0[index] + outer_slope[index] * z - r) / np.sqrt(1 + outer_slope[index] ** 2)
        return np.minimum(np.minimum(inner, outer), np.minimum(z, length[index] - z))

    return distance


def capped_cylinder(radius: np.ndarray, extension: np.ndarray) -> LevelSet:
    """A cylinder from z = 0 to z = extension with a hemisphere of the same radius on top; shapes (batch,), m."""

    def distance(index: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        above = np.maximum(z - extension[index], 0.0)
        return np.minimum(radius[index] - np.sqrt(r**2 + above**2), z)

    return distance


def polar_profile(knots: np.ndarray, coefficients: np.ndarray) -> LevelSet:
    """A body over the plane z = 0 whose surface is rho = R(theta), a piecewise cubic.

    Args:
        knots: Equally spaced angles from the axis, rad, shape (pieces + 1,), first 0.
        coefficients: Of R in powers 3, 2, 1, 0 of theta - knots[j], m, shape (4, pieces, batch).

    Returns:
        Level set (R - rho) / sqrt(1 + (R'/R)^2), the distance to first order in it, cut off at the plane.
    """
    step = float(knots[1] - knots[0])
    pieces = coefficients.shape[1]

    def distance(index: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        theta = np.clip(np.arctan2(r, z), 0.0, np.pi / 2)
        piece = np.minimum((theta / step).astype(np.int64), pieces - 1)
        t = theta - piece * step
        c3, c2, c1, c0 = (coefficients[power][piece, index] for power in range(4))
        radius = ((c3 * t + c2) * t + c1) * t + c0
        slope = (3 * c3 * t + 2 * c2) * t + c1
        across = (radius - np.sqrt(r**2 + z**2)) / np.sqrt(1 + (slope / radius) ** 2)
        return np.minimum(across, z)

    return distance
