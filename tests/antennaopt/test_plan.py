"""One lattice for a whole study: it holds the largest design, and refuses what one lattice cannot serve."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from antennaopt.families import FAMILIES, stack
from antennaopt.settings import SolverSettings
from antennaopt.solve.plan import SolverPlan, plan
from fdtd.errors import ConfigError

FEED = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4.0e-3, "feed.length": 12e-3}
SOLVER: dict[str, Any] = {
    "frequencies": [28.5e9, 31.5e9],
    "design_frequency": 30e9,
    "cells_per_wavelength": 12.0,
    "courant_fraction": 0.98,
    "pml_cells": 8,
    "decay_db": 60.0,
    "precision": "float32",
}
RANGES = {
    "open_waveguide": ({}, {}),
    "hemispherical_lens": (
        {"lens.permittivity": 2.0, "lens.radius": 5e-3, "lens.extension": 0.0},
        {"lens.permittivity": 3.0, "lens.radius": 12e-3, "lens.extension": 4e-3},
    ),
    "shaped_lens": (
        {"lens.permittivity": 2.53, "lens.radii.0": 8e-3, "lens.radii.1": 7e-3, "lens.radii.2": 5e-3},
        {"lens.permittivity": 2.53, "lens.radii.0": 12e-3, "lens.radii.1": 15e-3, "lens.radii.2": 9e-3},
    ),
    "conical_horn": (
        {"horn.length": 5e-3, "horn.aperture_radius": 5e-3, "horn.wall": 0.5e-3},
        {"horn.length": 25e-3, "horn.aperture_radius": 11e-3, "horn.wall": 0.8e-3},
    ),
}


def planned(family: str, lower: dict[str, float] | None = None, upper: dict[str, float] | None = None, **solver: Any):
    low, high = RANGES[family]
    return plan(family, {**FEED, **low, **(lower or {})}, {**FEED, **high, **(upper or {})}, {**SOLVER, **solver})


@pytest.mark.parametrize("family", RANGES)
def test_contour_holds_the_largest_design(family: str) -> None:
    """At both ends of every range, feed and walls included, with a cell to spare; layers stand beyond it."""
    layout = planned(family).layout
    for extreme in RANGES[family]:
        design = {**FEED, **extreme}
        radius, height = (float(one[0]) for one in FAMILIES[family].size(stack([design])))
        assert layout.contour_column * layout.cell >= radius + layout.cell
        assert (layout.contour_top - layout.origin) * layout.cell >= height + layout.cell
        assert (layout.origin - layout.contour_bottom) * layout.cell >= 12.4e-3 + layout.cell
    assert layout.contour_column < layout.nr - layout.layer_cells
    assert layout.layer_cells < layout.contour_bottom < layout.contour_top < layout.nz - layout.layer_cells


def test_cell_from_the_densest_medium() -> None:
    """The upper end of the permittivity decides."""
    coarse = planned("hemispherical_lens", upper={"lens.permittivity": 2.0}).layout.cell
    fine = planned("hemispherical_lens", upper={"lens.permittivity": 4.0}).layout.cell
    assert fine <= 2.998e8 / 31.5e9 / 2.0 / 12.0 < coarse


def test_an_exact_cell_takes_the_place_of_cells_per_wavelength() -> None:
    assert planned("open_waveguide", cell=0.41e-3, cells_per_wavelength=None).layout.cell == 0.41e-3


def test_a_refused_lattice_names_the_key_with_its_table() -> None:
    with pytest.raises(ConfigError, match=r"^solver\.grid = \[10, 10\] is too small"):
        planned("open_waveguide", grid=(10, 10))
    with pytest.raises(ConfigError, match=r"^antenna\.feed\.length = 1 mm is too short"):
        planned("open_waveguide", {"feed.length": 1e-3}, {"feed.length": 1e-3})
    with pytest.raises(ConfigError, match=r"^solver\.steps = 2 ends before the first sample of the fields"):
        planned("shaped_lens", steps=2)


def test_range_of_the_feed_length_is_refused() -> None:
    """Source and port stand in the same planes in all antennas."""
    with pytest.raises(ConfigError, match=r"antenna\.feed\.length is a range.*one value"):
        planned("open_waveguide", lower={"feed.length": FEED["feed.length"] * 0.9})


def test_solver_table_arrives() -> None:
    """Steps, decay, layers and grid as given."""
    layout = planned("open_waveguide", steps=640, pml_cells=12, grid=[70, 180]).layout
    assert (layout.steps, layout.decay, layout.layer_cells, layout.nr, layout.nz) == (640, 0.0, 12, 70, 180)
    assert planned("open_waveguide", decay_db=50.0).layout.decay == pytest.approx(1e-5)
    far = planned("open_waveguide", pml_distance=8e-3).layout
    assert far.nr * far.cell > 4e-3 + 8e-3


def test_round_trip() -> None:
    """Through JSON to the same plan, of which a call may do fewer steps."""
    made = planned("shaped_lens")
    data = json.loads(json.dumps(made.to_dict()))
    assert SolverPlan.from_dict(data) == made
    assert data["max_steps"] == made.layout.steps
    short = made.within(320)
    assert (short.layout.steps, short.to_dict()["max_steps"]) == (320, 320)
    assert short != made == made.within(None) == short.within(made.layout.steps)
    assert data["nr"] == made.layout.nr and data["cell"] == made.layout.cell
    assert data["time_step"] == made.layout.grid.time_step


def test_memory_grows_with_precision() -> None:
    """Twice the bytes."""
    single, double = planned("shaped_lens"), planned("shaped_lens", precision="float64")
    assert double.memory_bytes == 2 * single.memory_bytes
    assert single.memory_bytes > 4 * 6 * single.layout.grid.cells


def test_a_grid_too_small_names_one_that_is_accepted() -> None:
    """The antenna, the distance to the layers and the layers themselves count; one cell less is refused again."""
    with pytest.raises(ConfigError, match=r"too small \(needs >= \[\d+, \d+\]\)") as refused:
        planned("open_waveguide", grid=[20, 20])
    found = re.search(r"needs >= \[(\d+), (\d+)\]", str(refused.value))
    assert found is not None
    nr, nz = int(found[1]), int(found[2])
    assert planned("open_waveguide", grid=[nr, nz]).layout.nr == nr
    with pytest.raises(ConfigError, match="too small"):
        planned("open_waveguide", grid=[nr, nz - 1])


@pytest.mark.parametrize(("family", "longer"), [("shaped_lens", 1.1474), ("conical_horn", 1.0)])
def test_the_long_time_step_is_for_metal_that_is_the_feed_alone(family: str, longer: float) -> None:
    """A search's: 0.995 of 0.7020 in place of 0.98 of 0.6212. Looks at the energy come as often in time."""
    solver = SolverSettings.of(SOLVER)
    standard, search = (planned(family, **to_solve(one)).layout for one in (solver, solver.in_a_search()))
    assert search.courant_number / standard.courant_number == pytest.approx(longer, abs=1e-4)
    looks = [one.check_every * one.grid.time_step for one in (standard, search)]
    assert looks[1] == pytest.approx(looks[0], rel=0.1)
    assert planned(family, time_step="standard").layout == standard


def test_the_standard_time_step_for_what_is_solved_alone_or_asked_for() -> None:
    """Certificates keep it; a file may ask for it in a search; half of it is half of the long one as well."""
    solver = SolverSettings.of(SOLVER)
    asked = replace(solver, time_step="standard").in_a_search()
    for one in (solver.in_a_search().as_solved_alone(), asked):
        assert planned("shaped_lens", **to_solve(one)).layout.courant_number == pytest.approx(0.6088, abs=1e-4)
    half = planned("shaped_lens", time_step="long", courant_fraction=0.49).layout.courant_number
    assert half == pytest.approx(0.995 * 0.70204 / 2, abs=1e-4)
    most = planned("shaped_lens", time_step="long", courant_fraction=1.0).layout.courant_number
    assert most == pytest.approx(0.70204, abs=1e-4)


def to_solve(settings: SolverSettings) -> dict[str, Any]:
    return {name: value for name, value in settings.to_dict().items() if name in (*SOLVER, "pulse", "time_step")}
