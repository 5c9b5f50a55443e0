"""What fills the lattice: permittivity, conductivity and conductor, a batch of antennas at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Media:
    """Material on each component's own node, and how much of each edge and face is free of conductor.

    Attributes:
        permittivity: Relative, shape (batch, 3, nz, nr) for e_r, e_phi, e_z.
        conductivity: S/m, same shape.
        open_length: Part of each E edge outside the conductor (0: inside), same shape; for e_phi 0 or 1. The stepped unknown is
            open_length times the field, so it is zero in the conductor.
        open_area: Part of each H face outside the conductor, shape (batch, 3, nz, nr) for h_r, h_phi, h_z; H there is driven by
            1 / open_area times the circulation along the open edges (Dey & Mittra, IEEE MGWL 7 (1997) 273). 1 where the face is
            whole or wholly inside the conductor.
    """

    permittivity: np.ndarray
    conductivity: np.ndarray
    open_length: np.ndarray
    open_area: np.ndarray

    @property
    def batch(self) -> int:
        """Antennas in the batch."""
        return self.permittivity.shape[0]
