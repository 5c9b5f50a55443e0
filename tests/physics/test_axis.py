"""Fields of order m on the axis and next to it, m = 0, 1, 2, 3, against the modes TM_m11 and TE_m11 of a cavity.

The cavity of `test_cavity_modes` starts from the lattice's own mode (`lattice_modes`) and is stepped for three periods
and an eighth, so that E and H are both there. A rule at r = 0 that is not the lattice's own would stir up other modes
there. Then every component in the four columns next to the axis, the axis included, is held against the exact mode of
continuous space, E_z = J_m(qr) cos(bz) or H_z = J_m(qr) sin(bz), over that component's peak. One factor is fitted over
the whole cavity for E, and one for H.

Measured, largest of all components at 1, 2, 4 cells a millimetre (R = 10 mm), in units of d^2 (mm):

           TM                       TE
    m = 0  0.00095 0.00098 0.00099  0.0043 0.0025 0.0023
    m = 1  0.0151  0.0215  0.0279   0.0063 0.0078 0.0092   d^2 ln d: the same step from halving to halving
    m = 2  0.0187  0.0190  0.0159   0.0072 0.0070 0.0054
    m = 3  0.0195  0.0092  0.0100   0.0061 0.0061 0.0069

Second order all, but for a logarithm for m = 1, where fields do not vanish on the axis. What is stepped there is E_z
for m = 0 alone; E_phi(0) and H_r(0) of m = 1 are slave values: nothing feeds on them, E_phi(0) is given to plots and
maps by `fdtd.axisymmetric.simulation` (tests/fdtd/test_axis_fields.py); the contour and the port weigh both by r = 0.

Theory gives the power of d, and the logarithm; the factors before it are measured, and the bounds are the largest of
each mode and 10 to 20 %.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from cavities import BACKENDS, LENGTH, cavity_grid, open_media, transverse_wavenumber
from lattice_modes import axisymmetric_start, radial_modes
from scipy.constants import speed_of_light
from scipy.special import jv, jvp

from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.monitors import Sampling
from fdtd.axisymmetric.problem import Problem
from fdtd.cpml import RadialLayer

MODES = [(order, kind) for order in (0, 1, 2, 3) for kind in ("TM", "TE")]
COMPONENTS = ("e_r", "e_phi", "e_z", "h_r", "h_phi", "h_z")
NOT_STEPPED = {0: (1, 3), 1: (1, 2, 3)}  # components on the axis, m = 0 and m >= 1
NEAR = 4  # columns
CELLS_PER_MM = (1.0, 2.0, 4.0)
# Error times the square of cells a millimetre: at 1, and what each halving of the cell may add.
LARGEST = {
    (0, "TM"): (0.0012, 0.0),
    (0, "TE"): (0.005, 0.0),
    (1, "TM"): (0.0165, 0.007),
    (1, "TE"): (0.007, 0.0017),
    (2, "TM"): (0.021, 0.0),
    (2, "TE"): (0.0082, 0.0),
    (3, "TM"): (0.021, 0.0),
    (3, "TE"): (0.0082, 0.0),
}
PERIODS = 3.125  # an eighth of a period past a maximum of E: both fields are there


def exact(grid: AxisymmetricGrid, kind: str) -> np.ndarray:
    """TM_m11 or TE_m11: E at cos(wt) = 1 and H at sin(wt) = 1 on their nodes, (6, nz, nr), zero where not stepped."""
    m, q, b = grid.azimuthal_order, transverse_wavenumber(grid.azimuthal_order, kind), np.pi / LENGTH
    w = np.hypot(q, b)
    node, half = np.maximum(grid.r_nodes, 1e-12), grid.r_halves

    def parts(r: np.ndarray) -> list[np.ndarray]:
        u, slope = jv(m, q * r), q * jvp(m, q * r)
        if kind == "TM":
            e_r, e_phi, e_z, h_z = -b * slope / q**2, b * m * u / r / q**2, u, 0 * u
            return [e_r, e_phi, e_z, (b * e_phi + m * u / r) / w, (slope - b * e_r) / w, h_z]
        e_r, e_phi = -w * m * u / r / q**2, w * slope / q**2
        return [e_r, e_phi, 0 * u, b * e_phi / w, -b * e_r / w, u]

    on_node, on_half = parts(node), parts(half)
    along = {"e_r": np.sin(b * grid.z_nodes), "e_z": np.cos(b * grid.z_halves), "h_z": np.sin(b * grid.z_nodes)}
    along |= {"e_phi": along["e_r"], "h_r": along["e_z"], "h_phi": along["e_z"]}
    fields = np.zeros((6, grid.nz, grid.nr))
    for c, name in enumerate(COMPONENTS):
        r_part = on_half[c] if name in ("e_r", "h_phi", "h_z") else on_node[c]
        fields[c] = np.outer(along[name], r_part)
    fields[NOT_STEPPED[min(m, 1)], :, 0] = 0.0
    return fields


@lru_cache
def stepped(backend: str, order: int, kind: str, cells_per_mm: float) -> tuple[np.ndarray, np.ndarray]:
    """Physical components after three periods and an eighth, scaled to the exact ones, and those; (6, nz, nr)."""
    grid = cavity_grid(order, cells_per_mm)
    expected = exact(grid, kind)
    frequency = np.hypot(transverse_wavenumber(order, kind), np.pi / LENGTH) * speed_of_light / (2 * np.pi)
    steps = round(PERIODS / frequency / grid.time_step)
    start = axisymmetric_start(grid, kind, radial_modes(kind, order, grid.nr)[1][:, 0], 1)
    ones = np.ones((1, 3, grid.nz, grid.nr))
    problem = Problem(
        grid=grid,
        media=open_media(ones),
        sampling=Sampling(record_every=1, check_every=steps, steps=steps, decay=0.0),
        radial_layer=RadialLayer(cells=0),
        axial_layers=(),
        initial=start[np.newaxis],
    )
    final = BACKENDS[backend](problem).final
    assert final is not None
    radius = np.ones((6, 1, grid.nr))
    radius[1], radius[4] = np.maximum(np.arange(grid.nr), 1), np.arange(grid.nr) + 0.5
    found = final[0].astype(float) / radius
    area = np.arange(grid.nr) + 0.5
    for part in (slice(0, 3), slice(3, 6)):
        scale = (found[part] * expected[part] * area).sum() / (expected[part] ** 2 * area).sum()
        found[part] /= scale
    return found, expected


def errors(backend: str, order: int, kind: str, cells_per_mm: float) -> dict[str, float]:
    """Of each component that the mode has: largest error in the first columns over the component's peak anywhere."""
    found, expected = stepped(backend, order, kind, cells_per_mm)
    peak = np.abs(expected).max(axis=(1, 2))
    error = np.abs(found - expected)[:, :, :NEAR].max(axis=(1, 2))
    return {name: float(error[c] / peak[c]) for c, name in enumerate(COMPONENTS) if peak[c] > 1e-9 * peak.max()}


@pytest.mark.parametrize(("order", "kind"), MODES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_next_to_the_axis(measured: Callable[..., float], backend: str, order: int, kind: str) -> None:
    """Every component in the first four columns."""
    at_one, step = LARGEST[order, kind]
    for halvings, cells in enumerate(CELLS_PER_MM if backend == "cpu" else CELLS_PER_MM[:1]):
        bound = (at_one + step * halvings) / cells**2
        for name, error in errors(backend, order, kind, cells).items():
            place = {"cells_per_mm": cells, "component": name, "backend": backend}
            measured(f"error next to the axis over the peak, {kind}{order}11", error, at_most=bound, **place)


@pytest.mark.parametrize(("order", "kind"), MODES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_is_stepped_on_the_axis(backend: str, order: int, kind: str) -> None:
    """But E_z for m = 0: the node components there stay what they were, zero."""
    found, _ = stepped(backend, order, kind, CELLS_PER_MM[0])
    assert (found[NOT_STEPPED[min(order, 1)], :, 0] == 0.0).all()


def test_step_of_the_logarithm() -> None:
    """M = 1: the error over d^2 grows by the same amount with every halving, so it is d^2 ln d and no lower order."""
    scaled = [max(errors("cpu", 1, "TM", cells).values()) * cells**2 for cells in CELLS_PER_MM]
    assert scaled[2] - scaled[1] == pytest.approx(scaled[1] - scaled[0], rel=0.05)
