"""An outcome at one frequency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antennaopt.figures import metric_name
from antennaopt.metrics import METRICS


@dataclass(frozen=True, kw_only=True)
class AtFrequency:
    """An outcome at one frequency, as in the list `results` of `simulate --json`.

    A metric or figure is an attribute too: `result.directivity_dbi`.

    Attributes:
        frequency_hz: Hz.
        s11: Real and imaginary part, time convention exp(+jwt), reference plane z = 0.
        metrics: Values by the keys of `antennaopt.metrics.METRICS` and the names of figures.
        theta_deg: Angles of the cuts; None without patterns.
        e_plane_dbi: Directivity in the E plane, dBi; None without patterns.
        h_plane_dbi: Directivity in the H plane, dBi; None without patterns.
        e_plane: Real and imaginary part of the amplitude in the E plane; None without, and of runs that stored none.
        h_plane: Complex amplitude in the H plane, the same.
        modes: Waves of modes, see `antennaopt.solve.modes`; None where none are measured.
    """

    frequency_hz: float
    s11: Sequence[float] | None
    metrics: Mapping[str, float | None]
    theta_deg: Sequence[float] | None = None
    e_plane_dbi: Sequence[float] | None = None
    h_plane_dbi: Sequence[float] | None = None
    e_plane: Sequence[Sequence[float]] | None = None
    h_plane: Sequence[Sequence[float]] | None = None
    modes: Sequence[Mapping[str, Any]] | None = None

    def __getattr__(self, name: str) -> float | None:
        known = metric_name(name)
        if known in METRICS or known in self.__dict__.get("metrics", ()):
            return self.metrics.get(known)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the entry that `simulate --json` writes."""
        entry: dict[str, Any] = {"frequency_hz": self.frequency_hz}
        if self.s11 is not None:
            entry["s11"] = self.s11
        if self.modes is not None:
            entry["modes"] = self.modes
        entry |= {key: self.metrics[key] for key in (*METRICS, *self.metrics) if key in self.metrics}
        if self.e_plane_dbi is not None:
            entry |= {"e_plane_dbi": self.e_plane_dbi, "h_plane_dbi": self.h_plane_dbi}
        if self.e_plane is not None:
            entry |= {"e_plane": self.e_plane, "h_plane": self.h_plane}
        return entry | {"theta_deg": self.theta_deg}
