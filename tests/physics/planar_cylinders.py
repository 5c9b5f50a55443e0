"""A cylinder next to a line source: the exact eigenfunction series, and the error of `fdtd.planar.scattering`.

Electric line current I along z (TM, u = E_z) or magnetic one K (TE, u = H_z); time convention exp(+jwt); cylinder of
radius a at the origin, source at (rho', phi'), k1 = sqrt(eps) k. By Graf's theorem, for rho < rho',

    u_i = C H_0(k |r - r'|) = C sum_n H_n(k rho') J_n(k rho) exp(jn (phi - phi')),   H = H^(2),
    u_s = C sum_n c_n H_n(k rho') H_n(k rho) exp(jn (phi - phi')),   C = -w mu I/4 (TM), -w eps0 K/4 (TE)
    dielectric: c_n = -(J_n'(ka) J_n(k1 a) - q J_n(ka) J_n'(k1 a)) / (H_n'(ka) J_n(k1 a) - q H_n(ka) J_n'(k1 a)),
                q = sqrt(eps) (TM), 1/sqrt(eps) (TE)
    metal:      c_n = -J_n(ka)/H_n(ka) (TM), -J_n'(ka)/H_n'(ka) (TE).

Far away u_s -> C sqrt(2j/(pi k rho)) exp(-jk rho) P(phi), P = sum_n c_n j^n H_n(k rho') exp(jn (phi - phi')), and the
scattering width against the incident intensity on the axis is 2 pi rho |u_s|^2/|u_i(0)|^2 = 4/k |P|^2/|H_0(k rho')|^2.

References:
    Harrington, Time-Harmonic Electromagnetic Fields, ch. 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.constants import c, epsilon_0, mu_0
from scipy.special import h2vp, hankel2, jv, jvp

from fdtd.planar.scattering import Cylinder, Mesh, Scattering, scatter

FREQUENCY = 10e9
WAVELENGTH = c / FREQUENCY
SOURCE_ANGLE = 0.4  # rad: no symmetry of the lattice helps
ANGLES = np.linspace(0, 2 * np.pi, 360, endpoint=False)
_ORDERS = np.arange(-60, 61)[:, None]


@dataclass(frozen=True)
class Case:
    """What stands where; lengths in wavelengths of free space, permittivity None is metal."""

    polarisation: str
    permittivity: float | None
    radius: float = 0.5
    source: float = 1.0
    ring: float = 0.75


@dataclass(frozen=True)
class Comparison:
    """Relative L2 errors over angle, and what the run left out."""

    ring: float
    width: float
    incident: float
    ringing: float


def coefficients(polarisation: str, permittivity: float | None, n: np.ndarray, ka: float) -> np.ndarray:
    """c_n."""
    if permittivity is None:
        return -jv(n, ka) / hankel2(n, ka) if polarisation == "TM" else -jvp(n, ka) / h2vp(n, ka)
    index = np.sqrt(permittivity)
    q = index if polarisation == "TM" else 1 / index
    inner, slope = jv(n, index * ka), q * jvp(n, index * ka)
    top = jvp(n, ka) * inner - jv(n, ka) * slope
    return -top / (h2vp(n, ka) * inner - hankel2(n, ka) * slope)


def series(case: Case, place: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Total and incident field at points x + jy, m, for a current of 1; and the scattering width at `ANGLES`, m."""
    k = 2 * np.pi / WAVELENGTH
    source = case.source * WAVELENGTH * np.exp(1j * SOURCE_ANGLE)
    factor = -2 * np.pi * FREQUENCY / 4 * (mu_0 if case.polarisation == "TM" else epsilon_0)
    found = coefficients(case.polarisation, case.permittivity, _ORDERS, 2 * np.pi * case.radius)
    weights = np.nan_to_num(found * hankel2(_ORDERS, k * abs(source)))
    kept = np.abs(weights[:, 0]) > 0
    n, weights = _ORDERS[kept], weights[kept]
    incident = factor * hankel2(0, k * np.abs(place - source))
    scattered = weights * hankel2(n, k * np.abs(place)) * np.exp(1j * n * np.angle(place / source))
    pattern = (weights * 1j**n * np.exp(1j * n * (ANGLES - SOURCE_ANGLE))).sum(axis=0)
    width = 4 / k * np.abs(pattern / hankel2(0, k * abs(source))) ** 2
    return incident + factor * scattered.sum(axis=0), incident, width


@lru_cache
def solve(case: Case, cells: float = 20.0, compensate: bool = True, tensor: bool = True) -> Scattering:
    """The case on the lattice, with `cells` a wavelength in the cylinder (metal: in free space)."""
    source = case.source * WAVELENGTH * np.exp(1j * SOURCE_ANGLE)
    return scatter(
        Cylinder(radius=case.radius * WAVELENGTH, permittivity=case.permittivity),
        polarisation=case.polarisation,
        frequency=FREQUENCY,
        source=(source.real, source.imag),
        ring=case.ring * WAVELENGTH,
        angles=ANGLES,
        mesh=Mesh(cells_per_wavelength=cells, compensate=compensate, tensor=tensor),
    )


def compare(case: Case, cells: float = 20.0, *, compensate: bool = True, tensor: bool = True) -> Comparison:
    """Errors of the total field on the ring, of the scattering width, and of the incident field alone."""
    found = solve(case, cells, compensate, tensor)
    total, incident, width = series(case, found.x + 1j * found.y)
    return Comparison(
        ring=_l2(found.total, total),
        width=_l2(found.width, width),
        incident=_l2(found.incident, incident),
        ringing=found.ringing,
    )


def _l2(measured: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm(measured - exact) / np.linalg.norm(exact))
