"""Figures of merit of an antenna from its far field in the planes phi = 0, 45 and 90 degrees.

A linear antenna is fed so that E is along x on its axis: the E plane is phi = 0, with E_theta, the H plane phi = 90
degrees, with E_phi. A circular one has its one feed too: its cuts, directivities and gains are those of the wanted
sense, in the same planes, and its cross-polarisation is the other sense.

Theta runs from -180 to 180 degrees; a negative one is on the other side of the axis. A board is not symmetric about its
axis, so that widths and lobes are those of both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.constants import epsilon_0, mu_0

from antennaopt.metrics import METRICS
from fdtd.farfield import cut_lobe, decibels, half_power_beamwidth, largest_power, or_none
from fdtd.farfield.polarisation import LINEAR, components

IMPEDANCE = float(np.sqrt(mu_0 / epsilon_0))
CROSS_LIMIT_DEG = 90.0
_PHI = np.deg2rad([0.0, 45.0, 90.0])
RIPPLE_DB = 0.1
"""Depth of a minimum of a cut that is the lattice's: the H plane of a dipole, a circle, varies by up to 0.044 dB on
lattices of 12 cells a wavelength, by 0.019 dB on 20 and by 0.005 dB on 40."""


@dataclass(frozen=True, kw_only=True)
class SolvedBoard:
    """What the solver returns of one antenna at F frequencies and T angles, for 1 W available from the source.

    Attributes:
        s11: Complex, (F,).
        accepted: Power that goes in, W, (F,); a port may keep some, so it is 1 - |S11|^2 at most.
        radiated: Power of the far field over the sphere, W, (F,).
        dissipated: Power lost in dielectrics, (F,).
        through_box: Flux of the fields through a box around the antenna, (F,).
        far_field: Complex E_theta and E_phi, (F, 3, T, 2); |E|^2 over twice the impedance of free space is W/sr.
        theta_deg: Angles, equally spaced from -180 to 180, (T,).
        polarisation: The wanted one, of `fdtd.farfield.polarisation.POLARISATIONS`.
    """

    s11: np.ndarray
    accepted: np.ndarray
    radiated: np.ndarray
    dissipated: np.ndarray
    through_box: np.ndarray
    far_field: np.ndarray
    theta_deg: np.ndarray
    polarisation: str = LINEAR

    @property
    def amplitudes(self) -> np.ndarray:
        """The far field in such units that its square is directivity, (F, 3, T, 2)."""
        return amplitudes_of(self.far_field, self.radiated)

    @property
    def components(self) -> tuple[np.ndarray, np.ndarray]:
        """Co- and cross-polar amplitude in the three planes, (F, 3, T) each."""
        field = self.amplitudes
        return components(field[..., 0], field[..., 1], _PHI[:, None], self.polarisation)

    @property
    def e_plane(self) -> np.ndarray:
        """Co-polar amplitude in the E plane, phi = 0, (F, T)."""
        return self.amplitudes[:, 0, :, 0] if self.polarisation == LINEAR else self.components[0][:, 0]

    @property
    def h_plane(self) -> np.ndarray:
        """Co-polar amplitude in the H plane, phi = 90 degrees, (F, T); on the axis it equals that of the E plane."""
        return -self.amplitudes[:, 2, :, 1] if self.polarisation == LINEAR else self.components[0][:, 2]


def amplitudes_of(far_field: np.ndarray, radiated: np.ndarray) -> np.ndarray:
    """Return a far field in such units that its square is directivity, the same shape.

    Args:
        far_field: Complex, peak V, (F, ...).
        radiated: Power over the sphere, W, (F,).
    """
    scale = np.sqrt(2 * np.pi / (IMPEDANCE * np.maximum(radiated, np.finfo(float).tiny)))
    return far_field * scale.reshape(-1, *[1] * (far_field.ndim - 1))


def figures_of(solved: SolvedBoard) -> dict[str, Any]:
    """Return metrics by key, a list a frequency each, None where one is not defined."""
    found = _patterns(solved)
    reflected, efficiency = np.abs(solved.s11) ** 2, solved.radiated / solved.accepted
    found |= {
        "gain_dbi": found["directivity_dbi"] + decibels(efficiency),
        "realized_gain_dbi": found["directivity_dbi"] + decibels(solved.radiated),
        "radiation_efficiency": efficiency,
        "s11_db": decibels(reflected),
        "power_balance": (solved.radiated + solved.dissipated) / solved.accepted,
        "contour_balance": solved.radiated / solved.through_box,
    }
    return {key: or_none(np.asarray(found[key], dtype=float)) for key in METRICS}


def _patterns(solved: SolvedBoard) -> dict[str, np.ndarray]:
    """Return the metrics of the pattern, (F,) each."""
    field, theta = solved.amplitudes, solved.theta_deg
    whole = decibels((np.abs(field) ** 2).sum(axis=-1))  # of both components
    level = whole if solved.polarisation == LINEAR else decibels(np.abs(solved.components[0]) ** 2)
    axis = int(np.argmin(np.abs(theta)))
    half = theta[axis:]
    e_dbi, h_dbi = (decibels(np.abs(one) ** 2) for one in (solved.e_plane, solved.h_plane))
    sides = [(one[:, axis:], np.ascontiguousarray(one[:, axis::-1])) for one in (e_dbi, h_dbi)]
    widths = [sum(half_power_beamwidth(side, half) / 2 for side in plane) for plane in sides]
    return {
        "directivity_dbi": level[:, 0, axis],
        "max_directivity_dbi": level.max(axis=(1, 2)),
        "hpbw_e_deg": np.asarray(widths[0]),
        "hpbw_h_deg": np.asarray(widths[1]),
        "sidelobe_db": _lobes(np.stack([e_dbi, h_dbi]), theta),
        "front_to_back_db": level[:, 0, axis] - np.maximum(whole[:, 0, 0], whole[:, 0, -1]),
        "crosspol_db": _cross(solved, axis),
    }


def _lobes(cuts: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the highest side lobe of any of the cuts up to 90 degrees from the axis, dB over the cut's maximum, (F,).

    Each side is read from the maximum on, which need not be on the axis; NaN without a side lobe. See
    `fdtd.farfield.side_lobe` for what counts as one. Cuts with the same maximum are looked at together.

    Args:
        cuts: dB, (cuts, F, T).
        theta: Angles, degrees, (T,).
    """
    ahead = np.flatnonzero(np.abs(theta) <= CROSS_LIMIT_DEG + 1e-9)
    peaks = ahead[np.argmax(cuts[..., ahead], axis=-1)]
    found = np.full((2, *peaks.shape), np.nan)  # of both ways
    for peak in np.unique(peaks).tolist():
        those = peaks == peak
        for at, way in enumerate((1, -1)):
            sides, angles = np.ascontiguousarray(cuts[those][:, peak::way]), way * (theta[peak::way] - theta[peak])
            found[at, those] = cut_lobe(sides, angles, float(CROSS_LIMIT_DEG - way * theta[peak]), RIPPLE_DB)
    return np.fmax.reduce(found.reshape(-1, cuts.shape[1]), axis=0)


def _cross(solved: SolvedBoard, axis: int) -> np.ndarray:
    """Return the largest cross-polar level over the co-polar one on the axis, dB, (F,).

    Of a linear antenna in the 45-degree plane, of a circular one in all three: no symmetry tells where it is largest.

    References:
        Ludwig, IEEE Trans. Antennas Propag. 21 (1973) 116, third definition, E along x: co-polar
        E_theta cos(phi) - E_phi sin(phi), cross-polar E_theta sin(phi) + E_phi cos(phi).
    """
    near = np.abs(solved.theta_deg) <= CROSS_LIMIT_DEG + 1e-9
    if solved.polarisation != LINEAR:
        wanted, other = (np.abs(one) ** 2 for one in solved.components)
        return decibels(
            largest_power(other[..., near]).max(axis=1) / np.maximum(wanted[:, 0, axis], np.finfo(float).tiny)
        )
    plane = solved.amplitudes[:, 1]
    co, cross = (np.abs(plane[..., 0] + sign * plane[..., 1]) ** 2 / 2 for sign in (-1, 1))
    return decibels(largest_power(cross[:, near]) / np.maximum(co[:, axis], np.finfo(float).tiny))
