"""Modes of order 1 in planes of guides: lattice modes, forward and backward waves, and the power that they carry.

The horn is that of openEMS's tutorial: guide of radius 20 mm, flare of 50 mm to 37.1 mm. Its guide carries TM11 above
9.14 GHz, TE12 above 12.72, TM12 above 16.74. Measured on cells of 1.25 mm, 10,530 steps, at 10 to 20 GHz: power
through the contour over what enters at the port 1 within 1.2e-5 with all modes (bound 3e-5), up to 0.53 % off with TE11
alone. Higher modes that run from the absorber to the antenna, which should be none: at most 2.0e-5 of the incident
wave, at 10 GHz where TM11 is 9 % above its cutoff (bound 1e-4). Waves in two planes 20 mm apart differ by the lattice's
own phase, within 2.7e-5 of the incident wave (bound 1e-4). Far-field balance with 60 dB of decay: 1 within 1.6e-4 at
1 mm, 7e-5 at 0.5 mm.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from scipy.special import jn_zeros, jnp_zeros

from antennaopt.families import kind, stack
from antennaopt.settings import SolverSettings
from antennaopt.solve.plan import SolverPlan, plan
from fdtd.axisymmetric.conductors import open_parts
from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.modes import MODES, ModePlane, carried, mode_cutoff
from fdtd.axisymmetric.ports import GuideMode, te_mode, tm_mode
from fdtd.axisymmetric.scene import Scene, box
from fdtd.axisymmetric.simulation import Keep, Solution, solve

RADIUS = 20e-3
HORN = {
    "feed.inner_radius": RADIUS, "feed.outer_radius": 22e-3, "feed.length": 60e-3,
    "horn.length": 50e-3, "horn.aperture_radius": 37.1e-3, "horn.wall": 2e-3,
}  # fmt: skip
FREQUENCIES = (10e9, 12e9, 13e9, 15e9, 17.5e9, 20e9)
APART = 20e-3


def modes_of(cell: float, count: int = 3) -> dict[str, GuideMode]:
    """The lattice's modes of a guide of radius 20 mm."""
    grid = AxisymmetricGrid(
        nr=int(np.ceil(RADIUS / cell)) + 3, nz=6, cell=cell, origin=0, courant_number=0.98 * courant_limit(1)
    )
    far = np.array([1.0])
    lengths, areas = open_parts(grid, Scene(batch=1, conductors=(box(np.array([RADIUS]), far, -far, far),)))
    rows = lengths[0, :, 1], areas[0, :, 1]
    numbers = range(1, count + 1)
    return {f"TE1{n}": te_mode(grid, *rows, n) for n in numbers} | {
        f"TM1{n}": tm_mode(grid, rows[0], n) for n in numbers
    }


@lru_cache
def solved(
    cell: float, backend: str, precision: str, frequencies: tuple[float, ...], decay_db: float
) -> tuple[Layout, Solution]:
    """Solve the horn, with its modes at the port and 20 mm inside the feed."""
    settings = SolverSettings(
        frequencies=frequencies, design_frequency=15e9, cell=cell, cells_per_wavelength=None, decay_db=decay_db
    )
    layout = SolverPlan.from_dict(plan("conical_horn", HORN, HORN, settings).to_dict()).layout
    scene = kind("conical_horn").scene(stack([HORN]))
    planes = ModePlane(z=0.0), ModePlane(z=-APART)
    (solution,) = solve(layout, scene, backend=backend, precision=precision, keep=Keep(modes=planes))
    return layout, solution


@pytest.mark.parametrize("cell", [1e-3, 0.9e-3, 1.07e-3, 1.1e-3])
def test_lattice_modes_carry_no_common_power(cell: float) -> None:
    """The power of two different modes is the sum of their powers, to rounding, wherever the wall cuts the cells."""
    found = modes_of(cell)
    columns = max(len(mode.e_r) for mode in found.values())
    one, other = (
        np.stack([np.concatenate([np.pad(part, (0, columns - len(part))) for part in parts]) for parts in sides])
        for sides in zip(*(((m.e_r, m.e_phi), (m.h_phi, -m.h_r)) for m in found.values()), strict=True)
    )
    size = np.sqrt([mode.norm for mode in found.values()])
    np.testing.assert_allclose(one @ other.T / np.outer(size, size), np.eye(len(found)), rtol=0, atol=1e-12)
    for mode in found.values():
        assert mode.e_r[0] > 0 and mode.e_phi[1] < 0  # E_x > 0 on the axis


@pytest.mark.parametrize("name", ["TE11", "TM11", "TE12", "TM12"])
def test_cutoffs_of_the_lattice_converge_with_order_two(name: str) -> None:
    zero = (jnp_zeros if name[:2] == "TE" else jn_zeros)(1, int(name[3]))[-1]
    errors = [modes_of(cell)[name].cutoff_per_cell / cell * RADIUS / zero - 1 for cell in (2e-3, 1e-3, 0.5e-3)]
    orders = np.log2(np.abs(errors[:-1]) / np.abs(errors[1:]))
    assert abs(errors[-1]) < 2e-3 and np.abs(orders - 2).max() < 0.15


def test_all_propagating_modes_carry_the_power_that_comes_back() -> None:
    layout, solution = solved(1.25e-3, "cpu", "float64", FREQUENCIES, 75.0)
    port = solution.modes[0]
    assert port is not None
    te11_alone = np.abs(solution.incident) ** 2 * (1 - np.abs(solution.s11) ** 2)
    assert np.abs(solution.through_contour / te11_alone - 1).max() > 5e-3
    np.testing.assert_allclose(solution.through_contour / solution.accepted, 1.0, rtol=0, atol=3e-5)
    for place, hz in enumerate(FREQUENCIES):
        assert tuple(port.backward[place]) == carried(RADIUS, hz)
        assert port.backward[place]["TE11"] == solution.s11[place]
        assert all(abs(wave) < 1e-4 for name, wave in port.forward[place].items() if name != "TE11")
    assert abs(port.backward[0]["TM11"]) > 0.07  # 0.5 % of the power at 10 GHz
    assert layout.frequencies == FREQUENCIES


def test_waves_in_two_planes_differ_by_their_phase() -> None:
    layout, solution = solved(1.25e-3, "cpu", "float64", FREQUENCIES, 75.0)
    port, inside = solution.modes
    assert port is not None and inside is not None
    found = modes_of(1.25e-3)
    for place, hz in enumerate(FREQUENCIES):
        assert inside.forward[place]["TE11"] != port.forward[place]["TE11"]
        for name, wave in port.backward[place].items():
            turn = np.exp(1j * float(found[name].phase_per_cell(layout.grid, np.array(hz))) * APART / 1.25e-3)
            assert inside.backward[place][name] == pytest.approx(wave / turn, abs=1e-4)
            assert inside.forward[place][name] == pytest.approx(port.forward[place][name] * turn, abs=1e-4)
        assert abs(port.forward[place]["TE11"] - 1) < 1e-5  # as the port's own monitor has it


def test_backends_and_precisions_agree() -> None:
    """Reference and CPU in float64 within 1e-9, float32 within 1e-5 of the incident wave."""
    few = (12e9, 15e9)
    _, exact = solved(2e-3, "reference", "float64", few, 30.0)
    for precision, bound in (("float64", 1e-9), ("float32", 1e-5)):
        _, other = solved(2e-3, "cpu", precision, few, 30.0)
        for one, two in zip(exact.modes, other.modes, strict=True):
            assert one is not None and two is not None
            for ours, theirs in ((one.forward, two.forward), (one.backward, two.backward)):
                for place in range(len(few)):
                    assert list(ours[place]) == list(theirs[place])
                    for name, wave in ours[place].items():
                        assert theirs[place][name] == pytest.approx(wave, abs=bound)


def test_names_follow_the_zeros() -> None:
    assert MODES[:4] == ("TE11", "TM11", "TE12", "TM12") and MODES[-1] == "TM19"
    assert mode_cutoff("TM11", RADIUS) == pytest.approx(9.1412e9, rel=1e-5)
    assert carried(RADIUS, 13e9) == ("TE11", "TM11", "TE12")
