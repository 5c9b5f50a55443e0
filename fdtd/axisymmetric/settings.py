"""Settings of a lattice in (r, z) for a study."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from fdtd.checks import check_count, checked_frequencies
from fdtd.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings that a layout is chosen by.

    Attributes:
        frequencies: Frequencies of the results, Hz.
        design_frequency: Where loss tangents hold, Hz.
        cells_per_wavelength: In the densest medium at the highest frequency, if `cell` is None.
        cell: Exact cell size, m.
        courant_fraction: Of the lattice's stability limit.
        layer_cells: Thickness of the absorbing layers.
        layer_distance: From the antenna to the absorbing layers, m; a quarter of the longest wavelength if None.
        decay_db: Stop once the energy has fallen this far.
        max_steps: Step limit; from the antenna's size if None.
        exact_steps: Run exactly this many steps, without the energy stop.
        shape: (nr, nz) to use instead of the smallest that fits.
        surfaces: "full" or "diagonal".
        pulse: "full", or "short": two fifths as long, with less at the lowest frequency.
        time_step: "standard", or "long": 1.147 times as long. Cut faces then have no room to drive more than whole
            cells, so slanted metal loses accuracy; see `fdtd.axisymmetric.conductors` and docs/decisions/0067.
    """

    frequencies: tuple[float, ...]
    design_frequency: float
    cells_per_wavelength: float = 20.0
    cell: float | None = None
    courant_fraction: float = 0.98
    layer_cells: int = 10
    layer_distance: float | None = None
    decay_db: float = 60.0
    max_steps: int | None = None
    exact_steps: int | None = None
    shape: tuple[int, int] | None = None
    surfaces: str = "full"
    pulse: str = "full"
    time_step: str = "standard"

    def __post_init__(self) -> None:
        checked_frequencies(self.frequencies)
        if not isinstance(self.decay_db, Real) or not 0 < float(self.decay_db) < math.inf:
            raise ConfigError(f"decay_db = {self.decay_db!r} is not allowed (needs > 0 and finite: below the peak)")
        for name in ("max_steps", "exact_steps"):
            check_count(name, getattr(self, name))
