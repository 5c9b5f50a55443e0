"""Find the workers, batches per worker and dispatch policy that solve a generation fastest on this machine.

The resource plot of a heterogeneous scheduler: the same problem on every combination of workers; and with several grids
its device plot: every combination against the size of the problem.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from antennaopt.bench.null_solver import null_evaluate
from antennaopt.bench.runner import Log, busy_seconds, typical
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.machine import processor_name
from antennaopt.run.planning import plan_for
from antennaopt.search import decode
from antennaopt.solve.lattices import cell_count, shape_of
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.solvers import evaluator_of

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

POLICIES = ("greedy", "assignment")
STREAMS = (1, 2, 3)
TARGET_S = 2.0
"""T of `assignment`, s: several batches of a generation that takes ten seconds."""

Job = tuple[str, Mapping[str, float]]


@dataclass(frozen=True, kw_only=True)
class Combination:
    """Workers of this machine.

    Attributes:
        cuda: How many with a device each.
        cpu: How many on a core each.
        threads: Batches that each takes at a time; next to devices a core takes one.
    """

    cuda: int = 0
    cpu: int = 0
    threads: int = 1

    @property
    def is_mixed(self) -> bool:
        """Whether there are workers of both kinds."""
        return self.cuda > 0 and self.cpu > 0

    @property
    def workers(self) -> int | dict[str, int]:
        """As `[cluster] workers` has them."""
        return {"cuda": self.cuda, "cpu": self.cpu} if self.is_mixed else self.cuda or self.cpu

    @property
    def backend(self) -> str:
        """What they solve with, mixed hardware aside."""
        return "cuda" if self.cuda else "cpu"

    def __str__(self) -> str:
        if not self.cuda:
            return f"{self.cpu} {'process' if self.cpu == 1 else 'processes'} x {self.threads}"
        beside = f" + {self.cpu} {'core' if self.cpu == 1 else 'cores'}" if self.cpu else ""
        return f"{self.cuda} {'device' if self.cuda == 1 else 'devices'} x {self.threads}{beside}"


def usual_combinations(devices: int, cores: int) -> list[Combination]:
    """Return what is worth trying on a machine.

    Args:
        devices: CUDA devices.
        cores: That may be used.

    Returns:
        Without devices every number of processes (1, 2, 4, ..., all cores) with as many threads each as there are cores
        for. With devices all of them with one, two and three batches at a time, alone and next to one core, half of the
        cores, and all that the devices' own processes leave.
    """
    if not devices:
        counts = sorted({*(2**power for power in range(cores.bit_length()) if 2**power <= cores), cores})
        return [
            Combination(cpu=processes, threads=threads)
            for processes in counts
            for threads in counts
            if processes * threads <= cores
        ]
    left = max(cores - devices, 0)
    beside = sorted({0, min(1, left), min(cores // 2, left), left})
    return [Combination(cuda=devices, cpu=count, threads=streams) for count in beside for streams in STREAMS]


def bench_farm(
    experiment: Experiment,
    combinations: Sequence[Combination],
    *,
    policies: Sequence[str] = POLICIES,
    population: int | None = None,
    repeat: int = 3,
    grids: Sequence[float] = (),
    told: Log | None = None,
) -> list[dict[str, Any]]:
    """Time generations of the same antennas on every combination, with every policy.

    Nothing is bred or stored: what is timed is the farm alone. A generation warms up (kernels are compiled, speeds
    measured), `repeat` are timed.

    Args:
        experiment: From `load_experiment`; its designs are drawn within the ranges of its genes.
        combinations: Of this machine's workers.
        policies: Some of `POLICIES`.
        population: Antennas a generation; the experiment's own when None.
        repeat: Generations that are timed.
        grids: Cells per wavelength, each a problem of another size; the experiment's own grid when empty.
        told: Gets one line a row.

    Returns:
        A row a combination, policy and grid: `antennas_per_s` (median) and `spread` (half of the range over it),
        `million_cell_steps_per_s`, `stepping_share` of the workers' time, and `by_worker` what each did: antennas, and
        the shares of its time `stepping` and `solving` (which has `stepping` in it). With several batches at a time on
        a device `solving` may be above 1; a process on cores counts as often as it has threads. One row of each grid is
        `best`, see `best_of`. `other_cores` is how many cores were busy with something else.

    Raises:
        ClusterError: No worker came up, or there are fewer devices than `combinations` have.
        ConfigurationError: The ranges allow no grid.
    """
    rows: list[dict[str, Any]] = []
    own = experiment.solver.settings
    for cells in grids or (None,):
        plan = plan_for(experiment, own if cells is None else replace(own, cell=None, cells_per_wavelength=cells))
        jobs = _jobs(experiment, population or experiment.evolution.population)
        found = []
        for combination in combinations:
            for policy in policies:
                found.append(_row(experiment, plan, jobs, combination, policy, repeat))
                _tell(told, found[-1])
        best_of(found)["best"] = True
        rows += found
    return rows


def bench_simulated(
    speeds: Sequence[float],
    *,
    policies: Sequence[str] = POLICIES,
    population: int = 200,
    repeat: int = 3,
    told: Log | None = None,
) -> list[dict[str, Any]]:
    """Compare the policies with workers that sleep, each as long as one of that speed would solve: **no measurement**.

    Args:
        speeds: Of each worker, antennas/s.
        policies: Some of `POLICIES`.
        population: Antennas a generation.
        repeat: Generations that are timed, after one in which the speeds are learnt.
        told: Gets one line a row.

    Returns:
        Rows as of `bench_farm` with `simulated` true, and `of_ideal`: the rate over the sum of the speeds.
    """
    plan = {"frequencies_hz": [30e9], "speeds": [float(one) for one in speeds]}
    jobs = [(f"a{place}", {"lens.radius": 1e-3 * (8.0 + 12.0 * place / population)}) for place in range(population)]
    rows = []
    for policy in policies:
        settings = ClusterSettings(dashboard=False, workers={"cpu": len(speeds)}, dispatch=policy, target_time=TARGET_S)
        with DaskFarm(null_evaluate, family="none", plan=plan, cluster=settings) as farm:
            timed, _ = _timed(farm, jobs, repeat)
        rows.append(
            {
                "combination": " + ".join(f"{one:g}/s" for one in speeds),
                "workers": len(speeds),
                "threads": 1,
                "policy": policy,
                "backend": "none",
                "device": "simulated",
                "simulated": True,
                **timed,
                "of_ideal": timed["antennas_per_s"] / sum(speeds),
            }
        )
        _tell(told, rows[-1])
    best_of(rows)["best"] = True
    return rows


def best_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the fastest row; of rows within its spread the first, which is the simplest."""
    fastest = max(rows, key=lambda row: row["antennas_per_s"])
    bound = fastest["antennas_per_s"] * (1.0 - fastest["spread"])
    return next(row for row in rows if row["antennas_per_s"] >= bound)


def cluster_lines(row: Mapping[str, Any]) -> list[str]:
    """Write a row's combination as the table `[cluster]` of an experiment."""
    workers = row["workers"]
    if isinstance(workers, Mapping):
        workers = "{ " + ", ".join(f"{kind} = {count}" for kind, count in workers.items()) + " }"
    lines = ["[cluster]", f"workers = {workers}", f"threads = {row['threads']}", f'dispatch = "{row["policy"]}"']
    return lines + ([f'target_time = "{TARGET_S:g} s"'] if row["policy"] == "assignment" else [])


def _row(
    experiment: Experiment,
    plan: Mapping[str, Any],
    jobs: Sequence[Job],
    combination: Combination,
    policy: str,
    repeat: int,
) -> dict[str, Any]:
    settings = ClusterSettings(
        dashboard=False, workers=combination.workers, threads=combination.threads, dispatch=policy, target_time=TARGET_S
    )
    family, backend = experiment.family, combination.backend
    with DaskFarm(evaluator_of(family), family=family, plan=plan, backend=backend, cluster=settings) as farm:
        timed, updates_per_s = _timed(
            farm, jobs, repeat, 1 if combination.cuda else combination.threads, cell_count(plan)
        )
        hardware = hardware_name(farm.device, combination)
    return {
        "combination": str(combination),
        "workers": combination.workers,
        "threads": combination.threads,
        "policy": policy,
        "backend": backend,
        "device": hardware,
        "simulated": False,
        "shape": shape_of(plan),
        **timed,
        "million_cell_steps_per_s": 1e-6 * updates_per_s,
    }


def hardware_name(device: Mapping[str, Any] | None, combination: Combination) -> str:
    """Name what a combination's workers solve with: the devices, the processor, or both.

    Args:
        device: As `Farm.device`; None without devices.
        combination: Whose workers.
    """
    names = [] if device is None else [str(device["device"])]
    return "; ".join(names + ([processor_name()] if combination.cpu or not names else []))


def _jobs(experiment: Experiment, count: int) -> list[Job]:
    """Draw designs, the same for every combination."""
    draw = random.Random(experiment.seed)
    genes = experiment.genes
    genomes = [[draw.random() for _ in genes] for _ in range(count)]
    return [(f"a{place}", experiment.design(decode(genes, one))) for place, one in enumerate(genomes)]


def _timed(
    farm: DaskFarm, jobs: Sequence[Job], repeat: int, threads: int = 1, cells: int = 0
) -> tuple[dict[str, Any], float]:
    """Solve a generation several times; return the rate, each worker's part, and cell-steps a second.

    `cells` are those of an antenna whose outcome does not say: antennas in space have lattices of their own.
    """
    walls: list[float] = []
    outcomes: list[Outcome] = []
    used = [0.0, 0.0]
    for generation in range(repeat + 1):
        if generation == 1:
            used = _used(farm)
        began = time.perf_counter()
        done = [outcome for _, outcome in farm.run(farm.cut(jobs))]
        if generation:
            walls.append(time.perf_counter() - began)
            outcomes += done
    ours, everything = (after - before for before, after in zip(used, _used(farm), strict=True))
    available = threads * sum(walls)
    middle, spread = typical(walls)
    by_worker = []
    for worker in sorted({one.worker or "" for one in outcomes}):
        mine = [one for one in outcomes if (one.worker or "") == worker]
        by_worker.append(
            {
                "worker": worker,
                "device": mine[0].device,
                "antennas": len(mine),
                "stepping": sum(one.stepping_seconds or 0.0 for one in mine) / available,
                "solving": sum(one.seconds or 0.0 for one in mine) / available,
            }
        )
    statuses = Counter(one.status for one in outcomes)
    found = {
        "population": len(jobs),
        "antennas_per_s": len(jobs) / middle,
        "spread": spread,
        "generation_seconds": walls,
        "statuses": dict(sorted(statuses.items())),
        "stepping_share": min(sum(one["stepping"] for one in by_worker) / farm.worker_count, 1.0),
        "by_worker": by_worker,
        "other_cores": max(everything - ours, 0.0) / sum(walls),
        "best": False,
    }
    return found, sum((one.cells or cells) * (one.steps or 0) for one in outcomes) / repeat / middle


def _used(farm: DaskFarm) -> list[float]:
    """Processor time so far, s: of the driver and the workers, and of all that runs on this machine."""
    return [time.process_time() + sum(farm.ask(time.process_time)), busy_seconds()]


def _tell(told: Log | None, row: Mapping[str, Any]) -> None:
    if told is not None:
        told(
            f"{'simulated ' if row['simulated'] else ''}{row['combination']}, {row['policy']}: "
            f"{row['antennas_per_s']:.3g} antennas/s (+-{row['spread']:.0%}), {row['stepping_share']:.0%} stepping"
        )
