"""Runs of `cheap_lens.py` in a process of their own: to their end, or until the driver is killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import cheap_lens
from waiting import SAFETY_S, wait_until


def command(*arguments):
    return [sys.executable, str(Path(__file__).parent / "cheap_lens.py"), *map(str, arguments)]


def finished(*arguments):
    """Carry a run out; return its folder."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=SAFETY_S)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])


def one_of(cases, kinds, name):
    """Return a case for one of several kinds of runs: another one for each, so that all come up."""
    return cases[list(kinds).index(name) % len(cases)]


def undisturbed(root, *options):
    """Carry a run out in this process, without workers and without a fault; return its folder.

    Args:
        root: Folder of runs.
        options: Of `cheap_lens.py`, each followed by its JSON.
    """
    given = {name.removeprefix("--"): json.loads(text) for name, text in zip(options[::2], options[1::2], strict=True)}
    return cheap_lens.start(root, farm=cheap_lens.serial, sleep_s=0.0, **given).folder


def resumed(folder, *, workers):
    """Resume a run: in a process of its own with two workers, or in this one, which solves by itself and starts none.

    The bits are the same; a file of tests has each kind of search resumed with workers once.
    """
    if workers:
        finished("resume", folder)
    else:
        cheap_lens.go_on(folder, farm=cheap_lens.serial)


def kill_once(reached, gate, *arguments, number=signal.SIGKILL):
    """Run a driver, send it a signal once `reached()` is true, and return its exit code; its workers wait at the gate.

    Args:
        reached: Says whether it is time.
        gate: Opened after the signal.
        arguments: Of `cheap_lens.py`.
        number: The signal.
    """
    process = subprocess.Popen(command(*arguments), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:

        def there():
            assert process.poll() is None
            return reached()

        wait_until(there)
        os.kill(process.pid, number)
        (gate / "open").touch()
        return process.wait(timeout=SAFETY_S)
    finally:
        (gate / "open").touch()
        process.kill()
        process.wait()
