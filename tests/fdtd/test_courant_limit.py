"""The largest stable time step of the axisymmetric lattice, and that it is no smaller than it has to be.

The limit comes from the spectrum of curl curl with the fields alternating from plane to plane. A lattice of N planes
holds the wave 2 cos(pi / 2N) in place of 2 along z, which lifts its own limit by at most (pi / 2N)^2 / 2 of itself:
3e-4 for the 64 planes here. Beyond the limit by a part e the fastest wave grows by 2 acosh(1 + e) = 2 sqrt(2 e) a step,
0.15 for e = 0.003: 60 orders of magnitude in the energy after 500 steps. So 0.1 % below must stay and 0.3 % above must
blow up. Measured, energy after 500 steps over the largest of the first 20: 0.86 to 0.96 below, 1e62 above, for every m.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fdtd.axisymmetric.grid import AXIS_PERMEABILITY, AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import Sampling
from fdtd.axisymmetric.problem import Problem
from fdtd.backends.reference import Stepper
from fdtd.cpml import RadialLayer
from fdtd.errors import ConfigError

PUBLISHED = {0: 0.6726, 1: 0.6212, 2: 0.4255, 3: 0.3085, 4: 0.2390}
ORDERS = tuple(PUBLISHED)


def growth(order: int, courant_number: float, steps: int = 500, axis_permeability: float = 1.0) -> float:
    """Energy of random fields in a closed empty box after some steps, over that after the first few."""
    grid = AxisymmetricGrid(
        nr=16, nz=64, cell=1e-3, origin=0, courant_number=0.5 * courant_limit(order), azimuthal_order=order
    )
    beyond = object.__new__(AxisymmetricGrid)  # past the constructor, which refuses what is not stable
    changed = {"courant_number": courant_number, "axis_permeability": axis_permeability}
    beyond.__dict__.update(dataclasses.asdict(grid) | changed)
    ones = np.ones((1, 3, grid.nz, grid.nr))
    start = np.random.default_rng(order).standard_normal((1, 6, grid.nz, grid.nr))
    stepper = Stepper(
        Problem(
            grid=beyond,
            media=Media(permittivity=ones, conductivity=0 * ones, open_length=ones, open_area=ones),
            sampling=Sampling(record_every=1, check_every=1, steps=steps, decay=0.0),
            radial_layer=RadialLayer(cells=0),
            axial_layers=(),
            initial=start,
        )
    )
    energies = []
    for _ in range(steps):
        stepper.step()
        energies.append(float(stepper.energy()[0]))
    return energies[-1] / max(energies[:20])


@pytest.mark.parametrize("order", ORDERS)
def test_published_values(order: int) -> None:
    """Four digits, from the exact spectrum."""
    assert courant_limit(order) == pytest.approx(PUBLISHED[order], abs=6e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_enough_columns(order: int) -> None:
    """The fastest wave clings to the axis: more columns change nothing (measured 1e-15)."""
    assert courant_limit(order, columns=96) == pytest.approx(courant_limit(order), rel=1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_stable_below(order: int) -> None:
    """0.1 % below: nothing grows."""
    assert growth(order, 0.999 * courant_limit(order)) < 3.0


@pytest.mark.parametrize("order", ORDERS)
def test_unstable_above(order: int) -> None:
    """0.3 % above: blows up."""
    assert growth(order, 1.003 * courant_limit(order)) > 1e20


def test_the_planar_limit_is_not_stable() -> None:
    """1/sqrt(2), the limit of square cells in a plane, is unstable here even for m = 0."""
    assert growth(0, 1 / np.sqrt(2)) > 1e20


def test_permeability_at_the_axis_allows_a_longer_step() -> None:
    """The next wave of order 1 needs 0.7020, whatever the permeability from 2 on; 0.1 % below it nothing grows."""
    limits = [courant_limit(1, axis_permeability=permeability) for permeability in (2.0, AXIS_PERMEABILITY, 9.0)]
    assert limits == pytest.approx([0.70204] * 3, abs=1e-5)
    assert growth(1, 0.999 * limits[1], axis_permeability=AXIS_PERMEABILITY) < 3.0
    assert growth(1, 1.003 * limits[1], axis_permeability=AXIS_PERMEABILITY) > 1e20


@pytest.mark.parametrize(("order", "permeability"), [(0, 3.0), (2, 3.0), (1, 0.5)])
def test_other_permeabilities_are_refused(order: int, permeability: float) -> None:
    """H_z of order 0 does not vanish at the axis, and a permeability below 1 needs a smaller time step."""
    with pytest.raises(ConfigError, match="axis_permeability"):
        AxisymmetricGrid(
            nr=16, nz=16, cell=1e-3, origin=0, courant_number=0.1, azimuthal_order=order, axis_permeability=permeability
        )


@pytest.mark.parametrize("order", ORDERS)
def test_grid_refuses_more(order: int) -> None:
    """The message names the limit."""
    limit = courant_limit(order)
    with pytest.raises(ConfigError, match=rf"courant_number.*order {order}.*<= {limit:.4f}"):
        AxisymmetricGrid(nr=16, nz=16, cell=1e-3, origin=0, courant_number=1.001 * limit, azimuthal_order=order)
