"""Modes of an empty closed cylinder as the axisymmetric lattice has them: exact solutions of its equations.

TE: H_z = u(r) sin(bz) on the half nodes; TM: a potential u(r) cos(bz) on the nodes i = 1 ... nr - 1 (and 0 for m = 0).
K^2 and u are an eigenvalue and eigenvector of a three-term operator along r, symmetric once scaled by the square root
of the ring's area; radii in cells:

    TM   (r_(i+1/2) (u_i - u_(i+1)) + r_(i-1/2) (u_i - u_(i-1))) / r_i + m^2/r_i^2 u_i = K^2 u_i, r_0 = 1/8 for m = 0
    TE   (r_(i+1) (u_i - u_(i+1)) + r_i (u_i - u_(i-1))) / r_(i+1/2) + m^2/r_(i+1/2)^2 u_i = K^2 u_i

and with b = p pi/(nz d), (2 sin(w dt/2)/S)^2 = K^2 + (2 sin(b d/2))^2, S = c dt/d.
"""

from __future__ import annotations

import numpy as np
from scipy.constants import speed_of_light
from scipy.linalg import eigh_tridiagonal

from fdtd.axisymmetric.grid import AxisymmetricGrid


def radial_modes(kind: str, order: int, nr: int) -> tuple[np.ndarray, np.ndarray]:
    """K^2, ascending, and the modes in columns: E_z at the nodes i = 0 ... nr - 1 or H_z at the half nodes."""
    node, half = np.arange(nr + 1.0), np.arange(nr) + 0.5
    if kind == "TM":
        area = node[:-1].copy()
        area[0] = 1 / 8
        side = np.concatenate([[0.0], half])
        spin = np.divide(1.0, node[:-1], out=np.zeros(nr), where=node[:-1] > 0)
        kept = slice(0 if order == 0 else 1, nr)
    else:
        area, side, spin, kept = half, np.concatenate([node[:-1], [0.0]]), 1 / half, slice(0, nr)
    scale = np.sqrt(area[kept].astype(np.longdouble))
    diagonal = (side[1:] + side[:-1] + order**2 * spin)[kept] / scale**2
    beside = -side[1:-1][kept][: len(scale) - 1] / (scale[1:] * scale[:-1])
    vectors = eigh_tridiagonal(diagonal.astype(float), beside.astype(float))[1]
    # Eigenvalues come rounded to 2^-52 of the largest, times what a machine's LAPACK adds; Rayleigh's quotient in long
    # numbers is off by the square of the vectors' error.
    long = vectors.astype(np.longdouble)
    products = (diagonal[:, np.newaxis] * long**2).sum(axis=0) + 2 * (beside[:, np.newaxis] * long[1:] * long[:-1]).sum(
        0
    )
    values = (products / (long**2).sum(axis=0)).astype(float)
    modes = np.zeros((nr, len(values)))
    modes[kept] = vectors / scale.astype(float)[:, np.newaxis]
    positive = slice(1 if kind == "TE" and order == 0 else 0, None)  # a uniform H_z is static
    return values[positive], modes[:, positive]


def layered_resonance(grid: AxisymmetricGrid, kind: str, on_planes: np.ndarray, between: np.ndarray) -> float:
    """Lowest resonance of TM_m1 or TE_m1 on the lattice, its permittivity a function of z alone, Hz.

    Along z, with w~ = 2 sin(w dt/2)/S and the radial K^2, there is an eigenvalue of a three-term operator again:

        TE, E_t at the planes     eps_k w~^2 e_k = K^2 e_k + 2 e_k - e_(k+1) - e_(k-1),                e = 0 at the ends
        TM, H_t between them      w~^2 h_k = K^2/eps'_k h_k + (h_k - h_(k+1))/eps_(k+1) + (h_k - h_(k-1))/eps_k,

    without the terms in eps of the end planes, where E_t is zero.

    Args:
        grid: The closed cylinder.
        kind: "TM" or "TE".
        on_planes: Relative permittivity of E_r and E_phi, eps, (nz,).
        between: Relative permittivity of E_z, eps', (nz,).
    """
    squared = radial_modes(kind, grid.azimuthal_order, grid.nr)[0][0]
    if kind == "TE":
        inside = on_planes[1:]
        diagonal, beside = (squared + 2) / inside, -1 / np.sqrt(inside[1:] * inside[:-1])
    else:
        inverse = 1 / on_planes[1:]
        diagonal = squared / between + np.append(inverse, 0.0) + np.append(0.0, inverse)
        beside = -inverse
    lowest = eigh_tridiagonal(diagonal, beside, eigvals_only=True, select="i", select_range=(0, 0))[0]
    sine = grid.courant_number * np.sqrt(lowest) / 2
    return float(np.arcsin(sine) / np.pi * speed_of_light / (grid.courant_number * grid.cell))


def rounding(step: float) -> float:
    """Relative error of a frequency read as arccos(cos(w dt)), w dt = `step`, where the cosine is off by 2^-52."""
    return float(2.0**-52 / (step * np.sin(step)))


def axisymmetric_start(grid: AxisymmetricGrid, kind: str, mode: np.ndarray, p: int) -> np.ndarray:
    """E of one mode of the closed cylinder in the stored unknowns, (6, nz, nr); H is zero half a step later.

    TE: E_r = m H_z/r, r E_phi = -r dr H_z, times sin(b z). TM, from a potential u(r) cos(b z) along z: E_z = K^2 u,
    E_r = dz dr u, r E_phi = -m dz u.
    """
    m, nr, nz = grid.azimuthal_order, grid.nr, grid.nz
    half, node = np.arange(nr) + 0.5, np.arange(nr, dtype=float)
    b = np.pi * p / nz
    plane, between = np.arange(nz), np.arange(nz) + 0.5
    start = np.zeros((6, nz, nr))
    if kind == "TE":
        start[0] = np.outer(np.sin(b * plane), m * mode / half)
        start[1] = np.outer(np.sin(b * plane), -node * np.diff(mode, prepend=0.0))
        return start
    slope = -2 * np.sin(b / 2) * np.sin(b * plane)
    area = np.concatenate([[1 / 8], node[1:]])
    drop = np.diff(mode, append=0.0)
    flux = np.diff(half * drop, prepend=0.0)
    spin = np.divide(m**2 * mode, node, out=np.zeros(nr), where=node > 0)
    start[2] = np.outer(np.cos(b * between), (spin - flux) / area)
    if m > 0:
        start[2, :, 0] = 0.0
    start[0] = np.outer(slope, drop)
    start[1] = np.outer(slope, -m * mode)
    return start
