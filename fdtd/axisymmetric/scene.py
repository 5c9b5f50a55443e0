"""Scenes: dielectric bodies and conductors of a batch of antennas, as level sets in (r, z).

A level set is a function (index, r, z) -> signed distance, m, positive inside, near enough to the true distance within
a few cells of the surface. `index` is the antenna of the batch that each point belongs to; all three broadcast against
each other. Each is a function of array operations with its shape's numbers bound to it, so that those can be moved to a
device (`prepared`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fdtd.axisymmetric import polygons
from fdtd.errors import ConfigError

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
        rims: Their sharp edges (see `fdtd.axisymmetric.rims`).
        same_metal: Whether the conductors are the same in every antenna, so that they need be looked at once.
        embedded: Whether dielectrics may touch metal anywhere, and not only along lattice planes: cells at metal are
            then averaged over what is free of it. Not together with `same_metal`.
    """

    batch: int
    dielectrics: tuple[Dielectric, ...] = ()
    conductors: tuple[LevelSet, ...] = ()
    rims: tuple[Rim, ...] = ()
    same_metal: bool = False
    embedded: bool = False


def prepared(scene: Scene, xp: Any, depths: polygons.Depths) -> Scene:
    """Return the same scene with the arrays of a library, a device's say, and a compiled search of its polygons' edges.

    Args:
        scene: The batch.
        xp: Array library.
        depths: `fdtd.backends.polygon_depths`, or another.
    """
    bodies = tuple(
        replace(
            body,
            distance=_moved(body.distance, xp, depths),
            permittivity=xp.asarray(body.permittivity),
            loss_tangent=xp.asarray(body.loss_tangent),
        )
        for body in scene.dielectrics
    )
    return replace(scene, dielectrics=bodies, conductors=tuple(_moved(one, xp, depths) for one in scene.conductors))


def _moved(level_set: LevelSet, xp: Any, depths: polygons.Depths) -> LevelSet:
    if not isinstance(level_set, partial):
        if xp is np:
            return level_set
        raise ConfigError("this body's level set cannot be moved to a device; make it of `functools.partial`")
    if level_set.func is polygons.in_polygon:
        return polygons.searched(level_set.args[0], xp, depths)
    if xp is np:
        return level_set
    return partial(level_set.func, *(xp.asarray(one) if isinstance(one, np.ndarray) else one for one in level_set.args))


def packed(bodies: tuple[LevelSet, ...], batch: int, xp: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return level sets as the numbers that compiled kernels read, or None where one has no compiled form.

    Args:
        bodies: Prepared level sets (`prepared`): boxes, walls of cones, polygons.
        batch: Number of antennas, the first ones.
        xp: Array library of their numbers.

    Returns:
        Five whole numbers a body and the numbers of all bodies; see kernels/raster/level_sets.cuh.
    """
    heads, numbers, place = [], [], 0
    for body in bodies:
        if isinstance(body, polygons.Polygons):
            head = (2, body.edges.shape[1], body.boxes.shape[1], len(body.edges) == 1)
            own = [one if head[3] else one[:batch] for one in (body.edges, body.boxes)]
            fits = head[3] or len(body.edges) >= batch
        elif isinstance(body, partial) and body.func in _KINDS:
            head, own = (_KINDS.index(body.func), 0, 0, 0), [one[:batch] for one in body.args]
            fits = all(one.shape == (batch,) for one in own)
        else:
            return None
        if not fits:
            return None
        heads.append((*head, place))
        place += sum(one.size for one in own)
        numbers.extend(one.ravel() for one in own)
    return xp.asarray(np.array(heads, dtype=np.int32)), xp.concatenate(numbers)


def polygon(corners: np.ndarray) -> LevelSet:
    """A body given by its section's corners; see `fdtd.axisymmetric.polygons`.

    Args:
        corners: (r, z), m, shape (batch, corners, 2), or (1, corners, 2) where all antennas share it.
    """
    return partial(polygons.in_polygon, np.asarray(corners, dtype=float))


def box(r_min: np.ndarray, r_max: np.ndarray, z_min: np.ndarray, z_max: np.ndarray) -> LevelSet:
    """A ring of rectangular section; every bound has shape (batch,), m."""
    return partial(_in_box, r_min, r_max, z_min, z_max)


def _in_box(
    r_min: np.ndarray, r_max: np.ndarray, z_min: np.ndarray, z_max: np.ndarray, index: np.ndarray, r: np.ndarray,
    z: np.ndarray,
) -> np.ndarray:  # fmt: skip
    radial = np.minimum(r - r_min[index], r_max[index] - r)
    axial = np.minimum(z - z_min[index], z_max[index] - z)
    return np.minimum(radial, axial)


def cone_shell(r0: np.ndarray, r1: np.ndarray, outer0: np.ndarray, outer1: np.ndarray, length: np.ndarray) -> LevelSet:
    """Wall of a conical horn over 0 <= z <= length, r0 to r1 inside, outer0 to outer1 outside; shapes (batch,), m."""
    return partial(_in_cone_shell, r0, (r1 - r0) / length, outer0, (outer1 - outer0) / length, length)


def _in_cone_shell(
    r0: np.ndarray, slope: np.ndarray, outer0: np.ndarray, outer_slope: np.ndarray, length: np.ndarray,
    index: np.ndarray, r: np.ndarray, z: np.ndarray,
) -> np.ndarray:  # fmt: skip
    inner = (r - r0[index] - slope[index] * z) / np.sqrt(1 + slope[index] ** 2)
    outer = (outer0[index] + outer_slope[index] * z - r) / np.sqrt(1 + outer_slope[index] ** 2)
    return np.minimum(np.minimum(inner, outer), np.minimum(z, length[index] - z))


_KINDS = (_in_box, _in_cone_shell)
"""Level sets with a compiled form, in the order of kernels/raster/level_sets.cuh."""


def capped_cylinder(radius: np.ndarray, extension: np.ndarray) -> LevelSet:
    """A cylinder from z = 0 to z = extension with a hemisphere of the same radius on top; shapes (batch,), m."""
    return partial(_in_capped_cylinder, radius, extension)


def _in_capped_cylinder(
    radius: np.ndarray, extension: np.ndarray, index: np.ndarray, r: np.ndarray, z: np.ndarray
) -> np.ndarray:
    above = np.maximum(z - extension[index], 0.0)
    return np.minimum(radius[index] - np.sqrt(r**2 + above**2), z)


def polar_profile(knots: np.ndarray, coefficients: np.ndarray) -> LevelSet:
    """A body over the plane z = 0 whose surface is rho = R(theta), a piecewise cubic.

    Args:
        knots: Equally spaced angles from the axis, rad, shape (pieces + 1,), first 0.
        coefficients: Of R in powers 3, 2, 1, 0 of theta - knots[j], m, shape (4, pieces, batch).

    Returns:
        Level set (R - rho) / sqrt(1 + (R'/R)^2), the distance to first order in it, cut off at the plane.
    """
    return partial(_in_profile, float(knots[1] - knots[0]), coefficients)


def _in_profile(step: float, coefficients: np.ndarray, index: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
    theta = np.clip(np.arctan2(r, z), 0.0, np.pi / 2)
    piece = np.minimum((theta / step).astype(np.int64), coefficients.shape[1] - 1)
    t = theta - piece * step
    c3, c2, c1, c0 = (coefficients[power][piece, index] for power in range(4))
    radius = ((c3 * t + c2) * t + c1) * t + c0
    slope = (3 * c3 * t + 2 * c2) * t + c1
    across = (radius - np.sqrt(r**2 + z**2)) / np.sqrt(1 + (slope / radius) ** 2)
    return np.minimum(across, z)
