"""Runs that are left with something to do: to be harmed, and gone on with."""

import json
import shutil

import cheap_lens
import pytest

from antennaopt.errors import Interrupted
from antennaopt.farm.farm import SerialFarm
from antennaopt.run.progress import Progress
from antennaopt.run.start import resume
from antennaopt.store.checkpoint import canonical, digest

EVOLUTION = {"population": 4, "generations": 3, "elites": 1}
ALL, SOME, STEADY = range(3)
"""Which of `unfinished`: what is left of it to do."""


class Weary(SerialFarm):
    """Stops a run that a hostile file has made long."""

    def completed(self):
        for number, one in enumerate(super().completed()):
            if number == 12:
                raise Interrupted("enough")
            yield one


class Left(SerialFarm):
    """Is left by Ctrl-C after ten antennas: in the middle of the third generation, or block, of four."""

    seen = 0

    def completed(self):
        for one in super().completed():
            if self.seen == 10:
                raise KeyboardInterrupt
            self.seen += 1
            yield one


def left(experiment, *, plan, backend, scheduler=None, evaluate):
    return Left(at_once, family="shaped_lens", plan={"sleep_s": 0.0})


def weary(experiment, *, plan, backend, scheduler=None, evaluate):
    return Weary(at_once, family="shaped_lens", plan={"sleep_s": 0.0})


def at_once(family, designs, plan, *, backend, fields=False):
    return [cheap_lens.solved(design) for design in designs]


def unfinished(root):
    """Make runs with one generation still to do: all of it, some of it, and of a steady state.

    Each is seen once through so that everything is imported.
    """
    folders = [cheap_lens.start(root / "all", farm=cheap_lens.serial, evolution=EVOLUTION, sleep_s=0.0).folder]
    (folders[0] / "checkpoint" / "checkpoint-000002.json").unlink()
    for name, more in (("some", {"elites": 0}), ("steady", {"algorithm": "steady_state"})):
        with pytest.raises(Interrupted):
            cheap_lens.start(root / name, farm=left, evolution=EVOLUTION | more, sleep_s=0.0)
        folders.extend((root / name / "cheap_lens").iterdir())
    for folder in folders:
        newest = json.loads(max((folder / "checkpoint").iterdir()).read_text())
        assert len(newest["payload"]["state"]["partial"]) == (0 if folder is folders[0] else 2)
        other = folder.parent / "other"
        shutil.copytree(folder, other)
        go_on(other)
    return folders


def go_on(folder):
    return resume(folder, farm=weary, evaluate=at_once, progress=Progress(), report=False)


def dumped(tree):
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def sealed(payload):
    """Return a checkpoint's file with the right digest."""
    return dumped({"version": 1, "sha256": digest(canonical(payload)), "payload": payload})
