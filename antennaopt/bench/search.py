"""Search quality: the genetic algorithm against random search with the same budget, over several seeds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from antennaopt.errors import TooManyFailuresError
from antennaopt.evolution import Evolution, EvolutionSettings, Stop
from antennaopt.objectives import build
from antennaopt.study import NOT_KEPT, Driver, Evaluation, Farm, Progress, Quiet, Recalled, StopSignals, open_farm

ALGORITHMS = ("ga", "random")


class Discard:
    """A store for searches whose rows nobody will read; it keeps what a twin may be copied from."""

    def __init__(self) -> None:
        self._kept: Recalled = {}

    def write_generation(self, generation: int, evaluations: Sequence[Evaluation]) -> None:
        """Keep the outcomes without their patterns."""
        for one in evaluations:
            outcome = {key: value for key, value in one.outcome.items() if key not in NOT_KEPT}
            self._kept[one.candidate.individual] = one.candidate.genome, outcome

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
    experiment: Any,
    *,
    seeds: Sequence[int] = tuple(range(1, 11)),
    backend: str = "cpu",
    scheduler: str | None = None,
    progress: Progress | None = None,
    farm: Farm | None = None,
) -> list[dict[str, Any]]:
    """Run both algorithms for each seed on an experiment's problem, without stops but the number of generations.

    Both start from the same random first generation and solve at most the same number of antennas.

    Args:
        experiment: From `load_experiment`; its own seed and algorithm are left out of account.
        seeds: One pair of searches each.
        backend: What solves.
        scheduler: Address of a running Dask scheduler, or None for the experiment's own cluster.
        progress: Told one line a search.
        farm: Solves; None opens the experiment's.

    Returns:
        One row a seed: `seed`, `ga_best_fitness`, `random_best_fitness`, `ga_wins`, evaluations and seconds of
        each, and `wins` so far.
    """
    if farm is None:
        with open_farm(experiment, backend=backend, scheduler=scheduler) as opened:
            return bench_search(experiment, seeds=seeds, progress=progress, farm=opened)
    told = progress or Quiet()
    rows: list[dict[str, Any]] = []
    wins = 0
    for seed in seeds:
        row: dict[str, Any] = {"experiment": experiment.name, "seed": seed}
        for algorithm in ALGORITHMS:
            row |= _search(experiment, algorithm, seed, farm)
        row["ga_wins"] = row["ga_best_fitness"] < row["random_best_fitness"]
        wins += row["ga_wins"]
        row["wins"] = wins
        rows.append(row)
        told.note(
            f"seed {seed}: ga {row['ga_best_fitness']:.4g}, random {row['random_best_fitness']:.4g}, "
            f"ga won {wins} of {len(rows)}"
        )
    return rows


def _search(experiment: Any, algorithm: str, seed: int, farm: Farm) -> dict[str, Any]:
    resolved = experiment.resolved()
    settings = replace(EvolutionSettings.from_dict(resolved["evolution"]), algorithm=algorithm, stop=Stop())
    evolution = Evolution(settings, experiment.genes, seed)
    driver = Driver(
        evolution=evolution,
        objectives=build(resolved["objectives"]),
        design=experiment.design,
        farm=farm,
        store=Discard(),
        progress=Quiet(),
        signals=StopSignals(),
    )
    began = time.monotonic()
    driver.run()
    if evolution.best is None:
        raise TooManyFailuresError(f"no antenna of the {algorithm} search with seed {seed} was ok")
    return {
        f"{algorithm}_best_fitness": evolution.best.fitness,
        f"{algorithm}_best_individual": evolution.best.candidate.individual,
        f"{algorithm}_evaluations": evolution.evaluations,
        f"{algorithm}_seconds": time.monotonic() - began,
    }
