"""Solver settings of an experiment as plain data, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

CELLS_PER_WAVELENGTH = 20.0
"""Default where neither a cell nor a density is given."""


@dataclass(frozen=True, kw_only=True)
class SolverSettings:
    """Settings of the plan of a lattice, SI.

    Attributes:
        frequencies: Hz, as listed.
        design_frequency: Frequency of the loss tangent, Hz.
        cell: Cell size, m, used exactly as given; None to take it from `cells_per_wavelength`.
        cells_per_wavelength: In the densest medium at the highest frequency; ignored when `cell` is given.
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

    @classmethod
    def of(cls, table: SolverSettings | Mapping[str, Any]) -> SolverSettings:
        """Return settings from a table as `to_dict` writes it; settings as they are."""
        if isinstance(table, SolverSettings):
            return table
        lists = {name: tuple(table[name]) for name in ("frequencies", "grid") if table.get(name) is not None}
        return cls(**{**table, **lists})

    def with_cell(self, cell: float) -> SolverSettings:
        """Return the same on another cell, m, on the grid that it takes."""
        return replace(self, cell=cell, cells_per_wavelength=None, grid=None)

    def in_a_search(self) -> SolverSettings:
        """Return the same with the tensor at surfaces that a search takes, where none is given."""
        return replace(self, surfaces=self.surfaces or "diagonal")

    def step_counts(self) -> dict[str, int]:
        """Return `steps` and `max_steps`, where they are given."""
        return {name: count for name in ("steps", "max_steps") if (count := getattr(self, name))}

    def to_dict(self) -> dict[str, Any]:
        """Return every entry by name, in the order above."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
