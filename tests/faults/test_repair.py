"""Damaged files of rows and patterns: readers show the rest, `resume --repair` solves what they held again.

Each repaired run is compared with the run that was left alone: rows, patterns and checkpoints.
"""

import json
import shutil

import bits
import cheap_lens
import pandas as pd
import pyarrow.parquet as pq
import pytest

from antennaopt.cli import main
from antennaopt.errors import ResumeRefusedError
from antennaopt.run import start as study
from antennaopt.run.progress import Progress
from antennaopt.search import ALL_GOALS_MET
from antennaopt.solve.certificate import certify
from antennaopt.store import generations, load
from antennaopt.store.damage import damaged_files
from antennaopt.store.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("blank_figures")

STEADY = {"algorithm": "steady_state", "generations": 4}


class Told(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    root = tmp_path_factory.mktemp("steady")
    return cheap_lens.start(root, farm=cheap_lens.serial, evolution=STEADY, sleep_s=0.0).folder


@pytest.fixture
def finished(quiet, tmp_path):
    return shutil.copytree(quiet, tmp_path / "runs" / quiet.name)


def cut(path):
    path.write_bytes(path.read_bytes()[:-50])


def empty(path):
    path.write_bytes(b"")


def garbage(path):
    path.write_bytes(b"PAR1" + bytes(range(256)) * 20)


def gone(path):
    path.unlink()


def flipped_value(path):
    """A bit in the values of the last column, which Parquet decodes all the same where it has no checksum."""
    last = pq.ParquetFile(path).metadata.row_group(0)
    column = last.column(last.num_columns - 1)
    place = column.data_page_offset + column.total_compressed_size - 3
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(data)


def of_another_shape(path):
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.drop_columns([table.column_names[-1]]), path)


HARM = [cut, empty, garbage, gone, flipped_value, of_another_shape]


def repaired(folder, told=None, **more):
    given = {"evaluate": cheap_lens.bowl, "farm": cheap_lens.serial, "report": False, **more}
    return study.resume(folder, repair=True, progress=told or Told(), **given).folder


@pytest.mark.parametrize("kind", ["evals", "patterns"])
@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("generation", [0, pytest.param(2, marks=pytest.mark.slow), 3])
def test_a_repaired_run_is_the_one_left_alone(finished, quiet, kind, harm, generation):
    """The first file, one in the middle and the last, in each way; a finished run."""
    path = finished / kind / f"gen-{generation:06d}.parquet"
    harm(path)
    told = Told()
    assert repaired(finished, told) == finished
    bits.assert_equal(finished, quiet)
    assert [line for line in told.notes if f"to repair: {kind}/{path.name} is" in line]
    assert f"repaired: 1 file, generation {generation} solved again" in told.notes
    (event,) = bits.events(finished, "repaired")
    assert (event["generations"], event["exact"]) == ([generation], True)


def test_all_files_at_once(finished, quiet):
    for path in (*(finished / "evals").iterdir(), *(finished / "patterns").iterdir()):
        garbage(path)
    repaired(finished)
    bits.assert_equal(finished, quiet)


@pytest.mark.parametrize("damage", [[("evals", 1)], [("patterns", 1)], [("evals", 0), ("patterns", 3), ("evals", 3)]])
def test_a_steady_state_is_repaired_in_its_recorded_order(steady, tmp_path, damage):
    folder = shutil.copytree(steady, tmp_path / "runs" / steady.name)
    for kind, block in damage:
        cut(folder / kind / f"gen-{block:06d}.parquet")
    repaired(folder)
    bits.assert_equal(folder, steady)


@pytest.fixture(scope="module")
def at_its_goals(tmp_path_factory):
    """A steady state that stopped within a block because its goals are met; and as it went on without that stop."""
    root = tmp_path_factory.mktemp("goals")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(cheap_lens.EXPERIMENT, "objective", [{"metric": "directivity_dbi", "at_least": 28.8}])
        done = cheap_lens.start(root, farm=cheap_lens.serial, evolution=STEADY, sleep_s=0.0)
    assert (done.reason, done.evaluations) == (ALL_GOALS_MET, 22)  # two blocks, and two antennas of the third
    on = shutil.copytree(done.folder, root / "on" / done.folder.name)
    without_goals(on)
    assert cheap_lens.go_on(on, farm=cheap_lens.serial).evaluations == 40
    return done.folder, on


def without_goals(folder):
    """Let a run go on past its goals, as `--set evolution.stop.goals=false` does."""
    path = folder / "resolved.json"
    resolved = json.loads(path.read_text())
    resolved["evolution"]["stop"]["goals"] = False
    path.write_text(json.dumps(resolved))


@pytest.mark.parametrize("harm", [cut, gone])
@pytest.mark.parametrize("block", range(3))
def test_a_steady_state_that_stopped_at_its_goals_is_repaired(at_its_goals, tmp_path, harm, block):
    """Alone, and with a continuation. The rows of its last block, which is not full, used to be lost."""
    stopped, on = at_its_goals
    for kind in ("evals", "patterns"):
        if (kind, harm, block) == ("patterns", gone, 2):
            continue  # a block may be without patterns
        folder = shutil.copytree(stopped, tmp_path / kind / stopped.name)
        harm(folder / kind / f"gen-{block:06d}.parquet")
        more = shutil.copytree(folder, tmp_path / f"{kind}-on" / stopped.name)
        told = Told()
        repaired(folder, told)
        bits.assert_equal(folder, stopped)
        assert [line for line in told.notes if f"to repair: {kind}/gen-{block:06d}.parquet is" in line]
        without_goals(more)
        repaired(more)
        bits.assert_equal(more, on)


@pytest.mark.parametrize("block", range(4))
def test_a_steady_state_that_went_on_past_its_goals_is_repaired(at_its_goals, tmp_path, block):
    _, on = at_its_goals
    for kind in ("evals", "patterns"):
        folder = shutil.copytree(on, tmp_path / kind / on.name)
        cut(folder / kind / f"gen-{block:06d}.parquet")
        repaired(folder)
        bits.assert_equal(folder, on)


def test_a_steady_state_without_its_order_is_refused(steady, tmp_path):
    folder = shutil.copytree(steady, tmp_path / "runs" / steady.name)
    cut(folder / "evals" / "gen-000001.parquet")
    (folder / "logs" / "order.jsonl").unlink()
    with pytest.raises(ResumeRefusedError, match=r"order\.jsonl holds the order of 0 antennas"):
        repaired(folder)


def test_failures_of_the_farm_stay_what_they_were(tmp_path):
    """Solved again a lost antenna would be ok; the log of failures says that it was lost, and the search knew that."""
    fault = {"kind": "lost", "one_in": 5}
    given = {"farm": cheap_lens.serial, "sleep_s": 0.0}
    left_alone = cheap_lens.start(tmp_path / "quiet", fault=fault, **given).folder
    assert "lost" in set(bits.rows(left_alone).status)
    folder = shutil.copytree(left_alone, tmp_path / "runs" / left_alone.name)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["plan"]["fault"], manifest["plan_sha256"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for path in (folder / "evals").iterdir():
        cut(path)
    repaired(folder)
    bits.assert_equal(folder, left_alone)


def test_files_that_hold_several_generations(tmp_path, monkeypatch):
    """The first shared file, one in the middle, the last; rows, patterns, and a file that is not there."""
    monkeypatch.setattr(generations, "SINGLE", 2)
    monkeypatch.setattr(generations, "MOST_ROWS", 20)
    monkeypatch.setattr("antennaopt.store.damage.SINGLE", 2)
    monkeypatch.setattr("antennaopt.run.repair.SINGLE", 2)
    evolution = {"population": 6, "generations": 14}
    left_alone = cheap_lens.start(tmp_path / "quiet", farm=cheap_lens.serial, evolution=evolution, sleep_s=0.0).folder
    shared = sorted(path.name for path in (left_alone / "evals").iterdir())[2:]
    assert len(shared) >= 3
    for place, (kind, harm) in enumerate(
        [("evals", cut), ("patterns", flipped_value), ("evals", gone), ("patterns", gone)]
    ):
        for name in (shared[0], shared[1], shared[-1]):
            folder = shutil.copytree(left_alone, tmp_path / f"{place}-{name}" / left_alone.name)
            path = folder / kind / name
            if not path.exists():
                continue
            harm(path)
            repaired(folder)
            bits.assert_equal(folder, left_alone)
            assert {one.name for one in (folder / "evals").iterdir()} == {
                one.name for one in (left_alone / "evals").iterdir()
            }


@pytest.mark.parametrize("place", range(3), ids=["between", "within", "steady"])
def test_an_unfinished_run_is_repaired_and_goes_on(runs, tmp_path, place):
    """Between two generations, in the middle of one, in the middle of a block; a resume without --repair refuses."""
    left_alone, folder = (shutil.copytree(runs[place], tmp_path / name / runs[place].name) for name in ("quiet", "run"))
    study.resume(left_alone, evaluate=cheap_lens.bowl, farm=cheap_lens.serial, report=False)
    for kind in ("evals", "patterns"):
        cut(folder / kind / "gen-000000.parquet")
    with pytest.raises(ResumeRefusedError, match="resume --repair"):
        study.resume(folder, evaluate=cheap_lens.bowl, farm=cheap_lens.serial, report=False)
    repaired(folder)
    bits.assert_equal(folder, left_alone)


def test_a_file_that_no_checkpoint_counts_is_written_again(finished, quiet):
    """A kill after the rows and before the checkpoint leaves one; damaged or not, a resume solves it."""
    (finished / "checkpoint" / "checkpoint-000003.json").unlink()
    garbage(finished / "evals" / "gen-000003.parquet")
    repaired(finished)
    bits.assert_equal(finished, quiet)


def test_other_arithmetic_claims_no_bits(finished, quiet):
    path = finished / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["arithmetic"] = {**manifest["arithmetic"], "processor": "another"}
    path.write_text(json.dumps(manifest))
    cut(finished / "evals" / "gen-000002.parquet")
    told = Told()
    repaired(finished, told)
    assert [line for line in told.notes if "repaired now are not claimed to be the same to the bit" in line]
    assert bits.events(finished, "repaired")[-1]["exact"] is False
    bits.assert_equal(finished, quiet)


def test_what_does_not_follow_from_the_seed_is_refused_and_nothing_written(finished):
    """Another solver than the run's: the rows after the damaged one are not those it leads to."""
    cut(finished / "evals" / "gen-000001.parquet")
    before = {path: path.read_bytes() for path in (finished / "evals").iterdir()}
    with pytest.raises(ResumeRefusedError, match=r"generation 1 of .* cannot be solved again .* nothing was written"):
        repaired(finished, evaluate=worse)
    assert {path: path.read_bytes() for path in (finished / "evals").iterdir()} == before


def worse(family, designs, plan, *, backend, fields=False):
    found = cheap_lens.bowl(family, designs, plan, backend=backend)
    return [one | {"directivity_dbi": [60.0 - one["directivity_dbi"][0]]} for one in found]


def test_nothing_damaged_is_said(finished, quiet):
    told = Told()
    repaired(finished, told)
    assert "nothing to repair: every file of rows and patterns is whole" in told.notes
    bits.assert_equal(finished, quiet)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["evals", "patterns"])
def test_no_flipped_bit_in_the_values_goes_unnoticed(finished, kind):
    """Every 53rd bit of a file: it is noticed, or all that is read is as it was."""
    path = finished / kind / "gen-000001.parquet"
    content, folder = path.read_bytes(), RunFolder.open(finished)
    whole = folder.whole_table(kind, path)
    for place in range(0, 8 * len(content), 53):
        data = bytearray(content)
        data[place // 8] ^= 1 << place % 8
        path.write_bytes(data)
        if not damaged_files(folder, 4):
            assert folder.whole_table(kind, path).equals(whole), f"bit {place}"


def test_files_of_earlier_versions_have_no_checksums_and_are_read(finished, quiet):
    for kind in ("evals", "patterns"):
        for path in (finished / kind).iterdir():
            table = pq.read_table(path, partitioning=None)
            pq.write_table(table, path, compression="zstd")
    assert damaged_files(RunFolder.open(finished), 4) == []
    pd.testing.assert_frame_equal(load(finished), load(quiet), check_exact=True)


@pytest.mark.parametrize("harm", [cut, garbage, gone])
@pytest.mark.parametrize(
    "command",
    [("status", "RUN"), ("report", "RUN"), ("compare", "RUN", "QUIET"), ("export", "RUN", "--toml", "FILE")],
    ids=lambda words: words[0],
)
def test_readers_show_the_rest_and_name_the_file(finished, quiet, tmp_path, capsys, harm, command):
    """One line on stderr; in the report on the page too."""
    harm(finished / "evals" / "gen-000001.parquet")
    words = {"RUN": str(finished), "QUIET": str(quiet), "FILE": str(tmp_path / "best.toml")}
    assert main([words.get(word, word) for word in command]) == 0
    err = capsys.readouterr().err
    (line,) = [line for line in err.splitlines() if "gen-000001.parquet" in line]
    assert line.startswith("warning: ") and "resume --repair" in line
    assert "Traceback" not in err
    if command[0] == "report":
        page = (finished / "report.html").read_text()
        assert "gen-000001.parquet is" in page and "resume --repair" in page


def test_a_generation_that_was_never_written_is_not_called_missing(finished, capsys):
    """The log had it when the disk was full: no checkpoint counts it, and a plain resume solves it."""
    for path in finished.rglob("*-000003.*"):
        path.unlink()
    assert main(["status", str(finished)]) == 0
    out, err = capsys.readouterr()
    assert "generations       3 of 4" in out and "missing" not in err
    (finished / "evals" / "gen-000002.parquet").unlink()
    assert main(["status", str(finished)]) == 0
    assert "gen-000002.parquet is missing" in capsys.readouterr().err


def test_status_of_a_run_whose_best_row_has_a_damaged_column(finished, capsys):
    """The columns that status reads first are whole; the best antenna's goals are left out, the rest is shown."""
    assert main(["status", str(finished), "--json", "-"]) == 0
    state = json.loads(capsys.readouterr().out)
    assert state["goals"]
    for path in (finished / "evals").iterdir():
        flipped_value(path)
    assert main(["status", str(finished), "--json", "-"]) == 0
    out, err = capsys.readouterr()
    damaged = json.loads(out)
    assert (damaged["best"], "goals" in damaged) == (state["best"], False)
    assert len(damaged["damaged"]) == err.count("warning: ") > 0


def test_status_of_a_run_whose_crowned_row_is_lost(finished, capsys):
    """The certificates crown an antenna of a damaged file: the best that can be read is shown."""
    ok = bits.rows(finished).query("status == 'ok'")
    best = ok.loc[ok.fitness.idxmin()]
    other = ok[ok.generation != best.generation].iloc[0]
    doubtful = certify({})
    certificates = {best.individual: doubtful, other.individual: doubtful | {"verdict": "trusted"}}
    (finished / "best" / "certificates.json").write_text(json.dumps(certificates))
    resolved = json.loads((finished / "resolved.json").read_text()) | {"certificate": {"mode": "strict"}}
    (finished / "resolved.json").write_text(json.dumps(resolved))
    assert main(["status", str(finished)]) == 0
    assert f"{other.individual} with fitness" in capsys.readouterr().out
    cut(finished / "evals" / f"gen-{other.generation:06d}.parquet")
    assert main(["status", str(finished)]) == 0
    assert f"{best.individual} with fitness" in capsys.readouterr().out


def test_load_warns_and_returns_the_rest(finished, quiet):
    cut(finished / "evals" / "gen-000001.parquet")
    with pytest.warns(UserWarning, match=r"gen-000001\.parquet is damaged .*the rest is shown"):
        frame = load(finished)
    expected = load(quiet)
    pd.testing.assert_frame_equal(frame, expected[expected.generation != 1].reset_index(drop=True), check_exact=True)


def test_damaged_patterns_of_the_best_are_left_out_of_the_report(finished, capsys):
    for path in (finished / "patterns").iterdir():
        flipped_value(path)
    assert main(["report", str(finished)]) == 0
    assert "warning: " in capsys.readouterr().err
    page = (finished / "report.html").read_text()
    assert "patterns/gen-00000" in page and "pattern is not on disk" in page


def test_an_individual_of_a_damaged_file_is_refused_by_name(finished, capsys):
    cut(finished / "evals" / "gen-000001.parquet")
    assert main(["export", str(finished), "--individual", "g0001-s003", "--toml", "-"]) == 4
    assert "gen-000001.parquet is damaged" in capsys.readouterr().err.splitlines()[-1]


def test_repair_and_fork_exclude_each_other(finished, capsys):
    assert main(["resume", str(finished), "--repair", "--fork"]) == 2
    assert "exclude each other" in capsys.readouterr().err
