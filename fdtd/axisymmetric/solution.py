"""The solution of one antenna, and solutions of a batch as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from fdtd.axisymmetric.modes import PlaneWaves


@dataclass(frozen=True, kw_only=True)
class Solution:
    """One antenna's answer at the layout's frequencies (F of them).

    Powers are in units of pi d^2 / (2 eta0) times (V/m s)^2: only their ratios mean anything.

    Attributes:
        steps, energy, finite: Steps taken, energy left over the largest, whether the fields stayed finite.
        residual: Where energy is left at the last step, what of it is at the frequencies: the largest change of |S11|^2
            or of the far field over its largest, squared, when the record fades out earlier; else the energy.
        s11: Referred to z = 0, (F,), time convention exp(+jwt).
        incident: The feed's forward wave in the plane z = 0, complex (F,): |incident|^2 is its power, and its phase
            that of E_r on the axis.
        e_plane, h_plane: Far-field amplitudes A and B at `Layout.theta_deg`, (F, T).
        accepted, radiated, through_contour, dissipated: Power that entered at the port, in the far field, through the
            contour, in lossy bodies, (F,); the last is NaN of a lossy antenna whose losses were not measured. Of the
            power that comes back at the port, that of TE11 is subtracted, and that of all other modes measured there.
        modes: Waves in each of the planes asked for; None where the lattice shows no guide.
        field: E_r, E_phi, E_z at all cells, complex (F, 3, nz, nr), on request.
        permittivity: Of e_phi nodes, (nz, nr), on request.
        metal: Whether each node conducts, (nz, nr), on request.
        snapshots: E_r, E_phi, E_z over time, (frames, 3, rows kept, columns kept), NaN in conductors, on request.
    """

    steps: int
    energy: float
    finite: bool
    residual: float
    s11: np.ndarray
    incident: np.ndarray
    e_plane: np.ndarray
    h_plane: np.ndarray
    accepted: np.ndarray
    radiated: np.ndarray
    through_contour: np.ndarray
    dissipated: np.ndarray
    sweep_frequency: np.ndarray
    sweep_s11: np.ndarray
    modes: tuple[PlaneWaves | None, ...] = ()
    field: np.ndarray | None = None
    permittivity: np.ndarray | None = None
    metal: np.ndarray | None = None
    snapshots: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Solutions(Sequence[Solution]):
    """Answers of a batch; an antenna's `Solution` is made when it is asked for.

    Attributes:
        columns: By the name of an attribute of `Solution`, an array whose first axis is the batch.
        sweep_frequency: As in `Solution`.
        modes: Of each antenna; none where none are measured.
        fields: What else was requested of each antenna, by the name of an attribute; none where nothing was.
        patterns: Figures of patterns for `fdtd.farfield.Beams.of`, (batch, F, numbers), where a device computed them.
    """

    columns: Mapping[str, np.ndarray]
    sweep_frequency: np.ndarray
    modes: Sequence[tuple[PlaneWaves | None, ...]] = ()
    fields: Sequence[Mapping[str, Any]] = ()
    patterns: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.columns["steps"])

    @overload
    def __getitem__(self, index: int) -> Solution: ...

    @overload
    def __getitem__(self, index: slice) -> list[Solution]: ...

    def __getitem__(self, index: int | slice) -> Solution | list[Solution]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        own = {name: column[index] for name, column in self.columns.items()}
        return Solution(
            **{**own, **{name: kind(own[name]) for name, kind in _PLAIN.items()}},
            sweep_frequency=self.sweep_frequency,
            modes=self.modes[index] if self.modes else (),
            **(self.fields[index] if self.fields else {}),
        )

    def part(self, places: Sequence[int]) -> Solutions:
        """Return those of some antennas, in the order given; itself where that is all of them."""
        if list(places) == list(range(len(self))):
            return self
        return Solutions(
            columns={name: column[list(places)] for name, column in self.columns.items()},
            sweep_frequency=self.sweep_frequency,
            modes=[self.modes[place] for place in places] if self.modes else (),
            fields=[self.fields[place] for place in places] if self.fields else (),
            patterns=None if self.patterns is None else self.patterns[list(places)],
        )


_PLAIN: Mapping[str, type] = {"steps": int, "energy": float, "finite": bool, "residual": float}
