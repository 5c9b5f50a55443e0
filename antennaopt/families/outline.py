"""Any body of revolution, given by the polygons of its section in the file.

The polygons are fixed; permittivities and loss tangents may be ranges. Later bodies replace earlier ones where they
overlap, and metal wins over dielectric. Free edges of metal are found from the union of all of its polygons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from antennaopt.families.family import Designs, Family, polygon_scene
from antennaopt.families.parameters import DIELECTRIC_ORDERS, FEED, Part, choice, material
from antennaopt.families.sections import Corner, free_corners, thinnest
from antennaopt.families.shapes import Body, Outline, Solid, feed_outline
from fdtd.axisymmetric.scene import Rim, Scene

BEAM = choice("beam.direction", "Where the main beam leaves: theta counts from there.", "forward", "backward")
"""Towards +z or -z; see `Family.looks_back`."""


def _looks_back(design: Mapping[str, float]) -> bool:
    return round(design.get(BEAM.name, 0.0)) == 1


def _corners(body: Body) -> np.ndarray:
    return np.array(body.points)


def _metal(bodies: tuple[Body, ...]) -> tuple[np.ndarray, ...]:
    return tuple(_corners(body) for body in bodies if body.metal)


def _solids(bodies: tuple[Body, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the table of each dielectric's material, and its section."""
    return ((f"body.{place}", _corners(body)) for place, body in enumerate(bodies) if not body.metal)


def _size(bodies: tuple[Body, ...], designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    points = np.concatenate([_corners(body) for body in bodies])
    radius, height = points.max(axis=0)
    return np.maximum(radius, designs["feed.outer_radius"]), np.full_like(designs["feed.length"], max(height, 0.0))


@lru_cache(maxsize=64)
def _free(bodies: tuple[Body, ...], inner: float, outer: float, length: float) -> tuple[Corner, ...]:
    """Return the free corners of the metal, the feed's included."""
    tube = feed_outline({"feed.inner_radius": inner, "feed.outer_radius": outer, "feed.length": length})
    return tuple(free_corners([tube, *_metal(bodies)]))


def _rims(bodies: tuple[Body, ...], designs: Designs) -> tuple[Rim, ...]:
    """Return the free corners of every antenna; where one has fewer than another, NaN."""
    feeds = zip(*(designs[f"feed.{name}"].tolist() for name in ("inner_radius", "outer_radius", "length")), strict=True)
    each = [_free(bodies, *one) for one in feeds]
    most = max(len(corners) for corners in each)
    table = np.full((4, most, len(each)), np.nan)
    for antenna, corners in enumerate(each):
        for place, corner in enumerate(corners):
            table[:, place, antenna] = corner.r, corner.z, corner.wall, corner.opening
    return tuple(
        Rim(r=table[0, place], z=table[1, place], wall=table[2, place], opening=table[3, place])
        for place in range(most)
    )


def _scene(bodies: tuple[Body, ...], designs: Designs) -> Scene:
    metal = [corners[None] for corners in _metal(bodies)]
    solids = [(corners[None], table) for table, corners in _solids(bodies)]
    return polygon_scene(designs, metal, solids, _rims(bodies, designs))


def _outline(bodies: tuple[Body, ...], design: Mapping[str, float]) -> Outline:
    return Outline(
        conductors=(feed_outline(design), *_metal(bodies)),
        dielectrics=tuple(Solid.of(design, table, corners) for table, corners in _solids(bodies)),
    )


@lru_cache(maxsize=32)
def _thin(bodies: tuple[Body, ...]) -> tuple[Part, ...]:
    """Return the thinnest place of each body, and the narrowest gap between walls of metal."""
    found = []
    metal = _metal(bodies)
    for place, body in enumerate(bodies):
        thickness, (r, z) = thinnest(_corners(body))
        if np.isfinite(thickness):
            what = f"antenna.body.{place} at r = {r * 1e3:.4g} mm, z = {z * 1e3:.4g} mm"
            found.append(Part(what=what, thickness=thickness, metal=body.metal))
    for place, polygon in enumerate(metal):
        others = [one for at, one in enumerate(metal) if at != place]
        width, (r, z) = thinnest(polygon, others, outwards=True)
        if np.isfinite(width):
            what = f"the gap between metal walls at r = {r * 1e3:.4g} mm, z = {z * 1e3:.4g} mm"
            found.append(Part(what=what, thickness=width, metal=False))
    return tuple(found)


def outlined(family: Family, design: Mapping[str, float]) -> tuple[tuple[Body, ...], dict[str, float]]:
    """Return the bodies of an antenna of any family, and its design in the family `outline`.

    Args:
        family: With its bodies where the file draws them.
        design: Every parameter, SI, by dotted name.
    """
    section = family.outline(design)
    own = {name: value for name, value in design.items() if name.startswith("feed.")}
    own[BEAM.name] = float(family.looks_back(design))
    drawn = [Body(points=_points(corners), metal=True) for corners in section.conductors[1:]]
    for solid in section.dielectrics:
        if solid.fills_feed:
            continue
        own[f"body.{len(drawn)}.permittivity"] = solid.permittivity
        own[f"body.{len(drawn)}.loss_tangent"] = solid.loss_tangent
        drawn.append(Body(points=_points(solid.corners), metal=False))
    return tuple(drawn), own


def _points(corners: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return corners in SI, rounded to a picometre: in millimetres they stay short."""
    return tuple((round(float(r), 12), round(float(z), 12)) for r, z in corners)


@lru_cache(maxsize=32)
def _drawn(bodies: tuple[Body, ...]) -> Family:
    """Return the family of antennas with these bodies."""
    tables = (f"body.{place}" for place, body in enumerate(bodies) if not body.metal)
    return replace(
        FAMILY,
        parameters=(*FEED, BEAM, *(parameter for table in tables for parameter in material(table))),
        scene=partial(_scene, bodies),
        size=partial(_size, bodies),
        outline=partial(_outline, bodies),
        parts=lambda _: _thin(bodies),
        bodies=bodies,
    )


def _undrawn(*_: object) -> Any:
    raise ValueError("the family outline has no bodies; bind them with `kind`")


FAMILY = Family(
    name="outline",
    title="Any body of revolution: polygons of metal and dielectric on the feed.",
    parameters=(*FEED, BEAM),
    scene=_undrawn,
    size=_undrawn,
    outline=_undrawn,
    draws=_drawn,
    looks_back=_looks_back,
    orders=DIELECTRIC_ORDERS,  # of metal alone: METAL_ORDERS
)
