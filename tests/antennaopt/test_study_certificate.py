"""The end of a run: antennas that are certified, the best one, the messages, and the same after a resume."""

import json
import math
import os
import signal

import cheap_evaluation
import pandas as pd
import pyarrow.parquet as parquet
import pytest
from config_files import LENS

from antennaopt.cli.status import read_state
from antennaopt.errors import Interrupted
from antennaopt.experiment import load_antenna, load_experiment
from antennaopt.farm.farm import SerialFarm
from antennaopt.run.dry_run import estimate
from antennaopt.run.progress import Lines
from antennaopt.run.start import resume, run
from antennaopt.run.stores import recall
from antennaopt.solve.certificate import account, certify, crowned, doubts, passes, reason
from antennaopt.store.schema import RunColumns

pytestmark = pytest.mark.usefixtures("blank_figures")

COARSE = 3e-4
SMALL = ("evolution.population=8", "evolution.generations=3")


def key(design):
    return tuple(sorted(design.items()))


class Solver:
    """Arithmetic in place of fields; with half the cell the doubtful ones come out different."""

    def __init__(self, doubtful=(), failing=(), kill_after=None, balance=None):
        self.doubtful, self.failing, self.kill_after = set(doubtful), set(failing), kill_after
        self.halved, self.balanced, self.balance = [], [], balance

    def __call__(self, family, designs, plan, *, backend="cpu", fields=False):
        outcomes = [cheap_evaluation.outcome(design, plan) for design in designs]
        if plan["cell"] == COARSE:
            return outcomes if self.balance is None else self._lossy(designs, outcomes, plan)
        assert plan["cell"] == COARSE / 2
        self.halved += map(key, designs)
        if self.kill_after is not None and len(self.halved) >= self.kill_after:
            os.kill(os.getpid(), signal.SIGTERM)
        return [self._finer(design, outcome) for design, outcome in zip(designs, outcomes, strict=True)]

    def _finer(self, design, outcome):
        if key(design) in self.failing:
            return {"status": "undecayed", "error": "energy left", "seconds": 0.1, "steps": 9}
        shift = 0.3 if key(design) in self.doubtful else 0.04
        return {**outcome, "directivity_dbi": [value - shift for value in outcome["directivity_dbi"]]}

    def _lossy(self, designs, outcomes, plan):
        """Leave out the power balance where the plan measures no losses."""
        if plan.get("losses", True):
            self.balanced += map(key, designs)
        balance = [self.balance if plan.get("losses", True) else None] * len(plan["frequencies"])
        return [{**one, "power_balance": balance} if one["status"] == "ok" else one for one in outcomes]

    def farm(self, experiment, *, plan, backend, scheduler=None, evaluate=None):
        return SerialFarm(self, family=experiment.family, plan=plan, backend=backend)


@pytest.fixture
def start(tmp_path, monkeypatch):
    monkeypatch.setattr("antennaopt.solve.plan.plan", cheap_evaluation.plan)
    file = tmp_path / "lens.toml"
    file.write_text(LENS)

    def carry_out(mode, solver, *, report=False, name="results"):
        changes = (*SMALL, f'certificate.mode="{mode}"')
        return run(
            load_experiment(file, changes),
            root=tmp_path / name,
            source=LENS,
            overrides=changes,
            farm=solver.farm,
            evaluate=solver,
            report=report,
        )

    return carry_out


@pytest.fixture
def hall(start):
    """Design of each of the ten best, the best first; the search does not depend on the certificates."""
    folder = start("report", Solver(), name="before").folder
    names = json.loads((folder / "best" / "certificates.json").read_text())
    return {name: key(recall(folder, name).design) for name in names}


def stored(summary):
    """The files of the best antenna, without the name of the run."""
    texts = {path.name: path.read_text() for path in (summary.folder / "best").iterdir()}
    return {name: text.replace(summary.folder.name, "RUN") for name, text in texts.items()}


def test_the_ten_best_are_certified_best_first(start):
    solver = Solver()
    summary = start("strict", solver)
    certificates = json.loads((summary.folder / "best" / "certificates.json").read_text())
    assert len(certificates) == len(solver.halved) == 10
    assert certificates == summary.certificates
    rows = pd.read_parquet(summary.folder / "evals").set_index("individual")
    scores = [rows.fitness[name] for name in certificates]
    assert scores == sorted(scores)
    assert scores[0] == rows.fitness.min()
    assert next(iter(certificates)) == summary.best.individual
    assert {one["verdict"] for one in certificates.values()} == {"trusted"}
    assert certificates[summary.best.individual]["mesh_directivity"]["figure"] == pytest.approx(0.04)
    result = json.loads((summary.folder / "best" / "result.json").read_text())
    assert result["certificate"] == certificates[summary.best.individual]
    assert summary.certificate.startswith(f"{summary.best.individual} is trusted (mesh_directivity = 0.04")


def test_strict_crowns_the_next_trusted_one(start, hall):
    names = list(hall)
    summary = start("strict", Solver(doubtful=[hall[names[0]]], failing=[hall[names[1]]]), report=True)
    assert summary.best.individual == names[2]
    says = f"{names[0]} scores better but is doubtful (mesh_directivity = 0.3 (must be <= 0.1))"
    assert summary.certificate.startswith(says)
    assert f"crowned instead: {names[2]} is trusted" in summary.certificate
    assert load_antenna(summary.folder / "best" / "antenna.toml").design() == summary.best.design
    result = json.loads((summary.folder / "best" / "result.json").read_text())
    assert (result["individual"], result["certificate"]["verdict"]) == (names[2], "trusted")
    assert summary.certificates[names[1]]["halved"]["status"] == "undecayed"
    assert summary.certificates[names[1]]["mesh_s11"]["figure"] is None
    assert recall(summary.folder, "best").individual == names[2]
    assert read_state(summary.folder)[0]["best"] == names[2]
    page = summary.report.read_text()
    assert f"best antenna<br>{names[2]}</th>" in page
    assert f"{names[0]} scores better but is doubtful" in page
    assert f"Certificate of {names[2]}" in page


def test_where_none_is_trusted_the_best_is_kept_and_that_is_said(start, hall):
    summary = start("strict", Solver(doubtful=hall.values()), report=True)
    assert summary.best.individual == next(iter(hall))
    says = f"none of the 10 best is trusted; the best by fitness is kept: {summary.best.individual} is doubtful"
    assert summary.certificate.startswith(says)
    assert summary.certificate.endswith("; go by its figures with half the cell, `halved` in best/certificates.json")
    result = json.loads((summary.folder / "best" / "result.json").read_text())
    assert result["certificate"]["verdict"] == "doubtful"
    assert "none of the 10 best is trusted" in summary.report.read_text()


def test_report_states_the_verdict_and_crowns_by_fitness(start, hall):
    best = next(iter(hall))
    summary = start("report", Solver(doubtful=[hall[best]]), report=True)
    assert summary.best.individual == best
    assert summary.certificate.startswith(f"{best} is doubtful (mesh_directivity = 0.3")
    assert f"best antenna<br>{best}</th>" in summary.report.read_text()


def rows_of(folder):
    return pd.read_parquet(folder / "evals").set_index("individual")


def test_losses_are_measured_of_those_to_be_crowned_only(start, hall):
    """Rows of lossy antennas have no power balance; the ten best are solved with it at the run's cell too."""
    solver = Solver(balance=1.01)
    summary = start("strict", solver, report=True)
    assert sorted(solver.balanced) == sorted(solver.halved) == sorted(hall.values())
    rows = rows_of(summary.folder)
    assert rows.filter(like="power_balance").isna().all(axis=None)
    assert set(rows.certificate[rows.status == "ok"]) == {"trusted"}
    best = json.loads((summary.folder / "best" / "result.json").read_text())
    assert best["certificate"]["balance"]["figure"] == pytest.approx(0.01)
    assert [one["power_balance"] for one in best["results"]] == [1.01] * len(best["results"])
    page = summary.report.read_text()
    assert "1.0100" in page and "not measured" not in page
    solver.halved, solver.balanced = [], []
    resume(summary.folder, farm=solver.farm, evaluate=solver, report=False)
    assert not (solver.halved or solver.balanced)


def test_an_antenna_whose_power_does_not_balance_is_not_crowned(start, hall):
    summary = start("strict", Solver(balance=0.9), report=True)
    assert summary.certificate.startswith("none of the 10 best is trusted")
    assert "balance = 0.1 (must be <= 0.02)" in summary.certificate
    assert set(rows_of(summary.folder).certificate[list(hall)]) == {"doubtful"}


def test_the_rows_carry_the_verdict(start, hall):
    """Every ok row that of its own checks, the ten best that of the mesh too; nothing else of a row changes."""
    doubtful, failing, trusted = list(hall)[:3]
    before = rows_of(start("off", Solver(), name="off").folder)
    assert set(before.certificate[before.status == "ok"]) == {"trusted"}
    assert before.certificate[before.status != "ok"].isna().all()
    assert before[["certificate_reason", "mesh_directivity_db", "mesh_s11"]].isna().all(axis=None)
    summary = start("strict", Solver(doubtful=[hall[doubtful]], failing=[hall[failing]]))
    rows = rows_of(summary.folder)
    assert dict(rows.certificate[[doubtful, failing, trusted]]) == {
        doubtful: "doubtful", failing: "doubtful", trusted: "trusted",
    }  # fmt: skip
    assert rows.certificate_reason[doubtful] == "mesh_directivity = 0.3 (must be <= 0.1)"
    assert rows.certificate_reason[failing].endswith("with half the cell it is undecayed")
    assert rows.mesh_directivity_db[trusted] == pytest.approx(0.04)
    assert set(rows.index[rows.mesh_s11.notna() | rows.certificate_reason.notna()]) == set(hall)
    changed = ["run", "certificate", "certificate_reason", "mesh_directivity_db", "mesh_s11"]
    pd.testing.assert_frame_equal(rows.drop(columns=changed), before.drop(columns=changed), check_exact=True)


def test_a_run_begun_without_these_columns_reads_and_resumes_without(start):
    """A folder of schema version 1 has neither the columns nor word of them, nor of the metrics, in its manifest."""
    folder = start("strict", Solver()).folder
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["schema_version"], manifest["columns"].pop("certificate")) == (5, True)
    del manifest["columns"]["metrics"]
    (folder / "manifest.json").write_text(json.dumps({**manifest, "schema_version": 1}))
    then = RunColumns.from_dict(manifest["columns"]).evals_schema().names
    new = ["certificate", "certificate_reason", "mesh_directivity_db", "mesh_s11"]
    for path in (folder / "evals").iterdir():
        parquet.write_table(parquet.ParquetFile(path).read().select(then), path)
    solver = Solver()
    resume(folder, overrides=["evolution.generations=4"], farm=solver.farm, evaluate=solver, report=True)
    rows = rows_of(folder)
    assert set(rows.generation) == {0, 1, 2, 3}
    assert not set(new) & set(rows.columns)
    assert recall(folder, "best").individual


def test_progress_counts_the_certificates(start, hall, capsys, monkeypatch):
    told = Lines()
    monkeypatch.setattr("antennaopt.run.start.Progress", lambda: told)
    start("strict", Solver(doubtful=[hall[next(iter(hall))]]))
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("certificate ")]
    assert len(lines) == 10
    assert lines[0].startswith("certificate 1/10  g0")
    assert sorted(line.split()[-1] for line in lines) == ["doubtful"] + ["trusted"] * 9


def test_off_solves_nothing_more_and_says_nothing(start):
    solver = Solver()
    summary = start("off", solver, report=True)
    assert solver.halved == []
    assert (summary.certificates, summary.certificate) == ({}, "")
    assert not (summary.folder / "best" / "certificates.json").exists()
    assert "certificate" not in json.loads((summary.folder / "best" / "result.json").read_text())
    assert "Certificate" not in summary.report.read_text()


def test_a_finished_run_resumes_to_the_same_without_solving(start, hall):
    solver = Solver(doubtful=[next(iter(hall.values()))])
    whole = start("strict", solver)
    before = stored(whole)
    solver.halved.clear()
    again = resume(whole.folder, farm=solver.farm, evaluate=solver, report=False)
    assert solver.halved == []
    assert (again.best, again.certificate) == (whole.best, whole.certificate)
    assert stored(again) == before


def test_certificates_solved_anew_are_the_same(start, hall):
    solver = Solver(doubtful=[next(iter(hall.values()))])
    whole = start("strict", solver)
    before = stored(whole)
    (whole.folder / "best" / "certificates.json").write_text("{ torn")
    again = resume(whole.folder, farm=solver.farm, evaluate=solver, report=False)
    assert stored(again) == before


@pytest.mark.parametrize("after", [1, *(pytest.param(one, marks=pytest.mark.slow) for one in (4, 9))])
def test_interrupted_while_certifying_it_goes_on_where_it_stopped(start, hall, tmp_path, after):
    doubtful = list(hall.values())[:2]
    whole = start("strict", Solver(doubtful=doubtful), name="whole")
    solver = Solver(doubtful=doubtful, kill_after=after)
    with pytest.raises(Interrupted) as caught:
        start("strict", solver, name="cut")
    assert caught.value.exit_code == 143
    (folder,) = (tmp_path / "cut" / "lens").iterdir()
    assert not (folder / "best" / "result.json").exists()
    assert read_state(folder)[0]["state"] == "stopped"
    solver.kill_after = None
    again = resume(folder, farm=solver.farm, evaluate=solver, report=False)
    assert len(solver.halved) == len(set(solver.halved)) == 10
    assert again.best == whole.best
    assert stored(again) == stored(whole)
    assert read_state(folder)[0]["state"] == "finished"


def test_certificates_of_an_earlier_best_crown_nobody(start, hall):
    """A continued run is certified again at its end; until then fitness counts."""
    summary = start("strict", Solver(doubtful=[next(iter(hall.values()))]))
    path = summary.folder / "best" / "certificates.json"
    certificates = json.loads(path.read_text())
    assert recall(summary.folder, "best").individual == list(hall)[1]
    path.write_text(json.dumps(dict(list(certificates.items())[1:])))
    assert recall(summary.folder, "best").individual == next(iter(hall))


def test_a_dry_run_counts_the_certificates(start, tmp_path):
    def timed(family, designs, plan, *, backend, fields=False, options):
        seconds = plan["nr"] * plan["nz"] * options.max_steps / 1e8
        return [{"status": "undecayed", "error": None, "steps": options.max_steps, "seconds": seconds} for _ in designs]

    dry, off = (
        estimate(load_experiment(tmp_path / "lens.toml", (*SMALL, f'certificate.mode="{mode}"')), evaluate=timed)
        for mode in ("strict", "off")
    )
    assert (dry.certified, off.certified) == (10, 0)
    assert dry.seconds > off.seconds
    assert any("at most 10 antennas once more" in line and "0.15 mm" in line for line in dry.lines())
    assert not any("certificate" in line for line in off.lines())


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ({}, []),
        ({"directivity_dbi": [20.0, 20.19]}, ["mesh_directivity"]),
        ({"s11": [[0.1, 0.1], [0.1, 0.121]]}, ["mesh_s11"]),
        ({"directivity_dbi": [20.0, None]}, ["mesh_directivity"]),
        ({"status": "undecayed"}, ["mesh_directivity", "mesh_s11"]),
    ],
)
def test_the_mesh_counts_at_its_worst_frequency(change, failed):
    coarse = {
        "status": "ok",
        "s11": [[0.1, 0.1], [0.1, 0.1]],
        "directivity_dbi": [20.0, 20.08],
        "decay_db": -60.0,
        "contour_balance": [1.0, 1.0],
        "power_balance": [1.0, 1.0],
    }
    certificate = certify(coarse, {**coarse, **change})
    assert [name for name, check in certificate.items() if name != "verdict" and not check["passed"]] == failed
    assert certificate["verdict"] == ("doubtful" if failed else "trusted")
    assert certify(coarse)["verdict"] == "trusted"


def test_a_balance_that_was_not_measured_is_neither_passed_nor_failed():
    outcome = {
        "status": "ok", "s11": [[0.1, 0.1]], "decay_db": -60.0, "contour_balance": [1.0], "power_balance": [None],
    }  # fmt: skip
    certificate = certify(outcome)
    assert certificate["balance"]["passed"] is None and certificate["balance"]["figure"] is None
    assert certificate["verdict"] == "trusted" and reason(certificate) is None and not doubts(certificate)
    assert passes(outcome)
    assert certify(outcome | {"power_balance": [None, math.nan]})["verdict"] == "doubtful"
    del outcome["power_balance"]
    assert certify(outcome)["balance"]["passed"] is False and not passes(outcome)


def test_who_is_crowned():
    good, bad = {"verdict": "trusted"}, {"verdict": "doubtful"}
    assert crowned({}, "strict") is None
    assert crowned({"a": bad, "b": bad}, "strict") == "a"
    assert crowned({"a": bad, "b": bad, "c": good}, "strict") == "c"
    assert crowned({"a": bad, "b": bad, "c": good}, "report") == "a"
    assert "so is the one after it" in account({"a": bad, "b": bad, "c": good}, "strict")
    assert "so are the 2 after it" in account({"a": bad, "b": bad, "c": bad, "d": good}, "strict")
