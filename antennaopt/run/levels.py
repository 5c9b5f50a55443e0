"""Runs on several lattices: their plans, a farm that uses the lattice of each generation, and the choice of `auto`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.errors import ResumeRefusedError
from antennaopt.farm.batches import Job
from antennaopt.farm.interface import Farm, ForwardingFarm, Known, More, Solving
from antennaopt.quantities import format_length
from antennaopt.run.planning import coarser_plans_for, figuring, search_of
from antennaopt.search import Search, decode
from antennaopt.search.objectives import shortfalls
from antennaopt.settings import Stop
from antennaopt.solve.outcome import Outcome
from antennaopt.store.checkpoint import canonical, digest
from antennaopt.store.levels import coarser_plans

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

Plan = Mapping[str, Any]

SAMPLE = 32
"""Antennas that `auto` compares, drawn as the first generation is. A rank correlation of 0.95 of so many has a standard
error of 0.018, so that a level that is taken has more than 0.9 with a probability of 99 %."""

ENOUGH = 0.95
"""Least rank correlation with the solver's cells of a level that `auto` takes. The finish on fine cells mends what is
wrong among the best; a level that ranks random antennas wrongly breeds from the wrong ones."""

FEWEST = 12
"""Antennas that must be `ok` on both lattices for a correlation to count."""


class LevelFarm(ForwardingFarm):
    """A farm that solves each generation of a search on the lattice of its level."""

    def __init__(self, farm: Solving, plans: Sequence[Plan], search: Search) -> None:
        """Stand in front of a farm.

        Args:
            farm: Solves.
            plans: One a level, the coarsest first.
            search: Whose generations they are.
        """
        super().__init__(farm)
        self._plans, self._search = plans, search

    def run(
        self,
        batches: Iterable[Sequence[Job]],
        *,
        plan: Plan | None = None,
        known: Known | None = None,
        more: More | None = None,
    ) -> Iterator[tuple[str, Outcome]]:
        """Solve with the plan of the generation under way, unless another one is given."""
        level = self._search.level_of(self._search.generation)
        plan = self._plans[level] if plan is None else plan
        return self._farm.run(batches, plan=plan, known=known, more=more)

    def submit(self, batches: Iterable[Sequence[Job]]) -> None:  # noqa: D102
        self._farm.submit(batches)


def at_levels(farm: Solving, plans: Sequence[Plan], search: Search) -> Solving:
    """Return a farm that solves each generation on its level's lattice; the farm itself where there is one level."""
    return LevelFarm(farm, plans, search) if len(plans) > 1 else farm


def plans_of(manifest: Mapping[str, Any], plan: Plan) -> list[Plan]:
    """Return the plans of a run's levels, the coarsest first.

    Args:
        manifest: Of the run.
        plan: Of the finest level.

    Raises:
        ResumeRefusedError: They are not those that the run began with.
    """
    coarser = coarser_plans(manifest)
    if coarser and manifest["fidelity"].get("plans_sha256") != digest(canonical(coarser)):
        raise ResumeRefusedError(
            "manifest.json is damaged: the plans of fidelity are not those that the run began with; restore it from a "
            "copy"
        )
    return [*coarser, plan]


def search_on(experiment: Experiment, manifest: Mapping[str, Any], genomes: Sequence[Any] = ()) -> Search:
    """Return the search of a run that has begun, before its first generation, for reading its checkpoint."""
    return search_of(experiment, genomes, [*coarser_plans(manifest), manifest["plan"]])


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The levels of a run, and what they were chosen by.

    Attributes:
        plans: Of the levels below the finest, the coarsest first.
        measured: Of `auto`: `correlations` by cell in m, antennas compared, seconds that solving them took; else None.
    """

    plans: list[dict[str, Any]]
    measured: dict[str, Any] | None = None

    def entries(self) -> dict[str, Any]:
        """Return its entries of the manifest."""
        if not self.plans and self.measured is None:
            return {}
        about: dict[str, Any] = {"plans": self.plans, "plans_sha256": digest(canonical(self.plans))}
        return {"fidelity": about if self.measured is None else {**about, "measured": self.measured}}

    def lines(self) -> list[str]:
        """Return lines of text: why these levels were chosen."""
        if self.measured is None:
            return []
        if not self.measured["antennas"]:
            return ["fidelity: no coarser cells are fine enough; no coarser cells are taken"]
        rows = [(format_length(one["cell"]), one["correlation"]) for one in self.measured["correlations"]]
        found = ", ".join(f"{cell} {'none' if value is None else f'{value:.3f}'}" for cell, value in rows)
        taken = f"cells of {rows[-1][0]} are taken" if self.plans else "no coarser cells are taken"
        return [
            f"fidelity: rank correlation with the solver's cells over {self.measured['antennas']} random "
            f"antennas: {found}; {taken} (at least {ENOUGH:g} is needed; "
            f"{self.measured['seconds']:.3g} s of solving)"
        ]


def choose(experiment: Experiment, farm: Farm, plan: Plan, *, made_up: bool = False) -> Choice:
    """Return the levels of a new run; of `auto` the coarsest candidate that ranks as the solver's cells do.

    The antennas that are compared are drawn as the first generation is, so that the choice depends on the seed alone.

    Args:
        experiment: From `load_experiment`.
        farm: Solves what `auto` compares.
        plan: Of the finest level.
        made_up: As for `coarser_plans_for`.
    """
    candidates = coarser_plans_for(experiment, plan, made_up=made_up)
    if experiment.fidelity is None or not experiment.fidelity.is_measured:
        return Choice(plans=candidates)
    if not candidates:
        about = {"correlations": [], "antennas": 0, "seconds": 0.0, "wall_seconds": 0.0}
        return Choice(plans=[], measured=about)
    fine, seconds = _fitness(experiment, farm, plan)
    began, found, taken = time.monotonic(), [], []
    for one in candidates:
        coarse, spent = _fitness(experiment, farm, one)
        seconds += spent
        correlation = rank_correlation(coarse, fine)
        found.append({"cell": one["cell"], "correlation": correlation})
        if correlation is not None and correlation >= ENOUGH:
            taken = [one]
            break
    about = {"correlations": found, "antennas": len(fine), "seconds": seconds, "wall_seconds": time.monotonic() - began}
    return Choice(plans=taken, measured=about)


def _fitness(experiment: Experiment, farm: Farm, plan: Plan) -> tuple[list[float | None], float]:
    """Return the fitness of the antennas that are compared, None unless `ok`, and the seconds that solving took."""
    search, figured = search_of(experiment), figuring(experiment)
    search.settings = replace(search.settings, population=max(search.settings.population, SAMPLE), stop=Stop())
    values = {one.individual: decode(experiment.genes, one.genome) for one in search.ask(SAMPLE)}
    jobs = [(name, experiment.design(one)) for name, one in values.items()]
    found: dict[str, float | None] = {}
    seconds = 0.0
    for name, outcome in farm.run(farm.cut(jobs, experiment.cluster.batch_size), plan=plan):
        seconds += outcome.seconds or 0.0
        missed = shortfalls(figured(Outcome.of(outcome), values[name]), experiment.goals)
        found[name] = search.fitness_of(outcome.status, missed) if outcome.ok else None
    return [found.get(name) for name in values], seconds


def rank_correlation(one: Sequence[float | None], other: Sequence[float | None]) -> float | None:
    """Return Spearman's rank correlation of the pairs of which both are there; None of too few, or of equal ones."""
    from scipy.stats import rankdata

    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    if len(pairs) < FEWEST:
        return None
    first, second = (rankdata(column) - (len(pairs) + 1) / 2 for column in zip(*pairs, strict=True))
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / scale if scale > 0.0 else None
