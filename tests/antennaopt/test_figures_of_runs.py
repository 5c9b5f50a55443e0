"""Runs whose objectives ask for figures: rows, manifest, cache, resume, report. Cells of 0.6 mm, 0.05 s a solve."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from test_study_reuse import EXPERIMENT, SHORT, carried_out, checkpoints, serial, stepped, table

import antennaopt as ao
from antennaopt.errors import Interrupted
from antennaopt.experiment import Experiment
from antennaopt.farm.replies import unpack_outcomes
from antennaopt.farm.task import solve_batch
from antennaopt.run.continuation import differences
from antennaopt.run.progress import Progress
from antennaopt.run.start import resume
from antennaopt.run.stores import recall
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.figures import with_figures
from antennaopt.store.run_folder import RunFolder

__all__ = ["stepped"]  # a fixture

CROSSPOL = {"metric": "crosspol_db", "theta": "20 deg", "at_most": -30.0}
MASK = {"metric": "pattern_db", "theta": ["40 deg", "90 deg"], "at_most": -20.0}
RIM = {"metric": "pattern_db", "plane": "co", "at_most": [["30 deg", -10], ["90 deg", -25]], "name": "rim"}
ISOFLUX = {"metric": "isoflux_db", "height": "600 km", "elevation": "5 deg", "at_most": 2.0}
GOALS = [CROSSPOL, MASK, RIM, ISOFLUX]
NAMES = ["crosspol_db_20deg", "pattern_db_both_40_90deg", "rim", "isoflux_db_600km_5deg"]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A run of two generations and the cache that it filled."""
    root = tmp_path_factory.mktemp("figures")
    return carried_out(root / "results", root / "cache", objective=GOALS, evolution=SHORT)


def test_rows_manifest_and_frames_have_the_figures(done):
    rows = ao.open_run(done.folder).rows
    for place, name in enumerate(NAMES):
        values = rows[f"{name}_30000mhz"]
        assert values.notna().all() and values.nunique() > 1
        assert f"shortfall_{place}_{name}" in rows
    assert (rows["shortfall_0_crosspol_db_20deg"] == np.maximum(rows["crosspol_db_20deg_30000mhz"] + 30.0, 0.0)).all()
    manifest = json.loads((done.folder / "manifest.json").read_text())
    assert [one["name"] for one in manifest["columns"]["figures"]] == NAMES
    best = ao.open_run(done.folder).best.outcome
    assert (
        best.results[0].rim == best["rim"][0] == rows.set_index("individual").loc[done.best.individual]["rim_30000mhz"]
    )


def test_the_stored_cuts_give_the_same_bits(done):
    """From the patterns on disk, without a solver: what was computed while the run went on."""
    with RunFolder.open(done.folder) as folder:
        figures = folder.columns.figures
    for name in ao.open_run(done.folder).rows["individual"]:
        known = recall(done.folder, name)
        (again,) = with_figures([known.outcome.changed(figures=None)], [known.design], figures, known.experiment.kind)
        assert again.figures == known.outcome.figures


def test_another_objective_on_the_same_cache_solves_nothing(done, stepped, tmp_path):
    """The first generation is drawn from the seed, so all of its antennas are known; only the figures are new."""
    other = [{"metric": "phase_centre_mm", "target": 3.0, "tolerance": 1.0}, {"metric": "length_mm", "at_most": 12.0}]
    once = {**SHORT, "generations": 1}
    again = carried_out(tmp_path, done.folder.parents[2] / "cache", objective=other, evolution=once)
    assert stepped == []
    rows = ao.open_run(again.folder).rows
    assert (rows["origin"] != "solved").all() and rows["phase_centre_mm_30000mhz"].notna().all()
    same = carried_out(tmp_path, "off", objective=other, evolution=once)
    assert len(stepped) == SHORT["population"]
    pd.testing.assert_frame_equal(table(again), table(same))
    assert checkpoints(again) == checkpoints(same)


class Interrupting(Progress):
    def generation_done(self, report):
        raise KeyboardInterrupt


def test_a_resumed_run_has_the_bits_of_one_that_was_not_interrupted(done, tmp_path):
    with pytest.raises(Interrupted):
        carried_out(tmp_path, "off", Interrupting(), objective=GOALS, evolution=SHORT)
    (folder,) = (tmp_path / "coarse_lens").iterdir()
    resumed = resume(folder, farm=serial, report=False, cache="off")
    pd.testing.assert_frame_equal(table(resumed), table(done))
    assert checkpoints(resumed) == checkpoints(done)


def test_a_repaired_file_has_the_same_figures(done, tmp_path):
    """Rows and patterns of a generation are lost; what is solved again has the bits that it had."""
    folder = shutil.copytree(done.folder, tmp_path / "run")
    for kind in ("evals", "patterns"):
        (folder / kind / "gen-000001.parquet").write_bytes(b"damaged")
    repaired = resume(folder, farm=serial, report=False, cache="off", repair=True)
    pd.testing.assert_frame_equal(table(repaired), table(done))


def test_workers_compute_figures_and_the_plan_of_a_run_without_any_is_as_it_was(done, tmp_path):
    plan = json.loads((done.folder / "manifest.json").read_text())["plan"]
    assert [one["name"] for one in plan["figures"]] == NAMES
    plain = carried_out(tmp_path, done.folder.parents[2] / "cache", evolution={**SHORT, "generations": 1})
    manifest = json.loads((plain.folder / "manifest.json").read_text())
    assert "figures" not in manifest["plan"] and "figures" not in manifest["columns"]
    known = ao.open_run(done.folder).best
    (solved,) = evaluate(known.experiment.family, [known.design], plan)
    reply = solve_batch(lambda *_, **__: [solved], known.experiment.family, [known.design], plan, "cpu")
    (sent,) = unpack_outcomes(reply)
    assert sent.figures == known.outcome.figures


def test_what_decides_a_figure_is_not_changed_by_a_resume(done):
    """The mask's angles, as a polarisation, decide fitness: they are among what a resume compares."""
    before = Experiment.parse({**EXPERIMENT, "objective": GOALS})
    moved = Experiment.parse({**EXPERIMENT, "objective": [{**MASK, "theta": ["30 deg", "90 deg"]}]})
    one = Experiment.parse({**EXPERIMENT, "objective": [MASK]})
    circular = Experiment.parse({**EXPERIMENT, "objective": GOALS, "polarisation": "rhcp"})
    assert len({each.config_hash for each in (before, moved, one, circular)}) == 4
    (difference,) = differences(one.resolved(), moved.resolved())
    assert difference.startswith("objectives.0.theta.0: 0.698")
    assert list(differences(before.resolved(), circular.resolved())) == ['polarisation: "linear" -> "rhcp"']


def test_figures_are_compared_reported_and_simulated(done, call, tmp_path, blank_figures):
    code, out, _ = call("compare", str(done.folder), str(done.folder), "--json", "compared.json")
    assert code == 0 and "rim: excess over the mask, co-polar, 30 to 90 deg (dB)" in out
    code, out, _ = call("status", str(done.folder))
    assert code == 0 and "within the mask" in out
    code, out, err = call(
        "simulate", str(done.folder), "--individual", "best", "--json", "best.json", "--plot", "best.png",
        "--figure", "length_mm", "--figure", "phase_centre_mm, theta=40 deg",
    )  # fmt: skip
    assert code == 0, err
    (found,) = json.loads((tmp_path / "best.json").read_text())["results"]
    assert found["length_mm"] == pytest.approx(9.0 + 0.6 + 1e3 * sum(done.best.values.values()))
    assert found.keys() >= {"phase_centre_mm_40deg", *NAMES}
    code, out, err = call("report", str(done.folder))
    assert code == 0, err
    page = (done.folder / "report.html").read_text()
    assert code == 0 and "Isoflux shortfall from 600 km to 5 deg elevation" in page and "within the mask" in page
    assert "Co- and cross-polar pattern" in page and "theta 20 deg" in page and "90 deg: -25 dB" in page


def test_a_figure_with_the_name_of_another_is_refused_before_anything_is_solved(done, call):
    text = "crosspol_db, theta=30 deg, name=rim"
    code, _, err = call("simulate", str(done.folder), "--individual", "best", "--figure", text)
    assert code == 2 and err.splitlines()[-1].startswith("error: figure rim is asked for twice, with other options")
    assert "solving" not in err
    code, _, err = call("simulate", str(done.folder), "--individual", "best", "--figure", "crosspol_db, theta=20")
    assert code == 2 and 'theta = 20 has no unit; write it as text with one, for example "20 deg"' in err


def test_python_asks_for_figures(done):
    asked = {"metric": "beamwidth_deg", "plane": "co", "level_db": 10.0}
    solved = ao.simulate(ao.open_run(done.folder).best, backend="cpu", figures=[asked])
    (result,) = solved.results
    assert result.beamwidth_deg_co_10db > result.hpbw_e_deg
    assert result.rim is not None and "beamwidth, co-polar, 10 dB" in solved._repr_html_()
