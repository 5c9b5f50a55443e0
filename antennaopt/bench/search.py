"""Search quality: compare algorithms at the same budget over several seeds, and simulate a farm on its own clock.

On that clock every antenna is solved in this process and takes as long as its worker needs for it. What a search finds
with a number of workers, and what a dispatch policy makes of devices and cores, is the same on every machine. Sending,
breeding and storing cost nothing on it.
"""

from __future__ import annotations

import heapq
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.errors import TooManyFailuresError
from antennaopt.farm.batches import Batch
from antennaopt.farm.farm import PoolFarm
from antennaopt.farm.interface import Assignment, Farm, Pool, Result, Worker
from antennaopt.farm.replies import pack_outcomes
from antennaopt.run.driver import Driver
from antennaopt.run.interfaces import NOT_KEPT, Evaluation, Interfaces, Recalled, Store
from antennaopt.run.planning import figuring, plan_for
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import GenerationReport, Progress
from antennaopt.run.start import open_farm
from antennaopt.search import ALGORITHMS, Stop, new_search
from antennaopt.search.objectives import Ranking
from antennaopt.solve.cuts import PATTERN
from antennaopt.solve.outcome import Outcome

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

PAIR = ("ga", "random")


class Discard(Store):
    """A store for searches whose rows are not read; it keeps what a duplicate may be copied from."""

    def __init__(self) -> None:
        self._kept: Recalled = {}

    def write_generation(self, generation: int, evaluations: Sequence[Evaluation]) -> None:
        """Keep the outcomes without their patterns."""
        for one in evaluations:
            self._kept[one.candidate.individual] = one.candidate.genome, one.outcome.without(*NOT_KEPT)

    def recall(self, individuals: Iterable[str]) -> Recalled:
        """Return genome and outcome of individuals."""
        return {name: self._kept[name] for name in individuals if name in self._kept}


def bench_search(
    experiment: Experiment,
    *,
    seeds: Sequence[int] = tuple(range(1, 11)),
    backend: str = "cpu",
    scheduler: str | None = None,
    progress: Progress | None = None,
    farm: Farm | None = None,
) -> list[dict[str, Any]]:
    """Run the genetic algorithm and random search for each seed on an experiment's problem, without other stops.

    Both start from the same random first generation and solve at most the same number of antennas.

    Args:
        experiment: From `load_experiment`; its own seed and algorithm are left out of account.
        seeds: One pair of searches each.
        backend: What solves.
        scheduler: Address of a running Dask scheduler, or None for the experiment's own cluster.
        progress: Gets one line a search.
        farm: Solves; None opens the experiment's.

    Returns:
        One row a seed: `seed`, `ga_best_fitness`, `random_best_fitness`, `ga_wins`, evaluations and seconds of
        each, and `wins` so far.
    """
    if farm is None:
        with open_farm(experiment, backend=backend, scheduler=scheduler) as opened:
            return bench_search(experiment, seeds=seeds, progress=progress, farm=opened)
    shown = progress or Progress()
    rows: list[dict[str, Any]] = []
    wins = 0
    for seed in seeds:
        row: dict[str, Any] = {"experiment": experiment.name, "seed": seed}
        for algorithm in PAIR:
            began = time.monotonic()
            found = _searched(experiment, algorithm, seed, farm, Progress())
            row |= {f"{algorithm}_{name}": value for name, value in found.items()}
            row[f"{algorithm}_seconds"] = time.monotonic() - began
        row["ga_wins"] = row["ga_best_fitness"] < row["random_best_fitness"]
        wins += row["ga_wins"]
        row["wins"] = wins
        rows.append(row)
        shown.note(
            f"seed {seed}: ga {row['ga_best_fitness']:.4g}, random {row['random_best_fitness']:.4g}, "
            f"ga won {wins} of {len(rows)}"
        )
    return rows


def bench_waiting(
    experiment: Experiment,
    *,
    workers: Sequence[int],
    seeds: Sequence[int] = tuple(range(1, 11)),
    algorithms: Sequence[str] = ("ga", "steady_state"),
    backend: str = "cpu",
    progress: Progress | None = None,
    evaluate: Any = None,
) -> list[dict[str, Any]]:
    """Run searches on a clock of their own, with a given number of workers; an antenna takes as long as its steps.

    All solve the same number of antennas, that of the experiment's generational search. An antenna of several
    searches is solved once here, and costs each of them its time.

    Args:
        experiment: From `load_experiment`; its own seed and algorithm are left out of account.
        workers: Numbers of workers.
        seeds: A search each, of every algorithm with every number of workers.
        algorithms: `ga`, `random`, `steady_state`.
        backend: What solves, in this process.
        progress: Gets one line a seed and number of workers.
        evaluate: Solves a batch; by FDTD when None.

    Returns:
        One row a search: `experiment`, `seed`, `workers`, `algorithm`, `best_fitness`, `best_individual`,
        `evaluations`, `utilisation` (share of the workers' time that they solved), `steps` (time from start to end,
        in steps of one antenna), and `history`: evaluations and best fitness so far after each generation.
    """
    shown = progress or Progress()
    if evaluate is None:
        from antennaopt.solve.evaluate import evaluate
    solve = Solved(experiment, plan_for(experiment), backend, evaluate)
    rows = []
    for seed in seeds:
        for count in workers:
            for algorithm in algorithms:
                farm, history = TimedFarm(solve, count), _History()
                found = _searched(experiment, algorithm, seed, farm, history)
                about = {"experiment": experiment.name, "seed": seed, "workers": count, "algorithm": algorithm}
                time_of_it = {"utilisation": farm.utilisation, "steps": farm.now}
                rows.append(about | found | time_of_it | {"history": history.points})
            said = (
                f"{row['algorithm']} {row['best_fitness']:.4g} ({row['utilisation']:.0%})"
                for row in rows[-len(algorithms) :]
            )
            shown.note(f"seed {seed}, {count} workers: {', '.join(said)}")
    return rows


def waiting_summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sum the rows of `bench_waiting` up: one row a number of workers and algorithm.

    Returns:
        `workers`, `algorithm`, `searches`, median and quartiles of `best_fitness`, medians of `utilisation` and
        `steps`, and `wins`: seeds for which it was strictly the best of its row's algorithms.
    """
    best = {(row["workers"], row["seed"], row["algorithm"]): row["best_fitness"] for row in rows}
    groups: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["workers"], row["algorithm"]), []).append(row)
    return [_summed(mine, best) for mine in groups.values()]


def _summed(mine: Sequence[Mapping[str, Any]], best: Mapping[tuple[int, int, str], float]) -> dict[str, Any]:
    count, algorithm = mine[0]["workers"], mine[0]["algorithm"]
    low, middle, high = np.quantile([row["best_fitness"] for row in mine], (0.25, 0.5, 0.75)).tolist()
    others = {name for _, _, name in best if name != algorithm}
    wins = [all(row["best_fitness"] < best[count, row["seed"], other] for other in others) for row in mine]
    return {
        "workers": count,
        "algorithm": algorithm,
        "searches": len(mine),
        **{name: float(np.median([row[name] for row in mine])) for name in ("evaluations", "utilisation", "steps")},
        "best_fitness_median": middle,
        "best_fitness_quartiles": [low, high],
        "wins": sum(wins),
    }


class _History(Progress):
    """Notes the best so far after each generation."""

    def __init__(self) -> None:
        self.points: list[tuple[int, float | None]] = []

    def generation_done(self, report: GenerationReport) -> None:
        """Note it."""
        self.points.append((report.evaluations, report.best))


def _searched(experiment: Experiment, algorithm: str, seed: int, farm: Farm, progress: Progress) -> dict[str, Any]:
    """Carry one search through, with the budget of the generational one."""
    settings = replace(experiment.evolution.settings, algorithm="ga", stop=Stop(goals=False))
    budget = settings.most_evaluations
    if not ALGORITHMS[algorithm].keeps_elites:
        settings = replace(settings, generations=-(-budget // settings.population))
    settings = replace(settings, algorithm=algorithm, stop=Stop(evaluations=budget, goals=False))
    search = new_search(settings, experiment.genes, seed, order=Ranking.of(experiment.goals))
    interfaces = Interfaces(
        objectives=experiment.goals,
        design=experiment.design,
        figured=figuring(experiment),
        farm=farm,
        store=Discard(),
        progress=progress,
        signals=StopSignals(),
    )
    Driver(search, interfaces).run()
    best = search.best()
    if best is None:
        raise TooManyFailuresError(f"no antenna of the {algorithm} search with seed {seed} was ok")
    return {
        "best_fitness": best.fitness,
        "best_individual": best.candidate.individual,
        "evaluations": search.evaluations,
    }


Solve = Callable[[Mapping[str, float]], Outcome]

Duration = Callable[[str, Sequence[Outcome]], float]
"""How long a worker, by its address, takes for the outcomes of a batch."""


class Solved:
    """Solves designs, each once, and keeps their outcomes."""

    def __init__(self, experiment: Experiment, plan: Mapping[str, Any], backend: str, evaluate: Any) -> None:
        self._about = (evaluate, experiment.family, dict(plan), backend)
        self._known: dict[bytes, Outcome] = {}

    def __call__(self, design: Mapping[str, float]) -> Outcome:
        """Return a design's outcome."""
        key = struct.pack(f"<{len(design)}d", *design.values())
        if key not in self._known:
            evaluate, family, plan, backend = self._about
            outcome = evaluate(family, [dict(design)], plan, backend=backend)[0]
            self._known[key] = Outcome.of(outcome).without(*PATTERN)
        return self._known[key]


class TimedPool(Pool):
    """Workers that solve one batch after the other, on a clock that stands still in between.

    Attributes:
        now: Time on that clock.
        solving: Summed over the workers, time that they solved.
        dealt: Number of antennas in each batch, by worker.
    """

    def __init__(self, solve: Solve, workers: Mapping[str, Worker], duration: Duration, *, timed: bool = True) -> None:
        """Start at time 0 with all workers free.

        Args:
            solve: Returns a design's outcome.
            workers: By address.
            duration: How long a batch takes.
            timed: Whether replies hold the time of a batch, so that speeds are measured.
        """
        self.now = 0.0
        self.solving = 0.0
        self.dealt: dict[str, list[int]] = {address: [] for address in workers}
        self._solve, self._workers, self._duration, self._timed = solve, dict(workers), duration, timed
        self._free_at = dict.fromkeys(workers, 0.0)
        self._in_flight: list[tuple[float, int, Result]] = []
        self._sent = 0

    def workers(self) -> Mapping[str, Worker]:  # noqa: D102
        return self._workers

    def submit(self, assignments: Sequence[Assignment], plan: Mapping[str, Any]) -> None:  # noqa: D102
        for one in assignments:
            outcomes = [self._solve(design) for _, design in one.batch.jobs]
            duration = self._duration(one.address, outcomes)
            begin = max(self._free_at[one.address], self.now)  # a device steps its second batch after the first
            self._free_at[one.address] = begin + duration
            self.solving += duration
            self.dealt[one.address].append(len(outcomes))
            seconds = begin + duration - self.now if self._timed else 0.0
            reply = {**pack_outcomes(outcomes), "seconds": seconds, "worker": one.address}
            self._sent += 1
            result = Result(batch=one.batch, address=one.address, reply=reply)
            heapq.heappush(self._in_flight, (begin + duration, self._sent, result))

    def results(self, timeout_s: float) -> list[Result]:  # noqa: D102
        if not self._in_flight:
            return []
        self.now, _, result = heapq.heappop(self._in_flight)
        return [result]

    def cancel(self, batches: Iterable[Batch]) -> None:  # noqa: D102
        gone = {id(one) for one in batches}
        self._in_flight = [one for one in self._in_flight if id(one[2].batch) not in gone]
        heapq.heapify(self._in_flight)

    def ask(self, question: Callable[..., Any], *arguments: Any, limit_s: float | None = None) -> list[Any]:  # noqa: D102
        return [question(*arguments)]


class TimedFarm(PoolFarm):
    """Workers alike that solve a batch each at a time; the clock counts steps of one antenna."""

    def __init__(self, solve: Solve, workers: int) -> None:
        """Start at time 0 with all workers free.

        Args:
            solve: Returns a design's outcome, with its `steps`.
            workers: How many there are.
        """
        there = {f"{place:06d}": Worker() for place in range(workers)}
        super().__init__(TimedPool(solve, there, _steps, timed=False), (_no_evaluation, "", "cpu"), {})
        self._solve = solve

    @property
    def now(self) -> float:
        """Time on the clock, in steps of one antenna."""
        return self.pool.now

    @property
    def utilisation(self) -> float:
        """Share of the workers' time that they solved."""
        return self.pool.solving / (self.now * self.worker_count) if self.now else 0.0

    def solve_alone(self, design: Mapping[str, float], plan: Mapping[str, Any], **options: Any) -> Outcome:
        """Return one antenna's outcome."""
        return self._solve(design)


def _steps(address: str, outcomes: Sequence[Outcome]) -> float:
    return float(sum(outcome.steps or 1 for outcome in outcomes))


def _no_evaluation(*_: Any, **__: Any) -> Sequence[Outcome]:
    raise AssertionError("outcomes are made in this process")
