"""A paraboloid with an open waveguide in its focus.

The waveguide looks along +z at the dish in front of it, so the main beam leaves towards -z, past the tube. Its patterns
count theta from there: see `Family.looks_back`. With the focal length F = `focal_ratio` times the diameter and the
distance s of the mouth from the focus, the reflecting surface is

    z = F + s - r^2 / (4 F),     r <= diameter / 2

References:
    Balanis, Antenna Theory, 4th ed., section 15.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from antennaopt.families.family import Designs, Family, Outline, feed_outline, feed_rims, polygon_scene, stack
from antennaopt.families.parameters import FEED, Parameter, Part, length
from antennaopt.families.profiles import distinct, joined, rims_of
from fdtd.axisymmetric.scene import Scene

_PIECES = 512  # chords: of a dish 36 wavelengths wide within 1 / 10,000 of a wavelength


def _focal_length(designs: Designs) -> np.ndarray:
    return designs["reflector.diameter"] * designs["reflector.focal_ratio"]


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    thickness = designs["reflector.thickness"]
    radius = designs["reflector.diameter"] / 2 + thickness
    height = _focal_length(designs) + designs["reflector.defocus"] + thickness
    return np.maximum(radius, designs["feed.outer_radius"]), np.maximum(height, 0.0)


def _dish(designs: Designs) -> np.ndarray:
    """Return the section of the dish and its shroud, (batch, corners, 2), from the vertex to the rim and back."""
    focal, thickness = (one[:, None] for one in (_focal_length(designs), designs["reflector.thickness"]))
    edge = designs["reflector.diameter"] / 2
    r = edge[:, None] * np.linspace(0.0, 1.0, _PIECES + 1)
    z = focal + designs["reflector.defocus"][:, None] - r**2 / (4 * focal)
    slope = np.hypot(1.0, r / (2 * focal))
    back_r, back_z = r + thickness * r / (2 * focal) / slope, z + thickness / slope
    shroud = designs["reflector.shroud"]
    end, there = z[:, -1] - shroud, shroud > 0
    outer = np.where(there, edge + thickness[:, 0], back_r[:, -1])
    return joined(
        (r, z),
        (edge, end),
        (outer, np.where(there, end, back_z[:, -1])),
        (outer, back_z[:, -1]),
        (back_r[:, ::-1], back_z[:, ::-1]),
    )


def _scene(designs: Designs) -> Scene:
    dish = _dish(designs)
    return polygon_scene(designs, [dish], [], (*feed_rims(designs), *rims_of(dish)))


def _outline(design: Mapping[str, float]) -> Outline:
    return Outline(conductors=(feed_outline(design), distinct(_dish(stack([design]))[0])))


def _parts(design: Mapping[str, float]) -> tuple[Part]:
    return (Part(what="reflector.thickness", thickness=design["reflector.thickness"]),)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    diameter, defocus = design["reflector.diameter"], design["reflector.defocus"]
    focal, tube = diameter * design["reflector.focal_ratio"], 2 * design["feed.outer_radius"]
    if diameter < tube:
        yield (
            f"reflector.diameter = {diameter * 1e3:.4g} mm is smaller than the waveguide (must be >= {tube * 1e3:.4g} "
            "mm); enlarge it"
        )
    if focal + defocus <= 0:
        yield (
            f"reflector.defocus = {defocus * 1e3:.4g} mm puts the dish behind the waveguide's mouth (must be > "
            f"{-focal * 1e3:.4g} mm, the focal length); raise it"
        )
    end = focal + defocus - diameter**2 / (16 * focal) - design["reflector.shroud"]
    if end < -design["feed.length"]:
        yield (
            f"reflector.shroud = {design['reflector.shroud'] * 1e3:.4g} mm puts the dish's edge at z = "
            f"{end * 1e3:.4g} mm, behind the feed (must be >= {-design['feed.length'] * 1e3:.4g} mm); shorten it, "
            "raise reflector.focal_ratio or lengthen the feed"
        )


FAMILY = Family(
    name="reflector",
    title="A paraboloid with an open waveguide in its focus.",
    parameters=(
        *FEED,
        length("reflector.diameter", "Diameter of the reflecting surface.", example='"100 mm"'),
        Parameter(
            name="reflector.focal_ratio", about="Focal length over the diameter.", example="0.4", lowest=0.15,
            highest=5.0,
        ),
        length("reflector.thickness", "Thickness of the metal.", example='"1 mm"'),
        Parameter(
            name="reflector.defocus", about="From the focus to the waveguide's mouth, away from the dish.",
            example='"1 mm"', unit="m", default=0.0, lowest=-1000.0, highest=1000.0,
        ),
        Parameter(
            name="reflector.shroud", about="Length of a cylinder on the rim, towards the main beam; 0: none.",
            example='"10 mm"', unit="m", default=0.0, highest=1000.0,
        ),
    ),
    scene=_scene,
    size=_size,
    outline=_outline,
    faults=_faults,
    parts=_parts,
    looks_back=lambda _: True,
)  # fmt: skip
