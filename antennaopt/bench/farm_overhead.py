"""Cost of a run without solving: whole runs with no antennas solved, or with workers that sleep."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.bench.null_solver import null_evaluate
from antennaopt.bench.runner import busy_seconds
from antennaopt.experiment import Cluster
from antennaopt.machine import processor_name
from antennaopt.run.progress import Progress
from antennaopt.run.start import open_farm, run
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.stepping import stepping_of

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

POPULATION = 2112
BATCH = 64
BATCHES_OF_A_WORKER = 2
"""At a time, as on a device: while one is stepped the next is sent and the last one's outcomes come back."""

STEPPING_S = 0.002
"""That an antenna pretends to be stepped: two workers then solve 1,000/s, three times what an H200 does."""

STEPPED_GENERATIONS = 6
WARM = 0.1
"""Part of the evaluations after which a run's memory is compared with itself."""


def bench_overhead(
    experiment: Experiment,
    *,
    evaluations: int = 50_000,
    population: int = POPULATION,
    workers: int = 2,
    batch: int = BATCH,
    stepping_s: float = STEPPING_S,
    told: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """Time whole runs (breed, submit, gather, score, store, checkpoint) with `null_evaluate` in place of the solver.

    Args:
        experiment: From `load_experiment`: genes, objectives, operators; the rest of it is replaced.
        evaluations: Of the run that steps nothing, at least.
        population: Antennas a generation.
        workers: Processes.
        batch: Antennas a batch.
        stepping_s: That an antenna takes in the other run, s; its worker sleeps meanwhile.
        told: Told one line a run.

    Returns:
        Two rows. `case` "nothing is stepped": `evaluations_per_s`, the median over the generations but the first, and
        `spread`, half of the range between its quartiles; processor time an evaluation of the driver and of the
        workers, `driver_us` and `workers_us`, and `allowed_per_s`, the rate at which the driver fills its core or both
        as many cores as there are workers; `memory_mib`, pairs of evaluations and the driver's memory, and
        `memory_growth`, the largest after a tenth of the run over that at a tenth, less 1. `case` "stepping":
        `seconds_beside`, the median over the generations of the wall time that the busiest worker did not step. Both:
        `other_cores`, how many cores were busy with what is not ours, on average; with more than a tenth of one,
        figures are not to be quoted.
    """
    generations = -(-evaluations // population) + 1
    about = {"device": processor_name(), "workers": workers, "population": population, "batch": batch}
    watch, _ = _null_run(experiment, population, generations, workers, batch, 0.0)
    rows = [{"case": "nothing is stepped", **about, **watch.rates(workers)}]
    if told is not None:
        told(_rate_line(rows[0]))
    watch, beside = _null_run(experiment, population, STEPPED_GENERATIONS, workers, batch, stepping_s)
    counted = list(beside.values())[1:]
    rows.append(
        {
            "case": "stepping",
            **about,
            "seconds_an_antenna": stepping_s,
            "generations": len(counted),
            "seconds_beside": statistics.median(counted),
            "seconds_beside_range": [min(counted), max(counted)],
            "other_cores": watch.other_cores,
        }
    )
    if told is not None:
        told(f"stepping: {rows[1]['seconds_beside']:.3f} s a generation of {population} beside it")
    return rows


@dataclass
class _Watch(Progress):
    """Reads clocks and the driver's memory after every generation."""

    farm: Any = None
    walls: list[float] = field(default_factory=list)
    solved: list[int] = field(default_factory=list)
    memory_mib: list[float] = field(default_factory=list)
    used: list[tuple[float, float, float]] = field(default_factory=list)

    def generation_done(self, report: Any) -> None:
        """Note how far it is; the workers are asked once, at the start."""
        self.walls.append(report.seconds)
        self.solved.append(report.evaluations)
        self.memory_mib.append(resident_mib())
        if not self.used:
            self.look()

    def look(self) -> None:
        """Note processor times: ours, the workers', everybody's."""
        workers = sum(self.farm.ask(time.process_time))
        self.used.append((time.process_time(), workers, busy_seconds()))
        self.moment = time.monotonic()

    def close(self) -> None:
        """Note them again, at the end of the search and while the workers are there."""
        if len(self.used) == 1:
            began = self.moment
            self.look()
            self.wall = self.moment - began

    @property
    def other_cores(self) -> float:
        """How many cores were busy with what is not ours."""
        driver, workers, busy = (after - before for before, after in zip(*self.used, strict=True))
        return max(busy - driver - workers, 0.0) / self.wall

    def rates(self, cores: int) -> dict[str, Any]:
        """What `bench_overhead` says of a run that steps nothing."""
        rates = [
            (after - before) / wall for (before, after), wall in zip(pairwise(self.solved), self.walls[1:], strict=True)
        ]
        quartiles = statistics.quantiles(rates, n=4) if len(rates) > 1 else [rates[0]] * 3
        driver, workers, _ = (after - before for before, after in zip(*self.used, strict=True))
        count = self.solved[-1] - self.solved[0]
        warm = next(place for place, done in enumerate(self.solved) if done >= WARM * self.solved[-1])
        return {
            "evaluations": self.solved[-1],
            "evaluations_per_s": statistics.median(rates),
            "spread": (quartiles[2] - quartiles[0]) / 2 / quartiles[1],
            "driver_us": 1e6 * driver / count,
            "workers_us": 1e6 * workers / count,
            "allowed_per_s": count / max(driver, (driver + workers) / cores),  # one process drives
            "other_cores": self.other_cores,
            "memory_growth": max(self.memory_mib[warm:]) / self.memory_mib[warm] - 1.0,
            "memory_mib": [list(pair) for pair in zip(self.solved, self.memory_mib, strict=True)],
        }


def _null_run(
    experiment: Experiment, population: int, generations: int, workers: int, batch: int, stepping_s: float
) -> tuple[_Watch, Mapping[int, float]]:
    """Carry out one run in a temporary folder; return its watch and, by generation, the seconds not spent stepping."""
    changed = experiment.changed(
        evolution={"population": population, "generations": generations},
        cluster=Cluster(workers=workers, threads=BATCHES_OF_A_WORKER, batch_size=batch),
        certificate={"mode": "off"},
    )
    watch = _Watch()
    frequencies = list(experiment.solver.frequencies)
    plan = {"nr": 256, "nz": 320, "frequencies_hz": frequencies, "seconds": stepping_s}

    def opened(*given: Any, **settings: Any) -> Any:
        watch.farm = open_farm(*given, **settings)
        return watch.farm

    with tempfile.TemporaryDirectory(prefix="antennaopt-bench-") as root:
        about: dict[str, Any] = {"plan": plan, "evaluate": null_evaluate, "farm": opened, "progress": watch}
        summary = run(changed, root=root, report=False, cache="off", **about)
        stepping = stepping_of(RunFolder.open(summary.folder))
    return watch, stepping.beside if stepping else {}


def resident_mib() -> float:
    """Return how much memory this process has, MiB; 0 where the system does not say."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return 0.0


def _rate_line(row: Mapping[str, Any]) -> str:
    memory: Sequence[Sequence[float]] = row["memory_mib"]
    return (
        f"nothing is stepped: {row['evaluations_per_s']:.0f} evaluations/s (processor time would allow "
        f"{row['allowed_per_s']:.0f}), memory {memory[-1][1]:.0f} MiB after {row['evaluations']}"
    )
