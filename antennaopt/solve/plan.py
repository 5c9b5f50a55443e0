"""One lattice for a whole study, chosen from the ranges of its designs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from antennaopt.families import FAMILIES, SHARED, stack
from antennaopt.settings import CELLS_PER_WAVELENGTH, SolverSettings
from antennaopt.solve.fit import misfit
from fdtd.axisymmetric.layout import Extent, Layout, Settings, lay_out
from fdtd.errors import ConfigError

_ARRAYS_PER_CELL = (
    6 + 6 + 12
)  # fields, coefficients, and the media they are made from (float64 counts twice in float32)


@dataclass(frozen=True, kw_only=True)
class SolverPlan:
    """A layout and the precision to step it in.

    Attributes:
        layout: Lattice, source, monitors, frequencies.
        precision: "float32" or "float64".
    """

    layout: Layout
    precision: str

    @property
    def memory_bytes(self) -> int:
        """Memory that one antenna takes while it is solved, about."""
        bytes_each = 4 if self.precision == "float32" else 8
        samples = min(self.layout.steps, 3 * self.layout.settled) // self.layout.record_every
        return self.layout.grid.cells * _ARRAYS_PER_CELL * bytes_each + samples * self.layout.contour.size * bytes_each

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the keys beside `layout` and `precision` are for reading.

        `max_steps` may be lowered for a call: `evaluate` stops there.
        """
        layout = self.layout
        return {
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
        layout = {**data["layout"], "steps": data.get("max_steps", data["layout"]["steps"])}
        return cls(layout=Layout.from_dict(layout), precision=data["precision"])


def plan(
    family: str, lower: Mapping[str, float], upper: Mapping[str, float], solver: SolverSettings | Mapping[str, Any]
) -> SolverPlan:
    """Choose the lattice that holds every antenna between two designs.

    Args:
        family: Antenna family.
        lower: Design at the lower ends of all ranges, SI, by dotted name.
        upper: The same at the upper ends.
        solver: The experiment's settings, or a table of them.

    Raises:
        ConfigError: A range where none can be, nothing that fits, or one antenna too thin for its cells.
    """
    for name in SHARED:
        if lower[name] != upper[name]:
            raise ConfigError(
                f"antenna.{name} is a range, but one source drives all antennas of a study; give it one value"
            )
    radius, height = FAMILIES[family].size(stack([upper]))
    wall = upper["feed.outer_radius"] - upper["feed.inner_radius"]
    extent = Extent(
        r_max=float(radius[0]),
        z_min=-upper["feed.length"] - wall,
        z_max=float(height[0]),
        feed_radius=upper["feed.inner_radius"],
        feed_length=upper["feed.length"],
        permittivity=FAMILIES[family].densest(upper),
    )
    settings = SolverSettings.of(solver)
    layout = lay_out(
        extent,
        Settings(
            frequencies=settings.frequencies,
            design_frequency=settings.design_frequency,
            cells_per_wavelength=settings.cells_per_wavelength or CELLS_PER_WAVELENGTH,
            cell=settings.cell,
            courant_fraction=settings.courant_fraction,
            layer_cells=settings.pml_cells,
            layer_distance=settings.pml_distance,
            decay_db=settings.decay_db,
            max_steps=settings.max_steps,
            exact_steps=settings.steps,
            shape=settings.grid,
            surfaces=settings.surfaces or "full",
        ),
    )
    # Of several antennas those that do not fit become rows; one alone is refused.
    refusal = misfit(layout, family, upper) if lower == upper else None
    if refusal is not None:
        raise ConfigError(refusal)
    return SolverPlan(layout=layout, precision=settings.precision)
