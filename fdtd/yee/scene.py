"""A scene: dielectric and metal blocks, metal sheets and tubes, a port. Lengths in m."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.constants import speed_of_light

from fdtd.errors import ConfigError
from fdtd.yee.grid import FACES, Grid

Interval = tuple[float, float]
_FAR = 1e6  # m, in place of infinity


def _check_interval(name: str, interval: Interval, *, empty: bool = False) -> None:
    low, high = interval
    if math.isnan(low) or math.isnan(high) or high < low or (high == low and not empty):
        raise ConfigError(f"{name} = ({low:g}, {high:g}) m is empty (needs low < high)")


@dataclass(frozen=True, kw_only=True)
class Dielectric:
    """A medium.

    Attributes:
        permittivity: Relative, at least 1.
        conductivity: S/m. A loss tangent t at the frequency f is 2 pi f eps0 permittivity t.
    """

    permittivity: float
    conductivity: float = 0.0

    def __post_init__(self) -> None:
        if not self.permittivity >= 1:
            raise ConfigError(f"permittivity = {self.permittivity} is not allowed (needs >= 1)")
        if not self.conductivity >= 0:
            raise ConfigError(f"conductivity = {self.conductivity} S/m is not allowed (needs >= 0)")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A box of one medium; of blocks that overlap the later one counts.

    Attributes:
        x: Lower and upper face, m; infinite ends reach through the lattice. Metal may have no thickness.
        y: The same along y.
        z: The same along z.
        material: None is perfect metal.
        lines: Whether `layout` puts lines on its faces along x and y, where there is room; media are averaged anyway.
            Parts of a round body have none.
    """

    x: Interval
    y: Interval
    z: Interval
    material: Dielectric | None = None
    lines: bool = True

    def __post_init__(self) -> None:
        for name in "xyz":
            _check_interval(f"block.{name}", getattr(self, name), empty=self.material is None)


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A rectangle of perfect metal without thickness.

    Attributes:
        z: Its plane, m; a plane of the lattice.
        x: Lower and upper edge, m; infinite ends reach through the lattice.
        y: The same along y.
    """

    z: float
    x: Interval
    y: Interval

    def __post_init__(self) -> None:
        for name in "xy":
            _check_interval(f"sheet.{name}", getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Tube:
    """A tube of perfect metal about the z axis with a rectangular section, open at both ends: a guide, a horn.

    Its walls run straight from each section to the next. On a lattice they are staircases of the faces between cells,
    see `fdtd.yee.media`. A tube comes through the lattice's face z- where it ends beyond it.

    Attributes:
        z: Places of the sections, m, increasing, (sections,); the first may be minus infinity.
        x: Half the inside width along x in each, m, (sections,).
        y: The same along y.
        wall: Thickness of the walls along x and y, m; 0 for sheets.
    """

    z: tuple[float, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    wall: float = 0.0

    def __post_init__(self) -> None:
        if not len(self.z) == len(self.x) == len(self.y) >= 2:
            raise ConfigError(
                f"tube has {len(self.z)} places z, {len(self.x)} x and {len(self.y)} y (needs as many, at least 2)"
            )
        if not all(low < high for low, high in pairwise(self.z)):
            raise ConfigError(f"tube.z = {self.z} m does not increase; sort the sections")
        for name in "xy":
            if not min(getattr(self, name)) > 0:
                raise ConfigError(f"tube.{name} = {min(getattr(self, name)):g} m is not allowed (needs > 0)")
        if math.isinf(self.z[0]) and (self.x[0] != self.x[1] or self.y[0] != self.y[1]):
            raise ConfigError("a tube from z = -inf has another section at its second place; make them equal")
        if not self.wall >= 0:
            raise ConfigError(f"tube.wall = {self.wall:g} m is not allowed (needs >= 0)")

    def half_width(self, axis: int, places: np.ndarray) -> np.ndarray:
        """Return half the inside width along an axis (0, 1 for x, y) at places z, m, same shape."""
        return np.interp(places, np.maximum(self.z, -_FAR), (self.x, self.y)[axis])


@dataclass(frozen=True, kw_only=True)
class LumpedPort:
    """A voltage source with an internal resistance between two conductors, one beyond the other along an axis.

    The positive terminal is the one of the larger coordinate. An interval across the axis spreads the source over the
    columns in it, in parallel.

    Attributes:
        x: Place of the column, m, or the interval of its columns; along the port's axis the two conductors.
        y: The same along y.
        z: The same along z.
        resistance: Internal resistance, and reference of S11, ohm.
        axis: "z", or "x" or "y" for a gap in a plane of constant z.
        radius: Of the round pin that a single column stands for, m, small against the wavelength and the distance to
            edges of metal. None for the column as it is, whose own radius, a fifth of a cell, shrinks with the cell.
    """

    x: float | Interval
    y: float | Interval
    z: float | Interval
    resistance: float = 50.0
    axis: str = "z"
    radius: float | None = None

    def __post_init__(self) -> None:
        if self.axis not in ("x", "y", "z"):
            raise ConfigError(f"port.axis = {self.axis!r} is not allowed (use x, y or z)")
        for name in "xyz":
            _check_interval(f"port.{name}", self.span(name), empty=name != self.axis)
        if not self.resistance > 0:
            raise ConfigError(f"port.resistance = {self.resistance} ohm is not allowed (needs > 0)")
        if self.radius is not None and not self.radius > 0:
            raise ConfigError(f"port.radius = {self.radius:g} m is not allowed (needs > 0, or leave it out)")

    def span(self, name: str) -> Interval:
        """Lower and upper end along "x", "y" or "z", m; equal for a single column."""
        value = getattr(self, name)
        return value if isinstance(value, tuple) else (value, value)


@dataclass(frozen=True, kw_only=True)
class GuidePort:
    """A TE10 port of an air-filled guide along z. All lengths in m.

    The guide is metal of the scene that comes through the face z-, which is open, and ends in its absorbing layer.

    Attributes:
        x: Walls along x. One of the broad side may be a magnetic wall of the lattice, which halves the guide.
        y: Walls along y. One or both of the narrow side, which E is normal to, may be walls of the lattice; one that is
            a mirror halves the guide.
        source: Plane z of the current, a plane of the lattice.
        planes: Two planes z of the lattice beyond the source, about a quarter of a guide's wavelength apart.
        reference: z to which S11 is referred; it need not be a plane of the lattice.
        field: Axis of E, "y" or "x"; the broad side is along the other.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    source: float
    planes: tuple[float, float]
    reference: float
    field: str = "y"

    def __post_init__(self) -> None:
        if self.field not in ("x", "y"):
            raise ConfigError(f"port.field = {self.field!r} is not allowed (use x or y)")
        for name in "xy":
            low, high = getattr(self, name)
            if not high > low:
                raise ConfigError(f"port.{name} = ({low:g}, {high:g}) m is empty (needs low < high)")
        if not self.source < self.planes[0] < self.planes[1]:
            raise ConfigError(
                f"port.planes = ({self.planes[0]:g}, {self.planes[1]:g}) m are not allowed (need to increase, beyond "
                f"source = {self.source:g} m)"
            )


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One antenna.

    Attributes:
        blocks: Later ones count.
        sheets: Metal rectangles; those that touch are one piece.
        tubes: Metal tubes.
        port: Feed; None for problems without one.
        open_faces: Faces with an absorbing layer; the others are walls.
        magnetic_faces: Walls that are perfect magnetic conductors: symmetry planes with no normal E. All other walls
            are perfect electric ones.
        mirror_faces: Electric walls that are symmetry planes with no tangential E: the antenna's other half is behind
            them. Other electric walls are grounds, with nothing behind.
    """

    blocks: tuple[Block, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    port: LumpedPort | GuidePort | None = None
    open_faces: tuple[str, ...] = FACES
    magnetic_faces: tuple[str, ...] = ()
    tubes: tuple[Tube, ...] = ()
    mirror_faces: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        kinds = ("open_faces", "magnetic_faces", "mirror_faces")
        for name in kinds:
            if unknown := [face for face in getattr(self, name) if face not in FACES]:
                raise ConfigError(f"{name} = {unknown[0]!r} is not a face (allowed: {', '.join(FACES)})")
        for face in FACES:
            if len(found := [name for name in kinds if face in getattr(self, name)]) > 1:
                raise ConfigError(f"face {face} is in {' and '.join(found)}; leave it in one of them")
        if self.mirror_faces and isinstance(self.port, LumpedPort):
            raise ConfigError("mirror_faces with a LumpedPort are not allowed (needs a GuidePort); leave them out")
        if isinstance(self.port, GuidePort) and "z-" not in self.open_faces:
            raise ConfigError("open_faces has no z-, where the guide of port ends in the layer; add it")


def check_faces(scene: Scene, grid: Grid) -> None:
    """Check that a scene's faces are those of the lattice that it is solved on.

    Raises:
        ConfigError: A face is of another kind.
    """
    kinds = ("an absorbing layer", "a magnetic wall", "a mirror", "a wall")
    for face, cells in zip(FACES, grid.layers, strict=True):
        said = face in scene.open_faces, face in scene.magnetic_faces, face in scene.mirror_faces, True
        built = cells > 0, face in grid.magnetic, face in grid.mirrors, True
        if said != built:
            raise ConfigError(
                f"face {face} is {kinds[said.index(True)]} in the scene and {kinds[built.index(True)]} in the grid; "
                "make scene.open_faces, magnetic_faces and mirror_faces those of grid.layers, magnetic and mirrors"
            )


def te10_cutoff(width: float) -> float:
    """Return the cutoff frequency of TE10 in an air-filled guide, Hz, from its broad side, m."""
    return speed_of_light / (2 * width)


def te10_band(width: float, height: float) -> tuple[float, float]:
    """Return from which to which frequency TE10 is alone in an air-filled guide, Hz: its cutoff and the next mode's.

    Args:
        width: Of the broad side, m.
        height: Of the narrow side, m.
    """
    cutoff = te10_cutoff(width)
    return cutoff, min(2 * cutoff, speed_of_light / (2 * height))
