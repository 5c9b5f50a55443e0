"""Search quality: algorithms against each other with the same budget, over several seeds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.bench.timed_farm import Solved, TimedFarm
from antennaopt.errors import TooManyFailuresError
from antennaopt.run import (
    NOT_KEPT,
    Driver,
    Evaluation,
    Farm,
    GenerationReport,
    Interfaces,
    Progress,
    Quiet,
    Recalled,
    StopSignals,
    open_farm,
    plan_for,
)
from antennaopt.search import ALGORITHMS, Stop, new_search
from antennaopt.search.objectives import Ranking

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

PAIR = ("ga", "random")


class Discard:
    """A store for searches whose rows are not read; it keeps what a duplicate may be copied from."""

    def __init__(self) -> None:
        self._kept: Recalled = {}

    def write_generation(self, generation: int, evaluations: Sequence[Evaluation]) -> None:
        """Keep the outcomes without their patterns."""
        for one in evaluations:
            self._kept[one.candidate.individual] = one.candidate.genome, one.outcome.without(*NOT_KEPT)

    def history(self, generations: int) -> list[tuple[str, tuple[float, ...], str]]:
        """Return nothing: such a search is not resumed."""
        return []

    def recall(self, individuals: Iterable[str]) -> Recalled:
        """Return genome and outcome of individuals."""
        return {name: self._kept[name] for name in individuals if name in self._kept}

    def patterns(self, individual: str) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def flush(self) -> None:
        """Nothing waits."""

    def checkpoint(self, generation: int, state: Mapping[str, Any]) -> None:
        """Keep nothing."""

    def completed(self, place: int, name: str, births: int) -> None:
        """Keep nothing."""

    def order(self, place: int) -> list[tuple[str, int]]:
        """Return nothing."""
        return []

    def log(self, event: str, **fields: Any) -> None:
        """Keep nothing."""


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
    shown = progress or Quiet()
    rows: list[dict[str, Any]] = []
    wins = 0
    for seed in seeds:
        row: dict[str, Any] = {"experiment": experiment.name, "seed": seed}
        for algorithm in PAIR:
            began = time.monotonic()
            found = _searched(experiment, algorithm, seed, farm, Quiet())
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
    shown = progress or Quiet()
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


class _History(Quiet):
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
