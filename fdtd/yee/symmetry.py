"""Half of an antenna that is symmetric about the plane y = 0, next to a magnetic wall.

Where metal, media and port have their image in the plane, and the port drives E along it, H is normal to the plane. A
perfect magnetic wall there leaves the fields on its side as they are, at half the cells. The wall stands on a plane of
the lattice, with half of each dual cell behind it (`fdtd.yee.grid`): the half has the numbers of the whole on the
lattice made of both, up to rounding.

References:
    Balanis, Antenna Theory, 4th ed., sec. 4.7 (images); Taflove & Hagness, 3rd ed., sec. 5.10 (symmetry planes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from fdtd.errors import ConfigError
from fdtd.yee.scene import Block, Dielectric, Interval, LumpedPort, Scene, Sheet

FACE = "y-"
"""The face whose wall is the plane of symmetry."""

_SAME = 1e-9  # of the scene's largest end: places that are equal
_FAR = 1e6  # m, in place of infinity

Parts = list[tuple[Dielectric | None, list[list[float]]]]
"""Consecutive bodies of one material: its material, and both ends of each along x, y and z, m."""


def halved(scene: Scene) -> Scene:
    """Return the part y >= 0 of a scene, next to a magnetic wall at y = 0.

    Its powers, S11 and far field are those of the whole.

    Args:
        scene: Symmetric about the plane y = 0, with the face y- open.

    Raises:
        ConfigError: It is not symmetric, or the port's E is not along the plane.
    """
    if FACE not in scene.open_faces:
        raise ConfigError(f"open_faces has no {FACE}, which becomes the plane of symmetry; add it")
    if (fault := _fault(scene)) is not None:
        raise ConfigError(f"{fault}: the scene is not symmetric about the plane y = 0; solve the whole of it")
    same = _same(scene)
    blocks = [replace(one, y=_above(one.y)) for one in scene.blocks if _reaches_above(one.y, same)]
    sheets = [replace(one, y=_above(one.y)) for one in scene.sheets if _reaches_above(one.y, same)]
    port = scene.port
    if port is not None and port.y != 0.0:  # type: ignore[union-attr] - both kinds have it
        port = replace(port, y=_above(_interval(port.y)))
    return replace(
        scene,
        blocks=tuple(blocks),
        sheets=tuple(sheets),
        port=port,
        open_faces=tuple(face for face in scene.open_faces if face != FACE),
        magnetic_faces=(*scene.magnetic_faces, FACE),
    )


def _fault(scene: Scene) -> str | None:
    """Return what has no image in the plane, or is driven across it; None for a symmetric scene."""
    same = _same(scene)
    if not _equal(_above_of(scene.blocks, 1, same), _above_of(scene.blocks, -1, same), same):
        return "a block has no image"
    if not _equal(_above_of(scene.sheets, 1, same), _above_of(scene.sheets, -1, same), same):
        return "a sheet has no image"
    port = scene.port
    if port is None:
        return None
    low, high = _interval(port.y)
    if abs(low + high) > same:
        return f"port.y = ({low:g}, {high:g}) m is not centred on the plane"
    across = port.axis if isinstance(port, LumpedPort) else port.field
    return 'port drives E along "y", across the plane' if across == "y" else None


def _same(scene: Scene) -> float:
    """Return how far apart places may be that are equal, m."""
    ends = [abs(end) for one in (*scene.blocks, *scene.sheets) for end in (*one.x, *one.y)]
    ends += [abs(end) for end in (_interval(scene.port.y) if scene.port is not None else ())]
    return _SAME * max((end for end in ends if end < _FAR), default=1.0)


def _interval(value: float | Interval) -> Interval:
    return value if isinstance(value, tuple) else (value, value)


def _above(y: Interval) -> Interval:
    return max(y[0], 0.0), max(y[1], 0.0)


def _reaches_above(y: Interval, same: float) -> bool:
    """Return whether a body has a part in front of the plane; metal without width may stand in it."""
    return y[1] > same or (y[0] == y[1] and abs(y[0]) <= same)


def _above_of(bodies: Sequence[Block] | Sequence[Sheet], side: int, same: float) -> Parts:
    """Return what of bodies is on one side of the plane (1 or -1), as seen from there, in runs of one material."""
    found: Parts = []
    for material, run in groupby(bodies, key=lambda one: one.material if isinstance(one, Block) else None):
        spans = [(one, one.y if side > 0 else (-one.y[1], -one.y[0])) for one in run]
        ends = [_ends(one, _above(y)) for one, y in spans if _reaches_above(y, same)]
        if ends:
            found.append((material, ends))
    return found


def _ends(body: Block | Sheet, y: Interval) -> list[float]:
    """Return both ends along x, y and z of a body with another extent along y; infinite ones are 1000 km away."""
    return [min(max(end, -_FAR), _FAR) for end in (*body.x, *y, *_interval(body.z))]


def _equal(one: Parts, other: Parts, same: float) -> bool:
    """Return whether both have the same bodies, in any order within a material."""
    if [material for material, _ in one] != [material for material, _ in other]:
        return False
    return all(_each_has(first, second, same) for (_, first), (_, second) in zip(one, other, strict=True))


def _each_has(first: Iterable[list[float]], second: Iterable[list[float]], same: float) -> bool:
    apart = np.abs(np.array(list(first))[:, None] - np.array(list(second))[None]).max(axis=-1)
    return bool((apart.min(axis=0) <= same).all() and (apart.min(axis=1) <= same).all())
