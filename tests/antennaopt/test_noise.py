"""What reaches stderr: our own lines only, whatever Python, its libraries and worker processes have to say."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path

import psutil
import pytest

PROGRAM = Path(sysconfig.get_path("scripts")) / "antennaopt"
QUICKSTART = Path(__file__).parents[2] / "experiments" / "quickstart.toml"
SMALL = ["--set", "evolution.population=8", "--set", "solver.cell=0.6 mm", "--set", "certificate.mode=off"]

FOREIGN = re.compile(
    r"Traceback|^  File |Warning|warnings\.warn|resource_tracker|Exception ignored|Error in atexit|already in use"
    r"|distributed|tornado|asyncio|never retrieved|heartbeat|unresponsive|noise of",
    re.MULTILINE,
)

NOISY = '''
"""Makes, in every process of ours, the noise that a loaded machine makes now and then."""
import logging, os, sys, threading, warnings

def make():
    if "antennaopt" in sys.modules or "distributed" in sys.modules:
        os.write(2, b"noise of a library in C\\n")
        warnings.warn("noise of a warning")
        for name in ("asyncio", "tornado.general", "distributed.core", "some.library"):
            logging.getLogger(name).error("noise of %s: Task exception was never retrieved", name)
        threading.Thread(target=lambda: 1 / 0).start()
    threading.Timer(1.0, make).start() if not over else None

import atexit
over = []
threading._register_atexit(lambda: over.append(1))
atexit.register(lambda: os.write(2, b"noise of the end\\n"))
atexit.register(lambda: 1 / 0)
timer = threading.Timer(1.0, make)
timer.daemon = True
timer.start()
'''


def started(folder, *arguments, **environment):
    path = os.pathsep.join(filter(None, (environment.pop("PYTHONPATH", ""), os.environ.get("PYTHONPATH"))))
    command = [PROGRAM, "run", QUICKSTART, *SMALL, "--backend", "cpu", "--workers", "2", "--no-cache", "--out", folder]
    return subprocess.Popen(
        [*map(str, command), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
        start_new_session=True,
    )


def until(run, words, lines):
    while not lines or words not in lines[-1]:
        lines.append(run.stderr.readline())
        assert lines[-1], f"ended: {lines}"


def ended(run, lines, timeout=250):
    out, rest = run.communicate(timeout=timeout)
    return run.returncode, out, "".join(lines) + rest


@pytest.mark.slow
def test_noise_of_all_kinds_goes_to_the_log(tmp_path):
    """Warnings, records of loggers, exceptions of threads, text of C, in the driver and in its workers, to the end."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(NOISY)
    run = started(tmp_path / "runs", "--set", "evolution.generations=8", PYTHONPATH=str(tmp_path / "path"))
    code, out, said = ended(run, [])
    assert code == 0, said
    assert not FOREIGN.search(said), said
    assert "generation 8/8" in said
    events = [json.loads(line) for line in (Path(out.strip()) / "logs" / "run.jsonl").read_text().splitlines()]
    noise = " ".join(event["text"] for event in events if event["event"] == "noise")
    for part in ("noise of a warning", "noise of asyncio", "noise of some.library", "ZeroDivisionError"):
        assert part in noise


@pytest.mark.slow
def test_two_runs_at_once_and_a_worker_killed(tmp_path):
    """The second finds the dashboard's port taken, by the first or by this test."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        except OSError:
            pass  # it is taken already
        runs = [started(tmp_path / name, "--set", "evolution.generations=12") for name in ("a", "b")]
        lines = [[], []]
        until(runs[0], "generation 1/", lines[0])
        workers = [one for one in psutil.Process(runs[0].pid).children() if "spawn_main" in " ".join(one.cmdline())]
        workers[0].send_signal(signal.SIGKILL)
        for run, before in zip(runs, lines, strict=True):
            code, _, said = ended(run, before)
            assert code == 0, said
            assert not FOREIGN.search(said), said


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c(tmp_path, times):
    run = started(tmp_path, "--set", "evolution.generations=500")
    lines = []
    until(run, "generation 2/", lines)
    for _ in range(times):
        os.killpg(run.pid, signal.SIGINT)
    code, _, said = ended(run, lines)
    assert code == 130, said
    assert not FOREIGN.search(said), said
    assert "what was solved is saved" in said.splitlines()[-1]


def test_development_mode_shows_it(tmp_path):
    text = "from antennaopt.cli.entry import divert; import os; divert(); os.write(2, b'shown')"
    for mode, shown in (("1", "shown"), ("", "")):
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, env={**os.environ, "PYTHONDEVMODE": mode},
            cwd=tmp_path, check=True,
        )  # fmt: skip
        assert done.stderr.endswith(shown) and bool(done.stderr) == bool(shown)
