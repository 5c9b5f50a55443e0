"""A cavity with a dielectric rod on its axis from floor to ceiling: exact modes, and the same on the lattice.

Fields E cos(wt), H sin(wt) (H scaled by the free-space impedance, c = 1), E_z = u(r) cos(bz), H_z = v(r) sin(bz),
b = p pi/L, q^2 = eps w^2 - b^2 on either side of the rod's surface r = a. From Maxwell's equations of order m,

    q^2 E_phi = b m u/r + w v',   q^2 E_r = -(b u' + w m v/r),   times sin(bz);   w H_phi = u' - b E_r, times cos(bz).

Inside u, v ~ J_m(q1 r); outside u ~ J_m(q2 r) Y_m(q2 R) - Y_m(q2 r) J_m(q2 R), v the same with derivatives at R. With
U, V the logarithmic derivatives u'/u, v'/v at a, the continuity of E_phi and H_phi leaves

    w^2 (eps U1/q1^2 - U2/q2^2) (V1/q1^2 - V2/q2^2) = (b m/a)^2 (1/q1^2 - 1/q2^2)^2,

the modes of a shielded rod (for m = 0 either factor: TM or TE).

References:
    Collin, Field Theory of Guided Waves, 2nd ed., sec. 6.9 (dielectric rod); Zaki & Atia, IEEE MTT 31 (1983) 1039.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from cavities import LENGTH, RADIUS, cavity_grid, open_media, ring_out
from scipy.constants import speed_of_light
from scipy.optimize import brentq
from scipy.special import jv, jvp, yv, yvp

from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.media import Media, effective_permittivity
from fdtd.axisymmetric.monitors import PortMonitor
from fdtd.axisymmetric.scene import Dielectric, Scene, box


@dataclass(frozen=True, kw_only=True)
class Rod:
    """A mode of a cavity with a rod.

    Attributes:
        order: Azimuthal order m.
        half_waves: Along z, p: 0 is allowed for m = 0 alone.
        permittivity: Of the rod.
        radius: Of the rod, m.
    """

    order: int
    half_waves: int
    permittivity: float
    radius: float

    def _sides(self, k: float) -> tuple[complex, complex]:
        b = np.pi * self.half_waves / LENGTH
        return np.emath.sqrt(self.permittivity * k**2 - b**2), np.emath.sqrt(k**2 - b**2)

    def profiles(self, k: float, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """u, u', v, v' at r, u and v one at the surface."""
        m, a = self.order, self.radius
        q1, q2 = self._sides(k)
        r = np.asarray(r, dtype=float)
        within, r_out = r <= a, np.maximum(r, a)  # the outer solution is singular at the axis

        def outer(at: np.ndarray | float, derivative: int, n: int) -> np.ndarray:
            one, two = (
                (jv(m, q2 * RADIUS), yv(m, q2 * RADIUS)) if n == 0 else (jvp(m, q2 * RADIUS), yvp(m, q2 * RADIUS))
            )
            first, second = (jv(m, q2 * at), yv(m, q2 * at)) if derivative == 0 else (jvp(m, q2 * at), yvp(m, q2 * at))
            return first * two - second * one

        inner = jv(m, q1 * r) / jv(m, q1 * a), q1 * jvp(m, q1 * r) / jv(m, q1 * a)
        parts = []
        for n in (0, 1):
            for derivative in (0, 1):
                there = outer(r_out, derivative, n) / outer(a, 0, n) * q2**derivative
                parts.append(np.real(np.where(within, inner[derivative], there)))
        return parts[0], parts[1], parts[2], parts[3]

    def _terms(self, k: float) -> tuple[float, float, float]:
        """The factors of TM and TE, and what couples them."""
        m, a = self.order, self.radius
        q1, q2 = (float(np.real(q**2)) for q in self._sides(k))
        _, slope_in, _, _ = self.profiles(k, np.array([a]))
        _, u_out, _, v_out = self.profiles(k, np.array([a * (1 + 1e-12)]))
        b = np.pi * self.half_waves / LENGTH
        tm = self.permittivity * slope_in[0] / q1 - u_out[0] / q2
        return tm, slope_in[0] / q1 - v_out[0] / q2, b * m / a * (1 / q1 - 1 / q2)

    @cached_property
    def wavenumber(self) -> float:
        """K of the lowest mode (m = 0: TM), 1/m."""

        def condition(k: float) -> float:
            tm, te, coupling = self._terms(k)
            return tm if self.order == 0 else k**2 * tm * te - coupling**2

        b = np.pi * self.half_waves / LENGTH
        grid = np.linspace(b / np.sqrt(self.permittivity) * 1.0001 + 20.0, 1200.0, 601) + 1e-7
        values = np.array([condition(k) for k in grid])
        for i in np.flatnonzero(np.signbit(values[1:]) != np.signbit(values[:-1])):
            root = float(brentq(condition, grid[i], grid[i + 1], xtol=1e-11))  # pyright: ignore[reportArgumentType]
            if abs(condition(root)) < 1e-3 * (abs(values[i]) + abs(values[i + 1])):  # a zero, not a pole
                return root
        raise AssertionError("no resonance found")

    def resonance(self) -> float:
        """Its frequency, Hz."""
        return self.wavenumber * speed_of_light / (2 * np.pi)

    def start(self, grid: AxisymmetricGrid) -> np.ndarray:
        """E of the mode in the stored unknowns at t = 0, where H vanishes, (1, 6, nz, nr)."""
        m, k, b = self.order, self.wavenumber, np.pi * self.half_waves / LENGTH
        tm, _, coupling = self._terms(k)
        weight = 0.0 if m == 0 else -k * tm / coupling  # of v over u, from the continuity of H_phi
        fields = np.zeros((1, 6, grid.nz, grid.nr))
        sine, cosine = np.sin(b * grid.z_nodes)[:, np.newaxis], np.cos(b * grid.z_halves)[:, np.newaxis]
        node = np.maximum(grid.r_nodes, 1e-9)
        u, u_slope, v, v_slope = self.profiles(k, node)
        q = np.real(np.where(node <= self.radius, *(side**2 for side in self._sides(k))))
        fields[0, 2] = u * cosine
        fields[0, 1] = (b * m * u + weight * k * node * v_slope) / q / grid.cell * sine
        half = grid.r_halves
        _, u_slope, v, _ = self.profiles(k, half)
        q = np.real(np.where(half <= self.radius, *(side**2 for side in self._sides(k))))
        fields[0, 0] = -(b * u_slope + weight * k * m * v / half) / q * sine
        fields[0, 1, :, 0] = 0.0
        if m > 0:
            fields[0, 2, :, 0] = 0.0
        return fields

    def media(self, grid: AxisymmetricGrid) -> Media:
        """The rod, rasterised as antennas are."""
        far, loss = np.array([1.0]), np.zeros(1)
        body = Dielectric(
            distance=box(-far, np.array([self.radius]), -far, far),
            permittivity=np.array([self.permittivity]),
            loss_tangent=loss,
            r_max=self.radius,
            z_min=-1.0,
            z_max=1.0,
        )
        permittivity, _, _ = effective_permittivity(grid, Scene(batch=1, dielectrics=(body,)), 10e9)
        return open_media(permittivity)

    def error(self, backend: str, cells_per_mm: float) -> float:
        """Relative error of the lattice's resonance."""
        grid, expected = cavity_grid(self.order, cells_per_mm), self.resonance()
        start = self.start(grid)
        plane, none = grid.nz // 3, np.zeros(grid.nr)
        if self.order == 0:
            port = PortMonitor(plane=plane, v_r=none, v_phi=none, c_r=none, c_phi=np.ones(grid.nr))
        else:
            port = PortMonitor(plane=plane, v_r=start[0, 0, plane], v_phi=none, c_r=none, c_phi=none)
        return ring_out(backend, grid, self.media(grid), start, port, expected) / expected - 1
