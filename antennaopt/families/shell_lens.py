"""A lens with a core and any number of layers around it, on the feed.

The core is a cylinder of the lens's radius R under a cap. With n the index of the core (the eccentricity of an ellipse
whose far focus is the aperture's centre is 1 / n):

    shape                  height of the cylinder     height of the cap
    extended_hemisphere    lens.extension             R
    hyperhemisphere        R / n                      R
    ellipse                R / sqrt(n^2 - 1)          n R / sqrt(n^2 - 1)

Each layer is as thick everywhere, measured across its surface; or its outer surface has given distances from the
aperture's centre at equally spaced polar angles, joined as those of a `shaped_lens`. A matching layer of a quarter of a
wavelength and the permittivity sqrt(eps) may close the lens. Neighbours share the corners of the surface between them.

References:
    Filipovic, Gearhart and Rebeiz, "Double-slot antennas on extended hemispherical and elliptical silicon dielectric
    lenses", IEEE Trans. Microw. Theory Tech. 41 (1993) 1738.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from antennaopt.families.family import LENS_BASE, Designs, Family, on_feed, spread, stack
from antennaopt.families.parameters import (
    FEED,
    FITTED_TO_OUTLINES,
    AtLeast,
    Orders,
    Parameter,
    Part,
    choice,
    entries,
    length,
    material,
)
from antennaopt.families.profiles import distinct, joined
from antennaopt.families.shapes import Outline, Solid, feed_outline
from fdtd.axisymmetric.scene import Dielectric, Scene
from fdtd.axisymmetric.scene import polygon as section

SHAPES = ("extended_hemisphere", "hyperhemisphere", "ellipse")
LEAST_OF_AN_ELLIPSE = 1.1
"""Permittivity of the core: the ellipse is 6 radii high there, and has no end at 1."""
_PIECES = 256  # chords of a cap: within 0.1 um of a lens of 20 mm
_FINE = 512  # chords of a surface given by radii


@dataclass(frozen=True, kw_only=True)
class _Shell:
    """The core, or the lens up to a layer's outer surface, of a batch; each (batch,)."""

    thickness: np.ndarray
    permittivity: np.ndarray
    loss_tangent: np.ndarray
    radii: np.ndarray | None = None  # (angles, batch), m, of a surface given by distances; its thickness is infinite


def _given(design: Mapping[str, object], place: int) -> list[str]:
    """Return the entries of a layer's thickness: one, or a list of radii; none where there is no such layer."""
    name = f"layers.thickness.{place}"
    return [name] if name in design else list(entries(design, name))


def _layers(design: Mapping[str, object]) -> Iterator[list[str]]:
    """Yield the entries of each layer's thickness, from the inside."""
    place = 0
    while given := _given(design, place):
        yield given
        place += 1


def _shells(designs: Designs) -> list[_Shell]:
    """Return the core, the layers and the matching layer, from the inside; without one it has no thickness."""
    nothing = np.zeros(len(designs["lens.radius"]))
    found = [
        _Shell(
            thickness=nothing,
            permittivity=designs["lens.permittivity"],
            loss_tangent=designs.get("lens.loss_tangent", nothing),
        )
    ]
    layers = list(_layers(designs))
    losses = spread(designs, "layers.loss_tangent", len(layers))
    for place, given in enumerate(layers):
        single = len(given) == 1
        found.append(
            _Shell(
                thickness=designs[given[0]] if single else nothing + np.inf,
                permittivity=designs[f"layers.permittivity.{place}"],
                loss_tangent=losses[place],
                radii=None if single else np.stack([designs[one] for one in given]),
            )
        )
    if any((designs[f"matching.{name}"] > 0).any() for name in ("wavelength", "thickness")):
        given = designs["matching.permittivity"]
        permittivity = np.where(given > 0, given, np.sqrt(found[-1].permittivity))
        quarter = designs["matching.wavelength"] / (4 * np.sqrt(permittivity))
        found.append(
            _Shell(
                thickness=np.where(designs["matching.thickness"] > 0, designs["matching.thickness"], quarter),
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


_ANGLES = np.linspace(np.pi / 2, 0.0, _FINE + 1)


def _profile(radii: np.ndarray) -> np.ndarray:
    """Return distances from the aperture's centre at `_ANGLES`, m, (batch, points), through given ones."""
    from scipy.interpolate import PchipInterpolator

    theta = np.linspace(0.0, np.pi / 2, len(radii))
    mirrored = np.concatenate([radii[:0:-1], radii])
    curve = PchipInterpolator(np.concatenate([-theta[:0:-1], theta]), mirrored, axis=0)
    return np.ascontiguousarray(curve(_ANGLES).T)


def _further(distance: np.ndarray, away: np.ndarray) -> np.ndarray:
    """Return the distances, m, of a surface that is a length away from one: where balls round its points end.

    Between points 0.05 mm apart, balls of 1 mm leave notches of 0.3 um.
    """
    found, points, thick = distance + 0.0, distance.shape[1], away[:, None]
    for shift in range(points):
        turn, near = shift * abs(_ANGLES[1] - _ANGLES[0]), False
        for way in (shift, -shift) if shift else (0,):
            at, of = slice(max(-way, 0), points - max(way, 0)), slice(max(way, 0), points - max(-way, 0))
            inside = thick**2 - (distance[:, of] * np.sin(turn)) ** 2
            near |= bool((inside >= 0).any())
            ball = np.where(inside >= 0, distance[:, of] * np.cos(turn) + np.sqrt(np.maximum(inside, 0.0)), 0.0)
            found[:, at] = np.maximum(found[:, at], ball)
        if not near:
            break
    return found


def _surfaces(designs: Designs, shells: Sequence[_Shell]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the outer surface of each shell, from the base to the axis."""
    found, away, under = [], np.zeros_like(designs["lens.radius"]), None
    for shell in shells:
        if shell.radii is None:
            away = away + shell.thickness
        else:
            away, under = np.zeros_like(away), _profile(shell.radii)
        if under is None:
            found.append(_surface(designs, away))
        else:
            distance = under if shell.radii is not None else _further(under, away)
            r, z = distance * np.sin(_ANGLES), distance * np.cos(_ANGLES)
            z[:, 0] = 0.0
            found.append((r, z))
    return found


def _sections(designs: Designs) -> list[np.ndarray]:
    """Return the core's section and those of the layers, (batch, corners, 2).

    Where an antenna of a batch has no matching layer, all corners of that section are one: it holds nothing.
    """
    shells = _shells(designs)
    surfaces = _surfaces(designs, shells)
    nothing = np.zeros_like(designs["lens.radius"])
    found = [joined((nothing, nothing), surfaces[0])]
    for shell, (inner_r, inner_z), outer in zip(shells[1:], surfaces, surfaces[1:], strict=False):
        there = (shell.thickness > 0)[:, None, None]
        found.append(np.where(there, joined(outer, (inner_r[:, ::-1], inner_z[:, ::-1])), 0.0))
    return found


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that grow with each parameter: of the shapes up to the given one, the highest."""
    shape, radius, height = (
        np.rint(designs["lens.shape"]),
        designs["lens.radius"],
        np.zeros_like(designs["lens.radius"]),
    )
    for code in range(len(SHAPES)):
        cylinder, cap = _core({**designs, "lens.shape": np.full_like(height, code)})
        height = np.where(code <= shape, np.maximum(height, cylinder + cap), height)
    for shell in _shells(designs):
        if shell.radii is None:
            radius, height = radius + shell.thickness, height + shell.thickness
        else:
            distance = _profile(shell.radii)
            radius = np.maximum(radius, (distance * np.sin(_ANGLES)).max(axis=1))
            height = np.maximum(height, (distance * np.cos(_ANGLES)).max(axis=1))
    return np.maximum(radius, designs["feed.outer_radius"]), height


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


def _thinnest(design: Mapping[str, float], place: int) -> tuple[float, float]:
    """Return the least that a shell with a list of radii adds to what it covers, m, and at what angle, degrees."""
    designs = stack([design])
    surfaces = _surfaces(designs, _shells(designs))
    (inner_r, inner_z), (outer_r, outer_z) = surfaces[place - 1], surfaces[place]
    angles = np.arctan2(inner_r[0], inner_z[0])[::-1]
    under = np.interp(_ANGLES, angles, np.hypot(inner_r[0], inner_z[0])[::-1])
    over = np.hypot(outer_r[0], outer_z[0]) - under
    least = int(over.argmin())
    return float(over[least]), float(np.degrees(_ANGLES[least]))


def _parts(design: Mapping[str, float]) -> Iterator[Part]:
    shells, layers = _shells(stack([design])), len(list(_layers(design)))
    for place, shell in enumerate(shells[1:]):
        what = f"the lens at layers.thickness.{place}" if place < layers else "the lens's matching layer"
        thickness = float(shell.thickness[0]) if shell.radii is None else _thinnest(design, place + 1)[0]
        yield Part(what=what, thickness=thickness, metal=False)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    permittivity, given = design["lens.permittivity"], design["matching.permittivity"]
    for place, radii in enumerate(_layers(design)):
        if len(radii) > 1 and (least := _thinnest(design, place + 1))[0] <= 0:
            yield (
                f"layers.thickness.{place}: its surface ends {-least[0] * 1e3:.4g} mm inside what the layer covers, at "
                f"{least[1]:.3g} degrees from the axis; enlarge its radii there"
            )
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
            name="layers.thickness", about="Thicknesses of the layers from the inside, or lists of their radii.",
            example='["2 mm", "1 mm"]', unit="m", kind="list", fewest=0, nested=True, highest=1000.0, above=True,
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
    orders=Orders(s11=1.92, pattern=1.98, efficiency=1.98, source=FITTED_TO_OUTLINES),
)  # fmt: skip
