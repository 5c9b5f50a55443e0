"""Runs of `cheap_lens.py` in a process of their own: to their end, or until the driver is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from waiting import SAFETY_S, wait_until


def command(*arguments):
    return [sys.executable, str(Path(__file__).parent / "cheap_lens.py"), *map(str, arguments)]


def finished(*arguments):
    """Carry a run out; return its folder."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=SAFETY_S)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])


def kill_once(reached, gate, *arguments):
    """Start a run and kill its driver once `reached()` is true; its workers wait at the gate for that."""
    process = subprocess.Popen(command(*arguments), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:

        def there():
            assert process.poll() is None
            return reached()

        wait_until(there)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=SAFETY_S)
    finally:
        (gate / "open").touch()
        process.kill()
        process.wait()
