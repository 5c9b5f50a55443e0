"""What the axis shows of a field of order 1: E_phi = -E_r there, a value that the update never uses.

E_phi(0) is not stepped for m = 1 (r E_phi vanishes), but plots and maps read it. TE11 in the feed has e_r = J_1(s)/s,
e_phi = -J_1'(s), s = 1.8412 r/a: 1/2 and -1/2 on the axis. E_r stands half a cell off and is even in r, so two of its
values give the one on the axis to the fourth order, and what is left is the lattice's own mode, of the second.

Measured, E_phi(0) over the E_r half a cell off, against the exact ratio: 8.9e-4, 2.3e-4, 6.1e-5 at 6, 12, 24 cells a
radius.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from scipy.special import jnp_zeros, jv, jvp

from antennaopt.families import FAMILIES, stack
from fdtd.axisymmetric.layout import Extent, Layout, lay_out
from fdtd.axisymmetric.settings import Settings
from fdtd.axisymmetric.simulation import Keep, solve

RADIUS = 3.6e-3
GUIDE = {"feed.inner_radius": RADIUS, "feed.outer_radius": 4.2e-3, "feed.length": 12e-3}


@lru_cache
def feed_field(cells: int) -> tuple[Layout, np.ndarray]:
    """E_r, E_phi, E_z in the feed's plane of the port, at 30 GHz, (3, nr)."""
    extent = Extent(r_max=4.2e-3, z_min=-12.6e-3, z_max=0.0, feed_radius=RADIUS, feed_length=12e-3, permittivity=1.0)
    layout = lay_out(extent, Settings(frequencies=(30e9,), design_frequency=30e9, cell=RADIUS / cells))
    scene = FAMILIES["open_waveguide"].scene(stack([GUIDE]))
    field = solve(layout, scene, precision="float64", keep=Keep(fields=True))[0].field
    assert field is not None
    return layout, field[0, :, layout.port_plane]


def exact(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """E_r at the half nodes and E_phi at the nodes of TE11, (cells in the feed,)."""
    cells = round(RADIUS / layout.cell)
    wavenumber = float(jnp_zeros(1, 1)[0]) / RADIUS
    half, node = ((np.arange(cells) + shift) * layout.cell * wavenumber for shift in (0.5, 0.0))
    return jv(1, half) / half, -jvp(1, node)


def axis_error(cells: int) -> float:
    """Of E_phi(0) over E_r(d/2)."""
    layout, field = feed_field(cells)
    e_r, e_phi = exact(layout)
    return float(abs(field[1, 0] / field[0, 0] / (e_phi[0] / e_r[0]) - 1))


def test_exact_mode_is_equal_and_opposite_on_the_axis() -> None:
    """The limit that the lattice is measured against."""
    _, e_phi = exact(feed_field(6)[0])
    assert e_phi[0] == pytest.approx(-0.5, rel=1e-12)


def test_value_on_the_axis() -> None:
    """Within 4e-4 at 12 cells a radius, and falling with at least the second order."""
    errors = [axis_error(cells) for cells in (6, 12, 24)]
    assert errors[1] < 4e-4
    assert errors[0] > 3.5 * errors[1] > 3.5 * 3.5 * errors[2]


@pytest.mark.parametrize("cells", [12])
def test_joins_its_neighbours(cells: int) -> None:
    """The profile of E_phi, axis included, is TE11's to 1 % of its peak; an axis left at zero would be off by 100 %."""
    layout, field = feed_field(cells)
    _, e_phi = exact(layout)
    measured = field[1, :cells] / (field[1, :cells] @ e_phi) * (e_phi @ e_phi)
    assert np.abs(measured - e_phi).max() < 0.01 * np.abs(e_phi).max()
