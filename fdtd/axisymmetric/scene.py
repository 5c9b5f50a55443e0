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


def prepared(scene: Scene, xp: Any, search: polygons.Search) -> Scene:
    """Return the same scene with the arrays of a library, a device's say, and a compiled search of its polygons' edges.

    Args:
        scene: The batch.
        xp: Array library.
        search: `fdtd.backends.POLYGONS`, or another.
    """
    bodies = tuple(
        replace(
            body,
            distance=_moved(body.distance, xp, search),
            permittivity=xp.asarray(body.permittivity),
            loss_tangent=xp.asarray(body.loss_tangent),
        )
        for body in scene.dielectrics
    )
    return replace(scene, dielectrics=bodies, conductors=tuple(_moved(one, xp, search) for one in scene.conductors))


def _moved(level_set: LevelSet, xp: Any, search: polygons.Search) -> LevelSet:
    if not isinstance(level_set, partial):
        if xp is np:
            return level_set
        raise ConfigError("this body's level set cannot be moved to a device; make it of `functools.partial`")
    if level_set.func is polygons.in_polygon:
        return polygons.searched(level_set.args[0], xp, search)
    if xp is np:
        return level_set
    return partial(level_set.func, *(xp.asarray(one) if isinstance(one, np.ndarray) else one for one in level_set.args))


def packed(bodies: tuple[LevelSet, ...], batch: int, xp: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return level sets as the numbers that compiled kernels read, or None where one has no compiled form.

    Args:
        bodies: Prepared level sets (`prepared`).
        batch: Number of antennas, the first ones.
        xp: Array library of their numbers.

    Returns:
        Five whole numbers a body and the numbers of all bodies; see kernels/raster/level_sets.cuh.
    """
    heads, numbers, place = [], [], 0
    for body in bodies:
        found = _pack(body, batch, xp)
        if found is None:
            return None
        heads.append((*found[0], place))
        place += sum(one.size for one in found[1])
        numbers.extend(one.ravel() for one in found[1])
    return xp.asarray(np.array(heads, dtype=np.int32)), xp.concatenate(numbers)


def as_float(array: np.ndarray) -> np.ndarray:
    """Return an array in double precision, itself where it is: what kernels read."""
    return array if array.dtype == np.float64 else array.astype(np.float64)


def _pack(body: LevelSet, batch: int, xp: Any) -> tuple[tuple[int, int, int, bool], list[np.ndarray]] | None:
    """Return a body's kind, corners, groups and whether all share it, and its arrays."""
    if isinstance(body, polygons.Polygons):
        shared = len(body.edges) == 1
        own = [one if shared else one[:batch] for one in (body.edges, body.boxes)]
        head = 2, body.edges.shape[1], body.boxes.shape[1], shared
        return (head, own) if shared or len(body.edges) >= batch else None
    kind = _KINDS.get(body.func) if isinstance(body, partial) else None
    if kind is None:
        return None
    arrays = [as_float(one[..., :batch]) for one in body.args if not isinstance(one, float)]
    if any(one.shape[-1:] != (batch,) for one in arrays):
        return None
    if kind == _KINDS[_in_profile]:
        return (kind, arrays[0].shape[1], 0, False), [xp.asarray(np.array(body.args[:1])), *arrays]
    return (kind, 0, 0, False), arrays


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


def rod(radius: np.ndarray, tip: np.ndarray, height: np.ndarray, taper: np.ndarray) -> LevelSet:
    """A cylinder over 0 <= z <= height that tapers to the radius `tip` over its last `taper`; shapes (batch,), m."""
    return partial(_in_rod, radius, tip, height, taper)


def _in_rod(
    radius: np.ndarray, tip: np.ndarray, height: np.ndarray, taper: np.ndarray, index: np.ndarray, r: np.ndarray,
    z: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the distance to the nearest surface."""
    slope = (radius - tip) / taper
    cone = (tip[index] + slope[index] * (height[index] - z) - r) / np.sqrt(1 + slope[index] ** 2)
    return np.minimum(np.minimum(radius[index] - r, cone), np.minimum(z, height[index] - z))


def sector(rim_r: np.ndarray, rim_z: np.ndarray, start: np.ndarray, width: np.ndarray) -> LevelSet:
    """A sector that never ends, between two rays from a point (r, z): lengths in m, angles in rad, shapes (batch,)."""
    return partial(_in_sector, rim_r, rim_z, start, width)


def _in_sector(
    rim_r: np.ndarray, rim_z: np.ndarray, start: np.ndarray, width: np.ndarray, index: np.ndarray, r: np.ndarray,
    z: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the depth behind both rays' lines, as that of a polygon's corner; all or nothing is 1 m deep."""
    x, y = r - rim_r[index], z - rim_z[index]
    after = y * np.cos(start)[index] - x * np.sin(start)[index]
    before = x * np.sin(start + width)[index] - y * np.cos(start + width)[index]
    depth = np.where((width <= np.pi + 1e-6)[index], np.minimum(after, before), np.maximum(after, before))
    depth = np.where((width < 1e-6)[index], -1.0, depth)
    return np.where((width > 2 * np.pi - 1e-6)[index], 1.0, depth)


_KINDS = {_in_box: 0, _in_cone_shell: 1, _in_capped_cylinder: 3, _in_profile: 4, _in_sector: 5, _in_rod: 6}
"""Number of the compiled form of a level set, as kernels/raster/level_sets.cuh has them; polygons have 2."""
