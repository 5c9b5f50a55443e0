"""The run folder under adversity: full disks, killed writers, torn files, two writers."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from run_examples import evaluated, fill, new_run, solved

from antennaopt.errors import ResumeRefusedError, RunInUseError, StorageError
from antennaopt.store import load
from antennaopt.store.evaluations import write_evaluations
from antennaopt.store.run_folder import RunFolder

HERE = Path(__file__).parent


def test_a_new_folder_holds_what_a_reader_needs(tmp_path):
    noon = datetime(2026, 11, 5, 12, 0, 0, tzinfo=UTC)
    with new_run(tmp_path, now=noon) as folder:
        assert folder.path == tmp_path / "quick" / "20261105T120000Z-quick-01234567"
        assert folder.source == 'title = "as given"\n'
        assert folder.resolved == {"seed": 7}
        manifest = json.loads((folder.path / "manifest.json").read_text())
    assert manifest["versions"]["pyarrow"]
    assert manifest["arithmetic"] == "cpu-float32"
    assert {"commit", "python", "machine", "config_hash", "seed"} <= manifest.keys()
    with new_run(tmp_path, now=noon) as second:
        assert second.path.name == folder.path.name + "-2"


def test_reading_needs_no_lock_and_cannot_write(tmp_path):
    with new_run(tmp_path) as folder:
        fill(folder, 0, [solved()])
        reader = RunFolder.open(folder.path)
        assert len(reader.read_generation(0)) == 1
        assert reader.columns == folder.columns
        with pytest.raises(RuntimeError, match="write=True"):
            reader.log("nothing")


def test_a_generation_written_again_is_the_same_file(tmp_path):
    with new_run(tmp_path) as folder:
        rows = [evaluated(slot=slot) for slot in range(5)]
        before = folder.write_rows(0, rows).read_bytes()
        assert folder.write_rows(0, rows[::-1]).read_bytes() == before
        assert len(pd.read_parquet(folder.evals_folder)) == 5


def test_left_overs_of_a_killed_writer_are_never_read_and_go_away(tmp_path):
    with new_run(tmp_path) as folder:
        whole = fill(folder, 0, [solved()]).read_bytes()
        torn = folder.evals_folder / ".tmp-999-gen-000001.parquet"
        torn.write_bytes(whole[: len(whole) // 2])
        assert len(pd.read_parquet(folder.evals_folder)) == 1
        assert len(load(folder)) == 1
    with RunFolder.open(folder.path, write=True):
        assert not torn.exists()


def test_a_torn_data_file_is_named(tmp_path):
    with new_run(tmp_path) as folder:
        path = fill(folder, 0, [solved()])
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(ResumeRefusedError, match="gen-000000"):
            load(folder)
        with pytest.warns(UserWarning, match="gen-000000"):
            assert load(folder.path).empty
        with pytest.raises(ResumeRefusedError, match="gen-000000"):
            folder.read_generation(0)


def test_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    with new_run(tmp_path) as folder:
        path = fill(folder, 0, [solved()])
        before = path.read_bytes()

        def full(handle):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(StorageError, match="disk is full") as caught:
                fill(folder, 0, [solved(), solved()])
            with pytest.raises(StorageError, match="disk is full"):
                folder.save_checkpoint(0, {})
        assert caught.value.exit_code == 6
        assert path.read_bytes() == before
        assert not list(folder.path.rglob(".tmp-*"))
        assert folder.load_checkpoint() is None
        fill(folder, 0, [solved(), solved()])
        assert len(load(folder)) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's always-full device")
def test_a_log_on_a_full_disk_is_a_storage_error(tmp_path):
    with new_run(tmp_path) as folder:
        (folder.path / "logs" / "run.jsonl").symlink_to("/dev/full")
        with pytest.raises(StorageError, match="disk is full"):
            folder.log("generation")


def test_a_file_in_place_of_the_folder_is_a_storage_error(tmp_path):
    (tmp_path / "results").write_text("in the way")
    with pytest.raises(StorageError, match="--out"):
        new_run(tmp_path / "results")
    (tmp_path / "quick").write_text("in the way")
    with pytest.raises(StorageError, match="--out"):
        new_run(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["quick", "results"]


def test_nothing_is_left_of_a_folder_that_could_not_be_written(tmp_path):
    with pytest.raises(TypeError):
        new_run(tmp_path, resolved={"not": {1, 2}})
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_no_file_is_written_outside_the_run(tmp_path):
    with new_run(tmp_path) as folder:
        assert folder.write_text("best/antenna.toml", "x").read_text() == "x"
        for name in ("../outside.txt", str(tmp_path / "outside.txt")):
            with pytest.raises(StorageError, match="leads out"):
                folder.write_text(name, "x")
    with new_run(tmp_path, name="../../evil") as folder:
        assert folder.path.is_relative_to(tmp_path)


def test_log_lines_are_json_and_a_torn_one_is_not_joined(tmp_path):
    with new_run(tmp_path) as folder:
        folder.log("generation", generation=3, best=1.5)
        folder.record_failures([{"individual": "g0000-s001", "error": "line\nline"}])
        log = folder.path / "logs" / "run.jsonl"
        with log.open("a") as file:
            file.write('{"event": "to')
        folder.log("resumed")
        lines = log.read_text().splitlines()
        failures = (folder.path / "failures.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["best"] == 1.5
    assert json.loads(lines[2])["event"] == "resumed"
    assert json.loads(failures[0])["error"] == "line\nline"


def test_failures_of_a_generation_that_is_written_again_stand_there_once(tmp_path):
    """The process that wrote was lost between two lines, or within one; the driver writes the whole generation."""
    lost = {"status": "lost", "error": "worker ended", "seconds": 0.5, "steps": 0}
    with new_run(tmp_path) as folder:
        rows = [evaluated(folder.columns, 3, slot, lost if slot % 2 else solved()) for slot in range(6)]
        path = folder.path / "failures.jsonl"
        write_evaluations(folder, 3, rows, {})
        lines = path.read_text().splitlines(keepends=True)
        for left in (lines[:2], [*lines[:1], lines[1][:40]]):
            path.write_text("".join(left))
            write_evaluations(folder, 3, rows, {})
            whole = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
            assert [one["individual"] for one in whole] == ["g0003-s001", "g0003-s003", "g0003-s005"]
        write_evaluations(folder, 4, [evaluated(folder.columns, 4, 0, lost)], {})
        write_evaluations(folder, 3, [evaluated(folder.columns, 3, 1, lost | {"seconds": 0.75})], {})
        assert len(path.read_text().splitlines()) == 1 + 3 + 2  # a torn one, and another solution of one antenna


@pytest.mark.parametrize("damage", ["missing", "cut", "newer", "list"])
def test_what_is_not_a_run_folder_is_refused(tmp_path, damage):
    with new_run(tmp_path) as folder:
        manifest = folder.path / "manifest.json"
        if damage == "missing":
            manifest.unlink()
        elif damage == "cut":
            manifest.write_bytes(manifest.read_bytes()[:100])
        elif damage == "newer":
            manifest.write_text(json.dumps(folder.manifest | {"schema_version": 99}))
        else:
            manifest.write_text("[]")
        with pytest.raises(ResumeRefusedError, match=str(folder.path)) as caught:
            RunFolder.open(folder.path)
    assert caught.value.exit_code == 4


HOLDER = """
import sys, time
from antennaopt.store.run_folder import RunFolder
with RunFolder.open(sys.argv[1], write=True):
    print("held", flush=True)
    time.sleep(600)
"""


def test_another_process_holds_the_folder_until_it_dies(tmp_path):
    with new_run(tmp_path) as folder:
        pass
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder.path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunInUseError, match=f"process {holder.pid} ") as caught:
            RunFolder.open(folder.path, write=True)
        assert caught.value.exit_code == 3
        assert RunFolder.open(folder.path).run_id == folder.run_id, "reading goes on"
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    with RunFolder.open(folder.path, write=True) as again:
        assert again.writable


def test_the_same_process_cannot_take_it_twice_either(tmp_path):
    with new_run(tmp_path) as folder, pytest.raises(RunInUseError):
        RunFolder.open(folder.path, write=True)
    folder.close()


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from run_examples import fill, solved
from antennaopt.store.run_folder import RunFolder
with RunFolder.open(sys.argv[1], write=True) as folder:
    print("writing", flush=True)
    for generation in range(10**6):
        fill(folder, generation % 50, [solved()] * 20)
        folder.save_checkpoint(generation, {"at": generation})
"""


@pytest.mark.parametrize("delay", [0.02, 0.1, 0.33])
def test_a_writer_killed_at_any_time_leaves_whole_files_only(tmp_path, delay):
    with new_run(tmp_path) as folder:
        pass
    command = [sys.executable, "-c", WRITER, str(folder.path), str(HERE)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout.readline() == "writing\n"
        time.sleep(delay)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    with RunFolder.open(folder.path, write=True) as again:
        assert not list(folder.path.rglob(".tmp-*"))
        assert len(load(again)) == 20 * len(again.generations())
        found = again.load_checkpoint()
        assert found is None or found.state == {"at": found.generation}
