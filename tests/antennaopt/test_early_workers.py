"""Worker processes that are started before the driver's imports: taken by the farm, and never left over."""

import gc
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import farm_solvers
import psutil
import pytest
from config_files import LENS
from farm_solvers import jobs
from test_cli_destination import CASES
from waiting import SAFETY_S, wait_until

from antennaopt.cli.run import begin_early
from antennaopt.errors import ClusterError
from antennaopt.experiment import load_experiment
from antennaopt.farm import dask_pool, early
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.run import start as study
from fdtd.backends.cuda import present
from fdtd.schemes.machine import HOPPER

PROGRAM = Path(sysconfig.get_path("scripts")) / "antennaopt"
QUICKSTART = Path(__file__).parents[2] / "experiments" / "quickstart.toml"
SMALL = ["--set", "evolution.population=4", "--set", "evolution.generations=2", "--set", "solver.cell=0.6 mm",
         "--set", "certificate.mode=off", "--backend", "cpu", "--no-cache"]  # fmt: skip


@pytest.fixture(autouse=True)
def none_left():
    yield
    early.end_waiting()


def waiting():
    """Return the processes that wait, by worker."""
    return {number: one.process.pid for number, one in early._processes.items()}


def started(*arguments, **environment):
    return subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )


def of_session(leader):
    """Return what a command left running, its children's children too."""
    found = []
    for one in psutil.process_iter():
        try:
            if os.getsid(one.pid) == leader and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            pass
    return found


def started_early(run):
    """Return the processes that a command started early, in order."""
    children = psutil.Process(run.pid).children()
    return sorted(one.pid for one in children if early.__name__ in " ".join(one.cmdline()))


def until_it_has_started(run, count=1):
    def there():
        assert run.poll() is None, run.communicate()
        return len(started_early(run)) >= count

    wait_until(there, f"{count} worker processes")


def module_folders():
    """Return in a worker the first folder of `sys.path` that the test added, and what is left of its variable."""
    (added,) = (one for one in sys.path if one.startswith("/private"))
    return [added, os.environ.get(early._PATH)]


def farm(workers=2, **plan):
    cluster = ClusterSettings(workers=workers, dashboard=False)
    return DaskFarm(farm_solvers.solve, family="test", plan=plan, cluster=cluster)


def test_a_farm_takes_them_and_starts_what_is_missing():
    early.start(1)
    first = waiting()[0]
    with farm(workers=2) as two:
        pids = two.ask(os.getpid)
        assert waiting() == {}
        assert first in pids and len(set(pids)) == 2
        assert [outcome["status"] for _, outcome in two.run([jobs(3)])] == ["ok"] * 3
    assert not psutil.pid_exists(first)


def test_one_that_has_died_is_replaced():
    early.start(1)
    dead = early._processes[0].process
    dead.kill()
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    with farm(workers=1) as one:
        (pid,) = one.ask(os.getpid)
    assert pid != dead.pid


def test_a_worker_that_dies_is_started_again_by_its_nanny():
    """The second life is a process of its own: nothing waits any more."""
    early.start(1)
    with farm(workers=1, kill_at=1.0) as one:
        (before,) = one.ask(os.getpid)
        os.kill(before, signal.SIGKILL)
        assert [outcome["status"] for _, outcome in one.run([jobs(1)])] == ["ok"]
        (after,) = one.ask(os.getpid)
    assert after != before


def test_they_have_the_environment_of_the_moment_they_are_taken(monkeypatch):
    early.start(1)
    monkeypatch.setenv("SET_LATER", "yes, \udce9")
    with farm(workers=1) as one:
        assert one.ask(os.getenv, "SET_LATER") == ["yes, \udce9"]
        assert one.ask(os.getenv, "OMP_NUM_THREADS") == ["1"]
        assert one.ask(os.getenv, "PYTHONSAFEPATH") == ["1"]
        assert one.ask(os.getenv, "CUDA_VISIBLE_DEVICES") == [os.environ.get("CUDA_VISIBLE_DEVICES")]


def test_each_worker_is_the_process_that_started_its_device(monkeypatch):
    """Three processes, each told of another device, become the workers of these devices."""
    found = tuple(present.Found(uuid=f"GPU-{place}", name="toy", limits=HOPPER) for place in range(3))
    monkeypatch.setattr(present, "devices", lambda: found)
    monkeypatch.setattr(dask_pool, "capacity", farm_solvers.capacity)
    early.start(1)
    early.prepare("auto", backend="cuda", in_space=False)
    told = {pid: f"GPU-{number}" for number, pid in waiting().items()}
    assert len(told) == 3
    cluster = ClusterSettings(dashboard=False)
    with DaskFarm(
        farm_solvers.solve_on_device, family="test", plan={"nr": 20, "nz": 30}, backend="cuda", cluster=cluster
    ) as three:
        pids, seen = three.ask(os.getpid), three.ask(os.getenv, "CUDA_VISIBLE_DEVICES")
        assert three.ask(early.is_device_starting) == [True] * 3
    assert dict(zip(pids, seen, strict=True)) == told


@pytest.mark.parametrize(("workers", "count"), [(1, 1), (3, 3), ({"cpu": 2}, 1)])
def test_as_many_as_the_cluster_has_workers(workers, count):
    early.start(1)
    first = waiting()
    early.prepare(workers, backend="cpu", in_space=False)
    assert len(waiting()) == count
    assert first.items() <= waiting().items()
    early.start(1)
    assert waiting() == first, "those that are too many are ended"


def test_without_devices_the_message_is_left_to_the_farm(monkeypatch):
    def none():
        raise present.DeviceError("no device")

    monkeypatch.setattr(present, "devices", none)
    early.start(1)
    early.prepare("auto", backend="cuda", in_space=False)
    assert len(waiting()) == 1


@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_run_uses_the_processes_that_it_started_first(tmp_path, count):
    run = started("run", QUICKSTART, *SMALL, "--workers", count, "--out", tmp_path)
    until_it_has_started(run, count)
    first = started_early(run)
    run.stderr.readline()  # the run folder: workers are there
    workers = [one.pid for one in psutil.Process(run.pid).children() if "--multiprocessing-fork" in one.cmdline()]
    assert len(first) == count and sorted(workers) == first
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=SAFETY_S)
    assert run.returncode == 130, err
    assert not any(map(psutil.pid_exists, first))
    wait_until(lambda: of_session(run.pid) == [], "the end of the resource tracker")


def refused(*given, **options):
    raise ClusterError("it connects")


@pytest.mark.parametrize("kind", ["slurm", "kubernetes", "address"])
def test_a_file_whose_workers_are_elsewhere_ends_it(tmp_path, monkeypatch, call, kind):
    """It would idle for the whole run."""
    begun, seen = [], []
    start = early.start
    monkeypatch.setattr(early, "start", lambda count: (start(count), begun.extend(early._processes.values())))
    monkeypatch.setattr(study, "run", lambda *given, **options: refused(seen.append(waiting())))
    (tmp_path / "lens.toml").write_text(LENS + CASES[kind][0])
    assert call("run", "lens.toml", "--backend", "cpu")[0] == 5
    assert seen == [{}]
    assert len(begun) == 1 and begun[0].process.returncode is not None


def test_a_resumed_run_starts_none(tmp_path, monkeypatch, call):
    """Its cluster is known late; a process would idle where that is elsewhere."""
    monkeypatch.setattr(early, "_started", None)
    monkeypatch.setattr(study, "resume", refused)
    (tmp_path / "manifest.json").write_text("{}")
    assert call("resume", tmp_path) == (5, "", "error: it connects\n")


def test_a_process_that_the_system_refuses_ends_no_command(monkeypatch):
    """The farm starts ordinary ones. Sockets are closed, and the thresholds are those of before."""
    tried = []

    def none(command, *, pass_fds, **options):
        tried.append(pass_fds)
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(early.subprocess, "Popen", none)
    before, thresholds = psutil.Process().num_fds(), gc.get_threshold()
    with early.early_workers("cpu"):
        early.prepare(2, backend="cpu", in_space=False)
        assert waiting() == {}
    assert len(tried) == 1
    assert (psutil.Process().num_fds(), gc.get_threshold()) == (before, thresholds)


def test_thresholds_are_those_of_before_where_the_start_fails(monkeypatch):
    def failed(backend):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(early, "begin_driver", failed)
    before = gc.get_threshold()
    assert before != early.COLLECT_RARELY
    with pytest.raises(RuntimeError, match="thread"), early.early_workers("cuda"):
        pass
    assert gc.get_threshold() == before


def test_folders_of_modules_are_not_in_the_command_line(monkeypatch):
    """Every user of the machine can read that."""
    monkeypatch.syspath_prepend("/private/\udce9/place")
    early.start(1)
    assert "private" not in " ".join(psutil.Process(waiting()[0]).cmdline())
    with farm(workers=1) as one:
        assert one.ask(module_folders) == [["/private/\udce9/place", None]]


def test_one_that_is_stopped_and_does_not_read_is_replaced(monkeypatch):
    """Else the driver's event loop would wait for it for ever."""
    monkeypatch.setattr(early, "SEND_S", 0.05)
    early.start(1)
    one = early._processes[0]
    one.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, one.process.pid, os.WSTOPPED | os.WNOWAIT)
    with pytest.raises(TimeoutError):
        one.channel.sendall(bytes(1 << 24))
    with farm(workers=1) as taken:
        assert taken.ask(os.getpid) != [one.process.pid]
    assert one.process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--set", "solver.cell=-1 mm"], "solver.cell"),
        pytest.param(["--set", "seed=1", "--set", "nonsense.a=1"], "nonsense", marks=pytest.mark.slow),
        pytest.param(["--backend", "cuda"], "--backend cuda", marks=pytest.mark.slow),
    ],
)
def test_nothing_is_left_over_of_a_file_that_is_refused(tmp_path, given, words):
    run = started("run", QUICKSTART, *SMALL, *given, "--out", tmp_path, CUDA_VISIBLE_DEVICES="")
    out, err = run.communicate(timeout=SAFETY_S)
    assert (run.returncode in (2, 5), out) == (True, "")
    assert words in err and len(err.splitlines()) == 1
    assert of_session(run.pid) == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_nothing_is_left_over_of_a_command_that_is_interrupted_in_its_start(tmp_path, number, code):
    run = started("run", QUICKSTART, *SMALL, "--out", tmp_path)
    until_it_has_started(run)
    os.killpg(run.pid, number)
    out, err = run.communicate(timeout=SAFETY_S)
    assert (run.returncode, out) == (code, "")
    assert len(err.strip().splitlines()) == 1, err
    assert of_session(run.pid) == []


def test_a_killed_driver_leaves_none(tmp_path):
    run = started("run", QUICKSTART, *SMALL, "--out", tmp_path)
    until_it_has_started(run)
    run.kill()
    run.wait()
    wait_until(lambda: of_session(run.pid) == [], "the end of the worker process")


@pytest.mark.parametrize("given", [["--dry-run"], ["--scheduler", "tcp://192.0.2.1:8786"]])
def test_none_is_started_where_none_is_needed(tmp_path, monkeypatch, given):
    from antennaopt.cli import main

    monkeypatch.setattr(early, "_started", None)
    code = main(["run", str(QUICKSTART), *SMALL, *given, "--out", str(tmp_path / "runs")])
    assert code == (0 if "--dry-run" in given else 2), "the second is refused for want of certificates"


@pytest.mark.parametrize(("backend", "begins"), [("cuda", True), ("auto", True), ("cpu", False)])
def test_the_driver_of_the_devices_begins_while_others_import(monkeypatch, backend, begins):
    """It begins in a thread. Without a driver this says nothing: the search for devices names the error."""
    asked, done = [], threading.Event()

    def library(name):
        asked.append((name, threading.current_thread() is threading.main_thread()))
        done.set()
        raise OSError

    monkeypatch.setattr("antennaopt.solve.device.ctypes.CDLL", library)
    monkeypatch.setattr(early, "start", lambda count: None)
    with early.early_workers(backend):
        if begins:
            assert done.wait(SAFETY_S)
    assert asked == ([("libcuda.so.1", False)] if begins else [])


def test_the_environment_is_not_changed_before_the_driver_of_the_devices_has_begun(monkeypatch):
    """It reads the environment in a thread, and the C library may move that; workers elsewhere need no devices."""
    done = []

    def library(name):
        time.sleep(0.1)
        done.append(name)
        raise OSError

    monkeypatch.setattr("antennaopt.solve.device.ctypes.CDLL", library)
    monkeypatch.setattr(early, "start", lambda count: None)
    with early.early_workers("auto"):
        begin_early(load_experiment(QUICKSTART), "cpu", remote=True)
        assert done == ["libcuda.so.1"]


def test_a_driver_imports_no_more_than_its_start_needs():
    """Each of these takes 0.05 to 0.5 s of it, and is imported where it is used."""
    code = (
        "import sys, antennaopt.cli.run, antennaopt.run.start, antennaopt.farm.dask_pool, antennaopt.farm.local\n"
        "from antennaopt.experiment import load_experiment; from antennaopt.run.planning import plan_for\n"
        f"plan_for(load_experiment({str(QUICKSTART)!r}, ()))\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    late = {"scipy.interpolate", "scipy.optimize", "scipy.linalg", "pyarrow.compute", "pandas", "bokeh", "numba",
            "matplotlib", "shapely"}  # fmt: skip
    assert not late & set(done.stdout.split())


def test_imports_of_a_waiting_process_are_those_of_a_worker():
    """What a worker would import after its start is there before: Dask, the solver, the task."""
    code = "import sys; from antennaopt.farm import early; early._import(*early.SOLVING); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*early.SOLVING, "distributed.nanny", "fdtd.axisymmetric.simulation"} <= set(done.stdout.split())
