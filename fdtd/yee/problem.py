"""One initial-value problem on a rectilinear lattice, and its result.

H is scaled by the free-space impedance, so that E and H are in V/m. One step n = 0, 1, ... takes H from (n - 1/2) dt to
(n + 1/2) dt, then E from n dt to (n + 1) dt:

    h -= c dt curl e          e = ca e + cb curl h,   ca = (1 - s) / (1 + s),  cb = c dt / (eps (1 + s)),
                                                      s = sigma dt / (2 eps eps0)

then sources, then samples. Derivatives of E use the distances between planes, those of H the distances between the
cells' centres, and both carry the layers' stretching 1/s, a recursive convolution. On a magnetic wall H beyond is
minus H in front: zero beyond and half a cell between are the same.

References:
    Taflove & Hagness, 3rd ed., eq. 3.28 to 3.30 (updates), sec. 7.9 (layers), sec. 15.9 (lumped elements).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.constants import epsilon_0, speed_of_light

from fdtd.errors import ConfigError
from fdtd.yee.grid import Grid
from fdtd.yee.layers import Absorber
from fdtd.yee.media import Media

Taker = Callable[[int, np.ndarray], None]
"""Takes the number of a block of samples' first sample, and the samples of the box, (samples, points)."""

Look = Callable[[int, float], None]
"""Called at every look with the steps taken and the energy in dB of its largest."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A waveform on E components: e += gain * waveform[n] after the update of step n.

    Attributes:
        points: Components and places (component, k, j, i), int, (points, 4).
        gains: (points,), V/m a unit of the waveform.
        waveform: Values at (n + 1/2) dt, (samples,); zero afterwards.
    """

    points: np.ndarray
    gains: np.ndarray
    waveform: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Probe:
    """Weighted sums of components after every step.

    Attributes:
        points: Components and places (component, k, j, i), int, (points, 4).
        weights: (sums, points).
    """

    points: np.ndarray
    weights: np.ndarray

    @property
    def spans(self) -> np.ndarray:
        """The first point of each sum that has a weight, and the one after the last, int, (sums, 2).

        Sums of several ports have each its own port's points.
        """
        some = [np.flatnonzero(row) for row in self.weights]
        return np.array([(at[0], at[-1] + 1) if len(at) else (0, 0) for at in some], np.int64).reshape(-1, 2)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """When a problem is sampled, looked at and stopped.

    Attributes:
        steps: Step limit.
        record_every: The box is sampled after the steps n with n + 1 a multiple of this.
        check_every: Steps between looks at the energy; a multiple of `record_every`.
        decay: Stop at the first look with energy below this fraction of its largest at any look so far; 0 runs on.
        settled: Do not stop before this step (the source is still on).
    """

    steps: int
    record_every: int = 1
    check_every: int = 0
    decay: float = 0.0
    settled: int = 0

    @classmethod
    def until(cls, decay_db: float, most: int, *, settled: int, look: int, record_every: int = 1) -> Sampling:
        """Return when to stop a run that is stepped until its energy has decayed.

        Args:
            decay_db: Energy to stop at, dB of its largest.
            most: Step limit; the run ends at the next look.
            settled: See the class.
            look: Steps between looks, at least.
            record_every: See the class.
        """
        check_every = record_every * math.ceil(look / record_every)
        return cls(
            steps=check_every * math.ceil(most / check_every),
            record_every=record_every,
            check_every=check_every,
            decay=10 ** (decay_db / 10),
            settled=settled,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """What a backend steps.

    Attributes:
        grid: The lattice.
        media: On its edges.
        sampling: When to sample and to stop.
        absorber: Profile of the layers.
        source: What drives the fields.
        probe: Sums that are kept at every step.
        box: Flat indices, into the state (6, nz + 1, ny + 1, nx + 1), of what is sampled every `record_every` steps.
        initial: Start fields of the state's shape, or None for zero; what stands in metal or padding is ignored.
    """

    grid: Grid
    media: Media
    sampling: Sampling
    absorber: Absorber = field(default_factory=Absorber)
    source: Source | None = None
    probe: Probe | None = None
    box: np.ndarray | None = None
    initial: np.ndarray | None = None

    def __post_init__(self) -> None:
        shape = (3, *self.grid.shape)
        for name in ("permittivity", "conductivity", "metal"):
            if getattr(self.media, name).shape != shape:
                raise ConfigError(f"media.{name} has shape {getattr(self.media, name).shape} (expected {shape})")
        if self.initial is not None and self.initial.shape != (6, *self.grid.shape):
            raise ConfigError(f"initial has shape {self.initial.shape} (expected {(6, *self.grid.shape)})")
        if self.sampling.decay and not self.sampling.check_every:
            raise ConfigError("sampling.decay is set but check_every = 0; set check_every to look at the energy")
        if self.sampling.check_every % self.sampling.record_every:
            raise ConfigError(
                f"check_every = {self.sampling.check_every} is no multiple of record_every = "
                f"{self.sampling.record_every}; round it up"
            )

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return ca and cb of all edges, (3, nz + 1, ny + 1, nx + 1) each, cb in m; zero in metal."""
        media, opened = self.media, ~self.media.metal
        ca, cb = factors(media.permittivity, media.conductivity, self.grid.dt)
        return np.where(opened, ca, 0.0), np.where(opened, cb, 0.0)


def factors(permittivity: np.ndarray, conductivity: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return ca and cb, m, of media: relative permittivity, conductivity in S/m, time step in s."""
    loss = conductivity * dt / (2 * permittivity * epsilon_0)
    return (1 - loss) / (1 + loss), speed_of_light * dt / (permittivity * (1 + loss))


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """What stepping left.

    Attributes:
        steps: Steps taken.
        sums: The probe's sums after every step, (steps, sums); in V/m times the weights' unit.
        final: State after the last step, (6, nz + 1, ny + 1, nx + 1), V/m; None where a device keeps it.
        energy: Energy at every look, eps |E|^2 + |H|^2 over the lattice, V^2 m, (looks,).
        finite: Whether all fields are.
        seconds: Spent stepping.
    """

    steps: int
    sums: np.ndarray
    final: np.ndarray | None
    energy: np.ndarray
    finite: bool
    seconds: float

    @property
    def decay(self) -> float:
        """Energy at the last look over the largest at any look; 1 without looks."""
        return float(self.energy[-1] / self.energy.max()) if len(self.energy) and self.energy.max() > 0 else 1.0


def stop(energy: list[float], steps: int, sampling: Sampling, look: Look | None = None) -> bool:
    """Return whether to stop after a look, which is the last entry."""
    last, largest = energy[-1], max(energy)
    if look is not None:
        look(steps, 10 * math.log10(last / largest) if 0 < last < math.inf else -math.inf)
    if not math.isfinite(last):
        return True
    return steps >= sampling.settled and last < sampling.decay * largest
