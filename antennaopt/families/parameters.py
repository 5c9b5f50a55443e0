"""A family's table of parameters and its limits, as plain data for the antenna file; the modes of the feed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of an antenna file, or a list of equal ones.

    Attributes:
        name: Dotted name below `[antenna]`, `lens.radius`: the table and the key in it.
        about: One line, with the place that it measures.
        example: As a file writes it.
        unit: `m`, or empty for a number without one.
        kind: `scalar`; `list`, whose entries are named `lens.radii.0`, `lens.radii.1`, ...; `integer`; `choice`.
        fewest: Of a list: its smallest number of entries; with 0 a file may leave it out.
        or_none: Of a list: whether a file may leave it out, or give no entry, but not fewer than `fewest`.
        many: Of another kind: whether a list may stand in place of one value.
        nested: Of a list: whether a list of values may stand in place of an entry, `layers.thickness.1.0`, ...
        like: Of a list: the parameter whose list has as many entries.
        default: Value of a file that does not give it, SI; None where it must.
        lowest: Smallest value allowed, SI.
        highest: Largest value allowed, SI.
        above: Whether the smallest value itself is not allowed.
        shrinks: Whether a smaller value may make the antenna larger.
        left_out: Whether a design has it only where the file gives it; elsewhere it is as if it had the default.
        choices: Of a `choice`: the words that a file may write. A design holds the number of one, from 0.
    """

    name: str
    about: str
    example: str
    unit: Literal["m", ""] = ""
    kind: Literal["scalar", "list", "integer", "choice"] = "scalar"
    default: float | None = None
    lowest: float = 0.0
    highest: float
    above: bool = False
    shrinks: bool = False
    left_out: bool = False
    choices: tuple[str, ...] = ()
    fewest: int = 2
    or_none: bool = False
    many: bool = False
    nested: bool = False
    like: str = ""

    @property
    def optional(self) -> bool:
        """Whether a file may leave it out."""
        return self.default is not None or (self.kind == "list" and (self.or_none or self.fewest == 0))

    @property
    def table(self) -> str:
        """Name of the table that holds it; of a material of a body `body.0`."""
        return self.name.rpartition(".")[0]

    @property
    def key(self) -> str:
        """Name in its table."""
        return self.name.rpartition(".")[2]

    @property
    def dimension(self) -> str:
        """`length` or `number`."""
        return "length" if self.unit == "m" else "number"

    def holds(self, name: str) -> bool:
        """Say whether a design's entry, `lens.radii.3`, is this parameter or one of its list."""
        if not name.startswith(f"{self.name}."):
            return name == self.name
        places = name.removeprefix(f"{self.name}.").split(".")
        listed = self.kind == "list" or self.many
        return listed and len(places) <= 1 + self.nested and all(one.isdigit() for one in places)


def length(
    name: str, about: str, *, example: str, kind: Literal["scalar", "list"] = "scalar", default: float | None = None
) -> Parameter:
    """Return a length above 0 and up to 1 km."""
    return Parameter(
        name=name, about=about, example=example, unit="m", kind=kind, default=default, highest=1000.0, above=True
    )


def length_left_out(name: str, about: str, *, example: str) -> Parameter:
    """Return a length from 0 to 1 km that is 0 where a file leaves it out."""
    return Parameter(name=name, about=about, example=example, unit="m", default=0.0, highest=1000.0, left_out=True)


def choice(name: str, about: str, *choices: str) -> Parameter:
    """Return a choice between words, the first of which is the default."""
    return Parameter(
        name=name,
        about=about,
        example=f'"{choices[-1]}"',
        kind="choice",
        default=0.0,
        highest=float(len(choices) - 1),
        choices=choices,
    )


def material(table: str) -> tuple[Parameter, Parameter]:
    """Return the parameters of a dielectric: its permittivity and loss tangent."""
    return (
        Parameter(
            name=f"{table}.permittivity", about="Relative permittivity.", example="2.53", lowest=1.0, highest=100.0
        ),
        Parameter(
            name=f"{table}.loss_tangent",
            about="Loss tangent at the design frequency.",
            example="6.6e-4",
            default=0.0,
            highest=1.0,
        ),
    )


FEED = (
    length("feed.inner_radius", "Inner radius of the circular waveguide.", example='"3.6 mm"'),
    length("feed.outer_radius", "The tube's outer wall.", example='"4.0 mm"'),
    length(
        "feed.length",
        "Inside length; a back wall as thick as the tube closes it at z = -length.",
        example='"20 mm"',
    ),
)
"""The circular waveguide with the TE11 mode that every family has; its aperture is z = 0."""

FILLING = (
    Parameter(
        name="feed.permittivity",
        about="Relative permittivity of what fills the waveguide up to z = 0.",
        example="2.1",
        default=1.0,
        lowest=1.0,
        highest=100.0,
        left_out=True,
    ),
    length_left_out("feed.plug", "Length of the cone in which the filling goes on beyond z = 0.", example='"6 mm"'),
)
"""What fills the feed of any family; a design has them only where its file does."""

SHARED = ("feed.length",)
"""Parameters that cannot be genes: source, port and absorber stand in the same planes."""


@dataclass(frozen=True, kw_only=True)
class AtLeast:
    """A limit: one length must be at least as large as another.

    Attributes:
        name: The length's parameter; of a list its last entry counts.
        least: The other's.
        problem: What is wrong with a smaller one; reads on from `name = value` in a file.
        consequence: The same of one design of a run; reads on from the two values.
    """

    name: str
    least: str
    problem: str
    consequence: str = ""

    def entry(self, design: Mapping[str, object]) -> str:
        """Return the name of the entry of a design that counts, `lens.radii.7`."""
        return self.name if self.name in design else f"{self.name}.{sum(1 for _ in entries(design, self.name)) - 1}"


@dataclass(frozen=True, kw_only=True)
class Carries:
    """A bore that is of no use where a mode is cut off in it.

    Attributes:
        name: Its radius, or a list of radii.
        mode: Name of the mode.
        without: What the antenna is without it; reads on from `, so`.
    """

    name: str
    mode: str
    without: str

    def entries(self, design: Mapping[str, object]) -> list[str]:
        """Return the names of the entries of a design that are such radii."""
        return [self.name] if self.name in design else list(entries(design, self.name))


def entries(design: Mapping[str, object], name: str) -> Iterator[str]:
    """Yield the names `name.0`, `name.1`, ... that a design has."""
    for place in range(len(design)):
        entry = f"{name}.{place}"
        if entry not in design:
            return
        yield entry


@dataclass(frozen=True, kw_only=True)
class Part:
    """The thinnest place of a part, which must not be lost between the cells.

    Attributes:
        what: Part, as messages name it, without values: the same place of other designs is found by it.
        thickness: m, along the plane of a wall's end.
        slope: Cosine of the angle between that plane and the wall's normal; the wall is that much thinner.
        metal: Whether it is metal.
    """

    what: str
    thickness: float
    slope: float = 1.0
    metal: bool = True


FITTED_TO_OUTLINES = "fitted to outlines of this kind on cells of 0.3 to 0.1 mm, tests/published/test_outlines.py"


@dataclass(frozen=True, kw_only=True)
class Orders:
    """Orders of convergence: a quantity's error is C h^p on cells of size h.

    `benchmarks/accuracy.py` fits them to the antennas of tests/published. 6 stands for none: errors that change sign
    from mesh to mesh leave the finer mesh's figures nearly as they are.

    Attributes:
        s11: Of S11.
        pattern: Of directivity and patterns, as power.
        efficiency: Of efficiency and balances.
        source: Where they are from.
    """

    s11: float
    pattern: float
    efficiency: float
    source: str = "fitted to the reference antennas on cells of 0.3 to 0.1 mm, docs/validation.md"


DIELECTRIC_ORDERS = Orders(
    s11=1.94,
    pattern=2.02,
    efficiency=2.02,
    source="fitted to outlines with dielectric on cells of 0.3 to 0.1 mm, tests/published/test_outlines.py",
)
"""Of an outline with dielectric."""
METAL_ORDERS = Orders(
    s11=2.82,
    pattern=6.0,
    efficiency=6.0,
    source="fitted to outlines of metal alone on cells of 0.3 to 0.1 mm, tests/published/test_outlines.py",
)
"""Of an outline without dielectric: its errors are those of rims and slanted walls, which change sign with the mesh."""


@lru_cache
def cutoff_frequency(radius: float, order: int, kind: str, permittivity: float = 1.0) -> float:
    """Return the lowest cutoff of a circular waveguide's modes of one order and kind.

    Args:
        radius: Inner radius, m.
        order: Azimuthal order.
        kind: `TE` or `TM`.
        permittivity: Of what fills it.

    Returns:
        Frequency, Hz.

    References:
        Pozar, Microwave Engineering, 4th ed., section 3.4.
    """
    from scipy.constants import c
    from scipy.special import jn_zeros, jnp_zeros

    zero = (jnp_zeros if kind == "TE" else jn_zeros)(order, 1)[0]
    return float(zero * c / (2.0 * math.pi * radius)) / math.sqrt(permittivity)


def te10_cutoff_frequency(width: float) -> float:
    """Return the cutoff frequency of TE10 in an air-filled rectangular waveguide, Hz, from its broad side, m."""
    from fdtd.yee.scene import te10_cutoff

    return te10_cutoff(width)


def first_unmeasured(
    radius: float, measured: Collection[str] = ("TE11",), permittivity: float = 1.0
) -> tuple[str, float]:
    """Return name and cutoff, Hz, of the lowest mode of order 1 that a port does not measure.

    Args:
        radius: Inner radius of the feed, m.
        measured: Names of the modes that it measures.
        permittivity: Of what fills the feed.
    """
    from fdtd.axisymmetric.modes import MODES, mode_cutoff

    name = next(one for one in MODES if one not in measured)
    return name, mode_cutoff(name, radius, permittivity)
