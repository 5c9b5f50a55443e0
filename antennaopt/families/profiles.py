"""Profiles of horns and their metal: curves a(z), walls of constant thickness, sharp edges; a batch at a time.

Polygons of a batch have the same number of corners; an antenna that needs fewer repeats its last ones. Corners are
whole picometres, as exported files have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from antennaopt.families.family import Designs, polygon_scene, stack
from antennaopt.families.parameters import Parameter, Part, choice
from antennaopt.families.sections import SMALLEST_RIM_DEG
from antennaopt.families.shapes import Outline, feed_outline
from fdtd.axisymmetric.scene import Rim, Scene, polygon

PIECES = 256
"""Chords of a curve. Of a horn five wavelengths long they are within 0.5 um of the curves below."""
_SAME_PLACE = 1e-9  # m

CURVES = (
    "linear", "sinusoid", "tangential", "x_rho", "polynomial", "exponential", "hyperbolic", "asymmetric_sine_squared"
)  # fmt: skip


def curve_parameters(table: str, *, like: str = "") -> tuple[Parameter, ...]:
    """Return the choice of a curve and its numbers.

    Args:
        table: That holds them.
        like: Parameter whose list has an entry for each section of the horn, which each of these may have too.
    """
    found = (
        choice(f"{table}.curve", "Curve of the radius over z.", *CURVES),
        Parameter(
            name=f"{table}.amplitude",
            about="A of sinusoid, tangential and x_rho: the curved part; the rest is straight.",
            example="0.8",
            default=1.0,
            highest=1.0,
        ),
        Parameter(
            name=f"{table}.rho",
            about="Exponent of sinusoid, tangential, x_rho and polynomial.",
            example="2.0",
            default=2.0,
            lowest=0.5,
            highest=5.0,
        ),
        Parameter(
            name=f"{table}.gamma",
            about="Of asymmetric_sine_squared: length of the second part over that of the first.",
            example="1.5",
            default=1.0,
            lowest=0.05,
            highest=20.0,
        ),
    )
    return tuple(replace(one, many=bool(like), like=like) for one in found)


def radius_of(designs: Designs, table: str, share: np.ndarray) -> np.ndarray:
    """Return the radius along a curve from the feed's radius to the table's `aperture_radius`, m.

    Args:
        designs: The batch.
        table: Table of the curve's parameters.
        share: z over the length, 0 to 1, (places,) or (batch, places).

    References:
        Granet and James, IEEE Antennas Propag. Mag. 47 (2005) no. 2, 76, table 1.
    """
    start, stop, amplitude, rho, gamma = (
        np.asarray(designs[name], dtype=float)[:, None]
        for name in (
            "feed.inner_radius", f"{table}.aperture_radius", f"{table}.amplitude", f"{table}.rho", f"{table}.gamma"
        )
    )  # fmt: skip
    t = share + np.zeros_like(start)
    first = 1 / (1 + gamma)  # length of the first part of asymmetric_sine_squared
    later = np.maximum(t - first, 0.0) / (1 - first)
    rises = (
        t,
        (1 - amplitude) * t + amplitude * np.sin(np.pi / 2 * t) ** rho,
        (1 - amplitude) * t + amplitude * np.tan(np.pi / 4 * t) ** rho,
        (1 - amplitude) * t + amplitude * t**rho,
        (rho + 1) * (1 - rho * t / (rho + 1)) * t**rho,
    )
    sine_squared = np.where(
        t <= first,
        2 / (1 + gamma) * np.sin(np.pi / 4 * np.minimum(t / first, 1.0)) ** 2,
        2 / (1 + gamma) * (gamma * np.sin(np.pi / 4 * (1 + later)) ** 2 + (1 - gamma) / 2),
    )
    radii = [start + (stop - start) * rise for rise in (*rises, sine_squared)]
    radii[5:5] = [start * (stop / start) ** t, np.sqrt(start**2 + t**2 * (stop**2 - start**2))]
    code = np.rint(designs[f"{table}.curve"])[:, None]
    found = radii[0]
    for place, one in enumerate(radii):
        found = np.where(code == place, one, found)
    return np.where(t >= 1.0, stop, found)


def places(pieces: int = PIECES) -> np.ndarray:
    """Shares of a length at which a curve is drawn, denser at both ends, where a radius may go as a root of z."""
    return (1 - np.cos(np.pi * np.arange(pieces + 1) / pieces)) / 2


def wall_round(z: np.ndarray, inner: np.ndarray, thickness: np.ndarray) -> np.ndarray:
    """Return the outer radius of a wall as thick everywhere as given, m: where a ball that follows the inside ends.

    Args:
        z: Heights of the inner surface's points, m, (batch, points), ascending.
        inner: Their radii, m.
        thickness: Of the wall, m, (batch,).

    Returns:
        Outer radius at the same heights, m.
    """
    found, thick = inner + 0.0, thickness[:, None]
    dz, dr = np.diff(z, axis=1), np.diff(inner, axis=1)
    size, points = np.hypot(dz, dr), z.shape[1]
    for shift in range(points):
        near = False
        for way in (shift, -shift) if shift else (0,):
            at, of = slice(max(-way, 0), points - max(way, 0)), slice(max(way, 0), points - max(-way, 0))
            off = z[:, at] - z[:, of]
            away = thick**2 - off**2
            near |= bool((away >= 0).any())
            ball = np.where(away >= 0, inner[:, of] + np.sqrt(np.maximum(away, 0.0)), 0.0)
            found[:, at] = np.maximum(found[:, at], ball)
            # Chords start at points: the last point starts none.
            at, of = slice(at.start, at.stop - (of.stop == points)), slice(of.start, min(of.stop, points - 1))
            off, dz1, dr1, size1 = z[:, at] - z[:, of], dz[:, of], dr[:, of], size[:, of]
            foot = off + thick * dr1 / size1  # of the normal from the chord to the outer surface at this height
            touches = (foot >= 0) & (foot <= dz1)
            near |= bool(touches.any())
            over = inner[:, of] + off * dr1 / dz1 + thick * size1 / dz1
            found[:, at] = np.maximum(found[:, at], np.where(touches, over, 0.0))
        if not near:
            break
    return found


def joined(*parts: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return a polygon (batch, corners, 2) of pieces of its outline.

    Args:
        parts: Radii and heights of a piece, m, each (batch,) or (batch, points).
    """
    columns = [
        np.stack([one if one.ndim == 2 else one[:, None] for one in np.broadcast_arrays(r, z)], axis=-1)
        for r, z in parts
    ]
    return np.round(np.concatenate(columns, axis=1), 12)


def rims_of(union: np.ndarray) -> tuple[Rim, ...]:
    """Return the sharp edges of metal: convex corners that turn by `SMALLEST_RIM_DEG` or more.

    Args:
        union: One polygon of all metal, the feed's included, (batch, corners, 2), m, in either direction; corners may
            be repeated. Corners on the axis are no edges.
    """
    before, after = _apart(union, 1), _apart(union, -1)
    r, z = union[..., 0], union[..., 1]
    ahead, behind = after - union, before - union
    area = (r * np.roll(z, -1, axis=1) - np.roll(r, -1, axis=1) * z).sum(axis=1)
    # With the metal to the left, the open angle runs counterclockwise from the wall behind to the one ahead.
    walls = np.arctan2(ahead[..., 1], ahead[..., 0]), np.arctan2(behind[..., 1], behind[..., 0])
    left = area[:, None] > 0
    wall, other = np.where(left, walls[1], walls[0]), np.where(left, walls[0], walls[1])
    opening = np.mod(other - wall, 2 * np.pi)
    repeated = (np.roll(union, 1, axis=1) == union).all(axis=-1)
    sharp = (opening >= np.pi + np.radians(SMALLEST_RIM_DEG)) & (r > 0) & ~repeated
    return tuple(
        Rim(**{
            name: np.where(sharp[:, place], value[:, place], np.nan)
            for name, value in (("r", r), ("z", z), ("wall", wall), ("opening", opening))
        })
        for place in np.nonzero(sharp.any(axis=0))[0]
    )  # fmt: skip


def _apart(union: np.ndarray, way: int) -> np.ndarray:
    """Return for each corner the next one in a direction that is not at the same place."""
    found = np.roll(union, way, axis=1)
    for distance in range(2, union.shape[1]):
        same = (np.abs(found - union).max(axis=-1) <= _SAME_PLACE)[..., None]
        if not same.any():
            break
        found = np.where(same, np.roll(union, way * distance, axis=1), found)
    return found


def shell(designs: Designs, z: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, tuple[Rim, ...]]:
    """Return the section of a horn with an even wall of `horn.wall` round its inside, and the edges of all metal.

    Args:
        designs: The batch.
        z: Heights of the inner surface, m, (batch, points), ascending from 0.
        inner: Its radii, m, from the feed's on.
    """
    outer = np.maximum(wall_round(z, inner, designs["horn.wall"]), designs["feed.outer_radius"][:, None])
    inside = inner[:, ::-1], z[:, ::-1]
    return joined((outer, z), inside), rims_of(joined(*feed_behind(designs), (outer, z), inside))


def ring_slots(
    begin: np.ndarray, mouth: np.ndarray, count: np.ndarray, sizes: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return slots in a face, rings about the axis that open along +z, from the inside to the outer edge of the face.

    Args:
        begin: Inner radius of the first slot, m, (batch,).
        mouth: Height of the face, m.
        count: Number of slots.
        sizes: Width and depth of the slots, and the thickness of the tooth after each, m.

    Returns:
        Radii and heights, m, (batch, points); an antenna with fewer slots than another repeats its last corner.
    """
    width, depth, tooth = (one[:, None] for one in sizes)
    slot = np.arange(int(count.max()))
    own = slot < count[:, None]
    inner = begin[:, None] + np.where(own, slot, count[:, None]) * (width + tooth)
    outer, bottom = inner + np.where(own, width, 0.0), mouth[:, None] - np.where(own, depth, 0.0)
    face = mouth[:, None] + 0 * inner
    r = np.stack([inner, inner, outer, outer], axis=-1).reshape(len(begin), -1)
    z = np.stack([face, bottom, bottom, face], axis=-1).reshape(len(begin), -1)
    edge = begin + count * (width + tooth)[:, 0]
    return np.concatenate([r, edge[:, None]], axis=1), np.concatenate([z, mouth[:, None]], axis=1)


Section = Callable[[Designs], tuple[np.ndarray, tuple[Rim, ...]]]
"""Metal on the feed as one polygon (batch, corners, 2), and the edges of all metal."""


def scene_of(section: Section, designs: Designs) -> Scene:
    """Return the scene of a horn of one polygon."""
    metal, rims = section(designs)
    return polygon_scene(designs, [metal], [], rims)


def with_metal(scene: Scene, *bodies: np.ndarray, hidden: np.ndarray | float = 0.0) -> Scene:
    """Return a scene with more bodies of metal, which touch no other metal but within a radius.

    Args:
        scene: The batch.
        bodies: Sections, (batch, corners, 2), m.
        hidden: Radius, m, of each antenna, up to which corners stand on other metal, and are no edges.
    """
    rims = [rim for one in bodies for rim in rims_of(one)]
    free = [replace(rim, r=np.where(rim.r > hidden + _SAME_PLACE, rim.r, np.nan)) for rim in rims]
    return replace(
        scene,
        conductors=(*scene.conductors, *map(polygon, bodies)),
        rims=(*scene.rims, *free),
        same_metal=False,
    )


def outline_of(section: Section, design: Mapping[str, float]) -> Outline:
    """Return the section of one such horn, for exports."""
    return Outline(conductors=(feed_outline(design), distinct(section(stack([design]))[0][0])))


def distinct(corners: np.ndarray) -> np.ndarray:
    """Return a polygon (corners, 2) without its repeated corners."""
    return corners[(corners != np.roll(corners, 1, axis=0)).any(axis=1)]


def wall_part(design: Mapping[str, float], slope: float = 1.0) -> Part:
    """Return the wall of `horn.wall` as a thin place; see `Part`."""
    return Part(what="horn.wall", thickness=design["horn.wall"], slope=slope)


def feed_behind(designs: Designs) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return the feed from the aperture's inner edge to its outer one, as pieces for `joined`."""
    inner, outer, length = (designs[f"feed.{name}"] for name in ("inner_radius", "outer_radius", "length"))
    axis, back = np.zeros_like(inner), inner - outer - length
    return (inner, axis), (inner, -length), (axis, -length), (axis, back), (outer, back), (outer, axis)
