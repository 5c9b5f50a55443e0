"""The lattice that is chosen for an antenna: cell, domain, feed, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.constants import speed_of_light

from fdtd.axisymmetric.grid import courant_limit
from fdtd.axisymmetric.layout import Extent, Layout, check_bodies, check_samples, choose_cell, lay_out
from fdtd.axisymmetric.scene import Dielectric, Scene, capped_cylinder
from fdtd.axisymmetric.settings import Settings
from fdtd.errors import ConfigError

BAND = (28.5e9, 30e9, 31.5e9)
LENS = Extent(r_max=14e-3, z_min=-12.4e-3, z_max=17e-3, feed_radius=3.6e-3, feed_length=12e-3, permittivity=2.53)


def made(extent: Extent = LENS, **changes: Any) -> Layout:
    """A layout for the lens."""
    return lay_out(extent, Settings(**{"frequencies": BAND, "design_frequency": 30e9, **changes}))


@pytest.mark.parametrize("wanted", [8.0, 10.0, 13.7, 20.0, 40.0])
@pytest.mark.parametrize("permittivity", [1.0, 2.53, 3.8])
def test_cell_resolves_the_densest_medium(wanted: float, permittivity: float) -> None:
    """Never larger than given, the feed's wall on the lattice, and no finer than that needs."""
    extent = dataclasses.replace(LENS, permittivity=permittivity)
    cell = choose_cell(extent, max(BAND), wanted)
    coarsest = speed_of_light / (max(BAND) * math.sqrt(permittivity) * wanted)
    steps = extent.feed_radius / cell
    assert cell <= coarsest * (1 + 1e-9)
    assert steps == pytest.approx(round(steps), abs=1e-9)
    assert extent.feed_radius / (round(steps) - 1) > coarsest


@pytest.mark.parametrize("cell", [0.3e-3, 0.31e-3, 1.7e-4])
def test_explicit_cell_is_used_as_it_is(cell: float) -> None:
    """Even where it puts the wall between planes."""
    assert made(cell=cell).cell == cell


def test_everything_has_its_place() -> None:
    """From below: layer, gap, contour, back wall, absorber, source, port, aperture; contour and lens; gap, layer."""
    layout = made(cell=0.3e-3)
    gap = math.ceil(speed_of_light / min(BAND) / 4 / layout.cell)
    assert layout.nr == math.ceil(14 / 0.3) + gap + 10
    assert layout.origin == math.ceil(12.4 / 0.3) + gap + 10
    assert layout.nz == layout.origin + math.ceil(17 / 0.3) + gap + 10
    assert layout.layer_cells < layout.contour_bottom < layout.feed_back < layout.feed_back + layout.feed_absorber
    assert layout.feed_back + layout.feed_absorber < layout.source_plane < layout.port_plane < layout.origin
    assert layout.origin + 17e-3 / layout.cell < layout.contour_top < layout.nz - 10
    assert 14e-3 / layout.cell < layout.contour_column < layout.nr - 10
    assert layout.feed_back == layout.origin - 40
    assert layout.feed_columns == 12


def test_times() -> None:
    """Time step a fraction of the limit; five samples a period; looks and steps fall on samples; the pulse fits."""
    layout = made(courant_fraction=0.9)
    assert layout.courant_number == pytest.approx(0.9 * courant_limit(1))
    assert layout.record_every * layout.grid.time_step * max(BAND) <= 0.2
    assert layout.check_every % layout.record_every == 0
    assert layout.steps % layout.check_every == 0
    assert layout.settled * layout.grid.time_step > layout.pulse.duration
    assert layout.steps > layout.settled


def test_step_limits() -> None:
    """A limit is kept within one look; an exact number exactly, without the energy stop."""
    limited, exact = made(max_steps=1000), made(exact_steps=777)
    assert 1000 <= limited.steps < 1000 + limited.check_every
    assert limited.decay == pytest.approx(1e-6)
    assert (exact.steps, exact.decay) == (777, 0.0)
    check_samples(made(exact_steps=limited.record_every))
    with pytest.raises(ConfigError, match=rf"ends before the first sample .*must be >= {limited.record_every}\)"):
        check_samples(made(exact_steps=limited.record_every - 1))
    assert made(decay_db=45.0).decay == pytest.approx(10**-4.5)


def test_layers() -> None:
    """Thickness and distance as given; never nearer than the contour needs."""
    base, far, near = made(cell=0.3e-3), made(cell=0.3e-3, layer_distance=5.9e-3), made(cell=0.3e-3, layer_distance=0.0)
    assert far.nr - base.nr == 20 - 9
    assert near.contour_column < near.nr - near.layer_cells
    assert made(cell=0.3e-3, layer_cells=14).nr == base.nr + 4
    assert {layer.outer for layer in base.axial_layers} == {0, base.nz, base.feed_back}


def test_shape_override() -> None:
    """A larger grid keeps the cell and puts the antenna in the middle."""
    base = made(cell=0.3e-3)
    wide = made(cell=0.3e-3, shape=(base.nr + 7, base.nz + 20))
    assert (wide.nr, wide.nz, wide.origin) == (base.nr + 7, base.nz + 20, base.origin + 10)
    assert wide.contour_top - wide.contour_bottom == base.contour_top - base.contour_bottom


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cell": 1.2e-3}, r"cell = 1\.2 mm leaves fewer than 4 cells.*3\.6 mm; refine it"),
        ({"frequencies": (24.0e9, 30e9)}, "cutoff"),
        ({"shape": (40, 400), "cell": 0.3e-3}, r"grid = \[40, 400\] is too small \(needs >= \[\d+, \d+\]\)"),
        ({"shape": (400, 40), "cell": 0.3e-3}, r"grid = \[400, 40\] is too small"),
        ({"frequencies": (30e9, float("nan"))}, r"frequencies\[1\] = nan Hz is not allowed \(needs > 0 and finite\)"),
        ({"frequencies": ("30 GHz",)}, r"frequencies = \('30 GHz',\) are no list of numbers; give each in Hz"),
        ({"decay_db": -60.0}, r"decay_db = -60\.0 is not allowed \(needs > 0"),
        ({"max_steps": 0}, r"max_steps = 0 is not allowed \(needs a whole number from 1, or None\)"),
        ({"exact_steps": 10.5}, r"exact_steps = 10\.5 is not allowed"),
    ],
)
def test_refused(changes: dict[str, Any], message: str) -> None:
    """One line that names the field, the value and what to do."""
    with pytest.raises(ConfigError, match=message):
        layout = made(**changes)
        pytest.fail(f"accepted: {layout}")


@pytest.mark.parametrize("reach", [1e198, math.inf, math.nan])
def test_an_antenna_of_endless_cells_is_refused(reach: float) -> None:
    """A slip of a unit may make an antenna so large that numbers of bytes are no floats."""
    with pytest.raises(ConfigError, match=r"cells of 0\.3 mm on the way \(must be <= 10000000\)"):
        made(dataclasses.replace(LENS, r_max=reach), cell=0.3e-3)


def test_short_feed_is_refused() -> None:
    """Absorber, source and port need 12 cells."""
    extent = dataclasses.replace(LENS, feed_length=3e-3, z_min=-3.4e-3)
    with pytest.raises(ConfigError, match=r"feed\.length = 3 mm is too short.*needs >= 3\.6 mm"):
        made(extent, cell=0.3e-3)
    assert made(dataclasses.replace(extent, feed_length=3.6e-3, z_min=-4e-3), cell=0.3e-3).feed_absorber == 6


def test_round_trip() -> None:
    """Through JSON and back to the same layout; another version's is refused."""
    layout = made()
    data = json.loads(json.dumps(layout.to_dict()))
    assert Layout.from_dict(data) == layout
    with pytest.raises(ConfigError, match="origin"):
        Layout.from_dict({name: value for name, value in data.items() if name != "origin"})
    with pytest.raises(ConfigError, match="colour"):
        Layout.from_dict({**data, "colour": 1})


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ({"r_max": 14.5e-3}, r"r = 14\.5 mm cuts the Huygens contour \(must end at r <= 14\.4 mm\)"),
        ({"r_max": 20e-3}, "r = 20 mm reaches into the absorbing layers"),
        ({"z_max": 17.5e-3}, "z = 17.5 mm cuts the Huygens contour"),
        ({"z_min": -30e-3}, "-z = 30 mm reaches into the absorbing layers"),
    ],
)
def test_dielectrics_stay_inside_the_contour(end: dict[str, float], says: str) -> None:
    """The far field rests on fields in air, and the layers absorb in air; where the body may end is said."""
    layout = made(cell=0.3e-3)
    body = Dielectric(
        distance=capped_cylinder(np.array([9e-3]), np.array([2e-3])),
        permittivity=np.array([2.53]),
        loss_tangent=np.array([0.0]),
        r_max=14.4e-3,
        z_min=0.0,
        z_max=17.4e-3,
    )
    check_bodies(layout, Scene(batch=1, dielectrics=(body,)))
    with pytest.raises(ConfigError, match=says):
        check_bodies(layout, Scene(batch=1, dielectrics=(dataclasses.replace(body, **end),)))
