"""Walls of bodies of revolution that the cells are too coarse for: refused or warned of with file, name, cell, remedy.

Thicker ones than an eighth of a cell are solved, as `tests/physics/test_thin_walls.py` measures.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from family_cases import DESIGNS, KINDS, VARIANTS

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import parse_table
from antennaopt.families.walls import has_thin_part, too_thin
from antennaopt.run.planning import first_designs, plan_for
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan

ROOT = Path(__file__).parents[2]
HORN = """\
[antenna]
family = "conical_horn"

[antenna.feed]
inner_radius = "3.6 mm"
outer_radius = "4.0 mm"
length = "12 mm"

[antenna.horn]
length = { min = "20 mm", max = "30 mm" }
aperture_radius = "9 mm"
wall = "0.02 mm"

[solver]
frequencies = ["30 GHz"]
cell = "0.3 mm"

[[objective]]
metric = "directivity_dbi"
at_least = 15
"""
WALL = '{ min = "0.02 mm", max = "0.3 mm" }'


def loaded(text):
    return parse_table(tomllib.loads(text))


@pytest.mark.parametrize("command", [("validate",), ("simulate",), ("run", "--dry-run"), ("run",)])
def test_walls_that_are_always_too_thin_are_refused_with_their_file(call, tmp_path, command):
    """A wall of 0.02 mm along r is a little thinner across, and least so where the horn is longest."""
    found = "= 0.02 mm, measured across the flare, is 0.01968 mm thick"
    ranges = "is at most 0.02 mm thick, and thinner across the flare"
    alone = command[0] == "simulate"
    text = HORN.replace('{ min = "20 mm", max = "30 mm" }', '"30 mm"') if alone else HORN
    (tmp_path / "h.toml").write_text(text)
    code, _, err = call(command[0], "h.toml", *command[1:])
    assert code == 2 and not (tmp_path / "results").exists()
    assert err.splitlines()[-1] == (
        f"error: h.toml: horn.wall {found if alone else ranges}, too thin for cells of 0.3 mm (needs cells "
        "<= 0.1575 mm); use smaller cells (solver.cell) or make it thicker"
    )


def test_the_remedy_is_accepted_as_written(call, tmp_path):
    (tmp_path / "h.toml").write_text(HORN.replace('"0.3 mm"', '"0.1574 mm"'))
    code, out, err = call("validate", "h.toml")
    assert code == 0 and "is down to 0.01" in err  # a shorter horn is thinner
    assert "ready for    antennaopt run" in out


@pytest.mark.parametrize("command", [("validate",), ("run", "--dry-run"), ("run",)])
def test_ranges_with_walls_that_are_too_thin_are_warned_of_before_anything_is_solved(
    call, tmp_path, stopped_before_solving, command
):
    (tmp_path / "h.toml").write_text(HORN.replace('"0.02 mm"', WALL))
    code, _, err = call(command[0], "h.toml", *command[1:])
    assert (
        "warning: antenna: horn.wall, measured across the flare, is down to 0.01931 mm thick, too thin for cells of "
        "0.3 mm (needs cells <= 0.1545 mm): such antennas are not solved and count as infeasible; "
        "use smaller cells (solver.cell) or make "
        "it thicker\n"
    ) in err
    assert code == (2 if command[0] == "run" else 0)


def test_such_a_design_of_a_run_is_a_row_that_says_why_and_no_design_to_time():
    """Of 0.02 to 0.06 mm, half are below an eighth of 0.3 mm."""
    experiment = loaded(HORN.replace('"0.02 mm"', '{ min = "0.02 mm", max = "0.06 mm" }'))
    lower, _ = experiment.bounds()
    (outcome,) = evaluate(experiment.family, [lower], plan_for(experiment))
    assert (outcome.status, outcome.steps) == ("infeasible", 0)
    assert "too thin for cells of 0.3 mm" in str(outcome.error)
    designs, refusals = first_designs(experiment)
    assert designs and all(one["horn.wall"] > 0.0375e-3 for one in designs)
    assert refusals and all("too thin" in one for one in refusals)


def test_the_cell_of_a_density_is_the_lattice_s():
    """12 cells a wave are 0.833 mm, and 0.72 mm put the feed's wall on the lattice; an eighth of that is 0.09 mm."""
    text = HORN.replace('cell = "0.3 mm"', "cells_per_wavelength = 12").replace('"9 mm"', '"3.6 mm"')

    def warned(wall):
        made = loaded(text.replace('"0.02 mm"', f'{{ min = "{wall} mm", max = "0.4 mm" }}'))
        assert plan_for(made)["cell"] == pytest.approx(0.72e-3)
        return [one for one in made.warnings if "too thin" in one]

    assert warned(0.0899) and not warned(0.0901)


def test_the_feed_s_wall_is_named_by_its_keys():
    """The widest wall of two ranges decides: 4.02 mm less 3.98 mm."""
    text = HORN.replace('"0.02 mm"', '"0.3 mm"').replace('"4.0 mm"', '{ min = "3.605 mm", max = "3.62 mm" }')
    with pytest.raises(
        Exception, match=r"the feed's wall \(feed.outer_radius less feed.inner_radius\) is at most 0.02"
    ):
        plan_for(loaded(text))


EVERY = {name: (KINDS[name], DESIGNS[name]) for name in KINDS} | {
    name: (KINDS[family], DESIGNS[family] | changes) for name, (family, changes) in VARIANTS.items()
}


@pytest.mark.parametrize("command", ["validate", "run"])
@pytest.mark.parametrize("wall", ['"0.13 mm"', '{ min = "0.1 mm", max = "0.13 mm" }'])
def test_a_flare_may_be_least_steep_between_the_ends_of_its_range(call, tmp_path, monkeypatch, command, wall):
    """At the ends of 2 to 9 mm a wall of 0.13 mm has at most 0.1015 mm across; at the feed's 3.6 mm it has all.

    0.1125 mm are needed.
    """

    def stop(*_, **__):
        raise ConfigurationError("stopped here")

    monkeypatch.setattr("antennaopt.run.start.run", stop)
    text = HORN.replace('{ min = "20 mm", max = "30 mm" }', '"2 mm"').replace('"4.0 mm"', '"4.6 mm"')
    text = text.replace('"0.02 mm"', wall).replace('"0.3 mm"', '"0.9 mm"')
    (tmp_path / "h.toml").write_text(text.replace('"9 mm"', '{ min = "2 mm", max = "9 mm" }'))
    code, _, err = call(command, "h.toml")
    assert "warning: antenna: horn.wall, measured across the flare, is down to 0.0" in err
    assert "at most" not in err
    assert code == 0 or "stopped here" in err
    flat = loaded(text.replace('"9 mm"', '{ min = "3.6 mm", max = "3.7 mm" }').replace(wall, '"0.13 mm"'))
    assert plan_for(flat)["cell"] == 0.9e-3 and not any("too thin" in one for one in flat.warnings)


def test_a_wall_that_meets_or_crosses_itself_has_no_cells_that_would_do():
    design = DESIGNS["splash_plate"] | {"plate.distance": 2e-3, "plate.cone_height": 2e-3}
    (gap,) = too_thin(KINDS["splash_plate"], design, design, 0.3e-3)
    assert gap.refusal() == (
        "the gap from the mouth to the plate is 0 mm thick, too thin for cells of 0.3 mm (its two sides meet or "
        "cross); make it thicker"
    )


def test_a_flare_as_thin_as_the_feed_s_wall_is_named_by_it():
    design = DESIGNS["conical_horn"] | {"horn.aperture_radius": 20e-3}
    _, flare = too_thin(KINDS["conical_horn"], design, design, 1.0)
    assert flare.refusal().startswith(
        "the flare's wall at the feed (feed.outer_radius less feed.inner_radius) = 0.4 mm, measured across the flare, "
        "is 0.2957 mm thick, too thin"
    )


@pytest.mark.parametrize("command", ["validate", "run"])
def test_places_that_all_designs_have_are_checked_where_some_have_more(call, tmp_path, command):
    """A corrugated horn with a converter and chokes to choose from: the feed's wall, its own, teeth and slots."""
    text = (ROOT / "experiments/corrugated_horn.toml").read_text("utf-8")
    for changed, name in (
        (text.replace('"5.2 mm"', '"4.605 mm"'), r"the feed's wall \(feed.outer_radius less feed.inner_radius\)"),
        (text.replace('wall = "1 mm"', 'wall = "0.02 mm"'), "horn.wall"),
        (text.replace("slot_share = 0.7", "slot_share = 0.05"), "a slot of horn.pitch"),
    ):
        assert changed != text
        (tmp_path / "c.toml").write_text(changed)
        code, _, err = call(command, "c.toml")
        assert code == 2 and not (tmp_path / "results").exists()
        assert re.search(rf"error: c.toml: {name} is 0.\d+ mm thick, too thin for cells of 0.2 mm", err), err
    assert not any("too thin" in one for one in loaded(text).warnings)


def test_what_is_thickest_between_the_ends_is_not_refused():
    """A lens has 8.2 mm at most at ends of its horn's length and radius, and 11.3 mm between them."""
    ranges = {"horn.length": (3.9e-3, 19.4e-3), "horn.aperture_radius": (4e-3, 12.7e-3), "lens.edge": (0.9e-3, 1.4e-3)}
    ranges["lens.permittivity"] = (2.42, 3.23)
    lower, upper = (DESIGNS["lens_horn"] | {name: ends[at] for name, ends in ranges.items()} for at in (0, 1))
    *_, lens = too_thin(KINDS["lens_horn"], lower, upper, 10e-3)
    assert lens.thickest.what == "the lens where it is thickest"
    assert not lens.always and lens.most > 10e-3


@pytest.mark.parametrize("case", EVERY)
def test_no_design_of_refused_ranges_is_thick_enough(case):
    """All numbers but counts, in ranges of random ends: at the largest cells that are not refused, and so at all."""
    family, design = EVERY[case]
    family = family.of(design)
    rng = np.random.default_rng(3)
    for _ in range(4):
        lower, upper = dict(design), dict(design)
        for name, value in design.items():
            if family.parameter(name).kind not in ("integer", "choice") and rng.random() < 0.6:
                wide = rng.uniform(0, 0.7) * abs(value)
                lower[name] -= rng.random() * wide
                upper[name] += rng.random() * wide * 2
        found = list(too_thin(family, lower, upper, 1.0))
        for one in found:
            least = one.most / (0.125 if one.thinnest.metal else 1) / (1 if one.fixed else 0.9)
            assert not replace(one, cell=least * (1 - 1e-6)).always and replace(one, cell=least * (1 + 1e-5)).always
        for _ in range(40):
            some = {name: rng.uniform(lower[name], upper[name]) for name in design}
            for part, one in zip(family.thin_parts(some), found, strict=True):
                across = part.thickness * part.slope
                assert across <= one.most / (1 if one.fixed else 0.9) * (1 + 1e-9)


@pytest.mark.parametrize("case", EVERY)
def test_no_design_of_the_ranges_is_thicker_or_thinner(case):
    """All lengths by 5 % to either side: a place grows or shrinks with each, whatever the others are."""
    family, design = EVERY[case]
    family = family.of(design)
    lengths = [one for one in design if one in {p.name for p in family.parameters if p.unit == "m"}]
    lower, upper = (
        {**design, **{name: design[name] + by * abs(design[name]) for name in lengths}} for by in (-0.05, 0.05)
    )
    wide = list(too_thin(family, lower, upper, 1.0))  # all are too thin for cells of 1 m
    assert len(wide) == len(family.thin_parts(design))
    rng = np.random.default_rng(1)
    for _ in range(40):
        some = {name: rng.uniform(lower[name], upper[name]) if name in lengths else design[name] for name in design}
        for part, one in zip(family.thin_parts(some), wide, strict=True):
            across = part.thickness * part.slope
            assert one.thinnest.thickness * one.thinnest.slope <= across * (1 + 1e-9)
            assert one.thickest.thickness * one.thickest.slope >= across * (1 - 1e-9)


def test_one_antenna_is_planned_as_before():
    design = DESIGNS["conical_horn"]
    solver = {"frequencies": [30e9], "design_frequency": 30e9, "cell": 0.3e-3}
    assert plan("conical_horn", design, design, solver).layout.cell == 0.3e-3


@pytest.mark.parametrize("name", [name for name, one in KINDS.items() if one.solver == "axisymmetric"])
def test_a_worker_looks_no_further_where_no_part_is_too_thin(name: str) -> None:
    design, family = DESIGNS[name], KINDS[name].of(DESIGNS[name])
    found = [(has_thin_part(family, design, cell), any(too_thin(family, design, design, cell))) for cell in (1e-5, 1.0)]
    assert found == [(False, False), (True, True)]
