"""A Cassegrain antenna: a feed, a hyperboloid in front of it, and a paraboloid round the feed's tube.

The hyperboloid sends the feed's wave back to the dish as if it came from the dish's focus; the beam leaves forwards,
past it. With D the dish's diameter, F its focal length, d the sub-reflector's diameter and M the magnification,

    tan(a / 2) = D / (4 F),   tan(b / 2) = D / (4 M F)       half angles of the sub-reflector from the two foci
    2 c = d (cot a + cot b) / 2                              distance of the foci
    e = (M + 1) / (M - 1)                                    eccentricity

The feed's focus is `defocus` in front of its mouth, the dish's focus 2 c further on. The sub-reflector's surface is
c (1 + 1 / e) away from the feed's focus on the axis.

References:
    Hannan, "Microwave antennas derived from the Cassegrain telescope", IRE Trans. Antennas Propag. 9 (1961) 140.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
    dishes.FOCAL_RATIO,
    dishes.THICKNESS,
    dishes.defocus("From the feed's focus to its mouth, away from the sub-reflector."),
    length("subreflector.diameter", "Diameter of the sub-reflector.", example='"14 mm"'),
    Parameter(
        name="subreflector.magnification", about="Focal length of both reflectors over that of the dish.",
        example="3.0", lowest=1.2, highest=20.0,
    ),
    length("subreflector.thickness", "Thickness of the metal at its edge; the back is flat.", example='"1 mm"'),
)  # fmt: skip


def _foci(feed: Family, designs: Designs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the height of the feed's focus, the distance from it to the dish's, m, and the eccentricity."""
    ratio, magnification = designs["reflector.focal_ratio"], designs["subreflector.magnification"]
    angles = (2 * np.arctan(1 / (4 * times * ratio)) for times in (1.0, magnification))
    apart = designs["subreflector.diameter"] / 2 * sum(1 / np.tan(one) for one in angles)
    focus = dishes.mouth(feed, designs) + designs["reflector.defocus"]
    return focus, apart, (magnification + 1) / (magnification - 1)


def _vertex(feed: Family, designs: Designs) -> np.ndarray:
    """Return the height of the dish's vertex, m."""
    focus, apart, _ = _foci(feed, designs)
    return focus + apart - dishes.focal_length(designs)


def _subreflector(feed: Family, designs: Designs) -> np.ndarray:
    """Return the section of the sub-reflector, (batch, corners, 2), from its vertex to its edge and to the axis."""
    focus, apart, eccentricity = _foci(feed, designs)
    centre, c, half = (one[:, None] for one in (focus + apart / 2, apart / 2, apart / (2 * eccentricity)))
    edge = designs["subreflector.diameter"] / 2
    r = edge[:, None] * np.linspace(0.0, 1.0, dishes.PIECES + 1)
    z = centre + half * np.sqrt(1 + r**2 / (c**2 - half**2))
    back = z[:, -1] + designs["subreflector.thickness"]
    return joined((r, z), (edge, back), (np.zeros_like(edge), back))


def _size(feed: Family, designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that grow with each parameter but the focal ratio; the dish's rim is highest where it is deep."""
    radius, height = unfilled(feed.size)(designs)
    focus, apart, _ = _foci(feed, designs)
    top = np.maximum(_subreflector(feed, designs)[:, -1, 1], dishes.rim(designs, focus + apart))
    return np.maximum(dishes.radius(designs), radius), np.maximum(top, height)


def _bodies(feed: Family, designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    return dishes.round_the_tube(designs, _vertex(feed, designs)), _subreflector(feed, designs)


def _scene(feed: Family, designs: Designs) -> Scene:
    return with_metal(unfilled(feed.scene)(designs), *_bodies(feed, designs), hidden=designs["feed.outer_radius"])


def _outline(feed: Family, design: Mapping[str, float]) -> Outline:
    return dishes.outline_with(feed, design, _bodies(feed, stack([design])))


def _gap(feed: Family, design: Mapping[str, float]) -> float:
    """Return the distance between the feed and the sub-reflector along the axis, m."""
    designs = stack([design])
    return float(_subreflector(feed, designs)[0, 0, 1] - feed.size(designs)[1][0])


def _parts(feed: Family, design: Mapping[str, float]) -> Iterator[Part]:
    return dishes.parts_with_subreflector(feed, design, _gap(feed, design))


def _faults(feed: Family, design: Mapping[str, float]) -> Iterator[str]:
    yield from feed.faults(design)
    sub, diameter, gap = design["subreflector.diameter"], design["reflector.diameter"], _gap(feed, design)
    if sub >= diameter:
        yield (
            f"subreflector.diameter = {sub * 1e3:.4g} mm covers the dish (must be < antenna.reflector.diameter = "
            f"{diameter * 1e3:.4g} mm); make it smaller"
        )
    if gap <= 0:
        yield (
            f"subreflector.diameter = {sub * 1e3:.4g} mm puts the sub-reflector {-gap * 1e3:.4g} mm into the feed; "
            "enlarge it, or raise subreflector.magnification or reflector.defocus"
        )
    yield from dishes.dish_faults(feed, design, float(_vertex(feed, stack([design]))[0]))


FAMILY = dishes.fed_by_each(
    "cassegrain",
    "A paraboloid with a hyperboloid as sub-reflector in front of the feed.",
    _PARAMETERS,
    scene=_scene,
    size=_size,
    outline=_outline,
    faults=_faults,
    parts=_parts,
)
