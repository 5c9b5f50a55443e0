"""A search without generations, its driver killed: what was complete comes out as it had.

That holds in whatever order the farm completes afterwards, and the recorded order of a whole run gives the whole run
again. Without the record both fail.
"""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import bits
import cheap_lens
import pandas as pd
import pytest
from driver_processes import finished, kill_once
from steady_replay import replay
from test_every_write import assert_resumed_is_equal

from antennaopt.experiment import Experiment
from antennaopt.search import Candidate, EvolutionSettings, Result, new_search
from antennaopt.search.objectives import Ranking, build
from antennaopt.store.run_folder import RunFolder

HERE = Path(__file__).parent
STEADY = json.dumps({"algorithm": "steady_state", "population": 8, "generations": 5})
TOTAL = 40

pytestmark = pytest.mark.slow


def recorded(folder):
    """Whole lines of the order of completion."""
    path = folder / "logs" / "order.jsonl"
    return path.read_bytes().count(b"]\n") if path.exists() else 0


def killed(root, after, number=signal.SIGKILL):
    """Start a run and send its driver a signal once a number of antennas are complete; the workers wait for that."""
    plan, gate = cheap_lens.gated(root, after)

    def enough():
        return any(recorded(folder) >= after for folder in (root / "cheap_lens").glob("*"))

    code = kill_once(enough, gate, "run", root, json.dumps(plan), "--evolution", STEADY, number=number)
    assert code == (143 if number == signal.SIGTERM else -number)
    (folder,) = (root / "cheap_lens").iterdir()
    return folder


def copied(folder, root):
    return Path(shutil.copytree(folder, root / folder.name))


def check_replay(folder):
    """The rows alone, gone through once more, give every genome and the checkpoint's population again."""
    opened = RunFolder.open(folder)
    experiment = Experiment.from_resolved(opened.resolved)
    settings = EvolutionSettings.from_dict(opened.resolved["evolution"])
    rows = [row for generation in opened.generations() for row in opened.read_generation(generation)]
    assert sorted(row["birth"] for row in rows) == list(range(TOTAL))
    rows.sort(key=lambda row: (row["generation"], row["slot"]))
    objectives = build(opened.resolved["objectives"])
    missed = [[row[name] for name in opened.columns.shortfall_columns] for row in rows]
    order = [
        (
            Candidate.from_dict(row),
            Result(individual=row["individual"], shortfalls=short, status=row["status"], cached=row["cached"]),
        )
        for row, short in zip(rows, missed, strict=True)
    ]
    again = new_search(settings, experiment.genes, experiment.seed, order=Ranking.of(objectives))
    for row, one in zip(rows, replay(again, order), strict=True):
        assert (one.candidate, one.fitness) == (Candidate.from_dict(row), row["fitness"])
    state = opened.load_checkpoint().state["evolution"]
    assert [one.to_dict() for one in again.population] == state["population"]
    assert [one.to_dict() for one in again.hall_of_fame] == state["hall_of_fame"]


@pytest.mark.parametrize(("after", "number"), [(5, signal.SIGKILL), (21, signal.SIGKILL), (13, signal.SIGTERM)])
def test_killed_it_goes_on_from_the_recorded_order(tmp_path, after, number):
    """Resumed twice: by two workers again, and by one solver that completes in order of birth.

    After SIGTERM what is under way is completed first.
    """
    folder = killed(tmp_path, after, number)
    complete = recorded(folder)
    assert after <= complete < TOTAL
    assert number == signal.SIGTERM or complete == after
    other = copied(folder, tmp_path / "serial")
    finished("resume", folder)
    finished("resume", other, "--serial")
    for one in (folder, other):
        check_replay(one)
    pd.testing.assert_frame_equal(bits.rows(folder)[:complete], bits.rows(other)[:complete], check_exact=True)
    assert bits.rows(folder)["bred_after"].max() < TOTAL


def test_the_order_of_a_whole_run_gives_the_whole_run_again(tmp_path):
    """From nothing but the experiment and that order, and with another farm, to the last bit of rows and patterns."""
    quiet = finished("run", tmp_path, "--evolution", STEADY)
    again = copied(quiet, tmp_path / "again")
    for name in ("evals", "patterns", "checkpoint"):
        for path in (again / name).iterdir():
            path.unlink()
    finished("resume", again, "--serial")
    bits.assert_equal(again, quiet)
    check_replay(again)


def test_killed_between_a_checkpoint_and_the_next_completion(tmp_path):
    """With one place nobody is under way then: one child is bred, as without the kill, and not a whole population."""
    quiet = finished("run", tmp_path, "--serial", "--evolution", STEADY)
    again = copied(quiet, tmp_path / "again")
    last = sorted((again / "checkpoint").iterdir())[-1]  # two are kept: after 32 and 40 of 40
    for path in (last, *(path for name in ("evals", "patterns") for path in (again / name).glob("*000004*"))):
        path.unlink()
    order = again / "logs" / "order.jsonl"
    order.write_bytes(b"".join(order.read_bytes().splitlines(keepends=True)[:32]))
    finished("resume", again, "--serial")
    bits.assert_equal(again, quiet)


def test_killed_before_any_write_it_resumes_to_the_same_bits(tmp_path):
    done = subprocess.run(
        [sys.executable, str(HERE / "steady_every_write.py"), "kill", str(tmp_path)],
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert assert_resumed_is_equal([json.loads(line) for line in done.stdout.splitlines()]) >= 50
