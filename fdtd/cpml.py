"""Convolutional perfectly matched layers: profiles in space, filters in time.

An axial layer stretches d/dz by 1 / s_z. The radial layer stretches the radius itself, r~ = int s_r dr, which enters
the derivatives *and* every 1/r (stretching d/dr alone is a quasi-PML that reflects -40 dB). Written with the covariant
components

    e_r = s E_r, e = r~ E_phi, E_z   and   h_r = s H_r, h = r~ H_phi, H_z,

which are E_r, r E_phi, ... wherever s = 1, Maxwell's curl equations keep their form and the stretching moves into one
factor a component:

    jw h_r =  F_A (dz e + m E_z)      F_A = s / r~          jw e_r = F_A (m H_z - dz h)
    jw h   =  F_B (dr E_z - dz e_r)   F_B = r~ / s          jw e   = F_B (dz h_r - dr H_z)
    jw H_z = -F_C (dr e + m e_r)      F_C = 1 / (s r~)      jw E_z = F_C (dr h - m h_r)

With s = kappa + sigma / p, r~ = R + Sigma / p, p = jw + alpha, R = int kappa dr, Sigma = int sigma dr and one alpha for
all radii, F_A and F_B have a single pole and F_C two:

    F_A = kappa/R + (sigma R - kappa Sigma) / R^2 / (p + Sigma/R)
    F_B = R/kappa + (Sigma kappa - R sigma) / kappa^2 / (p + sigma/kappa)
    F_C = 1/(kappa R) [1 + A/(p + a) + G/(p + g)],   a = sigma/kappa, g = Sigma/R, A = a^2/(g - a), G = g^2/(a - g)

so each becomes F_inf X + sum psi with psi <- b psi + c X once a step, exact in r and z, corners included.

In discrete time all of F_A, F_B, F_C must come from one and the same p, or F_A F_B = 1 fails and waves that run along
the radial layer see gain: with a recursive convolution of its own for each pole (b = exp(-rate)) the energy of random
fields grows by 12 orders of magnitude in 500 steps, and the layer reflects -48 dB. The backward difference
p = alpha + (1 - z^-1) / dt keeps every identity at every frequency, with b = 1 / (1 + rate dt): no growth, and -72 dB.
(It is the trapezoidal rule with kappa raised by sigma dt / 2.) The axial layer has one factor only, 1 / s_z, and keeps
the recursive convolution. alpha > 0 keeps static charges in the layers from growing with time.

References:
    Roden & Gedney, Microw. Opt. Tech. Lett. 27 (2000) 334; Taflove & Hagness, 3rd ed., ch. 7; Teixeira & Chew, IEEE
    MGWL 7 (1997) 371 (stretching in cylindrical coordinates).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.errors import ConfigError

_ORDER = 3  # polynomial grading of sigma and kappa - 1


@dataclass(frozen=True, kw_only=True)
class RadialFilters:
    """Coefficients of the radial layer's recursive filters, columns i = start ... nr - 1.

    Each array is (nr - start,); lengths are in cells, rates in 1/step. `gain` is F_inf; psi <- decay psi + drive X, and
    the update adds S (F_inf X + sum of psi). The node filters serve h_r (A), e (B) and E_z (C); the half-node filters
    e_r (A), h (B), H_z (C).
    """

    start: int
    node_a: tuple[np.ndarray, np.ndarray, np.ndarray]
    node_b: tuple[np.ndarray, np.ndarray, np.ndarray]
    node_c: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    half_a: tuple[np.ndarray, np.ndarray, np.ndarray]
    half_b: tuple[np.ndarray, np.ndarray, np.ndarray]
    half_c: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class RadialProfile(NamedTuple):
    """Stretching of the radius at the columns of a radial layer, each (cells,).

    Attributes:
        kappa: Real part of s.
        sigma: Its loss, 1/step.
        radius: R = int kappa dr, cells.
        path: Sigma = int sigma dr, cells/step.
    """

    kappa: np.ndarray
    sigma: np.ndarray
    radius: np.ndarray
    path: np.ndarray


@dataclass(frozen=True, kw_only=True)
class RadialLayer:
    """Absorbing layer in front of the cylinder r = nr d.

    Attributes:
        cells: Thickness, cells; 0 leaves a bare conductor.
        strength: sigma at the wall over the optimum 0.8 (n + 1) / (eta0 d) (Taflove, eq. 7.67).
        kappa: Largest kappa.
        alpha: Shift of the pole, 1/s, the same at every radius (alpha_conductivity / eps0).
    """

    cells: int = 10
    strength: float = 1.0
    kappa: float = 1.0
    alpha: float = 0.0

    def profile(self, grid: AxisymmetricGrid, offset: float) -> RadialProfile:
        """Stretching at columns i + offset, i = nr - cells ... nr - 1.

        Args:
            grid: The lattice.
            offset: 0 for nodes, 0.5 for half nodes.
        """
        start = grid.nr - self.cells
        radius = np.arange(start, grid.nr) + offset
        depth = (radius - start) / max(self.cells, 1)
        sigma_max = self.strength * 0.8 * (_ORDER + 1) * grid.courant_number
        kappa = 1 + (self.kappa - 1) * depth**_ORDER
        sigma = sigma_max * depth**_ORDER
        path = self.cells * depth ** (_ORDER + 1) / (_ORDER + 1)
        return RadialProfile(kappa, sigma, radius + (self.kappa - 1) * path, sigma_max * path)

    def filters(self, grid: AxisymmetricGrid) -> RadialFilters:
        """Coefficients of the recursive filters on this grid."""
        if self.cells >= grid.nr:
            raise ConfigError(
                f"pml_cells = {self.cells} leaves no column of {grid.nr}; enlarge the grid or thin the layer"
            )
        alpha = self.alpha * grid.time_step
        node, half = self.profile(grid, 0.0), self.profile(grid, 0.5)
        return RadialFilters(
            start=grid.nr - self.cells,
            node_a=_filter_a(node, alpha),
            node_b=_filter_b(node, alpha),
            node_c=_filter_c(node, alpha),
            half_a=_filter_a(half, alpha),
            half_b=_filter_b(half, alpha),
            half_c=_filter_c(half, alpha),
        )

    def factors(self, grid: AxisymmetricGrid) -> tuple[np.ndarray, np.ndarray]:
        """Radial factors of the six updates (e_r, e, e_z, h_r, h, h_z), (6, nr), and the layer's filters, (16, cells).

        Outside the layer a factor is the Courant number times the lattice's own; filters are pairs b and c, c with the
        Courant number in it, in the order of the kernels: e_r, e, e_z twice, h_r, h, h_z twice.
        """
        s = grid.courant_number
        node = np.arange(grid.nr, dtype=float)
        half = node + 0.5
        inverse = np.divide(1.0, node, out=np.zeros(grid.nr), where=node > 0)
        gains = np.stack([s / half, s * node, s * inverse, s * inverse, s * half, s / half])
        gains[5, 0] /= grid.axis_permeability
        if grid.azimuthal_order == 0:
            gains[2, 0] = 8 * s
        if not self.cells:
            return gains, np.zeros((16, 0))
        made = self.filters(grid)
        pairs = [made.half_a, made.node_b, made.node_c, made.node_a, made.half_b, made.half_c]
        gains[:, grid.nr - self.cells :] = s * np.stack([pair[0] for pair in pairs])
        return gains, np.stack([one * (s if at % 2 else 1.0) for pair in pairs for at, one in enumerate(pair[1:])])


def _one_pole(residue: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (b, c) of psi <- b psi + c X for residue / (p + rate), p a backward difference; rates in 1/step."""
    return 1 / (1 + rate), residue / (1 + rate)


def _filter_a(at: RadialProfile, alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F_A = s / r~."""
    residue = (at.sigma * at.radius - at.kappa * at.path) / at.radius**2
    return at.kappa / at.radius, *_one_pole(residue, alpha + at.path / at.radius)


def _filter_b(at: RadialProfile, alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F_B = r~ / s."""
    residue = (at.path * at.kappa - at.radius * at.sigma) / at.kappa**2
    return at.radius / at.kappa, *_one_pole(residue, alpha + at.sigma / at.kappa)


def _filter_c(at: RadialProfile, alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """F_C = 1 / (s r~), two poles in parallel."""
    gain, a, g = 1 / (at.kappa * at.radius), at.sigma / at.kappa, at.path / at.radius
    gap = np.where(a > g, a - g, 1.0)
    b1, c1 = _one_pole(gain * np.where(a > g, -(a**2) / gap, 0.0), alpha + a)
    b2, c2 = _one_pole(gain * np.where(a > g, g**2 / gap, 0.0), alpha + g)
    return gain, b1, c1, b2, c2


def convolution(residue: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (b, c) of the recursive convolution psi <- b psi + c X with residue exp(-rate t), rate in 1/step."""
    safe = np.where(rate > 1e-12, rate, 1.0)
    return np.exp(-rate), residue * np.where(rate > 1e-12, -np.expm1(-rate) / safe, 1.0)


@dataclass(frozen=True, kw_only=True)
class AxialLayer:
    """Absorbing layer between two planes, over the columns r < columns d only.

    It stretches d/dz between its planes, growing from `inner` to `outer`; `outer` > `inner` is a layer that looks down
    at its waves from below. Used in front of both ends of the domain, and inside the feed in front of its back wall.
    There must be metal in its outer plane, and at the nodes i = `columns` where it does not reach to r_max: a layer
    that ends sideways in the open is not stable.

    Attributes:
        inner: Plane index k where the stretching starts from zero.
        outer: Plane index k of the conductor behind it.
        columns: Columns i < columns are stretched.
        strength: sigma at the outer plane over the optimum.
        kappa: Largest kappa.
        alpha: Pole shift at the inner plane, 1/s; falls linearly to zero at the outer one.
    """

    inner: int
    outer: int
    columns: int
    strength: float = 1.0
    kappa: float = 1.0
    alpha: float = 0.0

    @property
    def rows(self) -> tuple[int, int]:
        """Rows [start, stop) whose planes k or half planes k + 1/2 are stretched."""
        return min(self.inner, self.outer), max(self.inner, self.outer)

    def filters(self, grid: AxisymmetricGrid, offset: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coefficients of 1/s_z on the planes k + offset of `rows`.

        Args:
            grid: The lattice.
            offset: 0 for planes, 0.5 for half planes.

        Returns:
            1/kappa, b and c, each (rows,): (1/s_z) d -> d / kappa + psi with psi <- b psi + c d once a step.
        """
        start, stop = self.rows
        thickness = stop - start
        depth = (np.arange(start, stop) + offset - self.inner) / (self.outer - self.inner)
        sigma = self.strength * 0.8 * (_ORDER + 1) * grid.courant_number * depth**_ORDER
        kappa = 1 + (self.kappa - 1) * depth**_ORDER
        alpha = self.alpha * grid.time_step * (1 - depth)
        if thickness < 2:
            raise ConfigError(f"an absorbing layer of {thickness} cells is too thin (needs >= 2)")
        b, c = convolution(-sigma / kappa**2, sigma / kappa + alpha)
        return 1 / kappa, b, c
