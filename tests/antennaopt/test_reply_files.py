"""What travels on one machine: arrays of replies in files, with nothing left or lost; and the first batches."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from antennaopt.bench.null_solver import null_evaluate
from antennaopt.farm import dask_pool, dask_tasks, dispatch, reply_files
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.farm.farm import SerialFarm
from antennaopt.farm.reply_files import LEAST, read_arrays, write_arrays

PLAN = {"nr": 64, "nz": 64, "frequencies_hz": [28.5e9, 30e9, 31.5e9]}
ARRAYS = [os.urandom(LEAST), b"", os.urandom(17)]


def jobs(count):
    return [(f"g0000-s{place:03d}", {"lens.radius": 8e-3 + 1e-5 * place}) for place in range(count)]


@pytest.fixture(scope="module")
def farm():
    about = {"family": "shaped_lens", "plan": PLAN, "cluster": ClusterSettings(workers=2)}
    with DaskFarm(null_evaluate, **about) as found:
        yield found


@pytest.fixture
def read(monkeypatch):
    """Names of the files that were read."""
    names = []

    def noted(folder, name, sizes):
        names.append(name)
        return read_arrays(folder, name, sizes)

    monkeypatch.setattr(dask_tasks, "read_arrays", noted)
    return names


def numbers(outcomes):
    """All that a solver decides."""
    found = {}
    for key, one in outcomes.items():
        assert one.status == "ok"
        found[key] = (dict(one.metrics), one.s11, np.asarray(one.e_plane).tobytes(), np.asarray(one.h_plane).tobytes())
    return found


def files(farm):
    return [path for path in Path(farm.pool.cluster.folder).iterdir() if path.name.startswith(reply_files.PREFIX)]


def serial(batches):
    alone = SerialFarm(null_evaluate, family="shaped_lens", plan=PLAN)
    return numbers(dict(alone.run(batches)))


def test_outcomes_are_those_of_a_farm_in_this_process(farm, read):
    batches = [jobs(90)[:40], jobs(90)[40:]]
    assert numbers(dict(farm.run(batches))) == serial(batches)
    assert len(read) == 2
    assert files(farm) == []


def test_few_bytes_travel_in_the_message(farm, read):
    assert numbers(dict(farm.run([jobs(2)]))) == serial([jobs(2)])
    assert read == []


def test_a_file_that_cannot_be_read_is_a_lost_reply(farm, monkeypatch):
    """It is solved again, as when the worker had gone with it."""
    tried = []

    def fails_once(folder, name, sizes):
        tried.append(name)
        if len(tried) == 1:
            raise OSError("gone")
        return read_arrays(folder, name, sizes)

    monkeypatch.setattr(dask_tasks, "read_arrays", fails_once)
    assert numbers(dict(farm.run([jobs(40)]))) == serial([jobs(40)])
    assert len(tried) == 2


def test_a_file_holds_what_was_written(tmp_path):
    name, sizes = write_arrays(str(tmp_path), [memoryview(one) for one in ARRAYS])
    assert (tmp_path / name).stat().st_mode & 0o077 == 0
    assert read_arrays(str(tmp_path), name, sizes) == ARRAYS
    assert list(tmp_path.iterdir()) == []
    assert write_arrays(str(tmp_path), [bytes(LEAST - 1)]) is None


def test_a_full_disk_leaves_nothing_and_sends_the_message(tmp_path, monkeypatch):
    def full(file, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reply_files.os, "write", full)
    assert write_arrays(str(tmp_path), ARRAYS) is None
    assert list(tmp_path.iterdir()) == []
    assert write_arrays(str(tmp_path / "none"), ARRAYS) is None


def test_a_system_that_takes_less_at_a_time_gets_all(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(reply_files.os, "write", lambda file, data: write(file, data[:1000]))
    assert read_arrays(str(tmp_path), *write_arrays(str(tmp_path), ARRAYS)) == ARRAYS


def test_a_file_that_is_another_is_refused(tmp_path):
    name, sizes = write_arrays(str(tmp_path), ARRAYS)
    for other in (f"../{tmp_path.name}/{name}", str(tmp_path / name), "reply-/../x", "page.html"):
        with pytest.raises(ValueError, match="is no reply"):
            read_arrays(str(tmp_path), other, sizes)
    with pytest.raises(ValueError, match="has not the bytes"):
        read_arrays(str(tmp_path), name, [*sizes[:2], sizes[2] + 1])
    (tmp_path / "secret").write_bytes(ARRAYS[0])
    (tmp_path / "reply-link").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError):
        read_arrays(str(tmp_path), "reply-link", [LEAST])
    assert (tmp_path / "secret").exists()


def test_the_driver_waits_for_the_first_batches_of_all_workers(farm, monkeypatch):
    """Else those of the second and the next would wait for their turn while it breeds."""
    slept, sent = [], farm.pool.in_flight
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: slept.append((seconds, len(sent))))
    monkeypatch.setattr(dask_pool, "time", clock)
    # Measured speeds are not to decide here: a worker that was slow once is given nothing next to a fast one.
    monkeypatch.setattr(dispatch.Policy, "share", lambda policy, worker, workers, waiting, **known: waiting)
    one_by_one = ([job] for job in jobs(6))
    assert len(dict(farm.run(one_by_one))) == 6
    both = {(dask_pool.HEAD_START_S, 2)}
    assert set(slept) == both, "also where both were idle again before the next were sent"
    slept.clear()
    assert len(dict(farm.run([[job] for job in jobs(6)]))) == 6
    assert set(slept) == both, "a whole generation is sent before"
