"""A lens of a core and any number of layers round it, on the feed.

The core is a cylinder of the lens's radius R under a cap. With n the index of the core (the eccentricity of an ellipse
whose far focus is the aperture's centre is 1 / n):

    shape                  height of the cylinder     height of the cap
    extended_hemisphere    lens.extension             R
    hyperhemisphere        R / n                      R
    ellipse                R / sqrt(n^2 - 1)          n R / sqrt(n^2 - 1)

Each layer is as thick everywhere, measured across its surface. A matching layer of a quarter of a wavelength and the
permittivity sqrt(eps) may close the lens. Neighbours share the corners of the surface between them.

References:
    Filipovic, Gearhart and Rebeiz, "Double-slot antennas on extended hemispherical and elliptical silicon dielectric
    lenses", IEEE Trans. Microw. Theory Tech. 41 (1993) 1738.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from antennaopt.families.family import LENS_BASE, Designs, Family, Outline, Solid, feed_outline, on_feed, spread, stack
from antennaopt.families.parameters import FEED, AtLeast, Parameter, Part, choice, entries, length, material
from antennaopt.families.profiles import distinct, joined
from fdtd.axisymmetric.scene import Dielectric, Scene
from fdtd.axisymmetric.scene import polygon as section

SHAPES = ("extended_hemisphere", "hyperhemisphere", "ellipse")
LEAST_OF_AN_ELLIPSE = 1.1
"""Permittivity of the core: the ellipse is 6 radii high there, and has no end at 1."""
_PIECES = 256  # chords of a cap: within 0.1 um of a lens of 20 mm


@dataclass(frozen=True, kw_only=True)
class _Shell:
    """The core, or the lens up to a layer's outer surface, of a batch; each (batch,)."""

    thickness: np.ndarray
    over_core: np.ndarray
    permittivity: np.ndarray
    loss_tangent: np.ndarray


def _shells(designs: Designs) -> list[_Shell]:
    """Return the core, the layers and the matching layer, from the inside; without one it has no thickness."""
    nothing = np.zeros(len(designs["lens.radius"]))
    found = [
        _Shell(
            thickness=nothing,
            over_core=nothing,
            permittivity=designs["lens.permittivity"],
            loss_tangent=designs.get("lens.loss_tangent", nothing),
        )
    ]
    names = list(entries(designs, "layers.thickness"))
    losses = spread(designs, "layers.loss_tangent", len(names))
    for place, name in enumerate(names):
        found.append(
            _Shell(
                thickness=designs[name],
                over_core=found[-1].over_core + designs[name],
                permittivity=designs[f"layers.permittivity.{place}"],
                loss_tangent=losses[place],
            )
        )
    if any((designs[f"matching.{name}"] > 0).any() for name in ("wavelength", "thickness")):
        given = designs["matching.permittivity"]
        permittivity = np.where(given > 0, given, np.sqrt(found[-1].permittivity))
        quarter = designs["matching.wavelength"] / (4 * np.sqrt(permittivity))
        thickness = np.where(designs["matching.thickness"] > 0, designs["matching.thickness"], quarter)
        found.append(
            _Shell(
                thickness=thickness,
                over_core=found[-1].over_core + thickness,
                permittivity=permittivity,
                loss_tangent=designs["matching.loss_tangent"],
            )
        )
    return found


def _core(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return the heights of the core's cylinder and cap, m, each (batch,)."""
    radius, extension = designs["lens.radius"], designs["lens.extension"]
    density = np.maximum(designs["lens.permittivity"], LEAST_OF_AN_ELLIPSE)
    foot, shape = radius / np.sqrt(density - 1), np.rint(designs["lens.shape"])
    cylinder = np.where(
        shape == 0, extension, np.where(shape == 1, radius / np.sqrt(designs["lens.permittivity"]), foot)
    )
    return cylinder, np.where(shape == 2, foot * np.sqrt(density), radius)


def _surface(designs: Designs, over_core: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the surface that is a distance away from the core's, from the base to the axis, each (batch, points)."""
    radius = designs["lens.radius"][:, None]
    cylinder, cap = (one[:, None] for one in _core(designs))
    t, away = np.linspace(0, np.pi / 2, _PIECES + 1), over_core[:, None]
    size = np.hypot(cap * np.cos(t), radius * np.sin(t))
    r = radius * np.cos(t) + away * cap * np.cos(t) / size
    z = cylinder + cap * np.sin(t) + away * radius * np.sin(t) / size
    r[:, -1] = 0.0
    return np.concatenate([radius + away, r], axis=1), np.concatenate([0 * away, z], axis=1)


def _sections(designs: Designs) -> list[np.ndarray]:
    """Return the core's section and those of the layers, (batch, corners, 2).

    Where an antenna of a batch has no matching layer, all corners of that section are one: it holds nothing.
    """
    shells = _shells(designs)
    surfaces = [_surface(designs, shell.over_core) for shell in shells]
    nothing = np.zeros_like(shells[0].over_core)
    found = [joined((nothing, nothing), surfaces[0])]
    for shell, (inner_r, inner_z), outer in zip(shells[1:], surfaces, surfaces[1:], strict=False):
        there = (shell.thickness > 0)[:, None, None]
        found.append(np.where(there, joined(outer, (inner_r[:, ::-1], inner_z[:, ::-1])), 0.0))
    return found


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that grow with each parameter: of the shapes up to the given one, the highest."""
    shape, away = np.rint(designs["lens.shape"]), _shells(designs)[-1].over_core
    height = np.zeros_like(away)
    for code in range(len(SHAPES)):
        cylinder, cap = _core({**designs, "lens.shape": np.full_like(away, code)})
        height = np.where(code <= shape, np.maximum(height, cylinder + cap), height)
    return np.maximum(designs["lens.radius"] + away, designs["feed.outer_radius"]), height + away


def _scene(designs: Designs) -> Scene:
    bodies = []
    for shell, corners in zip(reversed(_shells(designs)), reversed(_sections(designs)), strict=True):
        bodies.append(
            Dielectric(
                distance=section(corners),
                permittivity=shell.permittivity,
                loss_tangent=shell.loss_tangent,
                r_max=float(corners[..., 0].max()),
                z_min=0.0,
                z_max=float(corners[..., 1].max()),
            )
        )
    return on_feed(designs, *bodies)


def _outline(design: Mapping[str, float]) -> Outline:
    designs = stack([design])
    solids = []
    for shell, (corners,) in zip(reversed(_shells(designs)), reversed(_sections(designs)), strict=True):
        solids.append(
            Solid(
                corners=distinct(corners),
                permittivity=float(shell.permittivity[0]),
                loss_tangent=float(shell.loss_tangent[0]),
            )
        )
    return Outline(conductors=(feed_outline(design),), dielectrics=tuple(solids))


def _parts(design: Mapping[str, float]) -> Iterator[Part]:
    shells = _shells(stack([design]))
    for place, shell in enumerate(shells[1:]):
        layer = f"layers.thickness.{place}" in design
        what = f"the lens at layers.thickness.{place}" if layer else "the lens's matching layer"
        yield Part(what=what, thickness=float(shell.thickness[0]), metal=False)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    permittivity, given = design["lens.permittivity"], design["matching.permittivity"]
    if round(design["lens.shape"]) == SHAPES.index("ellipse") and permittivity < LEAST_OF_AN_ELLIPSE:
        yield (
            f"lens.permittivity = {permittivity:g} makes an ellipse that is too long (must be >= "
            f"{LEAST_OF_AN_ELLIPSE:g}); raise it or choose another lens.shape"
        )
    if 0 < given < 1:
        yield f"matching.permittivity = {given:g} is below 1 (must be >= 1, or 0 for that of the default); raise it"
    if given > 0 and not (design["matching.wavelength"] > 0 or design["matching.thickness"] > 0):
        yield (
            f"matching.permittivity = {given:g} belongs to a layer without a thickness; give matching.wavelength or "
            "matching.thickness"
        )


def _or_nothing(name: str, about: str, example: str, *, unit: str = "m", highest: float = 1000.0) -> Parameter:
    """Return a parameter of which 0, the default, stands for none."""
    unit_of = "m" if unit == "m" else ""
    return Parameter(name=name, about=about, example=example, unit=unit_of, default=0.0, highest=highest)


FAMILY = Family(
    name="shell_lens",
    title="A lens of a core and layers on the feed: extended hemisphere, hyperhemisphere or ellipse.",
    parameters=(
        *FEED,
        *material("lens"),
        choice("lens.shape", "Shape of the core.", *SHAPES),
        length("lens.radius", "Radius of the core.", example='"15 mm"'),
        _or_nothing("lens.extension", "Height of the cylinder of an extended hemisphere.", '"5 mm"'),
        Parameter(
            name="layers.permittivity", about="Relative permittivities of the layers, from the inside.",
            example="[1.9, 1.5]", kind="list", fewest=0, like="layers.thickness", lowest=1.0, highest=100.0,
        ),
        Parameter(
            name="layers.thickness", about="Thicknesses of the layers, from the inside.", example='["2 mm", "1 mm"]',
            unit="m", kind="list", fewest=0, highest=1000.0, above=True,
        ),
        Parameter(
            name="layers.loss_tangent", about="Loss tangent of the layers at the design frequency, or a list of them.",
            example="1e-3", default=0.0, highest=1.0, many=True, like="layers.thickness",
        ),
        _or_nothing("matching.wavelength", "Wavelength in free space that it matches; 0: no layer.", '"10 mm"'),
        _or_nothing(
            "matching.permittivity", "Of the matching layer; 0: the root of the permittivity under it.", "1.6",
            unit="", highest=100.0,
        ),
        _or_nothing("matching.thickness", "Of the matching layer; 0: a quarter of the wavelength in it.", '"2 mm"'),
        Parameter(
            name="matching.loss_tangent", about="Loss tangent of the matching layer at the design frequency.",
            example="1e-3", default=0.0, highest=1.0,
        ),
    ),
    scene=_scene,
    size=_size,
    outline=_outline,
    limits=(AtLeast(name="lens.radius", **LENS_BASE),),
    faults=_faults,
    parts=_parts,
)  # fmt: skip
