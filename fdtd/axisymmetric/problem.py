"""One initial-value problem for a batch of antennas, and its result: the interface of every backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import FieldMap, HuygensContour, PortMonitor, Sampling, Snapshots
from fdtd.cpml import AxialLayer, RadialLayer
from fdtd.errors import ConfigError
from fdtd.stencils import BOR, Stencil


@dataclass(frozen=True, kw_only=True)
class ModalSource:
    """Electric current in one plane of the feed; sends the mode both ways.

    In step n, after the curl, e_r[plane, i] -= profile_r[i] waveform[n] and (r E_phi)[plane, i] -= profile_phi[i]
    waveform[n].

    Attributes:
        plane: Row k.
        profile_r: Shape (columns,), columns i = 0 ... columns - 1 at the half nodes; (batch, columns) where antennas
            differ, zero beyond a narrower guide.
        profile_phi: The same shape, at the nodes, times r in cells.
        waveform: One number a step at (n + 1/2) dt, shape (steps,); zero once the pulse is over (may be shorter than
            the run).
    """

    plane: int
    profile_r: np.ndarray
    profile_phi: np.ndarray
    waveform: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Everything that a backend needs to step a batch; all but the media is shared by the batch.

    The unknowns are e_r, e = r E_phi, e_z, h_r, h = r H_phi, h_z with r in cells, E times the edge's open part and H
    scaled by the free-space impedance (in the radial layer the covariant components of `fdtd.cpml`). With
    S = c dt/d,

        h_r += S/r_i (dz e + m e_z)         h_z -= S/r_(i+1/2) (dr e + m e_r)       h += S r_(i+1/2) (dr e_z - dz e_r)
        eps de_r = S/r_(i+1/2) (m h_z - dz h)   eps de = S r_i (dz h_r - dr h_z)    eps de_z = S/r_i (dr h - m h_r)

    E with the semi-implicit loss ca = (1 - x)/(1 + x), cb = 1/(eps (1 + x)), x = sigma dt/(2 eps eps0), times the open
    length; H over the open area. On the axis: m = 0: e_z gains 8 S cb h(1/2), all else zero; m >= 1: all node
    components zero. Where `media.coupling` x is not zero, with c_r and c_z the curls as above (without S),

        e_r(i+1/2, k) += S/(4 r_(i+1/2)) sum over n = i, i+1 of x(n, k) r_n (c_z(n, k+1/2) + c_z(n, k-1/2))
        e_z(i, k+1/2) += S/4 sum over q = k, k+1 of x(i, q) (c_r(i+1/2, q) + c_r(i-1/2, q)),

    which is symmetric in the lattice's weights, so that energy stays bounded.

    Attributes:
        initial: Start fields (batch, 6, nz, nr) in the order above, or None for zero. For tests of the update.
        few: Whether few antennas are stepped at a time, as for a certificate. A device then takes the scheme that is
            fast for these.
        metal: Whether antennas have other metal than their feed, which fills rows with cut faces. A device chooses its
            scheme, and how that keeps coefficients, by it.
    """

    grid: AxisymmetricGrid
    media: Media
    sampling: Sampling
    radial_layer: RadialLayer
    axial_layers: tuple[AxialLayer, ...]
    source: ModalSource | None = None
    port: PortMonitor | None = None
    contour: HuygensContour | None = None
    field_map: FieldMap | None = None
    snapshots: Snapshots | None = None
    initial: np.ndarray | None = None
    few: bool = False
    metal: bool = False

    def __post_init__(self) -> None:
        if self.media.spans.cut_columns[self.grid.nr - self.radial_layer.cells :].any():
            raise ConfigError("a conductor cuts cells inside the radial absorbing layer; widen the grid (pml_distance)")

    @property
    def stencil(self) -> Stencil:
        """Update equations."""
        return BOR

    @property
    def lattices(self) -> tuple[int, int, int]:
        """Number of lattices stepped side by side, their rows and columns, padding included."""
        return self.media.batch, self.grid.nz, self.grid.nr

    @property
    def steps(self) -> int:
        """Step limit."""
        return self.sampling.steps

    @property
    def layer_cells(self) -> int:
        """Cells of the radial layer."""
        return self.radial_layer.cells


Watch = Callable[[int, float], None]
"""Called at every look at the first antenna's energy: the steps taken, the energy over its largest so far."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """Records of a batch; one entry an antenna, of its own length where an antenna stopped early.

    A device leaves its records in its own memory: port and contour as one array each, (batch, samples, numbers), of
    which an antenna has as many samples as it recorded; what follows is undefined.

    Attributes:
        steps: Steps taken, (batch,).
        energy: Energy at each look over the largest so far at the last look, (batch,): the decay reached.
        finite: Whether the fields stayed finite, (batch,).
        port: Modal voltage and current, list of (samples, 2).
        contour: Contour samples, list of (samples, contour.size).
        field_map: Sums of E exp(-jwt) over the recorded steps (not yet times their spacing), (batch, *field_map.shape),
            or None.
        snapshots: e_r, e, e_z of `Snapshots.antenna` as they are stored, (frames, 3, rows kept, columns kept), or None.
        final: Fields after the last step, (batch, 6, nz, nr).
        seconds: Wall time of the stepping, without what came before it and without waiting for other batches on the
            same device; None where the call as a whole is the stepping.
    """

    steps: np.ndarray
    energy: np.ndarray
    finite: np.ndarray
    port: list[np.ndarray] | np.ndarray
    contour: list[np.ndarray] | np.ndarray
    field_map: np.ndarray | None
    final: np.ndarray | None
    snapshots: np.ndarray | None = None
    seconds: float | None = None
