"""Time the stages of whole evaluations, from design to figures of merit."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, Any, Self

from threadpoolctl import threadpool_limits

from antennaopt.bench.runner import typical
from antennaopt.farm.local import WORKER_ENVIRONMENT
from antennaopt.farm.servers import keep_freed_memory
from antennaopt.machine import processor_name
from antennaopt.solve import device
from antennaopt.solve.capacity import BATCHES_AT_A_TIME
from antennaopt.solve.lattices import cell_count, shape_of
from antennaopt.solve.options import SolveOptions
from antennaopt.solve.solvers import evaluator_of, planner_of
from antennaopt.solve.yee_plan import YeePlan

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

_ON_A_CORE = 4  # antennas a batch
_WAVES = 2  # of antennas a batch on a device
_BATCHES = 6  # of one timing on a device
_WARM = 320  # steps before the first timing
_STEPS, _NEVER_DB = 8000, 300.0  # of an antenna in space, and a stop that is not reached


def bench_evaluate(
    experiment: Experiment, *, backend: str = "cpu", batch: int | None = None, repeat: int = 3
) -> list[dict[str, Any]]:
    """Time batches of one antenna's copies as a search solves them, on one core or one device.

    A device gets several batches, as many at a time as in a study: while two are stepped another is prepared. Antennas
    in space come from as many processes as share it in a study. One of which a half is solved is timed whole first, so
    that the lattice stays that of earlier versions.

    Args:
        experiment: From `load_antenna`.
        backend: What solves.
        batch: Antennas solved together; four on a core, two waves on a device if None.
        repeat: Timings, of which the median.

    Returns:
        One row, or two, of the whole and its half: `antennas_per_s` (median), `spread`, `stage_seconds` an antenna
        (`rasterise`, `step`, `transform`, `rest`; on a device also `wait`, and there they overlap), `stepping_share` of
        the wall time and `cell_steps_per_s` while stepping, and the device, grid, `parts` like it of an antenna in
        space, steps, batch and `processes`. Steps of several processes overlap: then the share is None, and the rate is
        by the wall time.

    Raises:
        DeviceError: There is no device, or too little memory on it for one antenna.
        Unsuitable: The device cannot step this antenna.
    """
    design = experiment.design()
    made = [_planned(experiment, design)]
    if made[0].get("parts") == 2:  # a quarter has no whole to compare with
        made.insert(0, _planned(experiment, design, whole=True))
    return [_row(experiment, design, one, backend, batch, repeat) for one in made]


def _row(
    experiment: Experiment,
    design: Mapping[str, float],
    made: dict[str, Any],
    backend: str,
    batch: int | None,
    repeat: int,
) -> dict[str, Any]:
    about = _place(made, backend)
    processes = device.processes_a_device(made, 1) if backend == "cuda" else 1
    size = batch or -(-about.pop("batch") // processes)
    batches = [[design] * size] * (_BATCHES if backend == "cuda" else 1)
    with _Timed(processes, experiment.family, made, backend) as timed:
        timed(batches[:BATCHES_AT_A_TIME], _WARM)  # compile, and take the memory
        timings = [timed(batches) for _ in range(repeat)]
    count = size * len(batches) * processes
    seconds = [wall / count for wall, _, _ in timings]
    stages = [{name: value / count for name, value in spent.items()} for _, spent, _ in timings]
    middle, spread = typical(seconds)
    stage = {name: statistics.median(one[name] for one in stages) for name in stages[0]}
    stepping = stage["step"] if processes == 1 else middle
    return {
        "stencil": "bor" if experiment.kind.spatial is None else "yee3d",
        **{name: value for name, value in about.items() if name != "batch"},
        "backend": backend,
        "dtype": made["precision"],
        "shape": shape_of(made),
        **({"parts": made["parts"]} if "parts" in made else {}),
        "batch": size,
        "processes": processes,
        "steps": timings[-1][2],
        "antennas_per_s": 1 / middle,
        "spread": spread,
        "stepping_share": stage["step"] / middle if processes == 1 else None,
        "cell_steps_per_s": cell_count(made) * timings[-1][2] / stepping,
        "stage_seconds": stage,
    }


def _planned(experiment: Experiment, design: Mapping[str, float], **options: bool) -> dict[str, Any]:
    """Return the plan of one antenna; one in space takes 8,000 steps, whatever its energy, to whole looks."""
    settings = experiment.solver.settings.in_a_search()
    made = planner_of(experiment.kind)(experiment.kind, design, design, settings, **options)
    if isinstance(made, YeePlan):
        return replace(made, max_steps=_STEPS, decay_db=_NEVER_DB).to_dict()
    return replace(made, losses=False).to_dict()


def _place(made: Mapping[str, Any], backend: str) -> dict[str, Any]:
    """Return where it is solved, by which scheme, and how many at a time."""
    if backend != "cuda":
        return {"device": processor_name(), "batch": _ON_A_CORE}
    found = device.capacity(made)
    return {
        "scheme": found["scheme"],
        "device": found["device"],
        "batch": min(_WAVES * found["wave"], found["antennas"]),
    }


class _Timed:
    """Times batches in this process, or the same batches in several at once, each with its own part of the device."""

    def __init__(self, processes: int, *about: Any) -> None:
        """Start the processes; `about` is what `_timed` takes besides batches and steps."""
        self._about, self._count = about, processes
        self._pool = None
        if processes > 1:
            spawned = get_context("spawn")
            self._pool = ProcessPoolExecutor(processes, mp_context=spawned, initializer=keep_freed_memory)
            self._meetings = spawned.Manager()

    def __enter__(self) -> Self:
        self._environment = dict(os.environ)
        if self._pool is not None:
            # Libraries of workers start no threads of their own.
            os.environ.update({**WORKER_ENVIRONMENT, device.SHARED_BY: str(self._count)})
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._meetings.shutdown()
        os.environ.clear()
        os.environ.update(self._environment)

    def __call__(
        self, batches: Sequence[Sequence[Mapping[str, float]]], max_steps: int | None = None
    ) -> tuple[float, dict[str, float], int]:
        """Return wall time, seconds of each stage over all batches and processes, and steps of the last antenna."""
        family, made, backend = self._about
        if self._pool is None:
            return _timed(family, batches, made, backend, max_steps)
        together = self._meetings.Barrier(self._count)  # so that each process gets one part, and all begin at once
        parts = [
            self._pool.submit(_part, together, family, made, backend, batches, max_steps) for _ in range(self._count)
        ]
        for failed in filter(None, (one.exception() for one in parts)):
            if not isinstance(failed, BrokenBarrierError):  # those only waited for the one that failed
                raise failed
        found = [one.result() for one in parts]
        spent = {name: sum(one[1][name] for one in found) for name in found[0][1]}
        return max(one[0] for one in found), spent, found[-1][2]


def _part(
    together: Any, family: str, made: Mapping[str, Any], backend: str, batches: Any, max_steps: int | None
) -> tuple[float, dict[str, float], int]:
    """Time batches in this process once all others have come as far."""
    try:
        device.capacity(made)  # imports what solves and starts the device
    except BaseException:
        together.abort()
        raise
    together.wait()
    return _timed(family, batches, made, backend, max_steps)


def _timed(
    family: str,
    batches: Sequence[Sequence[Mapping[str, float]]],
    made: Mapping[str, Any],
    backend: str,
    max_steps: int | None = None,
) -> tuple[float, dict[str, float], int]:
    """Return wall time, seconds of each stage summed over the batches, and steps of the last antenna."""

    def solve(designs: Sequence[Mapping[str, float]]) -> tuple[dict[str, float], int]:
        spent: dict[str, float] = {}
        options = SolveOptions(max_steps=max_steps, stages=spent)
        start = time.perf_counter()
        outcomes = device.evaluate_within_memory(
            solver, family, designs, made, release=device.release_memory, backend=backend, options=options
        )
        return {**spent, "rest": time.perf_counter() - start - sum(spent.values())}, outcomes[-1]["steps"]

    solver = evaluator_of(family)
    start = time.perf_counter()
    limits = threadpool_limits(1, user_api="blas")  # as in a worker: small products wait long for busy cores
    with limits, ThreadPoolExecutor(BATCHES_AT_A_TIME if backend == "cuda" else 1) as threads:
        solved = list(threads.map(solve, batches))
    wall = time.perf_counter() - start
    return wall, {name: sum(spent[name] for spent, _ in solved) for name in solved[0][0]}, solved[-1][1]
