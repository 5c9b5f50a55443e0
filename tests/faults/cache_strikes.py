"""Runs with an evaluation cache, struck at operations on its file, one forked process a run.

`LD_PRELOAD=struck_disk.so python cache_strikes.py HOW FIRST ROOT`. A run begins with an empty cache, and is struck
before operation FIRST of SQLite on a file of the cache, then one before a later one, and so on until one gets through.
What is left of the cache is kept, and the run is resumed with it, or begun again where there is no run folder yet.
After some of them another run has the same cache. HOW is `kill` (SIGKILL), `tear` (half of what was to be written is
written before), `interrupt` (SIGINT) or `full` (a kill, where the cache has room for few antennas and removes the
oldest). Prints a line of JSON a strike. The first two lines are runs without a cache and with one, the last line is of
a run that nothing happened to.

A bowl stands for the fields, whose cells are radii of whole steps: several designs have the same, and are recognised by
these as real ones are.
"""

import ctypes
import hashlib
import json
import shutil
import signal
import sys
from functools import partial
from pathlib import Path

import cheap_lens
import every_write
import numpy as np

from antennaopt.farm.farm import SerialFarm
from antennaopt.run import reuse
from antennaopt.run.cache_writer import RunCache
from antennaopt.run.start import resume, run
from antennaopt.solve.arithmetic import Arithmetic, arithmetic
from antennaopt.solve.recognition import KNOWN
from antennaopt.store import cache as cache_file

CELLS = Arithmetic(solver="bowl", context=hashlib.sha256(b"bowl").hexdigest())
STEP = 2e-3  # m
ROOM, PAGE = 13_500, 1024  # bytes, in which the antennas of a run do not find room, on pages that few of them fill
HOW = {
    "kill": (signal.SIGKILL, 2),
    "tear": (signal.SIGKILL, 4),
    "interrupt": (signal.SIGINT, 9),
    "full": (signal.SIGKILL, 8),
}
"""The signal, and the step from one operation that is struck to the next."""
OTHER_RUNS = 8
"""Strikes for one after which another run has the cache."""


def of_cells(design):
    """Return the design whose radii are those of the cells, and the digest of the cells."""
    stepped = {name: round(x / STEP) * STEP if name.startswith("lens.radii") else x for name, x in design.items()}
    return stepped, hashlib.sha256(json.dumps(stepped).encode()).digest()[:16]


def evaluate(family, designs, plan, *, backend, fields=False, options=None):
    """Solve as `antennaopt.solve.evaluate` does where there is a cache: what is known comes back unsolved."""
    outcomes, here = [], {}
    known = np.frombuffer(b"" if options is None else options.known, dtype="<u8")
    for design in designs:
        stepped, digest = of_cells(design)
        identity = {} if options is None else {"identity": {"digest": digest.hex(), **CELLS.to_dict()}}
        if np.isin(np.frombuffer(digest[:8], dtype="<u8"), known).any():
            outcomes.append({"status": KNOWN, **identity})
            continue
        found = here.get(digest) or cheap_lens.misbehaved(stepped, plan.get("fault")) or cheap_lens.solved(stepped)
        outcomes.append({**found, **({"origin": "cells"} if digest in here else {}), **identity})
        here[digest] = found
    return outcomes


class Recognising(SerialFarm):
    """Solves by `evaluate`; two antennas of a generation are sent before the others are bred."""

    def ahead(self, population, batch_size="auto"):
        return 2

    def ask(self, question, *arguments, **limits):
        return [CELLS] if question is arithmetic else super().ask(question, *arguments, **limits)


def farm(experiment, *, plan, backend, scheduler=None, evaluate=None):
    return Recognising(evaluate, family=experiment.family, plan=plan, backend=backend)


def begin(root, cache):
    from antennaopt.experiment import Experiment

    evolution = {"population": 6, "generations": 2, "elites": 1, "stop": {"goals": False}}
    experiment = Experiment.parse({**cheap_lens.EXPERIMENT, "evolution": evolution})
    plan = {**cheap_lens.PLAN, "fault": {"kind": "diverge", "one_in": 5}}
    run(experiment, root=root, plan=plan, now=cheap_lens.NOW, farm=farm, evaluate=evaluate, report=False, cache=cache)


def struck(how, number, top):
    """Begin a run and strike it; see what is left, resume, and have another run use the cache."""
    at, cache = top / f"{number:04d}.strike", top / f"{number:04d}" / "cache"
    root, other, said = (cache.parent / name for name in ("run", "other", "said"))
    cache.parent.mkdir()

    def act():
        ctypes.CDLL(None).arm(
            str(cache / cache_file.FILE).encode(), number, how == "tear", HOW[how][0], str(at).encode()
        )
        begin(root, cache)

    code, folder = cheap_lens.in_child(act, said), every_write.run_folder(root)
    left = shutil.copytree(cache, cache.with_name("left")) if cache.exists() else None
    whole = folder is not None and (folder / "manifest.json").exists()
    again = partial(resume, folder, farm=farm, evaluate=evaluate, report=False, cache=cache)
    if not whole:
        root = cache.parent / "again"
    resumed = cheap_lens.in_child(again if whole else partial(begin, root, cache), said) if code else 0
    seen = code == 0 or number // HOW[how][1] % OTHER_RUNS == 0
    second = cheap_lens.in_child(lambda: begin(other, cache), said) if seen else None
    every_write.say(
        at=at.read_text(), code=code, resumed=resumed, second=second, left=left, cache=cache,
        folder=every_write.run_folder(root), other=every_write.run_folder(other),
    )  # fmt: skip
    return bool(at.read_text())


def main():
    how, number, top = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    reuse.WRITE_AFTER = 4  # antennas of a transaction
    every_write.import_all(top)
    for cache in ("off", top / "cache"):
        root = top / f"with-{Path(cache).name}"
        code = cheap_lens.in_child(lambda: begin(root, cache), top / "said")  # noqa: B023 - called at once
        every_write.say(code=code, folder=every_write.run_folder(root), cache=cache)
    if how == "full":
        cache_file.PAGE_BYTES = PAGE
        RunCache.__init__.__kwdefaults__["most_bytes"] = ROOM
    while struck(how, number, top):
        number += HOW[how][1]


if __name__ == "__main__":
    main()
