"""The solver's table: frequencies, cell, steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Strict, ValidationInfo

from antennaopt.experiment.fields import (
    MISSING,
    Bounds,
    Count,
    EntryError,
    Frequency,
    Length,
    Number,
    Table,
    is_resolved,
    unknown_key,
)
from antennaopt.quantities import FREQUENCY
from antennaopt.settings import CELLS_PER_WAVELENGTH, SolverSettings

MOST_FREQUENCIES = 1001
MOST_CELLS = 100_000
FREQUENCY_BOUNDS = Bounds(dimension=FREQUENCY, above=True)


def _frequencies(value: Any, info: ValidationInfo) -> Any:
    """Spread `{ min, max, count }` out; check that a list holds something, and nothing twice."""
    si = is_resolved(info)
    if isinstance(value, Mapping):
        return _spread(value, si=si)
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= MOST_FREQUENCIES:
        raise EntryError(
            f'must be a list of 1 to {MOST_FREQUENCIES} frequencies, for example ["28.5 GHz", "30 GHz"]', value=value
        )
    read = []
    for place, one in enumerate(value):
        try:
            read.append(FREQUENCY_BOUNDS.read(one, si=si))
        except EntryError as error:
            raise EntryError(error.text, path=(place,), value=one) from None
        if read[-1] in read[:-1]:
            raise EntryError("stands twice in the list; remove one", path=(place,), value=one)
    return value


def _spread(table: Mapping[str, Any], *, si: bool) -> list[str]:
    keys = ["min", "max", "count"]
    for key in table:
        if key not in keys:
            raise EntryError(unknown_key(key, keys), path=(key,), value=MISSING)
    for key in keys:
        if key not in table:
            raise EntryError("is missing; write { min, max, count }", path=(key,), value=MISSING)
    count = table["count"]
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_FREQUENCIES:
        raise EntryError(f"must be a whole number from 2 to {MOST_FREQUENCIES}", path=("count",), value=count)
    ends = {}
    for key in ("min", "max"):
        try:
            ends[key] = FREQUENCY_BOUNDS.read(table[key], si=si)
        except EntryError as error:
            raise EntryError(error.text, path=(key,), value=table[key]) from None
    if ends["min"] >= ends["max"]:
        raise EntryError("is not below max; swap them", path=("min",), value=table["min"])
    step = (ends["max"] - ends["min"]) / (count - 1)
    # Whole hertz: nobody asks for less, and the list reads well in tables.
    return [f"{round(ends['min'] + place * step)} Hz" for place in range(count)]


def _grid(value: Any) -> Any:
    good = isinstance(value, (list, tuple)) and len(value) == 2
    if value is not None and not (good and all(type(one) is int and 1 <= one <= MOST_CELLS for one in value)):
        raise EntryError(f"must be [nr, nz], two whole numbers from 1 to {MOST_CELLS}", value=value)
    return value


def _middle(data: dict[str, Any]) -> float:
    frequencies = sorted(data["frequencies"])
    return frequencies[len(frequencies) // 2]


def _cells(data: dict[str, Any]) -> float | None:
    return CELLS_PER_WAVELENGTH if data["cell"] is None else None


class Solver(Table):
    """How the fields are computed; see `SolverSettings`."""

    frequencies: Annotated[tuple[Frequency, ...], BeforeValidator(_frequencies)] = Field(
        examples=['["28.5 GHz", "30 GHz", "31.5 GHz"]']
    )
    design_frequency: Frequency = Field(default_factory=_middle)
    cell: Length | None = None
    cells_per_wavelength: Number | None = Field(default_factory=_cells, gt=0.0, le=200.0)
    courant_fraction: Number = Field(default=SolverSettings.courant_fraction, gt=0.0, le=1.0)
    max_steps: Count | None = None
    decay_db: Number = Field(default=SolverSettings.decay_db, ge=20.0, le=150.0)
    pml_cells: Annotated[int, Strict()] = Field(default=SolverSettings.pml_cells, ge=4, le=64)
    pml_distance: Length | None = None
    grid: Annotated[tuple[int, int] | None, BeforeValidator(_grid)] = None
    steps: Count | None = None
    precision: Literal["float32", "float64"] = "float32"
    surfaces: Literal["full", "diagonal"] | None = None

    @property
    def settings(self) -> SolverSettings:
        """The settings as plain data."""
        return SolverSettings(**{name: getattr(self, name) for name in type(self).model_fields})
