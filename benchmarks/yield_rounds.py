"""Compare the antennas a second of a yield study with the same search without samples, on a device that is made up.

    python benchmarks/yield_rounds.py [--generations 26] [--rounds] [--set KEY=VALUE ...] [--json FILE]

Whole runs of `benchmarks/hundred_thousand.toml` whose antennas are not solved: the driver is real, the worker is a
clock. Time is the processor time of the driver's thread, and what it waits for the device. So other processes of the
machine hardly count, and no GPU is needed. The driver's other threads, which share its interpreter, do not count
either: `--slowness 2` counts its time twice. The device has 132 multiprocessors, each of which steps an antenna at a
time, and takes two batches: their host works on one at a time, before and after stepping. Its paces are those of one
H100 with this file (`PREPARED_S` to `STEP_S`).

An antenna's directivity is a formula, with which designs come to meet the goal as those of the file do: 2 of 1,056 in
generation 10, 180 in generation 25, of which three in four meet it with their first two samples. `--rounds` prints
when batches were sent and came back.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from antennaopt.bench.null_solver import null_evaluate
from antennaopt.experiment import load_experiment
from antennaopt.farm.batches import Batch
from antennaopt.farm.farm import PoolFarm
from antennaopt.farm.interface import Assignment, Farm, Pool, Result, Worker
from antennaopt.farm.replies import pack_outcomes
from antennaopt.run.planning import plan_for
from antennaopt.run.start import run

STUDY = Path(__file__).with_name("hundred_thousand.toml")
DEVICE = {
    "scheme": "wavefront",
    "reason": "made up",
    "device": "made up",
    "wave": 132,
    "at_once": 132,
    "antennas": 4096,
    "count": 1,
}
SENT_S = 0.005
"""From the driver to a worker, and back."""

PREPARED_S, TRANSFORMED_S = (0.005, 1.0e-4), (0.004, 3.0e-4)
"""Time of the host for a batch, and for an antenna of it, before and after stepping."""

STEP_S = 2.5e-5
"""Time of a step of one antenna on one multiprocessor."""

CHANGES = (
    'objective=[{metric = "directivity_dbi", at_least = 17.68}]',
    'tolerance.of={"lens.radii" = {sigma = "0.03 mm"}}',
    "tolerance.final_samples=0",
    'certificate.mode="off"',
)


class MadeUpDevice(Pool):
    """A worker with a device, in no time but its own.

    Attributes:
        log: Of each batch its size, and when it was sent, stepped, done, s.
    """

    def __init__(self, plan: Mapping[str, Any], slowness: float) -> None:
        """Start at time 0.

        Args:
            plan: Of the antennas.
            slowness: By which the driver's processor time is multiplied.
        """
        self._plan, self._slowness = {**plan, "frequencies_hz": plan["frequencies"]}, slowness
        self._waited, self._apart = 0.0, time.thread_time()
        self._free = [0.0] * DEVICE["wave"]
        self._busy: list[tuple[float, float]] = []
        self._in_flight: list[tuple[float, int, Result]] = []
        self.log: list[tuple[int, float, float, float, float]] = []
        self._sent = 0

    @property
    def now(self) -> float:
        """Time on this clock, s."""
        return self._waited + self._slowness * (time.thread_time() - self._apart)

    def _host(self, after: float, seconds: float) -> float:
        """Keep the host busy in its first gap that is long enough; return until when."""
        start = after
        for begun, ended in self._busy:
            if begun - start >= seconds:
                break
            start = max(start, ended)
        self._busy = sorted([one for one in self._busy if one[1] > self.now] + [(start, start + seconds)])
        return start + seconds

    def _stepped(self, after: float, steps: Iterable[int]) -> float:
        """Give each antenna the multiprocessor that is free first; return when the last one is done."""
        last = after
        for one in steps:
            done = max(heapq.heappop(self._free), after) + STEP_S * one
            heapq.heappush(self._free, done)
            last = max(last, done)
        return last

    def workers(self) -> Mapping[str, Worker]:
        """Return the one worker."""
        return {"device": Worker(backend="cuda", threads=2, device=DEVICE)}

    def submit(self, assignments: Sequence[Assignment], plan: Mapping[str, Any]) -> None:
        """Settle when each batch comes back."""
        for one in assignments:
            sent, began = self.now, time.thread_time()
            outcomes = null_evaluate("", one.batch.designs, self._plan, backend="cuda")
            steps = [_steps(design) for _, design in one.batch.jobs]
            count, at = len(steps), sent + SENT_S
            first = self._host(at, PREPARED_S[0] + count * PREPARED_S[1])
            stepped = self._stepped(first, steps)
            done = self._host(stepped, TRANSFORMED_S[0] + count * TRANSFORMED_S[1]) + SENT_S
            reply = {**pack_outcomes(outcomes), "seconds": done - at, "solved": count, "worker": one.address}
            self._sent += 1
            self.log.append((count, sent, first, stepped, done))
            heapq.heappush(
                self._in_flight, (done, self._sent, Result(batch=one.batch, address=one.address, reply=reply))
            )
            self._apart += time.thread_time() - began

    def results(self, timeout_s: float) -> list[Result]:
        """Return what is done, or wait for the first."""
        if not self._in_flight:
            return []
        self._waited += max(self._in_flight[0][0] - self.now, 0.0)
        found = []
        while self._in_flight and self._in_flight[0][0] <= self.now:
            found.append(heapq.heappop(self._in_flight)[2])
        return found

    def cancel(self, batches: Iterable[Batch]) -> None:
        """Forget batches."""
        gone = {id(one) for one in batches}
        self._in_flight = [one for one in self._in_flight if id(one[2].batch) not in gone]

    def ask(self, question: Callable[..., Any], *arguments: Any, limit_s: float | None = None) -> list[Any]:
        """Answer nothing: there is no process."""
        return []


def _steps(design: Mapping[str, float]) -> int:
    """Return the steps of an antenna: 2,000 to 3,150, in whole looks at the energy."""
    return 143 * (14 + int(1e9 * design["lens.radii.0"]) % 9)


def measure(
    samples: int, generations: int, changes: Sequence[str], slowness: float = 1.0
) -> tuple[dict[str, Any], list[Any]]:
    """Carry a search out and return what it came to, and the log of its device."""
    changes = [*CHANGES, f"tolerance.samples={samples}", f"evolution.generations={generations}", *changes]
    experiment, pools = load_experiment(STUDY, changes), []

    def opened(experiment: Any, *, plan: Mapping[str, Any], **how: Any) -> AbstractContextManager[Farm]:
        pools.append(MadeUpDevice(plan, slowness))
        return PoolFarm(pools[0], (null_evaluate, experiment.family, "cuda"), plan)

    with tempfile.TemporaryDirectory() as root:
        about = {"farm": opened, "backend": "cuda", "evaluate": null_evaluate, "report": False, "cache": "off"}
        summary = run(experiment, root=root, plan=plan_for(experiment), overrides=changes, **about)
    (pool,) = pools
    seconds = pool.log[-1][4] - pool.log[0][1]
    solves = summary.evaluations + summary.samples
    row = {
        "slowness": slowness,
        "samples": summary.samples,
        "candidates": summary.evaluations,
        "solves": solves,
        "seconds": seconds,
        "antennas_per_s": solves / seconds,
        "stepping_share": sum(seconds for seconds in _steppings(pool.log)) / seconds,
        "batches": len(pool.log),
        "fitness": summary.best.fitness if summary.best else math.inf,
    }
    return row, pool.log


def _steppings(log: Sequence[tuple[int, float, float, float, float]]) -> Iterable[float]:
    """Yield the times in which anything was stepped."""
    until = -math.inf
    for _, _, first, stepped, _ in sorted(log, key=lambda one: one[2]):
        yield max(stepped - max(first, until), 0.0)
        until = max(until, stepped)


def main() -> None:
    """Measure both and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=26)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--slowness", type=float, default=1.0, help="of the driver: 2 counts its time twice")
    parser.add_argument("--rounds", action="store_true", help="print when batches were sent, stepped and done")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the experiment")
    parser.add_argument("--json", type=Path, help="file for the figures")
    given = parser.parse_args()
    rows = []
    for samples in (0, given.samples):
        row, log = measure(samples, given.generations, given.set, given.slowness)
        print(json.dumps(row), flush=True)
        rows.append(row)
        for count, *times in log if given.rounds else ():
            print(f"{count:5}", *(f"{one:8.3f}" for one in times))
    print(f"antennas/s {rows[1]['antennas_per_s'] / rows[0]['antennas_per_s']:.1%} of those without samples")
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
