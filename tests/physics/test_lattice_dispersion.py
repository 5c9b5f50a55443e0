"""Waves on the lattice obey its own dispersion relation to rounding, and the continuum's to the second order.

In a closed box of perfect conductors the modes of the lattice are known in closed form (planar) or by a small symmetric
matrix over the radius (axisymmetric), so the frequency at which one rings is known to rounding (S = c dt/d):

    planar           (2 sin(w dt/2)/S)^2 = (2 sin(kx d/2))^2 + (2 sin(ky d/2))^2,   kx = p pi/(nx d), ky = q pi/(ny d)
    axisymmetric     (2 sin(w dt/2)/S)^2 = K^2 + (2 sin(b d/2))^2,                  b = p pi/(nz d),

K^2 an eigenvalue of the three-term operator along r (`lattice_modes`).

A box that starts from such a mode rings as a_(n+1) + a_(n-1) = 2 cos(w dt) a_n at every place, so cos(w dt) follows by
least squares from any record. Its rounding, 2^-52, is 2^-52/(w dt sin(w dt)) of the frequency (`rounding`): up to 7e-14
for the longest waves. The record is a sum over a row with the mode's own field as weights, so that no terms cancel and
the sum is as exact as they are (with random weights up to 10 units, by processor and seed). Measured, in units of that,
both backends, orders 0 to 3, waves from 80 cells down to 2: planar 1.0 at most; axisymmetric 1.6. Bound: 3.

Against the continuum the planar relation says v/c - 1 = -(k d)^2/24 (cos^4 t + sin^4 t - S^2) + O((k d)^4). Measured at
S = 1/2: -0.309 % at 20 cells a wavelength along the axis, -0.207 % at 14.1 along the diagonal, orders 2.00. Waves along
z in a guide obey it with K in the place of 2 sin(kx d/2), exactly, and radial waves far from the axis with k_r in the
place of kx: a wide cylinder shows 2 arcsin(K/2) R = j_mn (TE: j'_mn) but for 0.023 m rad at 13 cells a wavelength,
which do not grow with R, so they are left behind at the axis. For m = 0 2.5e-4 rad (TM) and 1.1e-6 rad (TE) are left.

References:
    Taflove & Hagness, Computational Electrodynamics, 3rd ed., ch. 4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from cavities import BACKENDS, SHOWN_ON
from lattice_modes import axisymmetric_start, radial_modes, rounding
from scipy.special import jn_zeros, jnp_zeros

from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import PortMonitor, Sampling
from fdtd.axisymmetric.problem import Problem
from fdtd.backends import planar_reference
from fdtd.backends.cpu import planar
from fdtd.cpml import RadialLayer
from fdtd.planar.bodies import free_space
from fdtd.planar.problem import PlanarGrid, PlanarLayer, PlanarProblem, PlanarRecords, Probe

STEPS = 300
PLANAR_BACKENDS: dict[str, Callable[[PlanarProblem], PlanarRecords]] = {
    "reference": planar_reference.run,
    "cpu": partial(planar.run, precision="float64"),
}
# Half waves along x and y in 40 x 40 cells (TE may have none along one of them): axis, diagonal, in between, short.
WAVES = {"TM": [(1, 1), (8, 8), (20, 1), (13, 5), (31, 37)], "TE": [(8, 0), (0, 8), (8, 8), (13, 5), (31, 37)]}


def ringing(record: np.ndarray) -> float:
    """W dt of a record of one frequency, from its three-term recurrence; (steps, ...)."""
    middle = record[1:-1]
    return float(np.arccos((middle * (record[2:] + record[:-2])).sum() / (2 * (middle**2).sum())))


def planar_step(courant: float, kx: float, ky: float) -> float:
    """W dt of the planar lattice for wave numbers in 1/cell."""
    return float(2 * np.arcsin(courant * np.hypot(np.sin(kx / 2), np.sin(ky / 2))))


def planar_ringing(backend: str, polarisation: str, p: int, q: int, cells: int = 40, courant: float = 0.5) -> float:
    """W dt of one mode of a closed square box, started from its field out of the plane."""
    grid = PlanarGrid(nx=cells, ny=cells, cell=1e-3, courant_number=courant, polarisation=polarisation)
    x, y = grid.positions(grid.components[0])
    wave = np.sin if polarisation == "TM" else np.cos
    start = np.zeros((1, 3, *grid.shape))
    start[0, 0] = wave(np.pi * p * x / cells) * wave(np.pi * q * y / cells) * grid.inside(grid.components[0])
    row, column = np.unravel_index(np.argmax(np.abs(start[0, 0])), grid.shape)
    problem = PlanarProblem(
        grid=grid,
        media=free_space(grid),
        layer=PlanarLayer(cells=0),
        steps=STEPS,
        probes=(Probe(component=grid.components[0], rows=np.array([row]), columns=np.array([column])),),
        initial=start,
    )
    return ringing(PLANAR_BACKENDS[backend](problem).samples[0][0])


def axisymmetric_ringing(backend: str, kind: str, order: int, radial: int, p: int) -> tuple[float, float]:
    """W dt of one mode of a closed cylinder of 20 x 24 cells, measured and from the dispersion relation."""
    nr, nz = 20, 24
    courant = 0.98 * courant_limit(order)
    grid = AxisymmetricGrid(nr=nr, nz=nz, cell=1e-3, origin=0, courant_number=courant, azimuthal_order=order)
    values, modes = radial_modes(kind, order, nr)
    ones = np.ones((1, 3, nz, nr))
    start = axisymmetric_start(grid, kind, modes[:, radial], p)
    weights = start[:2, 7]
    problem = Problem(
        grid=grid,
        media=Media(permittivity=ones, conductivity=0 * ones, open_length=ones, open_area=ones),
        sampling=Sampling(record_every=1, check_every=STEPS, steps=STEPS, decay=0.0),
        radial_layer=RadialLayer(cells=0),
        axial_layers=(),
        port=PortMonitor(plane=7, v_r=weights[0], v_phi=weights[1], c_r=0 * weights[0], c_phi=0 * weights[0]),
        initial=start[np.newaxis],
    )
    record = BACKENDS[backend](problem).port[0][:, 0]
    wave = np.sqrt(values[radial] + (2 * np.sin(np.pi * p / (2 * nz))) ** 2)
    return ringing(record), float(2 * np.arcsin(courant * wave / 2))


@pytest.mark.parametrize("backend", PLANAR_BACKENDS)
@pytest.mark.parametrize(("polarisation", "p", "q"), [(kind, *pq) for kind, waves in WAVES.items() for pq in waves])
def test_planar_waves(backend: str, polarisation: str, p: int, q: int, measured: Callable[..., float]) -> None:
    """Axis, diagonal and between, from 80 cells a wavelength down to 2.2."""
    expected = planar_step(0.5, np.pi * p / 40, np.pi * q / 40)
    error = abs(planar_ringing(backend, polarisation, p, q) / expected - 1)
    measured(f"{polarisation}, frequency", error, at_most=3 * rounding(expected), p=p, q=q, backend=backend)


@pytest.mark.parametrize("backend", SHOWN_ON)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["TE", "TM"])
def test_axisymmetric_waves(kind: str, order: int, backend: str, measured: Callable[..., float]) -> None:
    """Radial and axial indices from the longest wave to the shortest that the lattice holds."""
    for radial, p in ((0, 1), (0, 23), (6, 7), (18, 1), (18, 23)):
        found, expected = axisymmetric_ringing(backend, kind, order, radial, p)
        place = {"order": order, "radial": radial, "axial": p, "backend": backend}
        measured(f"{kind}, frequency", abs(found / expected - 1), at_most=3 * rounding(expected), **place)


@pytest.mark.parametrize(("p_over_q", "angle"), [((1, 0), 0.0), ((1, 1), 45.0)])
def test_planar_phase_velocity(p_over_q: tuple[int, int], angle: float, measured: Callable[..., float]) -> None:
    """Along the axis and the diagonal against c: the leading term of the relation, and order 2."""
    courant, cells, errors = 0.5, np.array([10, 20, 40, 80]), []
    shape = np.cos(np.radians(angle)) ** 4 + np.sin(np.radians(angle)) ** 4
    for n in cells:  # eight half waves on four times n cells
        kd = 2 * np.pi / n * np.hypot(*p_over_q)
        found = planar_ringing("cpu", "TE", 8 * p_over_q[0], 8 * p_over_q[1], cells=4 * int(n), courant=courant)
        errors.append(found / courant / kd - 1)
        assert errors[-1] / (-(kd**2) / 24 * (shape - courant**2)) == pytest.approx(1.0, abs=0.1 * kd**2)
        measured(f"v/c - 1 at {angle:g} degrees", errors[-1], cells_per_wavelength=2 * np.pi / kd)
    slope = -np.polyfit(np.log(cells[1:]), np.log(np.abs(errors[1:])), 1)[0]
    measured(f"order at {angle:g} degrees", slope, at_least=1.98, at_most=2.02)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["TE", "TM"])
def test_radial_waves_disperse_like_plane_ones(kind: str, order: int, measured: Callable[..., float]) -> None:
    """K = 2 sin(k_r d/2), k_r = j_mn/R, but for a phase that the axis alone costs: not more of it in a wider cylinder.

    13 cells a wavelength: without the sine the phase would be 0.9 rad at 200 cells and 1.8 at 400.
    """
    phases = []
    for nr, n in ((200, 30), (400, 60)):
        value = radial_modes(kind, order, nr)[0][n - 1]
        zeros = jn_zeros(order, n) if kind == "TM" else jnp_zeros(order, n)
        phases.append(nr * 2 * np.arcsin(np.sqrt(value) / 2) - zeros[-1])
        place = {"order": order, "cells": nr}
        bound = 0.026 * order if order else {"TM": 4e-4, "TE": 2e-6}[kind]
        measured(f"{kind}, phase left at the axis, rad", abs(phases[-1]), at_most=bound, **place)
    assert phases[1] == pytest.approx(phases[0], abs=3e-3)
