"""The report of a run that searched for a front: its plot of all antennas, hypervolume, tables, exports."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from cheap_lens_here import carried_out
from test_constraints import LARGEST

import antennaopt as ao
from antennaopt.cli.entry import main
from antennaopt.report.convergence import hypervolume_figure
from antennaopt.report.page import report_text
from antennaopt.report.record import read_run
from antennaopt.report.summary import headline
from antennaopt.report.trade_offs import extremes, extremes_table
from antennaopt.store.files import hypervolumes


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    goals = [LARGEST, {"metric": "diameter_mm", "aim": "least"}]
    held = [{"metric": "s11_db", "at_most": -2.0}]
    return carried_out(tmp_path_factory.mktemp("front"), objective=goals, constraint=held)


@pytest.fixture(scope="module")
def page(run):
    return report_text(read_run(run.folder))


def test_every_antenna_of_the_front_is_a_green_dot_with_its_pattern(run, page):
    data = json.loads(re.search(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)[1])
    front = ao.open_run(run.folder).front
    assert [data["individuals"][at] for at in data["front"]] == sorted(front["individual"])
    assert {data["individuals"][at] for at in data["front"]} == set(data["patterns"])
    assert (data["across"], data["up"]) == ("aim_0_directivity_dbi", "aim_1_diameter_mm")
    column = dict(zip(data["columns"], data["rows"], strict=True))
    shown = {data["individuals"][at]: column["aim_1_diameter_mm"][at] for at in data["front"]}
    due = dict(zip(front["individual"], front["aim_1_diameter_mm"], strict=True))
    assert shown == pytest.approx(due, rel=1e-4)
    assert f"the front, {len(front)} antennas that no other is better than in every objective" in page


def test_convergence_is_that_of_the_hypervolume(run, page):
    record = read_run(run.folder)
    volumes = hypervolumes(record.events)
    assert sorted(volumes) == list(range(6))
    (axes,) = hypervolume_figure(volumes).axes
    assert np.array_equal(axes.lines[0].get_ydata(), [volumes[one] for one in range(6)])
    assert "Volume between the front and the reference point" in page
    assert "Fitness of the antennas that could be evaluated, by generation" not in page
    assert hypervolumes([{"event": "generation", "generation": 1, "hypervolume": None}, {"event": "stopped"}]) == {}


def test_the_table_has_aims_and_constraints_and_no_weighted_sum(run):
    rows = {row.title: row for row in headline(read_run(run.folder))}
    assert rows["Directivity on axis at 30 GHz"].goal == "largest"
    assert rows["Directivity on axis at 30 GHz"].met is None
    (held,) = [row for title, row in rows.items() if title.startswith("Constraint: S11")]
    assert held.met is True
    assert not any("Fitness" in title for title in rows)


def test_the_antenna_nearest_to_an_aim_is_the_best_in_it(run):
    largest, least, held = extremes(read_run(run.folder))
    rows = ao.open_run(run.folder).rows.set_index("individual")
    assert rows.loc[largest.individual, "aim_0_directivity_dbi"] == rows["aim_0_directivity_dbi"].max()
    assert rows.loc[least.individual, "aim_1_diameter_mm"] == rows["aim_1_diameter_mm"].min()
    table = extremes_table((largest, least, held))
    row, _, last = table["rows"]
    assert row[0] == "Directivity on axis largest" and "met" not in row[2]
    assert last[0].startswith("Constraint: S11 at most") and table["header"][4] == "Constraint: S11"


def test_any_antenna_of_the_front_can_be_exported(run, tmp_path):
    name = ao.open_run(run.folder).front["individual"].iloc[-1]
    out = tmp_path / "one.toml"
    assert main(["export", str(run.folder), "--individual", name, "--toml", str(out)]) == 0
    radii = pd.read_parquet(run.folder / "evals").set_index("individual").loc[name, "lens_radii_0_mm"]
    assert ao.load(out).design["lens.radii.0"] * 1e3 == pytest.approx(radii)


def test_the_report_of_a_weighted_sum_is_as_it_was(tmp_path, blank_figures):
    goals = [{"metric": "directivity_dbi", "at_least": 20.0}, {"metric": "s11_db", "at_most": -2.0}]
    done = carried_out(tmp_path, objective=goals, evolution={"population": 6, "generations": 2})
    text = report_text(read_run(done.folder))
    assert "Fitness of the antennas that could be evaluated, by generation" in text
    assert "hypervolume" not in text.split("<script")[0]
    assert len(ao.open_run(done.folder).front) >= 1
