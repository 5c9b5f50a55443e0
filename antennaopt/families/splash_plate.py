"""A splash-plate antenna: an open waveguide, a plate in front of its mouth, and a paraboloid round the tube.

The plate sends the wave back to the dish, whose beam leaves forwards past it. A cone on the plate's face points at the
guide and turns the wave outwards; a cylinder of dielectric between mouth and plate may hold it. The dish's focus is
`defocus` in front of the plate's face: with the plate's distance s, its vertex is at z = s + defocus - F.

References:
    Kildal, "The hat feed: a dual-mode rear-radiating waveguide antenna having low cross polarization", IEEE Trans.
    Antennas Propag. 35 (1987) 1010 (this feed and its relatives, the splash plate among them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from antennaopt.families import dishes
from antennaopt.families.family import Designs, Family, feed_rims, polygon_scene, stack
from antennaopt.families.parameters import FEED, Parameter, Part, length
from antennaopt.families.profiles import distinct, joined, with_metal
from antennaopt.families.shapes import Outline, Solid
from fdtd.axisymmetric.scene import Scene

_TUBE = dishes.FEEDS[0]


def _vertex(designs: Designs) -> np.ndarray:
    """Return the height of the dish's vertex, m."""
    return designs["plate.distance"] + designs["reflector.defocus"] - dishes.focal_length(designs)


def _plate(designs: Designs) -> np.ndarray:
    """Return the section of the plate with its cone, (batch, corners, 2)."""
    face, edge = designs["plate.distance"], designs["plate.diameter"] / 2
    nothing, back = np.zeros_like(face), face + designs["plate.thickness"]
    tip, foot = face - designs["plate.cone_height"], designs["plate.cone_radius"]
    return joined((nothing, tip), (foot, face), (edge, face), (edge, back), (nothing, back))


def _holder(designs: Designs) -> np.ndarray:
    """Return the section of the dielectric between mouth and plate, (batch, corners, 2)."""
    face, given = designs["plate.distance"], designs["plate.support_radius"]
    radius, nothing = np.where(given > 0, given, designs["feed.outer_radius"]), np.zeros_like(face)
    return joined((nothing, nothing), (radius, nothing), (radius, face), (nothing, face))


def _is_held(design: Mapping[str, object]) -> bool:
    return "plate.permittivity" in design


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that grow with each parameter but the focal ratio."""
    radius = np.maximum(dishes.radius(designs), designs["plate.diameter"] / 2)
    top = designs["plate.distance"] + designs["plate.thickness"]
    focus = designs["plate.distance"] + designs["reflector.defocus"]
    return np.maximum(radius, designs["feed.outer_radius"]), np.maximum(
        np.maximum(top, focus), dishes.rim(designs, focus)
    )


def _bodies(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    return dishes.round_the_tube(designs, _vertex(designs)), _plate(designs)


def _scene(designs: Designs) -> Scene:
    holders = [(_holder(designs), "plate")] if _is_held(designs) else []
    tube = polygon_scene(designs, [], holders, feed_rims(designs))
    return with_metal(tube, *_bodies(designs), hidden=designs["feed.outer_radius"])


def _outline(design: Mapping[str, float]) -> Outline:
    designs = stack([design])
    holders = (Solid.of(design, "plate", distinct(_holder(designs)[0])),) if _is_held(design) else ()
    bodies = (distinct(one[0]) for one in _bodies(designs))
    return Outline(
        conductors=(*_TUBE.outline(design).conductors, *bodies),
        dielectrics=holders,
        aperture=design["reflector.diameter"],
    )


def _parts(design: Mapping[str, float]) -> Iterator[Part]:
    for name in ("reflector.thickness", "plate.thickness"):
        yield Part(what=name, thickness=design[name])
    gap = design["plate.distance"] - design["plate.cone_height"]
    yield Part(what="the gap from the mouth to the plate", thickness=gap, metal=False)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    edge, face = design["plate.diameter"] / 2, design["plate.distance"]
    cone, foot, tube = design["plate.cone_height"], design["plate.cone_radius"], design["feed.outer_radius"]
    if (cone > 0) != (foot > 0):
        yield (
            f"plate.cone_height = {cone * 1e3:.4g} mm and plate.cone_radius = {foot * 1e3:.4g} mm: no cone (both must "
            "be > 0, or 0 for none); give the other or leave both out"
        )
    if cone >= face:
        yield (
            f"plate.cone_height = {cone * 1e3:.4g} mm brings the cone's tip into the guide (must be < "
            f"antenna.plate.distance = {face * 1e3:.4g} mm); shorten it or raise the distance"
        )
    if max(foot, tube) > edge:
        what = "its cone" if foot > tube else "the tube"
        yield (
            f"plate.diameter = {edge * 2e3:.4g} mm is smaller than {what} (must be >= {max(foot, tube) * 2e3:.4g} mm); "
            "enlarge it"
        )
    held = design["plate.support_radius"]
    if _is_held(design) and not design["feed.inner_radius"] <= (held or tube) <= edge:
        yield (
            f"plate.support_radius = {held * 1e3:.4g} mm does not reach from the tube to the plate (must be "
            f"{design['feed.inner_radius'] * 1e3:.4g} to {edge * 1e3:.4g} mm); correct it"
        )
    yield from _unused(design)
    plug = design.get("feed.plug", 0.0)
    if design.get("feed.permittivity", 1.0) != 1.0 and plug > face:
        yield (
            f"feed.plug = {plug * 1e3:.4g} mm reaches through the plate (must be <= antenna.plate.distance = "
            f"{face * 1e3:.4g} mm); shorten it or raise the distance"
        )
    if 2 * edge >= design["reflector.diameter"]:
        yield (
            f"plate.diameter = {edge * 2e3:.4g} mm covers the dish (must be < antenna.reflector.diameter = "
            f"{design['reflector.diameter'] * 1e3:.4g} mm); make it smaller"
        )
    yield from dishes.dish_faults(_TUBE, design, float(_vertex(stack([design]))[0]))


def _unused(design: Mapping[str, float]) -> Iterator[str]:
    """Yield what is given of a cylinder between mouth and plate that is not there."""
    for name, unit, scale in (("plate.loss_tangent", "", 1.0), ("plate.support_radius", " mm", 1e3)):
        if design[name] > 0 and not _is_held(design):
            value = f"{design[name] * scale:.4g}{unit}"
            yield f"{name} = {value} belongs to no cylinder; give plate.permittivity, or remove it"


def _or_nothing(name: str, about: str) -> Parameter:
    """Return a length of which 0, the default, stands for none."""
    return Parameter(name=name, about=about, example='"2 mm"', unit="m", default=0.0, highest=1000.0)


FAMILY = Family(
    name="splash_plate",
    title="A paraboloid round an open waveguide with a plate in front of its mouth.",
    parameters=(
        *FEED,
        dishes.DIAMETER,
        dishes.FOCAL_RATIO,
        dishes.THICKNESS,
        dishes.defocus("From the plate's face to the dish's focus, away from the mouth."),
        length("plate.diameter", "Diameter of the plate.", example='"20 mm"'),
        length("plate.distance", "From the waveguide's mouth to the plate's face.", example='"6 mm"'),
        length("plate.thickness", "Thickness of the metal.", example='"1 mm"'),
        _or_nothing("plate.cone_height", "Height of a cone on the plate's face; 0: none."),
        _or_nothing("plate.cone_radius", "Radius of that cone on the plate."),
        Parameter(
            name="plate.permittivity", about="Of a cylinder between mouth and plate; without it there is none.",
            example="2.1", default=1.0, lowest=1.0, highest=100.0, left_out=True,
        ),
        Parameter(
            name="plate.loss_tangent", about="Of that cylinder, at the design frequency.", example="1e-3", default=0.0,
            highest=1.0,
        ),
        replace(
            _or_nothing("plate.support_radius", "Radius of that cylinder; 0: that of the tube."), example='"5 mm"'
        ),
    ),
    scene=_scene,
    size=_size,
    outline=_outline,
    faults=_faults,
    parts=_parts,
)  # fmt: skip
