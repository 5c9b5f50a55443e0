"""`run` and `resume` on a real experiment file and a real run folder, with a cheap evaluation in place of fields."""

import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from made_up_cuts import amplitudes_of

from antennaopt.errors import Interrupted, ResumeRefusedError, RunInUseError
from antennaopt.experiment import load_antenna, load_experiment
from antennaopt.farm.farm import SerialFarm
from antennaopt.metrics import METRICS
from antennaopt.run.dry_run import estimate
from antennaopt.run.progress import Lines, Progress
from antennaopt.run.start import resume, run
from antennaopt.run.stores import outcome_of_row
from antennaopt.store.run_folder import RunFolder

TOML = """
title = "Three radii"
seed = 7

[antenna]
family = "shaped_lens"
[antenna.feed]
inner_radius = "3.6 mm"
outer_radius = "4.0 mm"
length = "20 mm"
[antenna.lens]
permittivity = 2.53
loss_tangent = 6.6e-4
radii = { count = 3, min = "8 mm", max = "20 mm" }

[solver]
frequencies = ["30 GHz", "28.5 GHz"]

[evolution]
population = 8
generations = 4
start = [{ "lens.radii" = ["17 mm", "16.6 mm", "12 mm"] }]

[[objective]]
metric = "directivity_dbi"
at_least = 20.0
[[objective]]
metric = "sidelobe_db"
at_most = -20.0

[certificate]
mode = "off"
"""
PLAN = {"nr": 100, "nz": 200, "cell": 3e-4, "time_step": 5e-13, "max_steps": 9000, "memory_bytes": 4_000_000}
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def antenna(design):
    radii = [1e3 * design[f"lens.radii.{place}"] for place in range(3)]
    miss = sum((x - 13.0 - place) ** 2 for place, x in enumerate(radii)) / 30.0
    if radii[0] < 8.6:
        return {"status": "infeasible", "error": "the lens does not cover the feed", "seconds": 0.0, "steps": 0}
    both = [1.0, 0.97]
    theta = np.arange(0.0, 181.0, 2.0)
    cut = [(f * (19.0 - miss) * np.cos(np.radians(theta))).tolist() for f in both]
    return {
        **{key: [0.5, 0.25] for key in METRICS},
        "status": "ok",
        "error": None,
        "seconds": 0.25,
        "steps": 4000,
        "cells": 20000,
        "frequency_hz": [30e9, 28.5e9],
        "s11": [[0.1, -0.2 / 3.0], [0.05, miss]],
        "s11_db": [-18.0, -20.0],
        "directivity_dbi": [f * (19.0 - miss) for f in both],
        "hpbw_e_deg": [20.0, None],
        "sidelobe_db": [None, -19.0],
        "theta_deg": theta.tolist(),
        "e_plane": amplitudes_of(cut),
        "h_plane": amplitudes_of(cut),
        "decay_db": 60.0,
    }


def cheap(family, designs, plan, *, backend, fields=False):
    assert family == "shaped_lens"
    assert plan["nr"] == 100
    return [antenna(design) for design in designs]


def serial(experiment, *, plan, backend, scheduler=None, evaluate=None):
    return SerialFarm(evaluate or cheap, family=experiment.family, plan=plan, backend=backend)


@pytest.fixture
def experiment_file(tmp_path):
    path = tmp_path / "three_radii.toml"
    path.write_text(TOML)
    return path


def start(path, root, *, overrides=(), **more):
    return run(
        load_experiment(path, overrides),
        root=root,
        source=path.read_text(),
        overrides=overrides,
        plan=PLAN,
        farm=more.pop("farm", serial),
        report=False,
        now=NOW,
        **more,
    )


def rows(folder):
    run_folder = RunFolder.open(folder)
    return [run_folder.read_generation(generation) for generation in run_folder.generations()]


def bits(folder):
    """All that must be equal: rows and patterns to the byte, the last checkpoints."""
    files = [*folder.glob("evals/*.parquet"), *folder.glob("patterns/*.parquet"), *folder.glob("checkpoint/*.json")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class Killed(BaseException):
    """Stands for SIGKILL: nothing after it runs."""


def killer(after):
    """Open a farm that ends after a number of antennas."""

    def open_it(experiment, **more):
        count = 0

        def dying(family, designs, plan, *, backend, fields=False):
            nonlocal count
            count += len(designs)
            if count > after:
                raise Killed
            return cheap(family, designs, plan, backend=backend)

        return serial(experiment, **{**more, "evaluate": dying})

    return open_it


def test_a_run_leaves_a_whole_folder(experiment_file, tmp_path):
    summary = start(experiment_file, tmp_path / "results")
    assert summary.reason == "all 4 generations done"
    assert summary.generations == 4
    assert sum(summary.counts.values()) == 8 + 3 * 6
    assert summary.best.fitness <= summary.first_best.fitness
    assert summary.evaluations <= 26
    table = pd.read_parquet(summary.folder / "evals")
    assert len(table) == 26
    assert table.loc[table.status == "ok", "fitness"].min() == summary.best.fitness
    best = table[table.individual == summary.best.individual].iloc[0]
    assert best.directivity_dbi_30000mhz == summary.best.outcome["directivity_dbi"][0]
    assert best.lens_radii_0_mm == pytest.approx(1e3 * summary.best.values["lens.radii.0"])
    planted = table[table.individual == "g0000-s000"].iloc[0]
    assert planted.operator == "planted"
    assert planted.lens_radii_1_mm == pytest.approx(16.6)
    assert summary.first_best.individual != "g0000-s000"
    json.dumps(summary.to_dict())


def test_the_best_antenna_file_reads_back_to_the_bit(experiment_file, tmp_path):
    summary = start(experiment_file, tmp_path / "results")
    best = load_antenna(summary.folder / "best" / "antenna.toml")
    assert best.design() == summary.best.design
    assert best.family == "shaped_lens"
    experiment = load_experiment(experiment_file)
    assert best.solver == experiment.solver
    result = json.loads((summary.folder / "best" / "result.json").read_text())
    assert [entry["frequency_hz"] for entry in result["results"]] == [30e9, 28.5e9]
    assert result["results"][0]["directivity_dbi"] == summary.best.outcome["directivity_dbi"][0]
    assert result["results"][1]["e_plane_dbi"][0] == pytest.approx(summary.best.outcome["directivity_dbi"][1])
    assert result["individual"] == summary.best.individual


def test_rows_turn_back_into_the_outcomes_they_were_made_of(experiment_file, tmp_path):
    summary = start(experiment_file, tmp_path / "results")
    columns = RunFolder.open(summary.folder).columns
    for row in (row for generation in rows(summary.folder) for row in generation):
        values = {f"lens.radii.{place}": row[f"lens_radii_{place}_mm"] / 1e3 for place in range(3)}
        outcome = outcome_of_row(columns, row)
        assert outcome["status"] == row["status"]
        if row["status"] == "ok":
            assert outcome["s11"][0] == [0.1, -0.2 / 3.0]
            assert outcome["sidelobe_db"] == [None, -19.0]
            assert outcome["directivity_dbi"] == pytest.approx(antenna(values)["directivity_dbi"])


@pytest.mark.parametrize("after", range(1, 26, 3))
def test_killed_anywhere_a_resumed_run_is_equal_to_the_bit(experiment_file, tmp_path, after):
    whole = start(experiment_file, tmp_path / "whole")
    if after >= whole.evaluations:
        pytest.skip("fewer antennas are solved")
    with pytest.raises(Killed):
        start(experiment_file, tmp_path / "killed", farm=killer(after))
    (folder,) = (tmp_path / "killed" / "three_radii").iterdir()
    again = resume(folder, farm=serial, report=False)
    assert bits(folder) == bits(whole.folder)
    assert again.best == whole.best
    assert again.first_best == whole.first_best
    assert again.counts == whole.counts


def test_interrupted_it_keeps_what_was_solved(experiment_file, tmp_path):
    whole = start(experiment_file, tmp_path / "whole")
    solved = []

    def interrupting(experiment, **more):
        def counting(family, designs, plan, *, backend, fields=False):
            solved.extend(tuple(design.values()) for design in designs)
            if len(solved) == 11:
                import os
                import signal

                os.kill(os.getpid(), signal.SIGTERM)
            return cheap(family, designs, plan, backend=backend)

        return serial(experiment, **{**more, "evaluate": counting})

    with pytest.raises(Interrupted) as caught:
        start(experiment_file, tmp_path / "cut", farm=interrupting, overrides=("cluster.batch_size=1",))
    assert caught.value.exit_code == 143
    (folder,) = (tmp_path / "cut" / "three_radii").iterdir()
    resume(folder, farm=interrupting, report=False)
    assert len(solved) == len(set(solved)) == whole.evaluations
    assert rows(folder) == rows(whole.folder)


def test_a_finished_run_resumes_to_the_same_summary(experiment_file, tmp_path):
    whole = start(experiment_file, tmp_path / "results")
    before = bits(whole.folder)
    again = resume(whole.folder, farm=serial, report=False)
    assert again.best == whole.best
    assert bits(whole.folder) == before


def test_more_generations_may_be_asked_for(experiment_file, tmp_path):
    longer = start(experiment_file, tmp_path / "longer", overrides=("evolution.generations=6",))
    short = start(experiment_file, tmp_path / "short")
    again = resume(short.folder, overrides=("evolution.generations=6",), farm=serial, report=False)
    assert again.generations == 6
    assert again.best == longer.best
    assert rows(short.folder) == rows(longer.folder)
    assert RunFolder.open(short.folder).resolved["evolution"]["generations"] == 6


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=8", "seed: 7 -> 8"),
        ("antenna.lens.permittivity=2.6", "antenna.lens.permittivity: 2.53 -> 2.6"),
        ("evolution.elites=1", "evolution.elites: 2 -> 1"),
        ("objective.0.at_least=21.0", "objectives.0.at_least: 20.0 -> 21.0"),
    ],
)
def test_changed_physics_is_refused_with_the_difference(experiment_file, tmp_path, override, message):
    summary = start(experiment_file, tmp_path / "results")
    with pytest.raises(ResumeRefusedError, match=message) as caught:
        resume(summary.folder, overrides=(override,), farm=serial, report=False)
    assert caught.value.exit_code == 4


def test_an_edited_experiment_file_is_refused(experiment_file, tmp_path):
    summary = start(experiment_file, tmp_path / "results")
    (summary.folder / "experiment.toml").write_text(TOML.replace("3.6 mm", "3.5 mm"))
    with pytest.raises(ResumeRefusedError, match=r"antenna.feed.inner_radius: 0.0036 -> 0.0035"):
        resume(summary.folder, farm=serial, report=False)


def test_an_edited_resolved_file_is_refused(experiment_file, tmp_path):
    summary = start(experiment_file, tmp_path / "results")
    path = summary.folder / "resolved.json"
    path.write_text(path.read_text().replace("2.53", "2.54"))
    with pytest.raises(ResumeRefusedError, match=r"resolved.json was changed"):
        resume(summary.folder, farm=serial, report=False)


def test_missing_rows_are_named(experiment_file, tmp_path):
    summary = start(experiment_file, tmp_path / "results")
    (summary.folder / "evals" / "gen-000001.parquet").unlink()
    with pytest.raises(ResumeRefusedError, match="no rows of generation 1"):
        resume(summary.folder, farm=serial, report=False)


def test_a_folder_in_use_is_refused(experiment_file, tmp_path):
    summary = start(experiment_file, tmp_path / "results")
    with RunFolder.open(summary.folder, write=True), pytest.raises(RunInUseError):
        resume(summary.folder, farm=serial, report=False)


def test_other_versions_are_told(experiment_file, tmp_path):
    summary = start(experiment_file, tmp_path / "results")
    path = summary.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["arithmetic"]["numpy"] = "1.0"
    path.write_text(json.dumps(manifest))
    notes = []

    class Told(Progress):
        def note(self, text):
            notes.append(text)

    resume(summary.folder, farm=serial, progress=Told(), report=False)
    at = notes.index("resumed with other arithmetic: the same bits as without an interruption are not claimed")
    assert notes[at + 1] == f"  numpy: 1.0 -> {np.__version__}"
    assert not notes[at + 2].startswith("  ")


def test_wall_time_of_earlier_sessions_counts(experiment_file, tmp_path):
    with pytest.raises(Killed):
        start(experiment_file, tmp_path / "killed", farm=killer(12))
    (folder,) = (tmp_path / "killed" / "three_radii").iterdir()
    with (folder / "logs" / "run.jsonl").open("a") as log:
        log.write('{"event": "generation", "run_seconds": 5000.0}\n{"event": "torn')
    summary = resume(folder, farm=serial, overrides=('evolution.stop.wall_time="1 h"',), report=False)
    assert "wall time" in summary.reason
    assert summary.generations < 4


def test_lines_of_progress(experiment_file, tmp_path, capsys):
    start(experiment_file, tmp_path / "results", progress=Lines())
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("generation")]
    assert len(lines) == 4
    assert all("best" in line and "median" in line and "/s" in line and "left" in line for line in lines)


def test_dry_run_counts_and_times_without_leaving_anything(experiment_file, monkeypatch):
    monkeypatch.setattr("antennaopt.run.dry_run.plan_for", lambda experiment: dict(PLAN))

    def timed(family, designs, plan, *, backend, fields=False, options):
        steps = options.max_steps
        return [{"status": "undecayed", "error": None, "steps": steps, "seconds": 20000 * steps / 4e8} for _ in designs]

    dry = estimate(load_experiment(experiment_file), workers=2, evaluate=timed)
    assert dry.evaluations == 8 + 3 * 6
    assert dry.cell_steps_per_s == pytest.approx(4e8)
    assert dry.seconds == pytest.approx(13 * 20000 * 9000 / 4e8)
    assert any("100 x 200" in line for line in dry.lines())


def test_dry_run_with_devices_and_cores_times_one_of_each(experiment_file, monkeypatch):
    """One device of 4 G cell-steps/s and 8 cores of 0.5 G each share 26 antennas; the slowest may have the last."""
    monkeypatch.setattr("antennaopt.run.dry_run.plan_for", lambda experiment: dict(PLAN))
    monkeypatch.setattr("antennaopt.solve.device.enough_devices", lambda count: ("GPU-0", "GPU-1")[:count])
    monkeypatch.setattr("antennaopt.solve.device.capacity", lambda plan: {"wave": 5, "antennas": 7})
    batches = []

    def timed(family, designs, plan, *, backend, fields=False, options):
        batches.append((backend, len(designs)))
        steps = options.max_steps
        seconds = 20000 * steps / {"cuda": 4e9, "cpu": 5e8}[backend]
        return [{"status": "undecayed", "error": None, "steps": steps, "seconds": seconds} for _ in designs]

    experiment = load_experiment(experiment_file, ["cluster.workers={ cuda = 1, cpu = 8 }"])
    dry = estimate(experiment, backend="cuda", evaluate=timed)
    assert set(batches) == {("cuda", 5), ("cpu", 1)}
    assert (dry.workers, dry.kinds) == (9, {"cuda": (1, pytest.approx(4e9)), "cpu": (8, pytest.approx(5e8))})
    assert dry.cell_steps_per_s == pytest.approx(4e9)
    assert dry.seconds == pytest.approx(26 * 20000 * 9000 / 8e9 + 20000 * 9000 / 5e8)
    text = "\n".join(dry.lines())
    assert "9 at a time" in text
    assert "4000 M cell-steps/s on one worker of backend cuda (measured), of 1" in text
    assert "500 M cell-steps/s on one worker of backend cpu (measured), of 8" in text
