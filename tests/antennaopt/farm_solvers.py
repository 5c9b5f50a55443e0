"""Evaluation functions for the farm's tests; a module of their own, because workers import them by name."""

import ctypes
import math
import os
import resource
import signal
import sys
import tempfile
import time
import weakref
from pathlib import Path

import numpy as np

from antennaopt.solve.device import SHARED_BY


def jobs(count):
    """Return a number of candidates, x = 0, 1, 2, ..."""
    return [(f"i{place}", {"x": float(place)}) for place in range(count)]


def solve(family, designs, plan, *, backend):
    """Double x, as `decay_db`; misbehave as the plan says."""
    outcomes = []
    if "meet" in plan:
        meet(Path(plan["meet"]))
    for design in designs:
        time.sleep(plan.get("sleep_s", 0.0))
        misbehave(design["x"], plan)
        decay = np.float64(2.0 * design["x"])
        outcomes.append({"status": "ok", "decay_db": decay, "theta_deg": np.arange(3.0), "steps": 7})
    return outcomes


def meet(folder, count=3):
    """Return once this number of batches have begun."""
    from waiting import wait_until  # workers of other processes find this module alone

    descriptor, _ = tempfile.mkstemp(dir=folder)
    os.close(descriptor)
    wait_until(lambda: len(list(folder.iterdir())) >= count, f"{count} batches under way")


def hold(folder, x):
    """Say that this worker has begun, and wait to be let go."""
    from waiting import wait_until

    (folder / f"begun-{os.getpid()}").touch()
    wait_until((folder / "go").exists, f"leave to solve {x}")


def begun(folder):
    """Return the processes that have begun and wait."""
    return {int(path.name.removeprefix("begun-")) for path in folder.glob("begun-*")}


def misbehave(x, plan):
    if x >= plan.get("hold_from", math.inf):
        hold(Path(plan["gate"]), x)
    if x == plan.get("raise_at"):
        raise RuntimeError(f"no antenna at {x}")
    if x == plan.get("object_at"):
        raise Unpicklable(lambda: x)
    if x == plan.get("die_at") or (x == plan.get("die_once_at") and first_time(plan["marker"])):
        ctypes.string_at(0)  # reads address 0: SIGSEGV
    if x == plan.get("exit_at"):
        os._exit(3)
    if x == plan.get("hold_at"):
        ctypes.PyDLL(None).sleep(600)  # in C, without letting go of the interpreter's lock, as compiled code may
    if x == plan.get("raise_once_at") and first_time(plan["marker"]):
        raise RuntimeError("only once")
    if x == plan.get("hang_at"):
        time.sleep(600.0)
    if x == plan.get("stop_at"):
        os.kill(os.getpid(), signal.SIGSTOP)


def first_time(marker):
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class Unpicklable(Exception):  # noqa: N818
    def __reduce__(self):
        raise TypeError("cannot be pickled")


def too_few(family, designs, plan, *, backend):
    return [{"status": "ok"}] * (len(designs) - 1)


def odd_type(family, designs, plan, *, backend):
    return [{"status": "ok", "sweep": {"what": object()}} for _ in designs]


def about_the_worker(family, designs, plan, *, backend):
    """Return what this process is like, as `field`."""
    about = {
        "pid": os.getpid(),
        "session": os.getsid(0),
        "modules": sorted({name.partition(".")[0] for name in sys.modules}),
        "threads": [os.environ.get(name) for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")],
    }
    return [{"status": "ok", "field": about} for _ in designs]


def new_pages(arrays):
    """Return the new pages that the system gives this process for arrays of 1 MB, one after the other."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(arrays):
        np.ones(1 << 17)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def leave_a_mark(folder):
    """Write a file when this interpreter takes its modules apart."""
    weakref.finalize(leave_a_mark, Path(folder, f"{os.getpid()}").touch)


def capacity(plan):
    """Stand in for `antennaopt.solve.device.capacity`: a device of three multiprocessors."""
    return {"device": f"toy {os.environ['CUDA_VISIBLE_DEVICES']}", "scheme": "toy", "reason": "",
            "wave": 3, "antennas": plan.get("antennas", 12), "shared_by": int(os.environ[SHARED_BY])}  # fmt: skip


def capacity_one_by_one(plan):
    """A device that is as busy with any number of antennas as with whole waves."""
    return {**capacity(plan), "at_once": 1}


def no_capacity(plan):
    from fdtd.errors import OutOfMemory

    raise OutOfMemory("one antenna needs about 3 GB of device memory, and 1 GB are free")


class CUDARuntimeError(RuntimeError):
    """Of the name by which a device's failure is known."""


def solve_on_device(family, designs, plan, *, backend):
    """As `solve`, on a device with memory for `holds` antennas; `field` is when it ran and where."""
    began = time.monotonic()
    if len(designs) > plan.get("holds", 99):
        raise MemoryError("2 GB, and 1 GB are free")
    outcomes = solve(family, designs, plan, backend=backend)
    if any(design["x"] == plan.get("breaks_once_at") for design in designs) and first_time(plan["marker"]):
        raise CUDARuntimeError("an illegal memory access was encountered")
    about = {"pid": os.getpid(), "together": len(designs), "began": began, "ended": time.monotonic()}
    return [{**one, "device": os.environ["CUDA_VISIBLE_DEVICES"], "field": about} for one in outcomes]


def field(family, designs, plan, *, backend, fields=False):
    return [{"status": "ok", "field": np.arange(3) * 1j, "sweep": {"fields": fields}} for _ in designs]
