"""How much of their time a run's workers stepped, from rows and log alone."""

import json

import pyarrow.parquet as pq
import pytest
from run_examples import evaluated, new_run, solved

from antennaopt.cli import main
from antennaopt.cli.status import read_state
from antennaopt.report.page import facts
from antennaopt.report.record import read_run
from antennaopt.store.stepping import stepping_of


def fill(folder, generation, stepped, *, seconds, steps=None, **changes):
    """Write a generation whose antennas were stepped for so long, by (worker, s), and that took so long in all."""
    outcomes = [
        solved(worker=worker, stepping_seconds=each, origin="solved", steps=count)
        for (worker, each), count in zip(stepped, steps or [3000] * len(stepped), strict=True)
    ]
    rows = [
        evaluated(generation=generation, slot=slot, outcome=outcome, **changes) for slot, outcome in enumerate(outcomes)
    ]
    folder.write_rows(generation, rows)
    folder.log("generation", generation=generation, seconds=seconds)


def test_the_share_is_of_all_workers_and_all_generations(tmp_path):
    """Two workers, 3 s and 2 s: 6.8 s of 10 s. The busiest of each generation leaves 0.5 s and 0.2 s unhidden."""
    with new_run(tmp_path, resolved={"evolution": {"generations": 2}}) as folder:
        fill(folder, 0, [("a", 1.0), ("a", 1.5), ("b", 1.0)], seconds=3.0)
        fill(folder, 1, [("a", 1.5), ("b", 1.8)], seconds=2.0)
        found = stepping_of(folder)
    assert found.workers == 2
    assert found.share == pytest.approx(6.8 / 10.0)
    assert found.beside == pytest.approx({0: 0.5, 1: 0.2})
    assert ("Stepping fields", "68% of the workers' time, first generation to last") in facts(read_run(folder.path))
    assert read_state(folder.path)[0]["stepping"] == pytest.approx(0.68)
    assert (found.cell_steps_per_s, read_state(folder.path)[0]["cell_steps_per_s"]) == (None, None)  # no plan


def test_the_rate_is_cells_times_steps_over_stepping_time(tmp_path, capsys):
    """Of the antennas that were solved, each until it stopped: (3000 + 4000 + 5000) x 124 x 210 cells in 0.5 s.

    A duplicate's row and one of the cache were not stepped, whatever they repeat.
    """
    plan = {"nr": 124, "nz": 210, "cell": 2e-4}
    with new_run(tmp_path, manifest={"plan": plan}, resolved={"evolution": {"generations": 2}}) as folder:
        fill(folder, 0, [("a", 0.1), ("b", 0.2)], seconds=0.5, steps=[3000, 4000])
        fill(folder, 1, [("a", 0.2)], seconds=0.5, steps=[5000])
        fill(folder, 2, [("a", 9.0)], seconds=1.0, steps=[9000], cached=True)
        fill(folder, 3, [("cache", 0.0)], seconds=1.0, steps=[9000])
        found = stepping_of(folder)
    assert found.cell_steps == 12_000 * 124 * 210
    assert found.cell_steps_per_s == pytest.approx(12_000 * 124 * 210 / 0.5)
    assert read_state(folder.path)[0]["cell_steps_per_s"] == found.cell_steps_per_s
    assert ("Stepping fields", f"{found}, first generation to last") in facts(read_run(folder.path))
    assert main(["status", str(folder.path)]) == 0
    assert "of the workers' time, 625 M cell-steps/s a worker" in capsys.readouterr().out


def test_what_was_not_solved_stepped_nobody(tmp_path):
    """A duplicate's row repeats the outcome of the other, its seconds too; a generation done again counts once."""
    with new_run(tmp_path) as folder:
        fill(folder, 0, [("a", 1.0)], seconds=1.0)
        fill(folder, 1, [("a", 5.0)], seconds=7.0, cached=True)
        folder.log("generation", generation=1, seconds=1.0)
        found = stepping_of(folder)
    assert found.share == pytest.approx(0.5)


def test_status_parses_no_lines_of_progress(tmp_path, monkeypatch):
    """A day of a study has 17,000 of them, and the log is read four times."""
    with new_run(tmp_path, resolved={"evolution": {"generations": 2}}) as folder:
        fill(folder, 0, [("a", 1.0)], seconds=1.0)
        for solved in range(50):
            folder.log("progress", generation=1, solved=solved)
        folder.log("stopped")
    parsed = []
    monkeypatch.setattr(json, "loads", lambda text, loads=json.loads, **how: parsed.append(text) or loads(text, **how))
    assert read_state(folder.path)[0]["state"] == "finished"
    assert not [text for text in parsed if "progress" in str(text)]


def test_rows_that_do_not_say_are_no_error(tmp_path):
    """Rows of an older run without columns for stepping, and a run without rows."""
    with new_run(tmp_path) as folder:
        assert stepping_of(folder) is None
        fill(folder, 0, [("a", 1.0)], seconds=1.0)
        path = folder.evals_folder / "gen-000000.parquet"
        pq.write_table(pq.read_table(path).drop_columns(["stepping_seconds"]), path)
        assert stepping_of(folder) is None
        assert "stepping_seconds" not in json.dumps(pq.read_schema(path).names)
