"""Closed cylindrical cavities: analytic resonances, and the same measured on the lattice by ringing it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lattice_modes import layered_resonance
from scipy.constants import speed_of_light
from scipy.optimize import brentq
from scipy.special import jn_zeros, jnp_zeros, jv, jvp

from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import PortMonitor, Sampling
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.backends import cpu, reference
from fdtd.cpml import RadialLayer

RADIUS, LENGTH, SLAB = 10e-3, 16e-3, 6e-3
PERIODS = 60

BACKENDS: dict[str, Callable[[Problem], Records]] = {
    "reference": reference.run,
    "cpu": lambda problem: cpu.run(problem, precision="float64", threads=1),
}

SHOWN_ON = ["cpu", pytest.param("reference", marks=pytest.mark.slow)]
"""Backends as test parameters. The two agree within 4e-14 of the largest field (tests/agreement, in `make test`)."""


def transverse_wavenumber(order: int, kind: str) -> float:
    """TM_m1 or TE_m1, 1/m."""
    return float((jn_zeros(order, 1) if kind == "TM" else jnp_zeros(order, 1))[0]) / RADIUS


def lowest(order: int) -> str:
    """The lowest mode's kind: TM010 for m = 0, TE_m11 above."""
    return "TM" if order == 0 else "TE"


def resonance(order: int, permittivity: float, height: float, kind: str | None = None) -> float:
    """Lowest resonance with a slab on the floor, Hz, from the transverse resonance condition (Pozar, 4th ed., 3.9).

    With b^2 = eps k^2 - kc^2 on either side, TE to z: tan(b1 h)/b1 + tan(b2 (L - h))/b2 = 0; TM to z:
    b1 tan(b1 h)/eps + b2 tan(b2 (L - h)) = 0.
    """
    kind = kind or lowest(order)
    cutoff = transverse_wavenumber(order, kind)

    def condition(k: Any) -> Any:
        inside = np.emath.sqrt(permittivity * k**2 - cutoff**2)
        above = np.emath.sqrt(k**2 - cutoff**2)
        if kind == "TM":
            terms = inside * np.tan(inside * height) / permittivity + above * np.tan(above * (LENGTH - height))
        else:
            terms = np.tan(inside * height) / inside + np.tan(above * (LENGTH - height)) / above
        return np.real(terms)

    grid = np.linspace(0.2, 2.0, 20001) * cutoff + 1e-7
    values = condition(grid)
    for i in np.flatnonzero(np.signbit(values[1:]) != np.signbit(values[:-1])):
        root = float(brentq(condition, grid[i], grid[i + 1], xtol=1e-13))  # pyright: ignore[reportArgumentType]
        if abs(condition(root)) < 1e-3 * (1 + abs(values[i]) + abs(values[i + 1])):  # a zero, not a pole
            return root * speed_of_light / (2 * np.pi)
    raise AssertionError("no resonance found")


def slab_permittivity(grid: AxisymmetricGrid, permittivity: float, height: float, mean: bool) -> np.ndarray:
    """A slab 0 < z < height, its face on a lattice plane whose tangential nodes see the mean; shape (1, 3, nz, nr)."""
    face = round(height / grid.cell)
    field = np.ones((1, 3, grid.nz, grid.nr))
    field[:, :, :face] = permittivity
    if mean and face < grid.nz:
        field[:, :2, face] = (1 + permittivity) / 2
    return field


def cavity_grid(order: int, cells_per_mm: float) -> AxisymmetricGrid:
    """The lattice whose conducting ends are the cavity's walls."""
    cell = 1e-3 / cells_per_mm
    return AxisymmetricGrid(
        nr=round(RADIUS / cell),
        nz=round(LENGTH / cell),
        cell=cell,
        origin=0,
        courant_number=0.98 * courant_limit(order),
        azimuthal_order=order,
    )


def ring(
    backend: str,
    order: int,
    cells_per_mm: float,
    permittivity: float = 1.0,
    *,
    height: float = SLAB,
    mean: bool = True,
    kind: str | None = None,
) -> float:
    """Start with the empty cavity's TM_m10 or TE_m11, let it ring for 60 periods, and find the frequency, Hz."""
    grid = cavity_grid(order, cells_per_mm)
    start, port = _start(grid, kind or lowest(order))
    media = open_media(slab_permittivity(grid, permittivity, height, mean))
    return ring_out(backend, grid, media, start, port, resonance(order, permittivity, height, kind))


def lattice_resonance(order: int, cells_per_mm: float, permittivity: float, height: float, kind: str) -> float:
    """Lowest resonance with a slab on the floor as the lattice's own equations have it, Hz."""
    grid = cavity_grid(order, cells_per_mm)
    media = slab_permittivity(grid, permittivity, height, mean=True)[0, :, :, 0]
    return layered_resonance(grid, kind, on_planes=media[0], between=media[2])


def open_media(permittivity: np.ndarray, coupling: np.ndarray | None = None) -> Media:
    """A lossless dielectric without conductors in it."""
    ones = np.ones_like(permittivity)
    return Media(permittivity=permittivity, conductivity=0 * ones, open_length=ones, open_area=ones, coupling=coupling)


def ring_out(
    backend: str, grid: AxisymmetricGrid, media: Media, start: np.ndarray, port: PortMonitor, expected: float
) -> float:
    """Let a start field ring for 60 periods of the frequency expected, and find the one that it has, Hz.

    It is where the Blackman-windowed transform of the port's record peaks: other modes lie many of its widths away, so
    the peak is sharp to 1e-8 of the frequency where the start is the cavity's own mode, and no bin limits it.

    Args:
        backend: Which backend.
        grid: The cavity's lattice.
        media: What fills it.
        start: E and H in the stored unknowns, (1, 6, nz, nr).
        port: What is recorded: the sum of its voltage and its current.
        expected: Hz.
    """
    steps = 20 * int(PERIODS / expected / grid.time_step / 20)
    problem = Problem(
        grid=grid,
        media=media,
        sampling=Sampling(record_every=1, check_every=20, steps=steps, decay=0.0),
        radial_layer=RadialLayer(cells=0),
        axial_layers=(),
        port=port,
        initial=start,
    )
    return _peak(BACKENDS[backend](problem).port[0].sum(axis=1), grid.time_step, expected)


def _start(grid: AxisymmetricGrid, kind: str) -> tuple[np.ndarray, PortMonitor]:
    """Electric field of TM_m10 or TE_m11, and a port at mid-height that projects on it."""
    m = grid.azimuthal_order
    node, half = (transverse_wavenumber(m, kind) * r for r in (grid.r_nodes, grid.r_halves))
    fields = np.zeros((1, 6, grid.nz, grid.nr))
    none = np.zeros(grid.nr)
    plane = grid.nz // 2
    if kind == "TM":
        fields[:, 2] = jv(m, node)
        return fields, PortMonitor(plane=plane, v_r=none, v_phi=none, c_r=none, c_phi=-jvp(m, half))
    e_r, e_phi = m * jv(m, half) / half, -jvp(m, node) * node
    along = np.sin(np.pi * np.arange(grid.nz) / grid.nz)[:, np.newaxis]
    fields[:, 0], fields[:, 1] = e_r * along, e_phi * along
    return fields, PortMonitor(plane=plane, v_r=e_r, v_phi=e_phi / (1 + node), c_r=none, c_phi=none)


def _peak(signal: np.ndarray, time_step: float, expected: float) -> float:
    times = np.arange(len(signal)) * time_step
    windowed = (signal - signal.mean()) * np.blackman(len(signal))

    def magnitude(frequency: float) -> float:
        return abs(np.sum(windowed * np.exp(-2j * np.pi * frequency * times)))

    low, high = 0.97 * expected, 1.03 * expected
    for _ in range(5):  # narrow down on the peak, from 6e-2 of the frequency to 1e-8 between points
        near = np.linspace(low, high, 41)
        best = near[np.argmax([magnitude(frequency) for frequency in near])]
        low, high = best - (near[1] - near[0]), best + (near[1] - near[0])
    return float(best)
