"""Modes of a circular waveguide on the lattice, modal amplitudes and S11.

On the lattice a TE mode is an exact solution: e_z = 0, e_r = m h_z / r, r E_phi = -r dr h_z, with h_z an eigenvector of

    (r_(i+1) + r_i) h_i - r_(i+1) h_(i+1) - r_i h_(i-1) + m^2 l_i h_i / r_(i+1/2) = k_c^2 A_i r_(i+1/2) h_i

(l, A: open length and area where the wall cuts a cell). Source and port use that eigenvector and its own k_c, so a
current sheet of this shape launches nothing else, and forward and backward waves separate exactly.

So is a TM mode: h_z = 0, e_r = -dr psi, r E_phi = m psi, E_z in proportion to psi, which is zero at the wall, with

    (g_(i+1/2) + g_(i-1/2) + m^2 / r_i) psi_i - g_(i+1/2) psi_(i+1) - g_(i-1/2) psi_(i-1) = k_c^2 r_i psi_i, g = r / l

Both kinds obey eps (2 sin(w dt/2)/S)^2 = (k_c d)^2 + (2 sin(beta d/2))^2, eps that of the filling, and the sums of
`GuideMode.norm` over the fields of two different modes are zero to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fdtd.arrays import modulus_squared, product
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.monitors import PortMonitor
from fdtd.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class GuideMode:
    """A mode of a circular guide on the lattice.

    Attributes:
        kind: "TE" or "TM".
        permittivity: Relative, of what fills the guide.
        cutoff_per_cell: k_c d.
        e_r: Open length times E_r at the half nodes, (columns,).
        e_phi: r E_phi at the nodes, r in cells, (columns,).
        h_r: H_r at the nodes over the mode's admittance, (columns,).
        h_phi: r H_phi at the half nodes over the mode's admittance, (columns,).
        norm: sum e_r h_phi - e_phi h_r; the mode carries pi/2 d^2/eta0 Y cos(beta d/2) norm |a|^2 watts.
    """

    kind: str = "TE"
    permittivity: float = 1.0
    cutoff_per_cell: float
    e_r: np.ndarray
    e_phi: np.ndarray
    h_r: np.ndarray
    h_phi: np.ndarray
    norm: float

    def monitor(self, plane: int) -> PortMonitor:
        """The projection on this mode in plane k, unit amplitude for the mode as given."""
        return PortMonitor(
            plane=plane,
            v_r=self.h_phi / self.norm,
            v_phi=-self.h_r / self.norm,
            c_r=-self.e_phi / self.norm,
            c_phi=self.e_r / self.norm,
        )

    def phase_per_cell(self, grid: AxisymmetricGrid, frequency: np.ndarray) -> np.ndarray:
        """Phase constant beta d, rad, above cutoff: eps (2 sin(w dt/2)/S)^2 = (k_c d)^2 + (2 sin(beta d/2))^2."""
        drive = (
            self.permittivity * (2 * np.sin(np.pi * np.asarray(frequency) * grid.time_step) / grid.courant_number) ** 2
        )
        rest = drive - self.cutoff_per_cell**2
        if (rest <= 0).any():
            raise ConfigError(
                f"frequency {np.min(frequency) / 1e9:g} GHz is below the cutoff of the feed on this mesh; "
                "raise it or refine the mesh"
            )
        return 2 * np.arcsin(np.sqrt(rest) / 2)

    def admittance(self, grid: AxisymmetricGrid, frequency: np.ndarray) -> np.ndarray:
        """H over E of a forward wave, in units of the free-space admittance, on the lattice."""
        beta = self.phase_per_cell(grid, frequency)
        ratio = grid.courant_number * np.sin(beta / 2) / np.sin(np.pi * np.asarray(frequency) * grid.time_step)
        return ratio if self.kind == "TE" else self.permittivity / ratio


def lowest_te_mode(grid: AxisymmetricGrid, open_length: np.ndarray, open_area: np.ndarray) -> GuideMode:
    """The TE mode of lowest cutoff in the guide that one row of the lattice shows; see `te_mode`."""
    return te_mode(grid, open_length, open_area, 1)


def _wall(open_length: np.ndarray) -> tuple[int, int]:
    """Return the first conducting node of a row, and the number of columns that reach to the wall."""
    wall = int(np.argmax(open_length[1, 1:] == 0)) + 1
    return wall, wall + (1 if 0 < open_length[0, wall] < 1 and open_length[1, wall] == 1 else 0)


def te_mode(grid: AxisymmetricGrid, open_length: np.ndarray, open_area: np.ndarray, number: int) -> GuideMode:
    """A TE mode of the guide that one row of the lattice shows, with E_r > 0 next to the axis.

    Args:
        grid: The lattice, azimuthal order m >= 1.
        open_length: Rows of e_r, e_phi, e_z in a plane of the guide, (3, nr).
        open_area: Rows of h_r, h_phi, h_z there, (3, nr).
        number: Of the modes in order of their cutoffs, from 1: TE11, TE12, ... for m = 1.
    """
    from scipy.linalg import eigh

    m = grid.azimuthal_order
    if m < 1:
        raise ConfigError(f"azimuthal_order = {m}: the feed's TE mode needs m >= 1")
    wall, columns = _wall(open_length)
    place = number - 1
    node, half = np.arange(columns + 1.0), np.arange(columns) + 0.5
    length, area = open_length[0, :columns], open_area[2, :columns]
    side = np.where(np.arange(columns + 1) < wall, node, 0.0)
    stiffness = np.diag(side[1:] + side[:-1] + m**2 * length / half)
    stiffness -= np.diag(side[1:-1], 1) + np.diag(side[1:-1], -1)
    mass = area * half
    mass[0] *= grid.axis_permeability
    values, vectors = eigh(stiffness, np.diag(mass))
    h_z = vectors[:, place] / np.abs(vectors[:, place]).max() * np.sign(vectors[0, place])
    e_r = m * length * h_z / half
    e_phi = -side[:-1] * np.diff(h_z, prepend=0.0)
    h_phi = half * e_r / open_area[1, :columns]
    h_r = np.divide(-e_phi, node[:-1], out=np.zeros(columns), where=node[:-1] > 0)
    return GuideMode(
        cutoff_per_cell=float(np.sqrt(values[place])),
        e_r=e_r,
        e_phi=e_phi,
        h_r=h_r,
        h_phi=h_phi,
        norm=float(e_r @ h_phi - e_phi @ h_r),
    )


def tm_mode(grid: AxisymmetricGrid, open_length: np.ndarray, number: int) -> GuideMode:
    """A TM mode of the guide that one row of the lattice shows, with E_r > 0 next to the axis; as `te_mode`."""
    from scipy.linalg import eigh

    m = grid.azimuthal_order
    if m < 1:
        raise ConfigError(f"azimuthal_order = {m}: transverse fields of TM modes need m >= 1")
    wall, _ = _wall(open_length)
    node, half = np.arange(wall + 1.0), np.arange(wall) + 0.5
    flux = half / open_length[0, :wall]
    inner = node[1:wall]
    stiffness = np.diag(flux[1:] + flux[:-1] + m**2 / inner) - np.diag(flux[1:-1], 1) - np.diag(flux[1:-1], -1)
    values, vectors = eigh(stiffness, np.diag(inner))
    psi = np.concatenate([[0.0], vectors[:, number - 1], [0.0]])
    psi *= -np.sign(psi[1]) / np.abs(psi).max()
    e_r, e_phi = -np.diff(psi), m * psi[:-1]
    h_phi = flux * e_r
    h_r = np.divide(-e_phi, node[:-1], out=np.zeros(wall), where=node[:-1] > 0)
    return GuideMode(
        kind="TM",
        cutoff_per_cell=float(np.sqrt(values[number - 1])),
        e_r=e_r,
        e_phi=e_phi,
        h_r=h_r,
        h_phi=h_phi,
        norm=float(e_r @ h_phi - e_phi @ h_r),
    )


@dataclass(frozen=True, kw_only=True)
class Port:
    """A mode's waves at some frequencies: all that does not depend on their amplitudes.

    Attributes:
        of_voltage, of_current: Parts of a port's voltage and current in the forward wave, complex, (F,) or (batch, F).
        flux: Power of a wave of amplitude 1, see `power`, of the same shape.

    References:
        Pozar, Microwave Engineering, 4th ed., sec. 3.1 and 4.1 (forward and backward modal waves).
    """

    of_voltage: np.ndarray
    of_current: np.ndarray
    flux: np.ndarray

    @classmethod
    def of(cls, grid: AxisymmetricGrid, mode: GuideMode, frequency: np.ndarray) -> Port:
        """Return a mode's waves at frequencies, Hz, (F,).

        With V = a + b on the plane and I = Y (a exp(-j beta d/2) - b exp(+j beta d/2)) half a cell further.

        Raises:
            ConfigError: One is below cutoff.
        """
        beta, admittance = mode.phase_per_cell(grid, frequency), mode.admittance(grid, frequency)
        turn = np.exp(0.5j * beta)
        both = turn + 1 / turn
        flux = mode.norm * admittance * np.cos(beta / 2)
        return cls(of_voltage=turn / both, of_current=1 / (admittance * both), flux=flux)

    @classmethod
    def stacked(cls, ports: Sequence[Port]) -> Port:
        """Return the ports of a batch as one."""
        return cls(**{name: np.stack([getattr(one, name) for one in ports]) for name in vars(ports[0])})

    def split(self, voltage: np.ndarray, current: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split a port's spectra into the forward and the backward wave in the port's plane; each antenna's bits alone.

        Args:
            voltage: Spectrum of `PortMonitor`'s voltage, (..., F), time convention exp(+jwt).
            current: The same of its current, with its own times.

        Returns:
            a and b, (..., F).
        """
        forward = product(voltage, self.of_voltage) + product(current, self.of_current)
        return forward, voltage - forward

    def power(self, amplitude: np.ndarray) -> np.ndarray:
        """Power of a wave of this amplitude in units of pi d^2 / (2 eta0), W V^-2: the lattice's own conserved flux."""
        return self.flux * modulus_squared(amplitude)
