"""Fields stay bounded next to conducting walls that cut the lattice anywhere.

A conductor that leaves a sliver of a cell open needs a smaller time step than the lattice's;
`fdtd.axisymmetric.conductors` raises the area of such faces instead. Away from the axis that is enough by theory: a
face adds a matrix of rank one to curl curl, of norm (sum of its open edges) / area; faces of one colour of a
chessboard share no edge, so the largest eigenvalue is at most twice the largest norm, 2 * 4 * 1.28 = 10.2,
and 4 / (0.98 * 0.6212)^2 = 10.8 is allowed. Near the axis the lattice itself is at its limit; with 1.15
there too, two of the flat walls overflow.

Fields that do not grow are bounded by the energy of the noise, but that bound is of no use: all of it in one cell at
the axis would be some thousands. So the bounds are the largest values measured over 1,500 steps of unit noise and about
60 %: flat walls at 14 places within a cell 122, at all of them; 36 tubes and horns of random shape on random cells 55
to 245; nine horns with tiny faces 154 to 330.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from antennaopt.families import FAMILIES, stack
from fdtd.axisymmetric.layout import Extent, lay_out
from fdtd.axisymmetric.settings import Settings
from fdtd.axisymmetric.simulation import fill, pose
from fdtd.backends import cpu

STEPS = 1500
LARGEST = {"flat wall": 200.0, "random shapes": 400.0, "tiny faces": 530.0}


def _grown(family: str, design: dict[str, float], cell: float, rng: np.random.Generator, **settings: Any) -> float:
    """Largest stored field after stepping unit noise around the antenna."""
    kind, designs = FAMILIES[family], stack([design])
    radius, height = kind.size(designs)
    wall = design["feed.outer_radius"] - design["feed.inner_radius"]
    extent = Extent(
        r_max=float(radius[0]),
        z_min=-design["feed.length"] - wall,
        z_max=float(height[0]),
        feed_radius=design["feed.inner_radius"],
        feed_length=design["feed.length"],
        permittivity=1.0,
    )
    layout = lay_out(
        extent,
        Settings(frequencies=(30e9,), design_frequency=30e9, cell=cell, exact_steps=STEPS, **settings),
    )
    media = fill(layout, kind.scene(designs))
    problem, _ = pose(layout, media)
    noise = rng.standard_normal((1, 6, layout.nz, layout.nr))
    noise[:, :3] *= media.open_length
    noise[:, :4, :, 0] = 0.0
    noise[:, :2, 0] = 0.0
    final = cpu.run(replace(problem, initial=noise, source=None)).final
    assert final is not None
    return float(np.nan_to_num(np.abs(final), nan=np.inf).max())


@pytest.mark.parametrize("fraction", np.arange(0.02, 1.0, 0.07).round(2))
def test_flat_wall_across_the_axis(measured: Callable[..., float], fraction: float) -> None:
    """The outside of the feed's back wall at 66 cells and a fraction."""
    design = {
        "feed.inner_radius": 3.6e-3,
        "feed.outer_radius": 4.0e-3,
        "feed.length": (66 + fraction) * 0.3e-3 - 0.4e-3,
    }
    largest = _grown("open_waveguide", design, 0.3e-3, np.random.default_rng(0))
    measured("largest field from unit noise, flat wall", largest, at_most=LARGEST["flat wall"], place_in_cell=fraction)


def _any_tube(rng: np.random.Generator) -> tuple[float, dict[str, float]]:
    """A cell, m, and a feed with a wall from thinner than a cell to five cells."""
    cell = rng.uniform(0.2, 0.48) * 1e-3
    inner = rng.uniform(3.4, 4.2) * 1e-3
    return cell, {
        "feed.inner_radius": inner,
        "feed.outer_radius": inner + rng.uniform(0.3, 1.2) * 1e-3,
        "feed.length": rng.uniform(12, 22) * 1e-3,
    }


@pytest.mark.parametrize("seed", range(12))
def test_any_tube_or_horn_on_any_cell(measured: Callable[..., float], seed: int) -> None:
    """Three shapes a seed, walls from thinner than a cell to five cells."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        cell, design = _any_tube(rng)
        family = "open_waveguide"
        if rng.uniform() < 0.6:
            family = "conical_horn"
            design |= {
                "horn.length": rng.uniform(5, 30) * 1e-3,
                "horn.aperture_radius": rng.uniform(5, 14) * 1e-3,
                "horn.wall": rng.uniform(0.3, 1.2) * 1e-3,
            }
        largest = _grown(family, design, cell, rng)
        name = "largest field from unit noise, random shapes"
        bound = LARGEST["random shapes"]
        measured(name, largest, at_most=bound, family=family, lattice_mm=round(cell * 1e3, 4))


@pytest.mark.parametrize("surfaces", ["diagonal", "full"])
@pytest.mark.parametrize("seed", range(12))
def test_lenses_with_the_long_time_step(seed: int, surfaces: str) -> None:
    """Tubes of random walls and lengths on random cells, with and without a lens.

    Away from the axis 2 * 4 * 1.0 = 8 is the largest eigenvalue, and 4 / (0.995 * 0.7020)^2 = 8.2 is allowed. Measured:
    at most 209.
    """
    rng = np.random.default_rng(seed)
    for family in ("open_waveguide", "hemispherical_lens", "hemispherical_lens"):
        cell, design = _any_tube(rng)
        if family == "hemispherical_lens":
            design |= {
                "lens.radius": rng.uniform(5, 9) * 1e-3,
                "lens.extension": rng.uniform(0, 5) * 1e-3,
                "lens.permittivity": rng.uniform(1.5, 4),
                "lens.loss_tangent": 0.0,
            }
        largest = _grown(family, design, cell, rng, time_step="long", surfaces=surfaces)
        assert largest < LARGEST["random shapes"]


# cell, time step over the largest stable one, outer radius of the feed, length, aperture radius, wall; mm
SHORT_HORNS = (
    (0.15, 0.5, 4.0, 21.3, 9.7, 0.53),
    (0.2, 0.6, 3.8, 5.5, 6.5, 0.54),
    (0.24, 0.6, 4.1, 6.7, 6.9, 0.76),
    (0.24, 0.5, 4.2, 2.88, 6.2, 0.97),
    (0.18, 0.6, 4.1, 4.3, 6.7, 0.82),
    (0.24, 0.6, 4.0, 3.12, 6.2, 0.7),
    (0.25, 0.6, 4.1, 5.75, 5.7, 0.35),
    (0.25, 0.6, 4.0, 5.25, 6.0, 0.86),
    (0.3, 0.5, 4.4, 4.0, 9.0, 0.7),
)


@pytest.mark.parametrize("shape", SHORT_HORNS)
def test_rims_with_a_smaller_time_step(measured: Callable[..., float], shape: tuple[float, ...]) -> None:
    """Horns whose rims make tiny faces, left alone by a smaller time step: E_phi next to them must not be overdriven.

    All nine overflowed while the permittivity that holds E_phi back was raised at the wrong nodes.
    """
    cell, fraction, *lengths = shape
    names = ("feed.outer_radius", "horn.length", "horn.aperture_radius", "horn.wall")
    design = {"feed.inner_radius": 3.6e-3, "feed.length": 6e-3}
    design |= {name: value * 1e-3 for name, value in zip(names, lengths, strict=True)}
    largest = _grown("conical_horn", design, cell * 1e-3, np.random.default_rng(0), courant_fraction=fraction)
    name = "largest field from unit noise, horns with tiny faces"
    measured(name, largest, at_most=LARGEST["tiny faces"], cell_mm=cell)
