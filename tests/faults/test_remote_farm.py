"""A farm of another process that ends during a run, by the command line: exit code 5, one line, the same bits resumed.

Schedulers and workers that are not as ours are in `tests/antennaopt/test_foreign_workers.py`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import bits
import pytest
from loopback import free_port
from test_resume import TOML
from waiting import SAFETY_S

HERE = Path(__file__).parent
GENERATIONS = ("--set", "evolution.generations=6")

pytestmark = pytest.mark.slow


class Host:
    """The program's own scheduler and workers, as processes."""

    def __init__(self):
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.processes = []

    def scheduler(self):
        return self._start("scheduler", "--listen", self.address, "--dashboard-port", "0", until="dashboard")

    def worker(self):
        return self._start("worker", self.address, "--workers", "1", "--backend", "cpu", until="at work")

    def _start(self, *arguments, until):
        process = subprocess.Popen(
            [sys.executable, "-m", "antennaopt", *arguments],
            env={**os.environ, "PYTHONPATH": f"{HERE}:{HERE.parents[1]}"},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        lines = [process.stderr.readline()]
        while until not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], f"ended: {lines}"
        return process

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=SAFETY_S)
            finally:
                process.kill()
                process.stderr.close()


@pytest.fixture
def host():
    found = Host()
    yield found
    found.close()


@pytest.fixture
def toml(tmp_path):
    path = tmp_path / "lens.toml"
    path.write_text(TOML)
    return path


def command(*arguments):
    return [sys.executable, str(HERE / "command_line.py"), *map(str, arguments)]


def carried_out(*arguments, **environment):
    given = {**os.environ, "PATIENCE_S": "5", **environment}
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=SAFETY_S, env=given)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture
def quiet(toml, tmp_path):
    return carried_out("run", toml, "--out", tmp_path / "quiet", *GENERATIONS, SERIAL="1")


def left_alone(host, toml, results, goes):
    """Begin a run on a host's farm, let it lose something in its second generation; return folder, last line, code."""
    process = subprocess.Popen(
        command("run", toml, "--out", results, *GENERATIONS, "--scheduler", host.address),
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        env={**os.environ, "PATIENCE_S": "5", "SLEEP_S": "0.2"},
    )  # fmt: skip
    try:
        for line in process.stderr:
            if "generation 1/6" in line:
                break
        goes()
        lines = process.stderr.read().splitlines()
        code = process.wait(timeout=SAFETY_S)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    (folder,) = results.glob("*/*")
    assert not [line for line in lines if "Traceback" in line], lines
    return folder, lines[-1], code


def test_a_killed_scheduler_of_somebody_else_ends_the_run_which_resumes(host, toml, tmp_path, quiet):
    """Started again by its owner after the run had ended."""
    scheduler, worker = host.scheduler(), host.worker()
    folder, last, code = left_alone(host, toml, tmp_path / "results", scheduler.kill)
    assert code == 5
    assert re.search(rf"^error: the scheduler at {host.address} is gone; what was solved is saved", last)
    worker.wait(timeout=SAFETY_S)  # it ends with its scheduler
    host.scheduler()
    host.worker()
    assert carried_out("resume", folder, "--scheduler", host.address) == folder
    bits.assert_equal(folder, quiet)


def test_all_workers_gone_ends_the_run_which_resumes(host, toml, tmp_path, quiet):
    host.scheduler()
    worker = host.worker()
    folder, last, code = left_alone(host, toml, tmp_path / "results", worker.terminate)
    assert code == 5
    assert re.search(rf"^error: all workers of {host.address} have been gone for 5 s; what was solved is saved", last)
    host.worker()
    assert carried_out("resume", folder, "--scheduler", host.address) == folder
    bits.assert_equal(folder, quiet)
