"""Faults of workers in whole runs with real processes: the rows, patterns and checkpoints of the run left alone.

A fault that an individual has by itself costs this individual alone: the run is then equal to one in which the same
individual came out with that status at once.
"""

import os
import signal
import subprocess
import threading
import time
from collections import Counter

import bits
import cheap_lens
import pytest
from struck_farms import Striking, farms, in_flight, worker_pids, workers
from waiting import wait_until

from antennaopt.errors import ClusterError
from antennaopt.farm import dask_pool as farm_module
from antennaopt.farm import retries as _failures
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm


@pytest.fixture
def marker(tmp_path):
    folder = tmp_path / "marker"
    folder.mkdir()
    return str(folder)


@pytest.mark.slow
def test_workers_killed_again_and_again_change_nothing(quiet, tmp_path):
    """A worker is killed from outside during a batch, three to six times: 34 antennas of 0.4 s."""
    struck = []

    def kill_one():
        """Kill one that has had a batch for a while, for each batch once."""
        for one in in_flight():
            if len(struck) < 6 and one.running_s > 0.15 and one.future.key not in struck:
                if farms[-1].pool.cluster.kill_worker(one.address):
                    struck.append(one.future.key)
                return

    with Striking(kill_one, first_s=0.1, every_s=0.1):
        folder = cheap_lens.start(tmp_path, farm=workers(), sleep_s=0.4).folder
    assert len(struck) >= 3
    bits.assert_equal(folder, quiet)
    killed = bits.events(folder, "worker_killed")
    assert killed
    assert all(one["reason"] == "was killed by SIGKILL" and one["individuals"] for one in killed)
    assert not bits.events(folder, "quarantined", "attempt_failed")


def test_a_worker_killed_while_it_starts_is_started_again(quiet, tmp_path):
    """Dask gives up a cluster one of whose first processes dies before it is a worker; the run begins all the same."""
    killed = []

    def kill_the_first():
        while not killed:
            for pid in worker_pids()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.01)

    killer = threading.Thread(target=kill_the_first, daemon=True)
    killer.start()
    folder = cheap_lens.start(tmp_path, farm=workers(), sleep_s=0.0).folder
    killer.join()
    assert killed
    bits.assert_equal(folder, quiet)


def times_of_each(folder, event):
    """Count how often an event names each individual, also for what its worker did while it was on its way there."""
    return Counter(name for one in bits.events(folder, event) for name in one["individuals"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kill", "terminate"])
def test_kills_from_outside_never_count(quiet, tmp_path, marker, kind):
    """Some individuals' workers are killed five times each, alone, from outside: more often than three crashes."""
    fault = {"kind": kind, "one_in": 12, "marker": marker, "times": 5}
    folder = cheap_lens.start(tmp_path, farm=workers(), sleep_s=0.0, fault=fault).folder
    bits.assert_equal(folder, quiet)
    strikes = len(os.listdir(marker))
    assert strikes and strikes % 5 == 0
    times = times_of_each(folder, "worker_killed")
    assert sum(count >= 5 for count in times.values()) == strikes // 5
    assert not bits.events(folder, "attempt_failed", "quarantined", "given_up")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "crashes"), [(["kill", "kill", "crash"], 1), (["crash", "kill", "kill", "crash", "kill"], 2)]
)
def test_kills_from_outside_between_crashes_do_not_add_up_with_them(quiet, tmp_path, marker, kinds, crashes):
    """Killed twice from outside and then crashing once by itself is no third crash: the antenna is solved."""
    fault = {"kind": kinds, "one_in": 12, "marker": marker}
    folder = cheap_lens.start(tmp_path, farm=workers(), sleep_s=0.0, fault=fault).folder
    bits.assert_equal(folder, quiet)
    struck, rest = divmod(len(os.listdir(marker)), len(kinds))
    assert struck and not rest
    for event, times in (("worker_killed", kinds.count("kill")), ("attempt_failed", crashes)):
        assert sum(count >= times for count in times_of_each(folder, event).values()) >= struck
    assert not bits.events(folder, "quarantined", "given_up")


@pytest.mark.slow
def test_the_third_crash_counts_however_many_kills_came_between(tmp_path, marker):
    """Crash, kill, crash, kill, crash: given up as `lost`, as without the kills.

    A crash while another batch was on its way to the same worker is held against neither: then one more follows.
    """
    given = {"evolution": {"population": 12, "generations": 2}, "sleep_s": 0.0}
    expected = cheap_lens.start(
        tmp_path / "expected", farm=cheap_lens.serial, fault={"kind": "lost", "one_in": 10}, **given
    ).folder
    fault = {"kind": ["crash", "kill"] * 6, "one_in": 10, "marker": marker}
    folder = cheap_lens.start(tmp_path / "run", farm=workers(), fault=fault, **given).folder
    bits.assert_equal(folder, expected, without=["error", "device"])
    assert set(bits.pd.read_parquet(folder / "evals").status) == {"ok", "lost"}
    assert bits.events(folder, "quarantined")


@pytest.mark.slow
def test_one_killed_from_outside_for_ever_stops_the_run_and_blames_nobody(quiet, tmp_path, marker, monkeypatch):
    """After the allowed kills in a row the run ends with exit code 5; resumed, it equals an undisturbed one."""
    monkeypatch.setattr(_failures, "MOST_KILLS", 3)
    fault = {"kind": "kill", "one_in": 12, "marker": marker, "times": 3}
    with pytest.raises(ClusterError, match="killed by SIGKILL 3 times in a row, each time from outside") as caught:
        cheap_lens.start(tmp_path, farm=workers(), sleep_s=0.0, fault=fault)
    assert caught.value.exit_code == 5
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    monkeypatch.undo()
    bits.assert_equal(cheap_lens.go_on(folder, farm=workers()).folder, quiet)


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        ("crash", "lost", "was killed by SIGSEGV"),
        pytest.param("leave", "lost", "ended with exit status 3", marks=pytest.mark.slow),
        pytest.param("fail", "error", "no such antenna", marks=pytest.mark.slow),
        pytest.param("unpicklable", "error", "Unpicklable", marks=pytest.mark.slow),
        pytest.param("object", "error", "not object", marks=pytest.mark.slow),
    ],
)
def test_who_ends_its_worker_or_raises_is_found_and_given_up_alone(tmp_path, kind, status, said):
    """Batches of four: bisected to the one to blame, which fails alone (three crashes, or two exceptions)."""
    evolution = {"population": 12, "generations": 2}
    given = {"evolution": evolution, "sleep_s": 0.0}
    expected = cheap_lens.start(
        tmp_path / "expected", farm=cheap_lens.serial, fault={"kind": status, "one_in": 10}, **given
    ).folder
    folder = cheap_lens.start(tmp_path / "run", farm=in_fours, fault={"kind": kind, "one_in": 10}, **given).folder
    bits.assert_equal(folder, expected, without=["error", "device"])
    rows = bits.pd.read_parquet(folder / "evals")
    failed = rows[rows.status != "ok"]
    assert len(failed) >= 1
    assert set(failed.status) == {status}
    assert all(said in error for error in failed.error)
    assert bits.events(folder, "quarantined" if status == "lost" else "given_up")


def in_fours(experiment, **given):
    farm = workers()(experiment, **given)
    farm.cut = lambda jobs, *_, **__: [list(jobs[first : first + 4]) for first in range(0, len(jobs), 4)]
    return farm


@pytest.mark.parametrize("kind", ["diverge", "nan"])
def test_what_is_not_finite_is_never_the_best(tmp_path, kind):
    """`diverged`, and an `ok` whose figures are not numbers: neither is in the hall of fame, nor is a bit different."""
    given = {"sleep_s": 0.0, "fault": {"kind": kind, "one_in": 3}}
    expected = cheap_lens.start(tmp_path / "expected", farm=cheap_lens.serial, **given)
    rows = bits.pd.read_parquet(expected.folder / "evals")
    struck = rows[rows.directivity_dbi_30000mhz.isna()]
    assert len(struck) >= 3
    assert struck.fitness.min() > rows[rows.directivity_dbi_30000mhz.notna()].fitness.max()
    newest = max(bits.checkpoints(expected.folder).items())[1].decode()
    hall = newest[newest.index('"hall_of_fame"') :]
    assert not [name for name in struck.individual if name in hall]
    again = cheap_lens.start(tmp_path / "run", farm=workers(), **given)
    bits.assert_equal(again.folder, expected.folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hang", "hold", "stop"])
def test_one_that_hangs_once_is_solved_in_the_end(quiet, tmp_path, marker, kind, monkeypatch):
    """Hangs without and with the interpreter's lock, and a stopped process: the watchdog, or the driver, ends it."""
    monkeypatch.setattr(farm_module, "GRACE_S", 0.5)
    monkeypatch.setattr(farm_module, "WORKERS_CHECK_S", 60.0)  # a stopped process is not woken
    fault = {"kind": kind, "one_in": 12, "marker": marker}
    folder = cheap_lens.start(tmp_path, farm=workers(time_limit_s=1.0), sleep_s=0.0, fault=fault).folder
    bits.assert_equal(folder, quiet)
    failed = bits.events(folder, "attempt_failed")
    assert failed
    assert {one["kind"] for one in failed} == {"timeout"}


@pytest.mark.slow
def test_one_that_always_hangs_is_given_up_alone(tmp_path):
    given = {"evolution": {"population": 12, "generations": 2}, "sleep_s": 0.0}
    expected = cheap_lens.start(
        tmp_path / "expected", farm=cheap_lens.serial, fault={"kind": "timeout", "one_in": 10}, **given
    ).folder
    folder = cheap_lens.start(
        tmp_path / "run", farm=workers(time_limit_s=1.5), fault={"kind": "hold", "one_in": 10}, **given
    ).folder
    bits.assert_equal(folder, expected, without=["error", "device"])
    rows = bits.pd.read_parquet(folder / "evals")
    assert set(rows[rows.status != "ok"].error) == {"took longer than the 1.5 s allowed"}


@pytest.mark.slow
def test_a_stopped_worker_is_woken_and_loses_nothing(quiet, tmp_path, monkeypatch):
    """SIGSTOP from outside: the driver continues the process, and no attempt is lost."""
    monkeypatch.setattr(farm_module, "WORKERS_CHECK_S", 0.5)
    plan, gate = cheap_lens.gated(tmp_path, 3)

    def stop_both():
        wait_until(lambda: all(cheap_lens.reached(gate, number) for number in (3, 4)))
        for pid in worker_pids():
            os.kill(pid, signal.SIGSTOP)
        (gate / "open").touch()

    with Striking(stop_both, first_s=0.0):
        folder = cheap_lens.start(tmp_path / "run", farm=workers(), sleep_s=0.1, **plan).folder
    bits.assert_equal(folder, quiet)
    assert len(bits.events(folder, "worker_woken")) == 2
    rows = bits.pd.read_parquet(folder / "evals")
    assert set(rows.attempt) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["out_of_memory", "illegal_address"])
def test_a_device_out_of_memory_or_out_of_order_costs_nothing(quiet, tmp_path, marker, kind, monkeypatch):
    """What CuPy raises, in workers that pretend to have a device: the batch is halved, or the process replaced.

    Out of memory is no failed attempt: its worker frees the pool and solves the batch in parts, a lone one once more.
    """
    from fdtd.backends.cuda import present
    from fdtd.schemes.machine import HOPPER

    found = tuple(present.Found(uuid=f"GPU-{place}", name="toy", limits=HOPPER) for place in range(2))
    monkeypatch.setattr(present, "devices", lambda: found)
    monkeypatch.setattr(farm_module, "capacity", toy_capacity)

    def devices(experiment, *, plan, backend, scheduler=None, evaluate):
        farm = DaskFarm(
            evaluate, family=experiment.family, plan=plan, backend="cuda", cluster=ClusterSettings(dashboard=False)
        )
        farm.cut = lambda jobs, *_, **__: [list(jobs[first : first + 2]) for first in range(0, len(jobs), 2)]
        return farm

    fault = {"kind": kind, "one_in": 12, "marker": marker}
    folder = cheap_lens.start(tmp_path, farm=devices, sleep_s=0.0, fault=fault).folder
    bits.assert_equal(folder, quiet, without=["device"])
    assert list((tmp_path / "marker").iterdir()), "a device was struck"
    assert bool(bits.events(folder, "attempt_failed")) == (kind == "illegal_address")


def toy_capacity(plan):
    return {"device": f"toy {os.environ['CUDA_VISIBLE_DEVICES']}", "scheme": "toy", "reason": "", "wave": 2,
            "antennas": 6}  # fmt: skip


def landed(farm, result):
    """Take a result in as `run` does."""
    farm._landed(result)
    return farm._handler.handle(result)


def test_a_kill_command_is_seen_as_one_from_outside():
    """The kill of a shell is distinguished from a signal of the process to itself."""
    told = []
    with DaskFarm(
        cheap_lens.bowl, family="t", plan={"sleep_s": 600.0}, cluster=ClusterSettings(workers=1, dashboard=False)
    ) as farm:
        farm.on_event = lambda event, **details: told.append((event, details.get("reason")))
        farm.submit([[("a", {f"lens.radii.{place}": 0.01 for place in range(4)})]])
        farm._launch()
        (one,) = farm.pool.in_flight.batches.values()
        wait_until(lambda: farm.pool.in_flight.read_starts() or one.started is not None)
        subprocess.run(["kill", "-9", str(worker_pids()[0])], check=True)
        wait_until(lambda: [found for one in farm.pool.results(0.5) for found in landed(farm, one)] or told)
    assert told == [("worker_killed", "was killed by SIGKILL")]
