"""A run whose stdout or stderr cannot be written, or whose terminal is closed: nothing that was solved is lost."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import bits
import cheap_lens
import pytest
from test_resume import TOML
from waiting import wait_until

HERE = Path(__file__).parent


def command(*arguments):
    return [sys.executable, str(HERE / "command_line.py"), *map(str, arguments)]


def run(root, place="", *arguments):
    """Run an experiment in a shell with its streams sent to a place; return exit code, stderr and run folder."""
    (root / "lens.toml").write_text(TOML)
    words = command(*(arguments or ("run", "lens.toml")))
    environment = {**os.environ, "SERIAL": "1"}
    line = " ".join(f"'{word}'" for word in words) + " " + place
    done = subprocess.run(["bash", "-c", line], cwd=root, capture_output=True, text=True, timeout=300, env=environment)
    (folder,) = (root / "results" / "lens").iterdir()
    return done.returncode, done.stderr, folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    code, err, folder = run(tmp_path_factory.mktemp("whole"))
    assert code == 0, err
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "code", "says"),
    [
        (">/dev/full", 6, "error: stdout cannot be written (No space left on device)"),
        (">&-", 6, "error: stdout cannot be written (it is closed)"),
        ("2>&-", 6, ""),
    ],
)
def test_a_run_that_cannot_print_is_whole_and_can_be_resumed(whole, tmp_path, place, code, says):
    """It goes on to its end, whatever becomes of its messages; a resume finds nothing left to solve."""
    ended, err, folder = run(tmp_path, place)
    assert ended == code, err
    assert "Traceback" not in err
    assert says in err
    bits.assert_equal(folder, whole)
    ended, err, folder = run(tmp_path, "", "resume", folder)
    assert ended == 0, err
    bits.assert_equal(folder, whole)


@pytest.fixture
def begun(tmp_path):
    """Start a run in a session of its own, as a terminal would, whose workers wait in the second generation."""
    gate_plan, gate = cheap_lens.gated(tmp_path, 13)
    started = []

    def start(prefix=()):
        words = [*prefix, sys.executable, str(HERE / "cheap_lens.py"), "run", str(tmp_path), json.dumps(gate_plan)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        hears = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup themselves
        started.append(subprocess.Popen(words, start_new_session=True, preexec_fn=hears, **quiet))
        wait_until(lambda: cheap_lens.reached(gate, 13) and list(tmp_path.glob("cheap_lens/*/checkpoint/*0.json")))
        return started[0], gate

    yield start
    (gate / "open").touch()
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_closed_terminal_drains_the_run(begun, quiet, tmp_path):
    """SIGHUP reaches the whole group of processes: workers finish, a checkpoint is written, 129; a resume is equal."""
    process, gate = begun()
    os.killpg(process.pid, signal.SIGHUP)
    (gate / "open").touch()
    assert process.wait(300) == 129
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    assert [one["event"] for one in bits.events(folder, "interrupted", "stopped")] == ["interrupted"]
    assert not bits.events(folder, "worker_killed", "worker_replaced")
    done = subprocess.run(
        [sys.executable, str(HERE / "cheap_lens.py"), "resume", str(folder)], capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    bits.assert_equal(folder, quiet)


@pytest.mark.slow
def test_nohup_goes_on(begun, quiet, tmp_path):
    process, gate = begun(["nohup"])
    os.killpg(process.pid, signal.SIGHUP)
    (gate / "open").touch()
    assert process.wait(300) == 0
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    bits.assert_equal(folder, quiet)
