"""Monitors: port plane, Huygens contour, the electric field itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class PortMonitor:
    """Projects the transverse field in one plane of the feed on a waveguide mode.

    voltage = sum_i v_r[i] e_r[k, i] + v_phi[i] (r E_phi)[k, i],
    current = sum_i c_r[i] h_r[k, i] + c_phi[i] (r H_phi)[k, i],
    radii in cells, H scaled by the free-space impedance. The current stands half a cell after and half a step later
    than the voltage.

    Attributes:
        plane: Row k.
        v_r, v_phi, c_r, c_phi: Weights, each (columns,), columns i = 0 ... columns - 1; (batch, columns) where antennas
            differ.
    """

    plane: int
    v_r: np.ndarray
    v_phi: np.ndarray
    c_r: np.ndarray
    c_phi: np.ndarray


@dataclass(frozen=True, kw_only=True)
class HuygensContour:
    """A closed box r <= column d, bottom <= plane k <= top: tangential E on it, tangential H half a cell outside.

    Those are the fields that the lattice itself exchanges through the box, so the power that they carry is conserved to
    rounding and the equivalent currents need no averaging (see `fdtd.farfield`). A sample is one row of `size` numbers,
    in this order:

        top:    e_r[top, 0:I], e[top, 0:I+1], h_r[top, 0:I+1], h[top, 0:I]
        bottom: e_r[bot, 0:I], e[bot, 0:I+1], h_r[bot-1, 0:I+1], h[bot-1, 0:I]
        side:   e[bot:top+1, I], e_z[bot:top, I], h[bot:top, I], h_z[bot:top+1, I]

    with I = column, e = r E_phi and h = r H_phi (r in cells), H scaled by the free-space impedance.
    """

    column: int
    bottom: int
    top: int

    @property
    def size(self) -> int:
        """Numbers in one sample."""
        return 2 * (4 * self.column + 2) + 4 * (self.top - self.bottom) + 2

    def sections(self) -> dict[tuple[str, str], slice]:
        """Return the place of each (face, component) in a sample."""
        n, height = self.column, self.top - self.bottom
        layout = [
            *((("top", name), size) for name, size in (("e_r", n), ("e", n + 1), ("h_r", n + 1), ("h", n))),
            *((("bottom", name), size) for name, size in (("e_r", n), ("e", n + 1), ("h_r", n + 1), ("h", n))),
            *((("side", name), height + extra) for name, extra in (("e", 1), ("e_z", 0), ("h", 0), ("h_z", 1))),
        ]
        sections, start = {}, 0
        for key, size in layout:
            sections[key] = slice(start, start + size)
            start += size
        return sections


@dataclass(frozen=True, kw_only=True)
class FieldMap:
    """Electric field at a few frequencies in a box of cells, as running sums at the recorded steps.

    Attributes:
        rows: [start, stop) in k.
        columns: [start, stop) in i.
        frequencies: Hz, shape (F,).
    """

    rows: tuple[int, int]
    columns: tuple[int, int]
    frequencies: np.ndarray

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """(F, re/im, component e_r / r E_phi / e_z, rows, columns) of the sums of one antenna."""
        return (len(self.frequencies), 2, 3, self.rows[1] - self.rows[0], self.columns[1] - self.columns[0])


@dataclass(frozen=True, kw_only=True)
class Snapshots:
    """Electric field of one antenna of the batch at some instants, as it is on the lattice.

    Frame f = 0, 1, ... is taken after (f + 1) * every steps, with E at (f + 1) * every * dt; an antenna that stops
    earlier has fewer frames.

    Attributes:
        every: Steps between frames.
        frames: Most frames; none is taken after the last.
        rows: [start, stop) in k.
        columns: [start, stop) in i.
        stride: Every how many rows and columns are kept.
        antenna: Place in the batch.
    """

    every: int
    frames: int
    rows: tuple[int, int]
    columns: tuple[int, int]
    stride: int = 1
    antenna: int = 0

    def __post_init__(self) -> None:
        if self.every < 1 or self.frames < 1 or self.stride < 1:
            raise ConfigError(
                f"snapshots every {self.every} steps, {self.frames} frames, stride {self.stride}: all must be >= 1"
            )

    @property
    def box(self) -> tuple[slice, slice]:
        """The rows and columns that are kept."""
        return slice(*self.rows, self.stride), slice(*self.columns, self.stride)

    def due(self, steps: int) -> bool:
        """Return whether a frame is taken after this many steps."""
        return steps % self.every == 0 and steps <= self.every * self.frames

    def steps_to_next(self, steps: int) -> int | None:
        """Steps from here to the next frame, or None when all have been taken."""
        return self.every - steps % self.every if steps < self.every * self.frames else None


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Times of recording: after the steps n with (n + 1) a multiple of `record_every`.

    Step n = 0, 1, ... takes E from n dt to (n + 1) dt and H from (n + 1/2) dt to (n + 3/2) dt, so a sample of step n
    has E at (n + 1) dt and H at (n + 3/2) dt.

    Attributes:
        record_every: Steps between samples.
        check_every: Steps between looks at the energy; a multiple of `record_every`.
        steps: Step limit.
        decay: Stop once the energy is below this fraction of its largest value so far; 0 runs all steps.
        settled: Do not stop before this step (the source is still on).
    """

    record_every: int
    check_every: int
    steps: int
    decay: float
    settled: int = 0

    def sample_times(self, grid: AxisymmetricGrid, samples: int) -> tuple[np.ndarray, np.ndarray]:
        """Times of E and of H of the first `samples` samples, s, each (samples,)."""
        ends = (np.arange(samples) + 1) * self.record_every
        return ends * grid.time_step, (ends + 0.5) * grid.time_step
