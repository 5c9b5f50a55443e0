"""What happens on another host, to the bit: its worker killed, the whole of it lost, the scheduler gone and back.

The hosts are network namespaces with TLS between them, as in `test_two_hosts`. Needs root.
"""

import json
import signal
import subprocess
from contextlib import contextmanager

import pandas as pd
import psutil
import pytest
from namespaces import (
    ADDRESS,
    ENVIRONMENT,
    EXPERIMENT,
    ROOT,
    ended,
    program,
    run,
    start_scheduler,
    start_worker,
    table,
)
from waiting import SAFETY_S, wait_until

pytestmark = pytest.mark.slow

SMALL = [
    *("--set", "evolution.population=8", "--set", "evolution.generations=30", "--set", "certificate.mode=off"),
    *("--set", "solver.cell=0.6 mm", "--backend", "cpu", "--seed", "5", "--no-cache"),
]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """Rows of the run that nothing happened to, on this machine alone."""
    out = tmp_path_factory.mktemp("quiet")
    done = run(program("run", EXPERIMENT, "--out", out, "--workers", "1", *SMALL))
    assert done.returncode == 0, done.stderr
    return table(ROOT / done.stdout.splitlines()[-1])


@pytest.fixture
def processes():
    """Scheduler and workers of one test, by name; they are ended after it."""
    found = {}
    yield found
    ended(list(found.values()))


@contextmanager
def under_way(host, certificates, out, *arguments):
    """Start a run there and yield it once it has finished its first generation, while the second is solved."""
    command = program("run", EXPERIMENT, "--out", out, *SMALL, "--scheduler", ADDRESS, "--tls", certificates)
    process = subprocess.Popen(
        [*host, *command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        cwd=ROOT,
    )
    try:

        def first_generation_done():
            assert process.poll() is None, process.communicate()
            return any('"event":"generation"' in log.read_text() for log in out.glob("*/*/logs/run.jsonl"))

        wait_until(first_generation_done)
        yield process
    finally:
        process.kill()
        process.wait()


def folder(out):
    (found,) = out.glob("*/*")
    return found


def solvers(worker):
    """The worker processes of one `antennaopt worker`."""
    children = psutil.Process(worker.pid).children(recursive=True)
    return [one for one in children if "spawn_main" in " ".join(one.cmdline())]


def test_a_killed_worker_of_another_host_costs_nothing(hosts, certificates, quiet, processes, tmp_path):
    """SIGKILL to the process that solves there: its nanny starts another, and no antenna gets a failed attempt."""
    processes["scheduler"] = start_scheduler(hosts[0], certificates)
    processes["worker"] = start_worker(hosts[1], certificates)
    with under_way(hosts[0], certificates, tmp_path) as driver:
        for one in solvers(processes["worker"]):
            one.kill()
        _, error = driver.communicate(timeout=SAFETY_S)
    assert driver.returncode == 0, error
    pd.testing.assert_frame_equal(table(folder(tmp_path)), quiet, check_exact=True)
    rows = pd.read_parquet(folder(tmp_path) / "evals")
    assert set(rows["status"]) == {"ok"}


def test_a_lost_host_is_followed_by_another(hosts, certificates, quiet, processes, tmp_path):
    """All its processes are killed at once; the run waits, and goes on with the worker of a host that joins."""
    processes["scheduler"] = start_scheduler(hosts[0], certificates)
    processes["lost"] = start_worker(hosts[1], certificates, "lost")
    with under_way(hosts[0], certificates, tmp_path) as driver:
        doomed = [psutil.Process(processes["lost"].pid), *solvers(processes["lost"])]
        for one in doomed:
            one.kill()
        processes["other"] = start_worker(hosts[0], certificates, "other")
        _, error = driver.communicate(timeout=SAFETY_S)
    assert driver.returncode == 0, error
    pd.testing.assert_frame_equal(table(folder(tmp_path)), quiet, check_exact=True)
    assert set(pd.read_parquet(folder(tmp_path) / "evals")["worker"]) == {"lost", "other"}


def test_a_killed_scheduler_ends_the_run_with_5_and_resume_goes_on(hosts, certificates, quiet, processes, tmp_path):
    """The driver waits a minute for it to come back, says what to do, and the resumed run has the quiet run's bits."""
    processes["scheduler"] = start_scheduler(hosts[0], certificates)
    processes["worker"] = start_worker(hosts[1], certificates)
    with under_way(hosts[0], certificates, tmp_path) as driver:
        processes["scheduler"].send_signal(signal.SIGKILL)
        _, error = driver.communicate(timeout=SAFETY_S)
    assert driver.returncode == 5, error
    line = error.splitlines()[-1]
    assert line.startswith("error: ") and ADDRESS in line and "resume" in line
    assert processes.pop("worker").wait(timeout=SAFETY_S) == 0, "workers end with their scheduler"
    processes["scheduler"] = start_scheduler(hosts[0], certificates)
    processes["worker"] = start_worker(hosts[1], certificates)
    how = ["--scheduler", ADDRESS, "--tls", certificates, "--no-cache"]
    done = run([*hosts[0], *program("resume", folder(tmp_path), *how)])
    assert done.returncode == 0, done.stderr
    pd.testing.assert_frame_equal(table(folder(tmp_path)), quiet, check_exact=True)
    events = [json.loads(line)["event"] for line in (folder(tmp_path) / "logs" / "run.jsonl").read_text().splitlines()]
    assert events.count("resumed") == 1
