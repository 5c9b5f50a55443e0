"""Samples in a search: made copies of a generation's candidates are solved in rounds, and decide their fitness.

All candidates of a run have the same deviations, from the run's seed. A round's copies of all candidates go to the farm
together, and what follows is decided when all of them are back: the order of arrival decides nothing. See
`antennaopt.search.robust` for the schedule, and for the fitness.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antennaopt.farm.interface import Solving
from antennaopt.run.interfaces import NOT_KEPT, Evaluation, for_checkpoint
from antennaopt.run.progress import Progress
from antennaopt.search.objectives import Ranking, shortfalls
from antennaopt.search.perturbations import IN_A_SEARCH, deviations, impossible, perturbed
from antennaopt.search.robust import Aim, Sample, kept, next_count, settled
from antennaopt.solve.figures import with_figures
from antennaopt.solve.outcome import REPEATABLE, Outcome, fault_of
from antennaopt.store.made import MadeCopy, of_sample_key, sample_key

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

Designs = dict[tuple[str, int], dict[str, float]]
FEWEST = 2
"""Places that matter, at least: as many candidates of a generation have all of their samples."""

WORTH = 4
"""A round has at least this part of a population, 1/4, or all samples that are left: a device is slow on few."""


class Sampling:
    """Takes samples of a generation whose candidates are solved."""

    def __init__(self, experiment: Experiment, plan: Mapping[str, Any]) -> None:
        """Draw the deviations of the run.

        Args:
            experiment: With `tolerance.samples` above 0.
            plan: Of the run's antennas. Copies have no limits of making, which are rules for drawings.
        """
        assert experiment.tolerance is not None  # noqa: S101 - `sampling_of` looks
        self._tolerance, self._experiment = experiment.tolerance, experiment
        self._drawn = deviations(self._tolerance, self._tolerance.samples, experiment.seed, stream=IN_A_SEARCH)
        order = Ranking.of(experiment.goals)
        self._fitness_of = order.fitness
        self._aim = Aim(self._tolerance.aim, self._tolerance.samples, self._tolerance.quantile, order.worst)
        self._fewest = max(FEWEST, experiment.evolution.elites)
        self._least = experiment.evolution.population // WORTH
        self._plan = {name: value for name, value in plan.items() if name != "limits"} if "limits" in plan else None
        self._solved: dict[str, Outcome] = {}
        self._made: dict[str, list[MadeCopy]] = {}
        self._seconds = 0.0

    def spent(self) -> float:
        """Return the time that the samples since the last call took, s, summed over the workers."""
        spent, self._seconds = self._seconds, 0.0
        return spent

    def held(self) -> dict[str, dict[str, Any]]:
        """Return what is solved of a generation that is not complete, for a checkpoint."""
        plain = {name: for_checkpoint(outcome) for name, outcome in self._solved.items()}
        return {name: one for name, one in plain.items() if one is not None}

    def restore(self, held: Mapping[str, Any]) -> None:
        """Go on from what `held` returned.

        Raises:
            ValueError: It is none of that.
        """
        self._solved = {}
        for name, plain in held.items():
            outcome = Outcome.of(plain)
            fault = fault_of(outcome)
            if of_sample_key(name) is None or fault is not None:
                raise ValueError(f"the outcome of {name} is none that a farm gives: {fault or 'it is no sample'}")
            self._solved[name] = outcome

    def carry_out(
        self, block: Mapping[str, Evaluation], farm: Solving, batch_size: int | str, told: Progress
    ) -> dict[str, Evaluation] | None:
        """Sample a generation.

        Args:
            block: Its candidates by id, all solved.
            farm: Solves.
            batch_size: Antennas a batch, or `auto`.
            told: Is told of each round, and of each copy.

        Returns:
            The candidates with their samples, and the fitness of these; None when the farm was drained before.
        """
        first: dict[tuple[float, ...], str] = {}
        for name, one in block.items():
            if one.outcome.ok:
                first.setdefault(tuple(one.values.values()), name)
        fitness = self._race({name: block[name] for name in first.values()}, farm, batch_size, told)
        if fitness is None:
            return None
        self._solved = {}
        return {name: self._sampled(one, first.get(tuple(one.values.values())), fitness) for name, one in block.items()}

    def _sampled(self, one: Evaluation, original: str | None, fitness: Mapping[str, float]) -> Evaluation:
        if original is None or not one.outcome.ok:
            return replace(one, nominal_fitness=one.fitness)
        made = tuple(self._made[original]) if original == one.candidate.individual else ()
        return replace(one, nominal_fitness=one.fitness, fitness=fitness[original], samples=made)

    def _race(
        self, block: Mapping[str, Evaluation], farm: Solving, batch_size: int | str, told: Progress
    ) -> dict[str, float] | None:
        """Sample the candidates that can be among the best; return the fitness of all, None when interrupted."""
        self._made = {name: [] for name in block}
        racing, stops = list(block), []
        nominal = {name: [(one.fitness, _meets(one.shortfalls))] for name, one in block.items()}
        values = {name: self._aim.value(only) for name, only in nominal.items()}
        begin = self._aim.beginners([sample for (sample,) in nominal.values()])
        count = 0
        while begin and count < self._aim.total:
            bounds = {name: self._bounds(name) for name in racing}
            share = math.ceil(begin / max(count, 1))
            going = kept({name: values[name] for name in racing}, bounds, share, self._fewest, ties=count == 0)
            stops.append(({name: values[name] for name in racing}, going))
            racing = going
            count = next_count(count, self._aim.total, len(racing), self._least)
            if not self._round(racing, block, count, farm, batch_size, told):
                return None
            for name in racing:
                values[name] = self._aim.value(self._counted(name) or nominal[name])
        final = {name: values[name] for name in racing}
        for then, going in reversed(stops):
            went_on = [(then[name], final[name]) for name in going]
            for name in then.keys() - set(going):
                final[name] = settled(then[name], self._bounds(name)[0], went_on, self._aim.ceiling)
        return final

    def _round(
        self,
        racing: Sequence[str],
        block: Mapping[str, Evaluation],
        count: int,
        farm: Solving,
        batch_size: int | str,
        told: Progress,
    ) -> bool:
        """Solve the samples up to a number of all candidates at once; return whether all were solved."""
        designs: Designs = {}
        for name in racing:
            design = self._experiment.design(block[name].values)
            for number in range(len(self._made[name]) + 1, count + 1):
                designs[name, number] = perturbed(self._tolerance, design, self._drawn[number - 1])
        self._solve(designs, farm, batch_size, told)
        if any(sample_key(*key) not in self._solved for key in designs):
            return False
        for key, design in designs.items():
            self._made[key[0]].append(self._copy(key[1], design, self._solved[sample_key(*key)]))
        return True

    def _solve(self, designs: Designs, farm: Solving, batch_size: int | str, told: Progress) -> None:
        jobs = {}
        for key, design in designs.items():
            name = sample_key(*key)
            if name in self._solved:
                continue
            fault = impossible(self._tolerance, design)
            if fault is None:
                jobs[name] = design
            else:
                self._solved[name] = Outcome(status="infeasible", error=fault)
        if not jobs:
            return
        told.samples_started(len(jobs))
        for name, landed in farm.run(farm.cut(list(jobs.items()), batch_size), plan=self._plan):
            if name not in jobs:
                continue
            one = with_figures([Outcome.of(landed)], [jobs[name]], self._experiment.figures, self._experiment.kind)[0]
            self._solved[name] = one.without(*NOT_KEPT)
            self._seconds += one.seconds or 0.0
            told.evaluated(one)

    def _copy(self, number: int, design: dict[str, float], outcome: Outcome) -> MadeCopy:
        missed = shortfalls(outcome, self._experiment.goals)
        met = outcome.ok and _meets(missed)
        return MadeCopy(
            sample=number,
            design={name: design[name] for name in self._tolerance.entries},
            outcome=outcome,
            shortfalls=missed,
            fitness=self._fitness_of(outcome.status, missed),
            met=met if outcome.status in REPEATABLE else None,
        )

    def _counted(self, name: str) -> list[Sample]:
        return [(one.fitness, bool(one.met)) for one in self._made[name] if one.counts]

    def _bounds(self, name: str) -> tuple[float, float]:
        counted = self._counted(name)
        lost = len(self._made[name]) - len(counted)
        return self._aim.least(counted, lost), self._aim.most(counted, lost)


def _meets(missed: Sequence[float]) -> bool:
    """Say whether an antenna that is `ok` meets all goals; those of a search with samples have bounds."""
    return all(short <= 0.0 for short in missed)


def sampling_of(experiment: Experiment, plan: Mapping[str, Any]) -> Sampling | None:
    """Return what takes the samples of an experiment's search; None where it takes none."""
    tolerance = experiment.tolerance
    return None if tolerance is None or tolerance.samples == 0 else Sampling(experiment, plan)
