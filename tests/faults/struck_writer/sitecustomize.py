"""Strikes the process that writes for a driver before its n-th operation on a file; Python imports this by its name.

ANTENNAOPT_STRIKE is JSON: `root`, `number`, `victims` (`writer`, `driver`, `stopped`), `torn`, `report`. A writer that
outlives its driver goes on when a resume has met the folder's lock, which makes the file `report` + `.met`.
"""

import json
import os
import signal
import sys
import time

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate")
SAFETY_S = 60.0


def strike(root, number, victims, torn, report):
    left, flush, driver = [number], os.fsync, os.getppid()

    def count(event, path, handle=None):
        if not path.startswith(root):
            return
        left[0] -= 1
        if left[0]:
            return
        with open(report, "w") as file:
            json.dump({"at": [event, path[len(root) :]], "writer": os.getpid()}, file)
        if torn and handle is not None:
            os.ftruncate(handle, os.fstat(handle).st_size // 2)
        if "driver" in victims:
            os.kill(driver, signal.SIGKILL)
        if "writer" in victims:
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()
        if "stopped" in victims:
            os.kill(os.getpid(), signal.SIGSTOP)
            return
        until = time.monotonic() + SAFETY_S
        while not os.path.exists(report + ".met") and time.monotonic() < until:
            time.sleep(0.01)

    def seen(event, arguments):
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str) and flags & WRITING and not flags & os.O_DIRECTORY:
                count(event, path)
        elif event in CHANGING:
            count(event, str(arguments[0]))

    def synced(handle):
        path = os.readlink(f"/proc/self/fd/{handle}")
        count("fsync", path, handle if os.path.isfile(path) else None)
        return flush(handle)

    os.fsync = synced
    sys.addaudithook(seen)


if "antennaopt.run.writer" in sys.orig_argv and "ANTENNAOPT_STRIKE" in os.environ:
    strike(**json.loads(os.environ["ANTENNAOPT_STRIKE"]))
