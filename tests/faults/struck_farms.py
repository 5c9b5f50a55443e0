"""Farms of two real workers that a test can reach while a run uses them, and a thread that strikes them."""

import threading
import time
from contextlib import suppress

import psutil

from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm

farms: list[DaskFarm] = []


def workers(**options):
    """Open a farm of two workers, seen by the test as the last entry of `farms`."""

    def opened(experiment, *, plan, backend, scheduler=None, evaluate):
        farm = DaskFarm(
            evaluate,
            family=experiment.family,
            plan=plan,
            backend=backend,
            cluster=ClusterSettings(workers=2, dashboard=False),
            **options,
        )
        farms.append(farm)
        return farm

    return opened


def worker_pids():
    """Worker processes that run."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has just ended
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child.pid)
    return found


class Striking(threading.Thread):
    """Does something to the farm's workers a while into the run, and then every so often."""

    def __init__(self, action, *, first_s=0.4, every_s=None):
        super().__init__(daemon=True)
        self._action, self._first_s, self._every_s = action, first_s, every_s
        self.done = threading.Event()

    def run(self):
        while not farms:
            time.sleep(0.01)
        wait = self._first_s
        while not self.done.wait(wait):
            self._action()
            if self._every_s is None:
                return
            wait = self._every_s

    def __enter__(self):
        farms.clear()
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()


def in_flight():
    """What the newest farm has sent off; read from another thread."""
    return list(farms[-1].pool.in_flight.batches.values())
