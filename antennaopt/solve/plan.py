"""Plan the lattice, times and steps that all antennas of a study share, and refuse what does not fit it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from antennaopt.families import SHARED, Body, Family, Making, kind, stack
from antennaopt.families.family import feed, is_permittivity
from antennaopt.families.sections import lowest_within
from antennaopt.families.walls import has_thin_part, too_thin
from antennaopt.settings import CELLS_PER_WAVELENGTH, SolverSettings
from antennaopt.solve.planes import not_measured, planes_of
from fdtd.axisymmetric.layout import Extent, Layout, check_samples, lay_out
from fdtd.axisymmetric.modes import ModePlane
from fdtd.axisymmetric.settings import Settings
from fdtd.errors import ConfigError

_SLACK = 1e-6  # cells


def misfits(
    layout: Layout, family: Family, designs: Sequence[Mapping[str, float]], modes: Sequence[ModePlane] = ()
) -> list[str | None]:
    """Say why antennas cannot be solved on a lattice, and what would be accepted; None for one that can.

    Args:
        layout: The lattice, perhaps made for other antennas.
        family: Antenna family, with its bodies where the file draws them.
        designs: Every parameter, SI, by dotted name.
        modes: Planes in which modes are measured.
    """
    if not designs:
        return []
    columns = stack(designs)
    depth = columns["feed.length"] + columns["feed.outer_radius"] - columns["feed.inner_radius"]
    room, sizes = _room(layout), np.stack([*family.size(columns), depth], axis=-1)
    most = np.array([contour for _, contour, _ in room]) - 1 + _SLACK
    large: list[bool] = np.any(sizes / layout.cell > most, axis=-1).tolist()
    looked_at = bool(family.bodies or modes)
    return [
        next(_misfits(layout, family, one, zip(room, size.tolist(), strict=True), modes), None)
        if looked_at or is_large or has_thin_part(family, one, layout.cell)
        else None
        for one, size, is_large in zip(designs, sizes, large, strict=True)
    ]


def _misfits(
    layout: Layout,
    family: Family,
    design: Mapping[str, float],
    sizes: Iterable[tuple[tuple[str, int, int], float]],
    modes: Sequence[ModePlane],
) -> Iterator[str]:
    yield from _too_large(layout.cell, sizes)
    yield from (one.refusal() for one in too_thin(family, design, design, layout.cell))
    if family.bodies:
        yield from _in_the_way(layout, family, design)
    if modes:
        yield from not_measured(layout, family, design, modes)


def _room(layout: Layout) -> tuple[tuple[str, int, int], ...]:
    """Return the cells from the origin to the contour, and to the absorbing layers, with what must end before them."""
    n = layout.layer_cells
    return (
        ("radius", layout.contour_column, layout.nr - n),
        ("height over z = 0", layout.contour_top - layout.origin, layout.nz - n - layout.origin),
        ("depth below z = 0", layout.origin - layout.contour_bottom, layout.origin - n),
    )


def _too_large(cell: float, sizes: Iterable[tuple[tuple[str, int, int], float]]) -> Iterator[str]:
    """What passes the contour, on which the far field rests, or even reaches the absorbing layers."""
    for (what, contour, layer), size in sizes:
        if size / cell > contour - 1 + _SLACK:
            past = "reaches into the absorbing layers" if size / cell > layer - _SLACK else "cuts the contour"
            yield (
                f"the antenna's {what} of {_mm(size)} {past} of this lattice (must be <= {_mm((contour - 1) * cell)}); "
                "plan a lattice for it"
            )


def lowest_in_feed(layout: Layout) -> float:
    """Return the height z, m, below which nothing may stand inside the feed: a cell in front of the port."""
    return (layout.port_plane - layout.origin + 1) * layout.cell


def _in_the_way(layout: Layout, family: Family, design: Mapping[str, float]) -> Iterator[str]:
    """Bodies of the file inside the feed where its wave is excited, measured and absorbed, or behind the feed."""
    inner, back = design["feed.inner_radius"], -design["feed.length"] - design["feed.outer_radius"]
    back += design["feed.inner_radius"]
    port = lowest_in_feed(layout)
    for place, body in enumerate(family.bodies):
        lowest = min(z for _, z in body.points)
        if lowest < back - _SLACK * layout.cell:
            yield (
                f"antenna.body.{place} reaches down to z = {_mm(lowest)}, behind the feed's back wall at "
                f"z = {_mm(back)}; lengthen feed.length or end the body there"
            )
        within = lowest_within(body.points, inner)
        if within is not None and within < port - _SLACK * layout.cell:
            yield (
                f"antenna.body.{place} reaches down to z = {_mm(within)} inside the feed, at or behind the port "
                f"(must end at z >= {_mm(port)}); lengthen feed.length or end the body there"
            )


def _mm(length: float) -> str:
    return f"{length * 1e3:.4g} mm"


_ARRAYS_PER_CELL = (
    6 + 6 + 12
)  # fields, coefficients, and the media they are made from (float64 counts twice in float32)


@dataclass(frozen=True, kw_only=True)
class SolverPlan:
    """A layout and the precision to step it in.

    Attributes:
        layout: Lattice, source, monitors, frequencies.
        precision: "float32" or "float64".
        bodies: Sections that the antenna file draws; empty where the family's parameters say all.
        modes: Planes in which modes are measured.
        making: Limits of making that the file sets; None where it sets none.
        looks_back: Whether the antennas' main beams leave towards -z, from where theta then counts.
        losses: Whether the power lost in dielectrics is measured; without it a lossy antenna has no `power_balance`.
    """

    layout: Layout
    precision: str
    bodies: tuple[Body, ...] = ()
    modes: tuple[ModePlane, ...] = ()
    making: Making | None = None
    looks_back: bool = False
    losses: bool = True

    @property
    def memory_bytes(self) -> int:
        """Memory that one antenna takes while it is solved, about."""
        bytes_each = 4 if self.precision == "float32" else 8
        samples = min(self.layout.steps, 3 * self.layout.settled) // self.layout.record_every
        return self.layout.grid.cells * _ARRAYS_PER_CELL * bytes_each + samples * self.layout.contour.size * bytes_each

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the keys beside `layout` and `precision` are for reading only."""
        layout = self.layout
        return {
            **({"bodies": [body.to_dict() for body in self.bodies]} if self.bodies else {}),
            **({"modes": [{"z": one.z, "modes": list(one.modes)} for one in self.modes]} if self.modes else {}),
            **({"limits": self.making.to_dict()} if self.making else {}),
            **({"looks_back": True} if self.looks_back else {}),
            **({} if self.losses else {"losses": False}),
            "layout": layout.to_dict(),
            "precision": self.precision,
            "nr": layout.nr,
            "nz": layout.nz,
            "cell": layout.cell,
            "time_step": layout.grid.time_step,
            "max_steps": layout.steps,
            "frequencies": list(layout.frequencies),
            "memory_bytes": self.memory_bytes,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SolverPlan:
        """The plan that `to_dict` wrote."""
        bodies = tuple(Body.of(body) for body in data.get("bodies", ()))
        modes = tuple(ModePlane(z=float(one["z"]), modes=tuple(one["modes"])) for one in data.get("modes", ()))
        layout, making = Layout.from_dict(data["layout"]), Making.of(data.get("limits"))
        return cls(
            layout=layout,
            precision=data["precision"],
            bodies=bodies,
            modes=modes,
            making=making,
            looks_back=data.get("looks_back", False),
            losses=data.get("losses", True),
        )

    def within(self, max_steps: int | None) -> SolverPlan:
        """Return the same plan with another step limit; None for its own."""
        return self if max_steps is None else replace(self, layout=replace(self.layout, steps=max_steps))


def plan(
    family: str | Family,
    lower: Mapping[str, float],
    upper: Mapping[str, float],
    solver: SolverSettings | Mapping[str, Any],
) -> SolverPlan:
    """Choose the lattice that holds every antenna between two designs.

    Args:
        family: Antenna family, with its bodies where the file draws them.
        lower: Design at the lower ends of all ranges, SI, by dotted name.
        upper: The same at the upper ends.
        solver: The experiment's settings, or a table of them.

    Raises:
        ConfigError: A range where none can be, nothing that fits, or walls that are too thin for the cells.
    """
    for name in SHARED:
        if lower.get(name) != upper.get(name):
            raise ConfigError(
                f"antenna.{name} is a range, but the feeds of a study end in one absorber; give it one value"
            )
    known = kind(family).of(upper)
    if known.looks_back(lower) != known.looks_back(upper):
        raise ConfigError("antenna.beam.direction is a gene, but patterns are about one axis; give it one word")
    # Sizes grow with every parameter but some: a smaller permittivity may make a lens longer.
    shrinking = [name for name in upper if is_permittivity(name) or known.parameter(name).shrinks]
    thinner = {name: lower[name] if name in shrinking else value for name, value in upper.items()}
    radius, height = (one.max(keepdims=True) for one in known.size(stack([upper, thinner])))
    wall = upper["feed.outer_radius"] - lower["feed.inner_radius"]
    thinnest, filled = (bound.get("feed.permittivity", 1.0) for bound in (lower, upper))
    extent = Extent(
        r_max=float(radius[0]),
        z_min=-upper["feed.length"] - wall,
        z_max=float(height[0]),
        feed_radius=upper["feed.inner_radius"],
        feed_length=upper["feed.length"],
        permittivity=known.densest(upper),
        narrowest=lower["feed.inner_radius"],
        own_feeds=thinnest != filled
        or any(lower[name] != upper[name] for name in ("feed.inner_radius", "feed.outer_radius")),
        feed_permittivity=(thinnest, filled),
        metal=len(known.scene(stack([upper])).conductors) > len(feed(stack([upper]))),
    )
    settings = SolverSettings.of(solver)
    layout = _laid_out(
        extent,
        Settings(
            frequencies=settings.frequencies,
            design_frequency=settings.design_frequency,
            cells_per_wavelength=settings.cells_per_wavelength or CELLS_PER_WAVELENGTH,
            cell=settings.cell,
            courant_fraction=settings.courant_fraction,
            layer_cells=settings.pml_cells,
            layer_distance=settings.pml_distance,
            decay_db=settings.stop_db,
            max_steps=settings.max_steps,
            exact_steps=settings.steps,
            shape=settings.grid,
            surfaces=settings.surfaces or "full",
            pulse=settings.pulse or "full",
            time_step=(known.long_step and settings.time_step) or "standard",
        ),
    )
    if lower["feed.inner_radius"] != upper["feed.inner_radius"]:
        _check_feeds(layout, lower["feed.outer_radius"], upper["feed.inner_radius"])
    # Of several antennas those that do not fit become rows; one alone is refused, and walls that are always too thin.
    modes = planes_of(settings, upper["feed.inner_radius"], filled)
    if lower == upper:
        refusal = misfits(layout, known, [upper], modes)[0]
    else:
        thin = too_thin(known, lower, upper, layout.cell)
        refusal = next((one.refusal() for one in thin if one.always), None)
    if refusal is None:  # the feed is that of all antennas
        refusal = next(not_measured(layout, known, upper, [one for one in modes if one.z <= 0.0]), None)
    if refusal is not None:
        raise ConfigError(refusal)
    return SolverPlan(
        layout=layout,
        precision=settings.precision,
        bodies=known.bodies,
        modes=modes,
        making=known.making,
        looks_back=known.looks_back(upper),
    )


_KEYS = (("cell =", "solver."), ("grid =", "solver."), ("steps =", "solver."), ("feed.", "antenna."))
"""Beginnings of refusals of a lattice, and the table that the key is in."""


def _laid_out(extent: Extent, settings: Settings) -> Layout:
    """Lay a lattice out; a refusal has the names of the experiment's keys.

    Raises:
        ConfigError: None can be.
    """
    try:
        layout = lay_out(extent, settings)
        check_samples(layout)
    except ConfigError as refused:
        text = str(refused).replace(" feed.", " antenna.feed.")
        before = next((table for key, table in _KEYS if text.startswith(key)), "")
        raise ConfigError(before + text) from None
    return layout


def _check_feeds(layout: Layout, outer: float, widest: float) -> None:
    """Refuse feeds whose absorber, as wide as the widest, would reach out of the thinnest tube."""
    if outer <= max(widest, (layout.feed_columns - 0.5) * layout.cell):
        raise ConfigError(
            f"antenna.feed.outer_radius = {_mm(outer)} is not beyond the widest antenna.feed.inner_radius = "
            f"{_mm(widest)} (one absorber serves all feeds of a study); enlarge it or narrow the range"
        )
