"""Whole runs with a bowl in place of fields, and with any fault: what the fault tests start, here or in a process.

`python cheap_lens.py run ROOT [PLAN]`, `python cheap_lens.py resume FOLDER`, with `--scheduler ADDRESS` for workers
that run already; exits as the command line does. PLAN is JSON that is added to the plan: `{"fault": {...}}`.
"""

import argparse
import ctypes
import json
import math
import os
import signal
import subprocess
import sys
import time
import traceback
import zlib
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from antennaopt.errors import AntennaoptError
from antennaopt.metrics import METRICS

SHORT = {"population": 6, "generations": 3, "elites": 1}
"""Evolution of runs that are struck at each of their writes."""

EXPERIMENT = {
    "name": "cheap_lens",
    "seed": 3,
    "antenna": {
        "family": "shaped_lens",
        "feed": {"inner_radius": "3.6 mm", "outer_radius": "4.0 mm", "length": "20 mm"},
        "lens": {"permittivity": 2.53, "radii": {"count": 4, "min": "8 mm", "max": "20 mm"}},
    },
    "solver": {"frequencies": ["30 GHz"]},
    "evolution": {"population": 10, "generations": 4},
    "cluster": {"workers": 2, "batch_size": 1},
    "objective": [{"metric": "directivity_dbi", "at_least": 30.0}],
    "certificate": {"mode": "off"},
}
PLAN = {"nr": 100, "nz": 200, "cell": 3e-4, "sleep_s": 0.05}
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
THETA = [float(theta) for theta in range(0, 181, 15)]


def in_child(action, said):
    """Do something in a forked process; return its exit code, negative for a signal. `said` then has its error."""
    said.unlink(missing_ok=True)  # that of an earlier one
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        code = 1
        try:
            action()
            code = 0
        except AntennaoptError as error:
            said.write_text(str(error))
            code = error.exit_code
        except BaseException:
            said.write_text(traceback.format_exc())
            raise
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def bowl(family, designs, plan, *, backend, fields=False):
    """Evaluate: the directivity falls with the distance of the radii from 12, 13, 14, 15 mm."""
    outcomes = []
    for design in designs:
        sys.audit("cheap_lens.solve")
        if "gate" in plan:
            pass_through(Path(plan["gate"]["folder"]), plan["gate"]["after"])
        time.sleep(plan["sleep_s"])
        coarse = plan.get("cell", PLAN["cell"]) / PLAN["cell"] - 1.0
        outcomes.append(misbehaved(design, plan.get("fault")) or solved(design, coarse))
    return outcomes


def solved(design, coarse=0.0):
    """Return an outcome; coarse cells move the bowl and lower it."""
    miss = sum((1e3 * design[f"lens.radii.{place}"] - 12.0 - place - 0.3 * coarse) ** 2 for place in range(4))
    directivity = 30.0 - miss / 20.0 - coarse
    cut = [directivity * math.cos(math.radians(theta)) for theta in THETA]
    return {
        **{name: [miss / (3.0 + place)] for place, name in enumerate(METRICS)},
        "s11": [[0.1, miss / 7.0]],
        "steps": 4000,
        "decay_db": 60.0,
        "status": "ok",
        "error": None,
        "seconds": 0.0,
        "frequency_hz": [30e9],
        "directivity_dbi": [directivity],
        "theta_deg": THETA,
        "e_plane": [[[10 ** (level / 20), 0.1] for level in cut]],
        "h_plane": [[[10 ** (level / 20), 0.1] for level in cut]],
    }


def misbehaved(design, fault):
    """Do what a fault says to a design that it is meant for; its outcome, or None where it is solved all the same.

    A fault is meant for one design in `one_in`, of those that differ by more than 1 nm: the last bits of an algorithm's
    designs depend on the processor. With `marker`, a folder, it strikes each design `times` times (once), or, where
    `kind` is a list, once in each of those ways.
    """
    if fault is None or digest({name: round(value, 9) for name, value in design.items()}) % fault["one_in"] != 0:
        return None
    kinds, strike = fault["kind"], 1
    if "marker" in fault:
        times = len(kinds) if isinstance(kinds, list) else fault.get("times", 1)
        strike = struck_again(Path(fault["marker"]), design, times)
    if not strike:
        return None
    return FAULTS[kinds[strike - 1] if isinstance(kinds, list) else kinds](design)


def digest(design):
    return zlib.crc32(json.dumps(design, sort_keys=True).encode())


def pass_through(gate, after):
    """Take the next number; beyond the limit wait until the gate is open.

    A run that is to be struck at some point stands still there, however late the strike comes.
    """
    number = 0
    while True:
        try:
            (gate / f"{number:04d}").touch(exist_ok=False)
            break
        except FileExistsError:
            number += 1
    while number >= after and not (gate / "open").exists():
        time.sleep(0.005)


def gated(root, after):
    """Return what is added to a plan for a gate below a folder, and the gate."""
    gate = root / "gate"
    gate.mkdir(parents=True)
    return {"gate": {"folder": str(gate), "after": after}}, gate


def reached(gate, after):
    """Return whether a worker waits at it."""
    return (gate / f"{after:04d}").exists()


def struck_again(marker, design, times):
    """Return which strike this is, from 1; 0 when all have been made."""
    name = f"{digest(design):08x}"
    for number in range(times):
        try:
            (marker / f"{name}-{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return number + 1
    return 0


def crash(design):
    ctypes.string_at(0)  # reads address 0: SIGSEGV


def leave(design):
    os._exit(3)


def kill_from_outside(design, number=signal.SIGKILL):
    subprocess.run(["kill", f"-{int(number)}", str(os.getpid())], check=True)
    time.sleep(600.0)


def fail(design):
    raise RuntimeError("no such antenna")


class Unpicklable(Exception):  # noqa: N818
    def __reduce__(self):
        raise TypeError("cannot be pickled")


def fail_unpicklably(design):
    raise Unpicklable(lambda: design)


def return_an_object(design):
    return {"status": "ok", "sweep": {"what": object()}}


def return_nan(design):
    return solved(design) | {"directivity_dbi": [math.nan]}


def diverge(design):
    return {"status": "diverged", "error": "the fields were not finite at step 400", "seconds": 0.0}


def hang(design):
    time.sleep(600.0)


def hold_the_interpreter(design):
    ctypes.PyDLL(None).sleep(600)


def stop(design):
    os.kill(os.getpid(), signal.SIGSTOP)
    return solved(design)


def report(status, design):
    """What the farm makes of a design that it gave up."""
    return {"status": status, "error": "given up"}


class OutOfMemoryError(MemoryError):
    """Of CuPy's name."""


class CUDARuntimeError(RuntimeError):
    """Of CuPy's name, by which a device out of order is known."""


def out_of_memory(design):
    raise OutOfMemoryError("Out of memory allocating 2,000,000,000 bytes")


def illegal_address(design):
    raise CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")


FAULTS = {
    "crash": crash,
    "leave": leave,
    "kill": kill_from_outside,
    "terminate": partial(kill_from_outside, number=signal.SIGTERM),
    "fail": fail,
    "unpicklable": fail_unpicklably,
    "object": return_an_object,
    "nan": return_nan,
    "diverge": diverge,
    "hang": hang,
    "hold": hold_the_interpreter,
    "stop": stop,
    "out_of_memory": out_of_memory,
    "illegal_address": illegal_address,
    "lost": partial(report, "lost"),
    "timeout": partial(report, "timeout"),
    "error": partial(report, "error"),
}


def start(root, *, farm=None, evolution=None, goals=None, seed=EXPERIMENT["seed"], scheduler=None, **plan):
    """Carry the run out below a folder; `farm` opens another farm than the experiment's, `goals` are other tables."""
    import cheap_lens  # workers find the function by the module's name, which is not __main__

    from antennaopt.experiment import Experiment
    from antennaopt.run.progress import Lines
    from antennaopt.run.start import run

    evolution = EXPERIMENT["evolution"] | (evolution or {})
    experiment = Experiment.parse(EXPERIMENT | {"seed": seed, "evolution": evolution} | (goals or {}))
    more = {} if farm is None else {"farm": farm}
    return run(
        experiment,
        root=root,
        plan=PLAN | plan,
        now=NOW,
        evaluate=cheap_lens.bowl,
        progress=Lines(),
        report=False,
        scheduler=scheduler,
        **more,
    )


def go_on(folder, *, farm=None, scheduler=None, **options):
    """Resume a run."""
    import cheap_lens

    from antennaopt.run.progress import Lines
    from antennaopt.run.start import resume

    more = {} if farm is None else {"farm": farm}
    return resume(
        folder, evaluate=cheap_lens.bowl, progress=Lines(), report=False, scheduler=scheduler, **more, **options
    )


def serial(experiment, *, plan, backend, scheduler=None, evaluate):
    """Open a farm without workers."""
    from antennaopt.farm.farm import SerialFarm

    return SerialFarm(evaluate, family=experiment.family, plan=plan, backend=backend)


def two_ahead(experiment, *, plan, backend, scheduler=None, evaluate):
    """Open a farm without workers, to which two antennas of a generation are sent before the others are bred."""
    from antennaopt.farm.farm import SerialFarm

    class Ahead(SerialFarm):
        def ahead(self, population, batch_size="auto"):
            return 2

    return Ahead(evaluate, family=experiment.family, plan=plan, backend=backend)


def with_a_mortal_scheduler(experiment, **given):
    """Open the experiment's farm; SIGUSR1 then ends its scheduler, which is a part of this process."""
    from antennaopt.run.start import open_farm

    farm = open_farm(experiment, **given)

    def end(number, frame):
        cluster = farm.pool.cluster._cluster
        cluster.loop.add_callback(cluster.scheduler.close)

    signal.signal(signal.SIGUSR1, end)
    return farm


def main():
    from antennaopt.cli.entry import _terminated
    from antennaopt.errors import AntennaoptError

    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run", "resume"])
    parser.add_argument("path")
    parser.add_argument("plan", nargs="?", type=json.loads, default={})
    parser.add_argument("--scheduler")
    parser.add_argument("--evolution", type=json.loads, default={})
    parser.add_argument("--goals", type=json.loads, default={})
    parser.add_argument("--seed", type=int, default=EXPERIMENT["seed"])
    parser.add_argument("--serial", action="store_true")
    given = parser.parse_args()
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _terminated)
    farm = serial if given.serial else with_a_mortal_scheduler if given.scheduler is None else None
    try:
        if given.command == "run":
            about = {
                "evolution": given.evolution,
                "goals": given.goals,
                "seed": given.seed,
                "scheduler": given.scheduler,
            }
            summary = start(given.path, farm=farm, **about, **given.plan)
        else:
            summary = go_on(given.path, farm=farm, scheduler=given.scheduler)
    except AntennaoptError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    print(summary.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
