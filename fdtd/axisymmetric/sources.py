"""What drives the fields: a sheet of current in the feed, shaped like a waveguide mode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class ModalSource:
    """Electric current in one plane of the feed; sends the mode both ways.

    In step n, after the curl, e_r[plane, i] -= profile_r[i] waveform[n] and (r E_phi)[plane, i] -= profile_phi[i]
    waveform[n].

    Attributes:
        plane: Row k.
        profile_r: Shape (columns,), columns i = 0 ... columns - 1 at the half nodes.
        profile_phi: Shape (columns,), at the nodes, times r in cells.
        waveform: One number a step at (n + 1/2) dt, shape (steps,); zero once the pulse is over (may be shorter than
            the run).
    """

    plane: int
    profile_r: np.ndarray
    profile_phi: np.ndarray
    waveform: np.ndarray
