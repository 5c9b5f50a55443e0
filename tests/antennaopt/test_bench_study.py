"""`bench study`: a whole run with real workers and the real solver; its parts add up to the command's time."""

import json
from pathlib import Path

import pytest
from patch_files import STUDY

from antennaopt.bench import study

SMALL = (
    "evolution.population=4", "evolution.generations=2", "evolution.elites=1",
    'certificate.mode="off"', "cluster.workers=1",
)  # fmt: skip


def changes(overrides):
    return [word for one in overrides for word in ("--set", one)]


def test_the_parts_are_the_whole(call):
    code, out, err = call(
        "bench", "study", *(word for one in SMALL for word in ("--set", one)), "--quiet", "--json", "-"
    )
    assert code == 0, err
    (row,) = json.loads(out)
    assert (row["antennas"], row["workers"], row["generations"]) == (3, 1, 2)
    assert all(seconds >= 0.0 for seconds in row["wall_seconds"].values()) and row["wall_seconds"]["certify"] == 0.0
    assert row["antennas_per_s"] == pytest.approx(row["antennas"] / row["wall_seconds"]["search"])
    for shares in (row["driver_share"], row["worker_share"]):
        assert sum(shares.values()) == pytest.approx(1.0, abs=0.2) and min(shares.values()) > -0.02
    assert row["driver_share"]["wait"] > 0.0 and row["worker_share"]["step"] > row["worker_share"]["transform"]
    assert row["cell_steps_per_s"] > 0.0 and row["kernel_cell_steps_per_s"] > 0.0
    assert not list(Path.cwd().iterdir()), "a bench leaves nothing behind"


def test_antennas_in_space_have_no_common_rate(call, tmp_path):
    """Each has a lattice of its own; all else is as for bodies of revolution."""
    (tmp_path / "patch.toml").write_text(STUDY)
    code, out, err = call("bench", "study", "patch.toml", *changes(SMALL), "--json", "study.json")
    assert code == 0, err
    (row,) = json.loads((tmp_path / "study.json").read_text())
    assert row["antennas"] >= 1 and len(row["shape"]) == 3 and row["worker_share"]["step"] > 0.0
    assert row["cell_steps_per_s"] is None and row["kernel_cell_steps_per_s"] is None
    assert f"{' x '.join(map(str, row['shape']))} cells, 1 workers" in out


@pytest.mark.slow
def test_a_search_that_is_over_at_once_has_nothing_to_time(call):
    code, _, err = call("bench", "study", *changes((*SMALL, "evolution.stop.evaluations=4")), "--quiet")
    assert code == 2
    assert "the first generation met all goals, or a limit of evolution.stop" in err and "Traceback" not in err


@pytest.mark.parametrize(
    ("calls", "what"),
    [
        ([("/x/antennaopt/farm/dask_tasks.py", "landed"), ("/x/antennaopt/run/driver.py", "_round")], "wait"),
        ([("/x/antennaopt/farm/dask_tasks.py", "send"), ("/x/antennaopt/run/driver.py", "_round")], "send and receive"),
        ([("/lib/json/encoder.py", "encode"), ("/x/antennaopt/store/checkpoint.py", "write")], "store"),
        ([("/x/antennaopt/search/objectives.py", "f"), ("/x/antennaopt/search/base.py", "tell")], "score"),
        ([("/x/antennaopt/search/operators.py", "f")], "breed"),
        ([("/lib/threading.py", "wait")], "other"),
    ],
)
def test_what_the_driver_does_is_named_by_its_innermost_frame_of_ours(calls, what):
    assert study.doing(calls) == what


def test_a_batch_that_began_before_the_search_counts_in_part():
    times = ((0.0, 4.0, 4.0), (5.0, 6.0, 0.5))
    batches = [{"worker": 1, "began": began, "ended": end, "stages": {"step": spent}} for began, end, spent in times]
    shares = study._worker_shares(batches, 2.0, 12.0, 1)
    assert shares["step"] == pytest.approx(0.25) and shares["idle"] == pytest.approx(0.7)


def test_batches_that_overlap_leave_no_idle_time():
    batches = [{"worker": 1, "began": at, "ended": at + 2.0, "stages": {"step": 1.5}} for at in (0.0, 1.0, 2.0)]
    shares = study._worker_shares(batches, 0.0, 4.0, 1)
    assert shares["step"] == pytest.approx(4.5 / 4.0) and shares["idle"] == 0.0
    assert study._worker_shares(batches, 0.0, 4.0, 2)["idle"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (["evolution.generations=1"], "no generation after the first"),
        (['cluster.kind="address"', 'cluster.address="tcp://127.0.0.1:1"'], "of this machine only"),
    ],
)
def test_refused(call, changed, says):
    code, _, err = call("bench", "study", *changes(changed))
    assert code == 2 and says in err and err.count("error") == 1
