"""Near field to far field for fields of one azimuthal order.

The contour's samples are the lattice's own: tangential E on the box, tangential H half a cell outside. By the lattice's
equivalence principle a current J = n x H at the E nodes (with the outside value of H) and M = -n x E at the outside H
nodes (with the value of E) leave the field outside unchanged and none inside, with nothing averaged in space or time.
What is left to do is to radiate these currents, in closed form over phi:

    a = j^(m-1) J_(m-1)(X), b = j^(m+1) J_(m+1)(X), X = k r sin(theta)
    C = pi (a + b), S = pi (a - b), Z = 2 pi j^m J_m(X), w = exp(j k z cos(theta)) r dl
    N_rho = sum w (J_r C - J_phi S), N_phi = sum w (-J_r S + J_phi C), N_z = sum w J_z Z
    L_rho = sum w (M_r C + M_phi S), L_phi = sum w ( M_r S + M_phi C), L_z = sum w M_z Z
    E_theta = -(jk/4 pi)(L_phi + eta N_theta) cos(m phi),  E_phi = (jk/4 pi)(L_theta - eta N_phi) sin(m phi)

J and M of a face stand half a cell apart. A plane wave that crosses it with k_n along the normal is radiated cos(k_n
d/2) times too weakly, and carries cos(k_n d/2) times the power of a wave of its amplitude on the lattice. Dividing by
the root of that factor gives the wave in space that carries the power which the lattice sent through the contour:
without it the far field of antennas meshed with 20 cells a wavelength in a dielectric holds 0.4 % too little power.

References:
    Taflove & Hagness, 3rd ed., ch. 8; Schelkunoff, Bell Syst. Tech. J. 15 (1936) 92 (equivalence); Balanis, Antenna
    Theory, 4th ed., sec. 12.2 (radiation integrals).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.constants import speed_of_light
from scipy.special import jv

from fdtd.arrays import kept, library
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.monitors import HuygensContour
from fdtd.farfield.cuts import equal_angles


@dataclass(frozen=True, kw_only=True)
class _Current:
    """One component of the equivalent currents along one face: value = sign * weight * sample."""

    sample: slice
    kind: str  # "J" or "M" and its direction: "Jr", "Mphi", ...
    r: np.ndarray
    z: np.ndarray
    factor: np.ndarray
    side: bool = False


def _currents(contour: HuygensContour) -> list[_Current]:
    """Return from where each sample radiates, and as what; lengths in cells, z from plane k = 0; factor includes r."""
    n, low, high = contour.column, float(contour.bottom), float(contour.top)
    at = contour.sections()
    node, half = np.arange(n + 1.0), np.arange(n) + 0.5
    plane, between = np.arange(low, high + 1), np.arange(low, high) + 0.5
    one, ones_half = np.ones(n + 1), np.ones(n)
    currents = []
    for face, sign, z_e, z_h in (("top", 1.0, high, high + 0.5), ("bottom", -1.0, low, low - 0.5)):
        currents += [
            _Current(sample=at[face, "h"], kind="Jr", r=half, z=z_e * ones_half, factor=-sign * ones_half),
            _Current(sample=at[face, "h_r"], kind="Jphi", r=node, z=z_e * one, factor=sign * node),
            _Current(sample=at[face, "e"], kind="Mr", r=node, z=z_h * one, factor=sign * one),
            _Current(sample=at[face, "e_r"], kind="Mphi", r=half, z=z_h * ones_half, factor=-sign * half),
        ]
    inner, outer = float(n), n + 0.5
    tall, short = np.ones(len(plane)), np.ones(len(between))
    currents += [
        _Current(sample=at["side", "h_z"], kind="Jphi", r=inner * tall, z=plane, factor=-inner * tall, side=True),
        _Current(sample=at["side", "h"], kind="Jz", r=inner * short, z=between, factor=short, side=True),
        _Current(sample=at["side", "e_z"], kind="Mphi", r=outer * short, z=between, factor=outer * short, side=True),
        _Current(sample=at["side", "e"], kind="Mz", r=outer * tall, z=plane, factor=-tall, side=True),
    ]
    return currents


class FarFieldTransform:
    """The linear map from a contour's spectrum to the far field, for one grid, contour and list of frequencies.

    Args:
        grid: The lattice.
        contour: Where the samples stand.
        frequencies: Hz, (F,).
        theta: Angles from the axis, rad, (T,).
    """

    def __init__(
        self, grid: AxisymmetricGrid, contour: HuygensContour, frequencies: np.ndarray, theta: np.ndarray
    ) -> None:
        self.theta = np.asarray(theta, dtype=float)
        self.frequencies = np.asarray(frequencies, dtype=float)
        self._matrix = np.stack([self._one(grid, contour, frequency) for frequency in self.frequencies])
        self._copies: dict[Any, Any] = {}

    def _one(self, grid: AxisymmetricGrid, contour: HuygensContour, frequency: float) -> np.ndarray:
        """The map at one frequency, (2, T, contour.size)."""
        m = grid.azimuthal_order
        k = 2 * np.pi * frequency / speed_of_light * grid.cell
        sine, cosine = np.sin(self.theta)[:, None], np.cos(self.theta)[:, None]
        out = np.zeros((2, len(self.theta), contour.size), dtype=complex)
        known: dict[bytes, tuple[np.ndarray, ...]] = {}
        for current in _currents(contour):
            through = sine if current.side else cosine
            w = np.exp(1j * k * (current.z - grid.origin) * cosine) * current.factor / np.sqrt(np.cos(k / 2 * through))
            r = current.r if np.ptp(current.r) > 0 else current.r[:1]
            if r.tobytes() not in known:
                known[r.tobytes()] = tuple(1j**order * jv(order, k * r * sine) for order in (m - 1, m, m + 1))
            minus, middle, plus = known[r.tobytes()]
            c, s = np.pi * (minus + plus) * w, np.pi * (minus - plus) * w
            axial = 2 * np.pi * middle * w
            zero = np.zeros_like(w)
            rho, phi, z = {
                "Jr": (c, -s, zero),
                "Jphi": (-s, c, zero),
                "Jz": (zero, zero, axial),
                "Mr": (c, s, zero),
                "Mphi": (s, c, zero),
                "Mz": (zero, zero, axial),
            }[current.kind]
            theta = rho * cosine - z * sine
            if current.kind[0] == "J":
                out[0][:, current.sample] += theta
                out[1][:, current.sample] += phi
            else:
                out[0][:, current.sample] += phi
                out[1][:, current.sample] -= theta
        return -1j * k / (4 * np.pi) * out

    def __call__(self, spectrum: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Far field of contour spectra.

        Args:
            spectrum: (..., F, contour.size), time convention exp(+jwt), H scaled by the free-space impedance.

        Returns:
            A and B, (..., F, T), in cells: r E = d (A cos(m phi) theta^ + B sin(m phi) phi^) exp(-jkr), V per V/m of
            the samples.
        """
        xp = library(spectrum)
        frequencies, _, angles, size = self._matrix.shape
        if xp not in self._copies:
            self._copies[xp] = kept(xp, self._matrix.reshape(frequencies, 2 * angles, size))
        columns = np.moveaxis(spectrum.reshape(-1, frequencies, size), 0, -1)
        field = np.moveaxis(self._copies[xp] @ columns, -1, 0).reshape(*spectrum.shape[:-1], 2, angles)
        return field[..., 0, :], field[..., 1, :]


_BUILDING = threading.Lock()  # of two threads that need the same transform one builds it


@lru_cache(maxsize=4)
def _built(
    grid: AxisymmetricGrid, contour: HuygensContour, frequencies: tuple[float, ...], intervals: int
) -> FarFieldTransform:
    return FarFieldTransform(grid, contour, np.array(frequencies), np.deg2rad(equal_angles(intervals)))


def transform(
    grid: AxisymmetricGrid, contour: HuygensContour, frequencies: tuple[float, ...], intervals: int
) -> FarFieldTransform:
    """Return the transform to equal angles, built once for all batches on a lattice.

    Args:
        grid: The lattice.
        contour: Where the samples stand.
        frequencies: Hz.
        intervals: Number of equal steps from 0 to 180 degrees.
    """
    with _BUILDING:
        return _built(grid, contour, frequencies, intervals)


_FLUX = (
    ("top", "e_r", "h", 1), ("top", "e", "h_r", -1), ("bottom", "e_r", "h", -1), ("bottom", "e", "h_r", 1),
    ("side", "e", "h_z", 1), ("side", "e_z", "h", -1),
)  # fmt: skip


@lru_cache(maxsize=4)
def flux_pairs(contour: HuygensContour) -> np.ndarray:
    """Return places of E and H in a sample, and the sign of Re E* H in the power that leaves, (3, pairs), int32."""
    at = contour.sections()
    places = [
        np.stack(np.broadcast_arrays(*(np.arange(at[face, one].start, at[face, one].stop) for one in pair), sign))
        for face, *pair, sign in _FLUX
    ]
    return np.concatenate(places, axis=1).astype(np.int32)


def contour_power(contour: HuygensContour, spectrum: np.ndarray) -> np.ndarray:
    """Power through the contour in units of pi d^2 / (2 eta0): the lattice's conserved flux Re sum E* x H.

    Args:
        contour: Where the samples stand.
        spectrum: (..., contour.size).

    Returns:
        (...), for m >= 1 (twice that for m = 0).
    """
    at, conjugate = contour.sections(), np.conj(spectrum)  # once: a device takes as long for a part of it

    def pair(face: str, first: str, second: str) -> np.ndarray:
        return np.real(conjugate[..., at[face, first]] * spectrum[..., at[face, second]]).sum(axis=-1)

    top, bottom = (pair(face, "e_r", "h") - pair(face, "e", "h_r") for face in ("top", "bottom"))
    return top - bottom + pair("side", "e", "h_z") - pair("side", "e_z", "h")
