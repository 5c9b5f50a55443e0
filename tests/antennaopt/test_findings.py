"""Goals met and missed in their own units, genes at a bound, goals out of reach: terminal, status, files, report."""

import dataclasses
import json
import math

import pytest
from made_up_runs import RESOLVED, MadeUpRun, write_run
from test_study_run import TOML, start

from antennaopt.cli import tables
from antennaopt.metrics import GOALS, METRICS
from antennaopt.report.goals import AtBound, bounds_line, findings_of, goals_line, goals_table, reach_line, verdict_text
from antennaopt.report.page import report_text
from antennaopt.report.record import read_run
from antennaopt.run.summary import Finalist
from antennaopt.search.objectives import build, standings
from antennaopt.store.run_folder import RunFolder

GHZ = 1e9
OUTCOME = {
    "status": "ok",
    "frequency_hz": [28.5 * GHZ, 30 * GHZ, 31.5 * GHZ],
    **{metric.key: [metric.typical] * 3 for metric in METRICS.values()},
    "directivity_dbi": [18.5, 18.25, 18.75],
    "max_directivity_dbi": [18.5, 18.5, 18.75],
    "gain_dbi": [18.0, 17.75, 18.25],
    "s11_db": [-12.0, -9.5, -11.0],
    "sidelobe_db": [None, -21.0, -18.5],
    "front_to_back_db": [30.0, 25.0, 28.0],
    "crosspol_db": [-30.0, -25.0, -28.0],
    "radiation_efficiency": [0.97, 0.985, 0.99],
    "hpbw_e_deg": [22.5, 21.0, 20.0],
    "hpbw_h_deg": [24.0, None, 22.0],
}


def stand(**goal):
    (one,) = standings(OUTCOME, build([goal]))
    return one


@pytest.mark.parametrize(
    ("metric", "goal", "value", "ghz", "verdict"),
    [
        ("directivity_dbi", {"at_least": 20.0}, 18.25, 30.0, "missed by 1.75 dB"),
        ("max_directivity_dbi", {"at_least": 18.0}, 18.5, 28.5, "met by 0.50 dB"),
        ("gain_dbi", {"at_least": 17.75}, 17.75, 30.0, "met"),
        ("s11_db", {"at_most": -10.0}, -9.5, 30.0, "missed by 0.50 dB"),
        ("sidelobe_db", {"at_most": -20.0}, -18.5, 31.5, "missed by 1.50 dB"),
        ("sidelobe_db", {"at_most": -20.0, "frequencies": [28.5 * GHZ]}, None, None, "met"),
        ("front_to_back_db", {"at_least": 20.0}, 25.0, 30.0, "met by 5.00 dB"),
        ("crosspol_db", {"at_most": -20.0}, -25.0, 30.0, "met by 5.00 dB"),
        ("radiation_efficiency", {"at_least": 0.98}, 0.97, 28.5, "missed by 0.0100"),
        ("hpbw_e_deg", {"at_most": 21.0}, 22.5, 28.5, "missed by 1.50 °"),
        ("hpbw_e_deg", {"at_least": 18.0}, 20.0, 31.5, "met by 2.00 °"),
        ("hpbw_h_deg", {"at_most": 30.0}, None, 30.0, "missed"),
        ("hpbw_h_deg", {"at_most": 30.0, "frequencies": [31.5 * GHZ]}, 22.0, 31.5, "met by 8.00 °"),
    ],
)
def test_each_metric_has_its_worst_value_where_it_is_and_its_own_unit(metric, goal, value, ghz, verdict):
    one = stand(metric=metric, **goal)
    assert (one.value, one.frequency_hz) == (value, None if ghz is None else ghz * GHZ)
    assert verdict_text(one) == verdict
    assert one.met == (verdict.split()[0] == "met")
    assert json.loads(json.dumps(one.to_dict(), allow_nan=False))["met"] == one.met


def test_every_metric_that_may_be_a_goal_is_in_the_table():
    goals = standings(OUTCOME, build([{"metric": name, "at_least": -100.0} for name in GOALS]))
    assert [row[0] for row in goals_table(goals)[1:]] == [METRICS[name].title for name in GOALS]


def test_a_goal_is_met_exactly_when_its_shortfall_is_nothing():
    """Also where rounding would show no difference: the verdict never says that a missed goal is met."""
    for level in (18.25, math.nextafter(18.25, 19.0), 18.2500001, 18.26):
        one = stand(metric="directivity_dbi", at_least=level)
        assert one.met == (one.shortfall_db == 0.0) == (level <= 18.25)
        assert verdict_text(one).startswith("met" if level <= 18.25 else "missed by ")
    assert verdict_text(stand(metric="directivity_dbi", at_least=18.2501)) == "missed by 0.0001 dB"


def test_what_is_no_number_is_missed_and_fits_json():
    (one,) = standings(OUTCOME | {"gain_dbi": [18.0, math.nan, 18.0]}, build([{"metric": "gain_dbi", "at_least": 1.0}]))
    assert (one.value, one.frequency_hz, one.margin, one.met) == (None, 30 * GHZ, None, False)
    assert standings({"status": "infeasible"}, build([{"metric": "gain_dbi", "at_least": 1.0}])) == ()


def test_the_sentence_names_what_is_missed_in_its_own_unit():
    goals = standings(
        OUTCOME,
        build(
            [
                {"metric": "radiation_efficiency", "at_least": 0.98},
                {"metric": "s11_db", "at_most": -5.0},
                {"metric": "hpbw_h_deg", "at_most": 30.0},
            ]
        ),
    )
    said = "1 of 3 goals met; missed: radiation efficiency by 0.0100, beamwidth, H plane, which is not defined."
    assert goals_line(goals) == said


def made_up(tmp_path, **changes):
    run = MadeUpRun(generations=4, population=8, field_map=False, resolved=RESOLVED | changes)
    path = write_run(tmp_path, run)
    return path, run


def test_genes_at_a_bound_are_named_with_value_and_bound(tmp_path):
    """Within 1 % of the range: 0.12 mm of 8 to 20 mm."""
    path, run = made_up(tmp_path)
    with RunFolder.open(path) as folder:
        best = folder.read_generation(int(run.best[1][1:5]), {run.best[1]})[0]
        value = best["lens_radii_1_mm"] * 1e-3

        def near(low, high, kind="real"):
            genes = [dict(gene) for gene in RESOLVED["genes"]]
            genes[1] |= {"low": low, "high": high, "kind": kind}
            with_genes = dataclasses.replace(read_run(path), resolved=RESOLVED | {"genes": genes})
            return [one for one in with_genes.findings.at_bounds if one.name == "lens.radii.1"]

        assert near(value - 0.10e-3, value + 11.9e-3) == [
            AtBound(
                name="lens.radii.1", dimension="length", value=value, bound=value - 0.10e-3, upper=False
            )
        ]  # fmt: skip
        assert near(value - 0.13e-3, value + 11.87e-3) == []
        assert near(value - 11.9e-3, value + 0.10e-3)[0].upper
        assert near(value - 11.9e-3, value + 0.10e-3, "choice") == []
    line = bounds_line([AtBound(name="lens.radii.1", dimension="length", value=0.01997, bound=0.02, upper=True)])
    assert line.startswith("At a bound: lens.radii.1 = 19.970 mm (largest allowed: 20 mm). A wider range")
    assert bounds_line([]) == ""


def test_goals_that_no_antenna_came_near_are_named_with_the_nearest(tmp_path, blank_figures):
    goals = [{"metric": "directivity_dbi", "at_least": 30.0}, {"metric": "s11_db", "at_most": -1.0}]
    path, _ = made_up(tmp_path, objectives=[{"at_least": None, "at_most": None, "weight": 1.0, **one} for one in goals])
    record = read_run(path)
    (one,) = record.findings.out_of_reach
    lowest = [f"directivity_dbi_{mhz}mhz" for mhz in (28500, 30000, 31500)]
    nearest = record.ok.loc[record.ok[lowest].min(axis=1).idxmax()]
    assert (one.individual, one.standing.value) == (nearest["individual"], nearest[lowest].min())
    with RunFolder.open(path) as folder:
        assert findings_of(folder, record.best["individual"]) == record.findings
    line = reach_line(record.findings.out_of_reach)
    assert line.startswith("No antenna came within 1 dB of: Directivity on axis at least 30 dBi (nearest: ")
    assert one.individual in line
    text = report_text(record)
    assert line in text
    assert "missed by" in text


def test_the_run_and_its_files_tell_the_goals(tmp_path, capsys, monkeypatch):
    file = tmp_path / "three_radii.toml"
    file.write_text(TOML)
    done = start(file, tmp_path / "runs")
    best = json.loads((done.folder / "best" / "result.json").read_text())
    assert [one["metric"] for one in best["goals"] if not one["met"]] == ["directivity_dbi", "sidelobe_db"]
    assert best["goals"][0]["value"] == min(done.best.outcome["directivity_dbi"])
    assert best["goals"][0]["frequency_hz"] == 28.5 * GHZ
    assert best["goals"][1]["value"] == -19.0
    assert done.to_dict()["findings"]["goals"] == best["goals"]
    text = "\n".join(tables.report_lines(done))
    assert "Side lobe            at most -20 dB      -19.00 dB  28.5 GHz  missed by 1.00 dB" in text
    assert all(len(line) <= 80 for line in text.splitlines() if line.startswith(("Side", "Direct", "---")))
    idle = dataclasses.replace(done, solver_fraction=0.0, stepping_fraction=0.9, cell_steps_per_s=1e9)
    assert tables.report_lines(idle)[1].endswith("; nothing was solved"), "a resumed run with nothing left"

    from antennaopt.cli import main

    assert main(["status", str(done.folder)]) == 0
    assert "Side lobe            at most -20 dB      -19.00 dB  28.5 GHz  missed by 1.00 dB" in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["status", str(done.folder)]) == 0
    wrapped = capsys.readouterr().out.splitlines()
    assert "Side lobe            at most -20 dB      -19.00 dB  28.5 GHz" in wrapped
    assert "Side lobe            missed by 1.00 dB" in wrapped
    assert main(["status", str(done.folder), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["goals"] == best["goals"]


def finalist(name, fitness, **metrics):
    outcome = {"directivity_dbi": [18.0], "s11_db": [-10.0], "sidelobe_db": [-20.0], "front_to_back_db": [20.0]}
    return Finalist(
        individual=name, fitness=fitness, shortfalls=(), values={}, design={}, outcome=outcome | metrics
    )  # fmt: skip


def test_a_figure_that_got_worse_is_said_beside_the_table():
    first = finalist("g0000-s004", 6.1, front_to_back_db=[30.62], sidelobe_db=[None])
    (lines,) = tables.worse_lines(finalist("g0015-s006", 2.9, front_to_back_db=[19.29]), first)
    line = " ".join(lines.split())  # broken where the terminal ends
    assert "side lobe (none to -20.00 dB), front to back (30.62 to 19.29 dB)" in line
    assert "a single figure may get worse" in line
    assert tables.worse_lines(finalist("g0015-s006", 2.9), finalist("g0000-s004", 6.1)) == []
    assert tables.worse_lines(first, None) == []
    (lines,) = tables.worse_lines(finalist("g0015-s006", 2.9, front_to_back_db=[19.29]), first, violates=True)
    assert "fitness, which counts constraints alone until an antenna meets them all;" in " ".join(lines.split())
    (line,) = tables.worse_lines(finalist("g0015-s006", 7.0), finalist("g0000-s004", 6.1))
    assert line.startswith("Fitness is worse")


def test_antennas_from_the_cache_are_not_called_solved(tmp_path):
    file = tmp_path / "three_radii.toml"
    file.write_text(TOML)
    done = start(file, tmp_path / "runs")
    assert "antennas solved (" in tables.antennas_line(done)
    again = dataclasses.replace(done, origins={"cache": done.evaluations - 2})
    line = tables.antennas_line(again)
    assert f"{done.evaluations} antennas (" in line
    assert f"): 2 solved, {done.evaluations - 2} from the evaluation cache; in " in line
    sampled = tables.antennas_line(dataclasses.replace(again, samples=5))
    assert "from the evaluation cache, and 5 samples of them, in " in sampled


def test_copies_of_duplicates_are_no_antennas(tmp_path):
    """The line had more antennas that are `ok` than antennas."""
    file = tmp_path / "three_radii.toml"
    file.write_text(TOML)
    done = start(file, tmp_path / "runs")
    copied = dataclasses.replace(done, evaluations=5, counts={"ok": 6, "infeasible": 2})
    assert tables.antennas_line(copied).startswith("5 antennas solved (6 ok, 2 infeasible; 3 of them copies) in ")
    assert "copies" not in tables.antennas_line(dataclasses.replace(copied, evaluations=8))
