"""Settings of the plan of a lattice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

CELLS_PER_WAVELENGTH = 20.0
"""Default where neither a cell nor a density is given."""


@dataclass(frozen=True, kw_only=True)
class ReportedModes:
    """Modes of order 1 to report in a plane across a circular guide.

    Attributes:
        plane: Height of the plane, m; 0 is the reference plane of the feed's port.
        modes: Names; empty for all that propagate, at each frequency.
    """

    plane: float
    modes: tuple[str, ...] = ()


LEAST_DECAY_DB = 20.0
"""Of the energy at the stop."""

TRUSTED_DB = 50.0
"""By how much the energy must have fallen for a certificate to trust the solution."""

SOONER_DB = 10.0
"""By how much less the energy must fall after a short pulse."""

ADDED_LATER = ("report_modes", "pulse", "time_step")
"""Entries that tables have only where they are given: digests of files without them stay as they were."""


@dataclass(frozen=True, kw_only=True)
class SolverSettings:
    """Settings of the plan of a lattice, SI.

    Attributes:
        frequencies: Hz, as listed.
        design_frequency: Frequency of the loss tangent, Hz.
        cell: Cell size, m, used exactly as given; None to take it from `cells_per_wavelength`.
        cells_per_wavelength: In the densest medium at the highest frequency. None when `cell` is given, but for
            antennas in space: `cell` is that at edges of metal there.
        courant_fraction: Time step as a fraction of the largest stable one.
        max_steps: Largest number of time steps; None to choose by the size of the grid.
        decay_db: Stop when the energy is this far below its peak, dB.
        pml_cells: Thickness of the absorbing layers.
        pml_distance: From the antenna to the layers, m; None to choose by the wavelength.
        grid: (nr, nz) cells, layers included; None to choose by the antenna.
        steps: Exact number of steps, without the energy stop; for benchmarks.
        precision: Precision of the fields, `float32` or `float64`.
        surfaces: The permittivity tensor where a dielectric surface cuts cells, `full` or `diagonal`; None for the
            diagonal in a search and the full one in `simulate` and in certificates.
        report_modes: Planes in which modes are reported.
        pulse: `full`, or `short`: two fifths as long, and the stop `SOONER_DB` earlier; None for the short one in a
            search and the full one in `simulate` and in certificates.
        time_step: `standard`, or `long`: 1.147 times as long in families whose metal is the feed alone, the standard
            one in others; None for the long one in a search and the standard one in `simulate` and in certificates.
    """

    frequencies: tuple[float, ...]
    design_frequency: float
    cell: float | None = None
    cells_per_wavelength: float | None = CELLS_PER_WAVELENGTH
    courant_fraction: float = 0.98
    max_steps: int | None = None
    decay_db: float = 60.0
    pml_cells: int = 10
    pml_distance: float | None = None
    grid: tuple[int, int] | None = None
    steps: int | None = None
    precision: str = "float32"
    surfaces: str | None = None
    report_modes: tuple[ReportedModes, ...] = ()
    pulse: str | None = None
    time_step: str | None = None

    @classmethod
    def of(cls, table: SolverSettings | Mapping[str, Any]) -> SolverSettings:
        """Return settings from a table as `to_dict` writes it; settings as they are."""
        if isinstance(table, SolverSettings):
            return table
        lists = {name: tuple(table[name]) for name in ("frequencies", "grid") if table.get(name) is not None}
        planes = tuple(
            ReportedModes(plane=one["plane"], modes=tuple(one.get("modes", ())))
            for one in table.get("report_modes") or ()
        )
        return cls(**{**table, **lists, "report_modes": planes})

    def with_cell(self, cell: float) -> SolverSettings:
        """Return the same on another cell, m, on the grid that it takes."""
        return replace(self, cell=cell, cells_per_wavelength=None, grid=None)

    def in_a_search(self) -> SolverSettings:
        """Return the same with the tensor at surfaces, the pulse and the time step of a search, where none is given."""
        return replace(
            self,
            surfaces=self.surfaces or "diagonal",
            pulse=self.pulse or "short",
            time_step=self.time_step or "long",
        )

    def as_solved_alone(self) -> SolverSettings:
        """Return the same with the tensor at surfaces, the pulse and the time step of `simulate` and certificates."""
        return replace(self, surfaces="full", pulse="full", time_step="standard")

    def step_counts(self) -> dict[str, int]:
        """Return `steps` and `max_steps`, where they are given."""
        return {name: count for name in ("steps", "max_steps") if (count := getattr(self, name))}

    def to_dict(self) -> dict[str, Any]:
        """Return every entry by name, in the order above; `report_modes` as tables, `ADDED_LATER` where given."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["report_modes"] = [{"plane": one.plane, "modes": list(one.modes)} for one in self.report_modes]
        return {name: value for name, value in data.items() if value or name not in ADDED_LATER}

    @property
    def stop_db(self) -> float:
        """How far below its peak the energy is at the stop, dB."""
        return max(self.decay_db - self.sooner_db, LEAST_DECAY_DB)

    @property
    def sooner_db(self) -> float:
        """By how much less than `decay_db` the energy falls, dB."""
        return SOONER_DB if self.pulse == "short" else 0.0
