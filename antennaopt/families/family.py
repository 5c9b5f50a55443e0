"""Interface of every antenna family: description, common feed, and sections as polygons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from antennaopt.errors import ConfigurationError
from antennaopt.families.making import Making
from antennaopt.families.parameters import FILLING, AtLeast, Carries, Orders, Parameter, Part, entries
from antennaopt.families.shapes import Body, Outline, Solid
from antennaopt.families.spatial import Board, Spatial
from fdtd.axisymmetric.scene import Dielectric, LevelSet, Rim, Scene, box
from fdtd.axisymmetric.scene import polygon as section

Designs = Mapping[str, np.ndarray]
"""Design parameters of a batch by dotted name, SI, each (batch,)."""


def _no_parts(_: Mapping[str, float]) -> tuple[Part, ...]:
    return ()


def _forward(_: Mapping[str, float]) -> bool:
    return False


def _no_faults(_: Mapping[str, float]) -> tuple[str, ...]:
    return ()


def _no_section(_: Any) -> Any:
    """Stand for scene, size or outline of a family that is no body of revolution.

    Raises:
        ConfigurationError: Always.
    """
    raise ConfigurationError(
        "the antenna is no body of revolution and has no section r, z; use a form for boards: --stl, --dxf"
    )


@dataclass(frozen=True, kw_only=True)
class Family:
    """One antenna family: all that the rest of the program knows of it.

    Attributes:
        name: As written in antenna files.
        title: One line for people.
        parameters: What a file holds, in its order, which is the genome's.
        scene: Builds the batch's scene.
        size: Largest radius and height above z = 0 of each antenna, m, two arrays (batch,).
        outline: The section of one design as polygons, for export.
        spatial: What the family is in place of these three where it is no body of revolution.

    What fills the feed is added to scene, size and outline: a family's own know nothing of it.

        limits: What cannot be built: lengths that must reach another.
        carries: Bores in which a mode must propagate.
        faults: What else is wrong with one design: the entries with their values, what is allowed, and the remedy.
        parts: The thinnest places of one design, its feed aside.
        orders: Orders of convergence; None while none are known.
        long_step: Whether a search may take the long time step of `fdtd.axisymmetric.layout`: all metal is the feed,
            and the errors against finite elements stay (docs/decisions/0067).
        looks_back: Says of a design whether its main beam leaves towards -z. Its patterns are then those in a frame
            turned by 180 degrees about the x axis: theta counts from -z, and the E plane stays the E plane.
        draws: Returns the family of given bodies, where the file draws them; None where parameters say all.
        bodies: The file's bodies.
        making: Limits of making that the file sets; None where it sets none.
        varies_by: A choice that decides which parameters there are, `reflector.feed`; no gene. Empty without one.
        variants: The family of each of its words, which may vary by another choice; the first one's is this one.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    scene: Callable[[Designs], Scene] = _no_section
    size: Callable[[Designs], tuple[np.ndarray, np.ndarray]] = _no_section
    outline: Callable[[Mapping[str, float]], Outline] = _no_section
    spatial: Spatial | None = None
    limits: tuple[AtLeast, ...] = ()
    carries: tuple[Carries, ...] = ()
    faults: Callable[[Mapping[str, float]], Iterable[str]] = _no_faults
    parts: Callable[[Mapping[str, float]], Iterable[Part]] = _no_parts
    orders: Orders | None = None
    long_step: bool = False
    looks_back: Callable[[Mapping[str, float]], bool] = _forward
    draws: Callable[[tuple[Body, ...]], Family] | None = None
    bodies: tuple[Body, ...] = ()
    making: Making | None = None
    varies_by: str = ""
    variants: tuple[Family, ...] = ()

    def __post_init__(self) -> None:
        for name, made in (("scene", _filled_scene), ("size", _filled_size), ("outline", _filled_outline)):
            given = getattr(self, name)
            if getattr(given, "func", None) is not made:
                object.__setattr__(self, name, partial(made, given))

    @property
    def solver(self) -> str:
        """Name of the solver that solves the family's antennas: `axisymmetric`, or `yee` in three dimensions."""
        return "axisymmetric" if self.spatial is None else "yee"

    @property
    def _filling(self) -> tuple[Parameter, ...]:
        return FILLING if self.spatial is None else ()

    def board(self, design: Mapping[str, float]) -> Board | None:
        """Return a design as sheets, slabs and a port; None of a body of revolution."""
        return None if self.spatial is None else self.spatial.board(design)

    def of(self, design: Mapping[str, Any]) -> Family:
        """Return the family of a design: that of its words, where choices decide which parameters there are."""
        if not self.variants:
            return self
        found = self.variants[round(design.get(self.varies_by, 0.0))].of(design)
        return found if self.making is None else replace(found, making=self.making)

    @property
    def all_variants(self) -> tuple[Family, ...]:
        """The families of all words of all choices; the family itself where there are none."""
        return tuple(one for variant in self.variants for one in variant.all_variants) or (self,)

    @cached_property
    def tables(self) -> dict[str, tuple[Parameter, ...]]:
        """Parameters by the table of the file that holds them."""
        names = dict.fromkeys(parameter.table for parameter in self.parameters)
        every = (*self.parameters, *self._filling)
        return {name: tuple(one for one in every if one.table == name) for name in names}

    def parameter(self, name: str) -> Parameter:
        """Return the parameter that an entry of a design, `lens.radii.3`, belongs to."""
        return next(parameter for parameter in (*self.parameters, *self._filling) if parameter.holds(name))

    def refusal(self, designs: Designs) -> list[str | None]:
        """Return why each design cannot be built, or None."""
        broken: list[str | None] = [None] * len(next(iter(designs.values())))
        if self.faults is not _no_faults:
            each = ({name: float(values[at]) for name, values in designs.items()} for at in range(len(broken)))
            broken = [next(iter(self.faults(design)), None) for design in each]
        for limit in reversed(self.limits):
            entry = limit.entry(designs)
            place = entry.removeprefix(f"{limit.name}.")
            label = limit.name if entry == limit.name else f"{limit.name}[{place}]"
            for at, (value, least) in enumerate(zip(designs[entry], designs[limit.least], strict=True)):
                if value < least - 1e-12:
                    more = f": {limit.consequence}" if limit.consequence else ""
                    broken[at] = f"{label} = {_mm(value)} is smaller than {limit.least} = {_mm(least)}{more}"
        if self.making is not None:
            for at, fault in enumerate(broken):
                if fault is None:
                    design = {name: float(values[at]) for name, values in designs.items()}
                    broken[at] = self.making.fault(self.outline(design))
        return broken

    def densest(self, design: Mapping[str, float]) -> float:
        """Return the largest relative permittivity of a design, from which the cells are chosen; 1 without any."""
        return max([1.0, *(value for name, value in design.items() if is_permittivity(name))])

    def thin_parts(self, design: Mapping[str, float]) -> tuple[Part, ...]:
        """Return the thinnest places of a design, the feed's wall first."""
        what = "the feed's wall (feed.outer_radius less feed.inner_radius)"
        wall = Part(what=what, thickness=design["feed.outer_radius"] - design["feed.inner_radius"])
        return wall, *self.parts(design)


def filling(designs: Designs) -> np.ndarray:
    """Return the section of what fills the feed of each antenna, (batch, corners, 2), m: a rod, and a cone over z = 0.

    The rod reaches to the middle of the tube's wall, which takes its own part of the cells there. Air is no body: all
    corners are one then. Without a cone the last corner is repeated.
    """
    inner, outer, length = (designs[f"feed.{name}"] for name in ("inner_radius", "outer_radius", "length"))
    nothing, middle = np.zeros_like(inner), (inner + outer) / 2
    rod = [(nothing, -length), (middle, -length), (middle, nothing)]
    tip = designs.get("feed.plug", nothing)
    cone = [(np.where(tip > 0, inner, 0.0), nothing), (nothing, tip)] if tip.any() else [(nothing, nothing)]
    corners = np.stack([np.stack(corner, axis=-1) for corner in (*rod, *cone)], axis=1)
    return np.where((designs["feed.permittivity"] != 1.0)[:, None, None], corners, 0.0)


def unfilled(made: Callable) -> Callable:
    """Return a family's own scene, size or outline, without what fills the feed: for a family that is made of it."""
    return made.args[0]  # type: ignore[attr-defined]


def _is_filled(designs: Mapping[str, Any]) -> bool:
    return bool(np.any(designs.get("feed.permittivity", 1.0) != 1.0))


def _filled_scene(given: Callable[[Designs], Scene], designs: Designs) -> Scene:
    """Add what fills the feed; the family's own bodies replace it where they overlap."""
    scene = given(designs)
    if not _is_filled(designs):
        return scene
    corners = filling(designs)
    body = Dielectric(
        distance=section(corners),
        permittivity=designs["feed.permittivity"],
        loss_tangent=np.zeros(scene.batch),
        r_max=float(corners[..., 0].max()),
        z_min=float(corners[..., 1].min()),
        z_max=float(corners[..., 1].max()),
    )
    return replace(scene, dielectrics=(body, *scene.dielectrics), same_metal=False, embedded=True)


def _filled_size(
    given: Callable[[Designs], tuple[np.ndarray, np.ndarray]], designs: Designs
) -> tuple[np.ndarray, np.ndarray]:
    radius, height = given(designs)
    filled = designs.get("feed.permittivity", np.ones_like(height)) != 1.0
    return radius, np.where(filled, np.maximum(height, designs.get("feed.plug", 0.0)), height)


def _filled_outline(given: Callable[[Mapping[str, float]], Outline], design: Mapping[str, float]) -> Outline:
    outline = given(design)
    if not _is_filled(design):
        return outline
    corners = filling(stack([design]))[0]
    solid = Solid(corners=corners, permittivity=design["feed.permittivity"], fills_feed=True)
    return replace(outline, dielectrics=(solid, *outline.dielectrics))


def polygon_scene(
    designs: Designs, metal: Sequence[np.ndarray], solids: Sequence[tuple[np.ndarray, str]], rims: tuple[Rim, ...]
) -> Scene:
    """Return a scene of polygons and the feed.

    Args:
        designs: The batch.
        metal: Polygons (batch, corners, 2) or (1, corners, 2), m.
        solids: Polygons of dielectrics and the table of each one's material; later ones replace earlier ones.
        rims: Sharp edges of the metal, the feed's included.
    """
    nothing = np.zeros(len(designs["feed.length"]))
    return Scene(
        batch=len(nothing),
        dielectrics=tuple(
            Dielectric(
                distance=section(corners),
                permittivity=designs[f"{table}.permittivity"],
                loss_tangent=designs.get(f"{table}.loss_tangent", nothing),
                r_max=float(corners[..., 0].max()),
                z_min=float(corners[..., 1].min()),
                z_max=float(corners[..., 1].max()),
            )
            for corners, table in solids
        ),
        conductors=(*feed(designs), *map(section, metal)),
        rims=rims,
        embedded=bool(solids),
    )


def is_permittivity(name: str) -> bool:
    """Say whether an entry of a design is a permittivity, or one of a list of them."""
    return f"{name}.".find(".permittivity.") >= 0


def _mm(value: float) -> str:
    return f"{value * 1e3:.4g} mm"


def stack(designs: Sequence[Mapping[str, float]]) -> dict[str, np.ndarray]:
    """Return a batch of designs as one array a parameter."""
    return {name: np.array([design[name] for design in designs], dtype=float) for name in designs[0]}


def numbered(designs: Designs, prefix: str) -> np.ndarray:
    """Return the list parameter prefix.0, prefix.1, ... as (count, batch)."""
    return np.stack([designs[name] for name in entries(designs, prefix)])


def spread(designs: Designs, name: str, count: int) -> np.ndarray:
    """Return a parameter that is one value or a list of `count` as (count, batch)."""
    if name in designs:
        return np.repeat(np.asarray(designs[name], dtype=float)[None], count, axis=0)
    return numbered(designs, name)


def on_feed(designs: Designs, *bodies: Dielectric) -> Scene:
    """Return a scene of dielectric bodies on the feed, later ones in place of earlier ones."""
    return Scene(
        batch=len(designs["feed.length"]),
        dielectrics=bodies,
        conductors=feed(designs),
        rims=feed_rims(designs),
        same_metal=_same_feed(designs),
    )


def _same_feed(designs: Designs) -> bool:
    return all(bool((values == values[0]).all()) for name, values in designs.items() if name.startswith("feed."))


def dielectric(designs: Designs, table: str, distance: LevelSet, *, r_max: np.ndarray, z_max: np.ndarray) -> Dielectric:
    """Return a body over the plane z = 0 of the material that a table of parameters gives.

    Args:
        designs: The batch.
        table: `lens`; its loss tangent is 0 where none is given.
        distance: Level set of the body.
        r_max: Radius of a cylinder that holds it, m, of each antenna.
        z_max: Height of it.
    """
    permittivity = designs[f"{table}.permittivity"]
    return Dielectric(
        distance=distance,
        permittivity=permittivity,
        loss_tangent=designs.get(f"{table}.loss_tangent", np.zeros_like(permittivity)),
        r_max=float(r_max.max()),
        z_min=0.0,
        z_max=float(z_max.max()),
    )


def feed(designs: Designs) -> tuple[LevelSet, LevelSet]:
    """Return the feed's conductors: a tube from z = -length to z = 0, closed by a back wall as thick as the tube."""
    inner, outer, length = (designs[f"feed.{name}"] for name in ("inner_radius", "outer_radius", "length"))
    nothing = np.zeros_like(inner)
    thickness = outer - inner
    axis = np.full_like(inner, -np.inf)  # the wall crosses the axis: no edge there
    tube = box(inner, outer, -length - thickness, nothing)
    wall = box(axis, outer, -length - thickness, -length)
    return tube, wall


def feed_rims(designs: Designs) -> tuple[Rim, Rim, Rim]:
    """Return the feed's sharp edges: the aperture's inner and outer one, and the back wall's."""
    inner, outer = designs["feed.inner_radius"], designs["feed.outer_radius"]
    nothing = np.zeros_like(inner)
    return right_angle(inner, nothing, 0.0), right_angle(outer, nothing, -0.5), back_rim(designs)


def back_rim(designs: Designs) -> Rim:
    """Return the outer edge of the feed's back wall."""
    inner, outer, length = (designs[f"feed.{name}"] for name in ("inner_radius", "outer_radius", "length"))
    return right_angle(outer, inner - outer - length, -1.0)


def right_angle(r: np.ndarray, z: np.ndarray, wall: float) -> Rim:
    """Return a rim of 90 degrees at (r, z); one of its walls runs in the direction `wall`, in pi from +r to +z."""
    ones = np.ones_like(r)
    return Rim(r=r, z=z, wall=wall * np.pi * ones, opening=1.5 * np.pi * ones)


LENS_BASE = {
    "least": "feed.outer_radius",
    "problem": "makes the lens base smaller than the waveguide's outer wall",
    "consequence": "the lens cannot stand on it",
}
"""Of `AtLeast`: a lens must cover the rim of the feed that it stands on."""
