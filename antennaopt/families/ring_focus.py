"""A ring-focus antenna: a feed, an ellipse turned about the axis in front of it, and a dish round the feed's tube.

The dish is a parabola whose focus is a ring of the sub-reflector's radius a. The sub-reflector is a part of an ellipse
with one focus in the feed and the other on the ring, and has a tip on the axis. The feed's ray along the axis leaves
for the dish's rim, the ray to the sub-reflector's edge for r = a of the dish: no ray is blocked by the sub-reflector,
and none comes back into the feed. With F the parabola's focal length, w = D / 2 - a, t the half angle of the edge from
the feed's focus,

    p = a (F / w - w / (4 F))                                     from the ring to the tip, along the axis
    h = [a / sin t + a / tan t - p - sqrt(a^2 + p^2)] / 2         from the feed's focus to the ring
    L = a / sin t + a / tan t - h                                 sum of the distances to both foci

The dish is z = V + (r - a)^2 / (4 F) from r = a on, and flat from the tube to there; V = ring - F. The back of the
sub-reflector is a plane over (L + h) / 2 = a / (2 tan(t / 2)) from the feed's focus, the highest place that the ellipse
and the ring may have. So the antenna's height is known without them, and with F / D >= 1 / 4 the rim is no higher than
the ring.

References:
    Granet, "A simple procedure for the design of classical displaced-axis dual-reflector antennas using a set of
    geometric parameters", IEEE Antennas Propag. Mag. 41 (1999) no. 6, 64. The formulas are derived from the above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from antennaopt.families import dishes
from antennaopt.families.family import Designs, Family, stack, unfilled
from antennaopt.families.parameters import Parameter, Part, length
from antennaopt.families.profiles import joined, with_metal
from antennaopt.families.shapes import Outline
from fdtd.axisymmetric.scene import Scene

_PARAMETERS = (
    dishes.FEED_WORD,
    dishes.DIAMETER,
    replace(dishes.FOCAL_RATIO, lowest=0.25, example="0.25"),
    dishes.THICKNESS,
    dishes.defocus("From the feed's focus to its mouth, away from the sub-reflector."),
    length("subreflector.diameter", "Diameter of the sub-reflector, and of the ring.", example='"24 mm"'),
    Parameter(
        name="subreflector.half_angle", about="Of its edge from the feed's focus, degrees.", example="30.0", lowest=5.0,
        highest=85.0, shrinks=True,
    ),
    length("subreflector.thickness", "Of the metal over the highest place of an ellipse.", example='"1 mm"'),
)  # fmt: skip


def _ring(designs: Designs) -> np.ndarray:
    """Return the radius of the ring, m."""
    return designs["subreflector.diameter"] / 2


def _ellipse(designs: Designs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the height of the ring over the feed's focus, the sum of the distances to both, m, and the half angle."""
    a, focal = _ring(designs), dishes.focal_length(designs)
    angle = np.radians(designs["subreflector.half_angle"])
    width = designs["reflector.diameter"] / 2 - a
    tip = a * (focal / width - width / (4 * focal))
    edge = a / np.sin(angle) + a / np.tan(angle)
    height = (edge - tip - np.hypot(a, tip)) / 2
    return height, edge - height, angle


def _focus(feed: Family, designs: Designs) -> np.ndarray:
    """Return the height of the feed's focus, m."""
    return dishes.mouth(feed, designs) + designs["reflector.defocus"]


def _highest(feed: Family, designs: Designs) -> np.ndarray:
    """Return the highest place that the ellipse and the ring may have, m."""
    return _focus(feed, designs) + _ring(designs) / np.tan(np.radians(designs["subreflector.half_angle"]) / 2) / 2


def _vertex(feed: Family, designs: Designs) -> np.ndarray:
    """Return the height of the dish's lowest ring, m."""
    return _focus(feed, designs) + _ellipse(designs)[0] - dishes.focal_length(designs)


def _dish(feed: Family, designs: Designs) -> np.ndarray:
    """Return the section of the dish, (batch, corners, 2), from the tube's outer wall; its edge is a cylinder."""
    focal, start = dishes.focal_length(designs)[:, None], designs["feed.outer_radius"][:, None]
    r = start + (designs["reflector.diameter"][:, None] / 2 - start) * np.linspace(0.0, 1.0, dishes.PIECES + 1)
    along = np.maximum(r - _ring(designs)[:, None], 0.0)
    z = _vertex(feed, designs)[:, None] + along**2 / (4 * focal)
    back = z - designs["reflector.thickness"][:, None] * np.hypot(1.0, along / (2 * focal))
    return joined((r, z), (r[:, ::-1], back[:, ::-1]))


def _subreflector(feed: Family, designs: Designs) -> np.ndarray:
    """Return the section of the sub-reflector, (batch, corners, 2), from its tip to its edge and to the axis."""
    a = _ring(designs)[:, None]
    height, total, angle = (one[:, None] for one in _ellipse(designs))
    theta = angle * np.linspace(0.0, 1.0, dishes.PIECES + 1)
    along = a * np.sin(theta) + height * np.cos(theta)
    ray = (total**2 - a**2 - height**2) / (2 * (total - along))
    r, z = ray * np.sin(theta), _focus(feed, designs)[:, None] + ray * np.cos(theta)
    r[:, -1] = a[:, 0]
    back = _highest(feed, designs) + designs["subreflector.thickness"]
    return joined((r, z), (a[:, 0], back), (np.zeros_like(back), back))


def _size(feed: Family, designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    radius, height = unfilled(feed.size)(designs)
    top = _highest(feed, designs) + designs["subreflector.thickness"]
    return np.maximum(designs["reflector.diameter"] / 2, radius), np.maximum(top, height)


def _bodies(feed: Family, designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    return _dish(feed, designs), _subreflector(feed, designs)


def _scene(feed: Family, designs: Designs) -> Scene:
    return with_metal(unfilled(feed.scene)(designs), *_bodies(feed, designs), hidden=designs["feed.outer_radius"])


def _outline(feed: Family, design: Mapping[str, float]) -> Outline:
    return dishes.outline_with(feed, design, _bodies(feed, stack([design])))


def _gap(feed: Family, design: Mapping[str, float]) -> float:
    """Return the distance between the feed and the sub-reflector along the axis, m."""
    designs = stack([design])
    return float(_subreflector(feed, designs)[0, :-2, 1].min() - feed.size(designs)[1][0])


def _parts(feed: Family, design: Mapping[str, float]) -> Iterator[Part]:
    return dishes.parts_with_subreflector(feed, design, _gap(feed, design))


def _faults(feed: Family, design: Mapping[str, float]) -> Iterator[str]:
    yield from feed.faults(design)
    sub, diameter = design["subreflector.diameter"], design["reflector.diameter"]
    if sub >= diameter:
        yield (
            f"subreflector.diameter = {sub * 1e3:.4g} mm covers the dish (must be < antenna.reflector.diameter = "
            f"{diameter * 1e3:.4g} mm); make it smaller"
        )
        return
    gap = _gap(feed, design)
    if gap <= 0:
        yield (
            f"subreflector.diameter = {sub * 1e3:.4g} mm puts the sub-reflector {-gap * 1e3:.4g} mm into the feed; "
            "enlarge it, or lower subreflector.half_angle, or raise reflector.defocus"
        )
    yield from dishes.dish_faults(feed, design, float(_vertex(feed, stack([design]))[0]), sub / 2)


FAMILY = dishes.fed_by_each(
    "ring_focus",
    "A dish whose focus is a ring, with a turned ellipse as sub-reflector in front of the feed.",
    _PARAMETERS,
    scene=_scene,
    size=_size,
    outline=_outline,
    faults=_faults,
    parts=_parts,
)
