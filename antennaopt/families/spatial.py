"""Antennas that are not bodies of revolution: metal sheets and tubes, dielectric slabs and a port.

Lengths are in m. A ground is in the plane z = 0, and the antenna radiates towards +z.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.constants import epsilon_0, mu_0

from antennaopt.families.narrow import Narrow

Span = tuple[float, float]
"""Lower and upper end along one axis, m."""

PTFE = 2.08
"""Permittivity of PTFE at 10 GHz (Pozar, appendix G)."""


@dataclass(frozen=True, kw_only=True)
class Rectangle:
    """A rectangle of metal without thickness, or the face of a slab.

    Attributes:
        x: Ends along x.
        y: Ends along y.
    """

    x: Span
    y: Span


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Metal without thickness in a plane of constant z: a union of rectangles.

    Attributes:
        name: For drawings and files: `ground`, `patch`.
        z: Height.
        rectangles: They may touch or overlap.
    """

    name: str
    z: float
    rectangles: tuple[Rectangle, ...]


@dataclass(frozen=True, kw_only=True)
class Slab:
    """A dielectric block.

    Attributes:
        name: For drawings and files.
        face: Its extent along x and y.
        z: Ends along z.
        permittivity: Relative.
        loss_tangent: At the design frequency.
    """

    name: str
    face: Rectangle
    z: Span
    permittivity: float
    loss_tangent: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Cylinder:
    """A dielectric cylinder about the axis.

    Attributes:
        name: For drawings and files.
        radius: m.
        z: Ends along z.
        permittivity: Relative.
        loss_tangent: At the design frequency.
    """

    name: str
    radius: float
    z: Span
    permittivity: float
    loss_tangent: float = 0.0

    def strips(self, count: int) -> tuple[Rectangle, ...]:
        """Return rectangles along x that have together the cylinder's section, each the area of its part of it."""
        edges = self.radius * np.linspace(-1.0, 1.0, count + 1)
        heights = np.sqrt(np.maximum(self.radius**2 - edges**2, 0.0))  # r**2 rounds otherwise in arrays
        whole = (edges * heights + self.radius**2 * np.arcsin(edges / self.radius)) / 2
        halves = np.diff(whole) / np.diff(edges)
        spans = zip(edges[:-1].tolist(), edges[1:].tolist(), halves.tolist(), strict=True)
        return tuple(Rectangle(x=(-half, half), y=(low, high)) for low, high, half in spans)


@dataclass(frozen=True, kw_only=True)
class Port:
    """A source with an internal resistance between two sheets along z, or in a gap of one along x.

    Attributes:
        x: Place along x; the middle of a gap.
        y: Middle along y.
        z: Its two ends; equal for a gap.
        width: Extent along y, over which it is spread; 0 for a pin.
        resistance: Ohm; also the reference of S11.
        what: `probe` for a pin from below, `line` for the end of a line, `gap`.
        gap: Width of the gap along x; 0 without one.
        radius: Of a pin; 0 for that of a column of the lattice.
        pin: Height to which a pin of metal goes on above it; 0 without one.
    """

    x: float
    y: float
    z: Span
    resistance: float
    width: float = 0.0
    what: str = "probe"
    gap: float = 0.0
    radius: float = 0.0
    pin: float = 0.0

    @property
    def opening(self) -> float:
        """Radius of the opening for a pin of known radius in the ground that it passes, m; 0 for other ports.

        Pin and opening are a coaxial line of the port's resistance, filled with PTFE, as in most connectors.

        References:
            Pozar, Microwave Engineering, 4th ed., table 2.1: Z = sqrt(mu / eps) / (2 pi) ln(b / a).
        """
        if self.what != "probe" or not self.radius:
            return 0.0
        wave = np.sqrt(mu_0 / (epsilon_0 * PTFE))
        return float(self.radius * np.exp(min(2 * np.pi * self.resistance / wave, 100.0)))


@dataclass(frozen=True, kw_only=True)
class Tube:
    """A tube of metal about the z axis with a rectangular section: a guide, a horn.

    Attributes:
        name: For drawings and files.
        z: Places of its sections, increasing.
        x: Half the inside width along x in each.
        y: The same along y.
        wall: Thickness of its walls along x and y.
    """

    name: str
    z: tuple[float, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    wall: float

    def walls(self, axis: int) -> tuple[tuple[tuple[float, float], ...], ...]:
        """Return both walls in the section through the axis along x or y (0, 1): corners (across, z) of polygons."""
        inside = list(zip((self.x, self.y)[axis], self.z, strict=True))
        upper = (*inside, *((half + self.wall, z) for half, z in reversed(inside)))
        return upper, tuple((-half, z) for half, z in upper)


@dataclass(frozen=True, kw_only=True)
class Guide:
    """A TE10 wave, E along x, in an air-filled rectangular guide about the z axis that comes from below to z = 0.

    Attributes:
        width: Its broad side, along y.
        height: Its narrow side, along x.
        what: For drawings.
    """

    width: float
    height: float
    what: str = "TE10"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A length of a drawing.

    Attributes:
        name: Parameter or word, `patch.length`.
        start: First end (x, y), or (x, z) of one in the section.
        stop: Second end.
        section: Whether it is in the section instead of the top view.
    """

    name: str
    start: tuple[float, float]
    stop: tuple[float, float]
    section: bool = False

    @property
    def value(self) -> float:
        """Its length, m."""
        return ((self.stop[0] - self.start[0]) ** 2 + (self.stop[1] - self.start[1]) ** 2) ** 0.5


@dataclass(frozen=True, kw_only=True)
class Board:
    """One antenna as sheets, slabs, tubes and a port.

    Attributes:
        sheets: Metal; one named `ground` is below all others but a line that feeds a slot in it.
        slabs: Dielectrics; later ones replace earlier ones.
        rods: Dielectric cylinders, which replace slabs.
        tubes: Of metal.
        port: Where it is fed.
        measures: What a drawing gives the lengths of.
        symmetric: Whether the plane y = 0 is one of symmetry, so that a half of the antenna is solved. It goes by what
            a file gives, never by the value of a gene: all antennas of a search have equal lattices. A board fed by a
            guide has a quarter solved, and need not name it.
    """

    sheets: tuple[Sheet, ...]
    slabs: tuple[Slab, ...]
    port: Port | Guide
    rods: tuple[Cylinder, ...] = ()
    tubes: tuple[Tube, ...] = ()
    measures: tuple[Measure, ...] = ()
    symmetric: bool = False

    @property
    def metal(self) -> tuple[Sheet, ...]:
        """The sheets but the ground."""
        return tuple(sheet for sheet in self.sheets if sheet.name != "ground")

    @property
    def below(self) -> tuple[Sheet, ...]:
        """The sheets below the ground: a line that feeds a slot in it."""
        return tuple(sheet for sheet in self.metal if sheet.z < 0.0)

    @property
    def opening(self) -> tuple[float, float, float] | None:
        """Place x, y and radius of the opening in the ground for a pin, m; None where there is none, or no room."""
        port = self.port
        if not isinstance(port, Port) or not port.opening:
            return None
        faces = [face for sheet in self.sheets if sheet.name == "ground" for face in sheet.rectangles]
        ends = [(place - port.opening, place + port.opening) for place in (port.x, port.y)]
        inside = any(
            all(side[0] < low and high < side[1] for side, (low, high) in zip((face.x, face.y), ends, strict=True))
            for face in faces
        )
        return (port.x, port.y, port.opening) if inside else None

    @property
    def extent(self) -> tuple[Span, Span, Span]:
        """Ends of all of it along x, y and z."""
        faces = [one for sheet in self.sheets for one in sheet.rectangles] + [slab.face for slab in self.slabs]
        faces += [Rectangle(x=(-rod.radius, rod.radius), y=(-rod.radius, rod.radius)) for rod in self.rods]
        reaches = [[max(half) + tube.wall for half in (tube.x, tube.y)] for tube in self.tubes]
        faces += [Rectangle(x=(-x, x), y=(-y, y)) for x, y in reaches]
        heights = [sheet.z for sheet in self.sheets]
        heights += [end for one in (*self.slabs, *self.rods, *self.tubes) for end in one.z]
        heights.append(self.port.pin if isinstance(self.port, Port) else 0.0)
        spans = [[getattr(face, axis) for face in faces] for axis in ("x", "y")]
        x, y = ((min(low for low, _ in ends), max(high for _, high in ends)) for ends in spans)
        return x, y, (min(heights), max(heights))


@dataclass(frozen=True, kw_only=True)
class Spatial:
    """What a family that is no body of revolution provides.

    Attributes:
        board: Sheets, slabs and port of one design.
        start: Closed-form values of a design's parameters, SI, by name, from a design with the parameters that the
            closed form takes and a frequency, Hz.
        author: Word of `evolution.start` for the closed form.
        fixed: Parameters that cannot be genes, since they decide how many others there are.
        narrow: Lengths that the cells must not be too coarse for; those that a design has not are left out.
        mouth: Area of a design's aperture, m^2; None for antennas without one.
        turned: Values of `start` for a sense of circular polarisation, `rhcp` or `lhcp`; None where it has none.
    """

    board: Callable[[Mapping[str, float]], Board]
    start: Callable[[Mapping[str, float], float], dict[str, float]]
    author: str
    fixed: tuple[str, ...] = ()
    narrow: tuple[Narrow, ...] = ()
    mouth: Callable[[Mapping[str, float]], float] | None = None
    turned: Callable[[Mapping[str, float], str], dict[str, float]] | None = None
