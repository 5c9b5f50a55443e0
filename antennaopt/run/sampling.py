"""Samples in a search: made copies of candidates are solved in rounds and determine their fitness.

All candidates of a run have the same deviations, from the run's seed. What follows a round is decided when all of its
copies are back: the order of arrival decides nothing. See `antennaopt.search.robust` for the schedule, and for the
fitness. Copies that a later round will need whatever comes back (`antennaopt.search.racing`) are given to the farm
before a round is over, and the first ones while other candidates are still being solved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from antennaopt.farm.arriving import Landed
from antennaopt.farm.batches import Job
from antennaopt.run.interfaces import NOT_KEPT, Evaluation, for_checkpoint
from antennaopt.search.objectives import Ranking, all_shortfalls
from antennaopt.search.perturbations import IN_A_SEARCH, deviations, impossible, perturbed
from antennaopt.search.racing import Race, Taken, beginning
from antennaopt.search.robust import Aim, Sample
from antennaopt.solve.figures import with_figures
from antennaopt.solve.outcome import REPEATABLE, Outcome, fault_of
from antennaopt.store.made import MadeCopy, of_sample_key, sample_key
from antennaopt.unchecked import owned

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment
    from antennaopt.sent import Sent

FEWEST = 2
"""Places that matter, at least: as many candidates of a generation have all of their samples."""

_FORGOTTEN = dict.fromkeys(NOT_KEPT)

WORTH = 4
"""A round has at least this part of a population, 1/4, or all samples that are left: a device is slow on few."""


class Copy(NamedTuple):
    """A made copy that is being solved.

    Attributes:
        name: The candidate that it is a copy of.
        number: Of the sample, from 1.
        design: Full, SI.
    """

    name: str
    number: int
    design: dict[str, float]


class Sampling:
    """Takes samples of a generation whose candidates are solved, or being solved.

    Attributes:
        plan: Of the copies, where it is not that of the antennas: copies have no limits of making, which are rules for
            drawings. Else None; then copies can be solved along with the antennas.
    """

    def __init__(self, experiment: Experiment, plan: Mapping[str, Any]) -> None:
        """Draw the deviations of the run.

        Args:
            experiment: With `tolerance.samples` above 0.
            plan: Of the run's antennas.
        """
        assert experiment.tolerance is not None  # noqa: S101 - `sampling_of` looks
        self._tolerance, self._experiment = experiment.tolerance, experiment
        self._drawn = deviations(self._tolerance, self._tolerance.samples, experiment.seed, stream=IN_A_SEARCH)
        self._order = Ranking.of(experiment.goals)
        self._aim = Aim(self._tolerance.aim, self._tolerance.samples, self._tolerance.quantile, self._order.worst)
        self._fewest = max(FEWEST, experiment.evolution.elites)
        self._least = experiment.evolution.population // WORTH
        self.plan = {name: value for name, value in plan.items() if name != "limits"} if "limits" in plan else None
        self._solved: dict[str, Outcome] = {}
        self._begin()

    def _begin(self) -> None:
        """Begin a generation."""
        self._race: Race | None = None
        self._first: dict[tuple[float, ...], str] = {}
        self._original: dict[str, str] = {}  # the first candidate of the same design, of those that are `ok`
        self._candidates: dict[str, Evaluation] = {}  # that are `ok`, one of each design
        self._met: list[str] = []  # candidates whose design meets all goals
        self._looked_at = 0
        self._asked: dict[str, int] = {}  # samples that were asked for, of each candidate
        self._nominal: dict[str, dict[str, float]] = {}
        self._under_way: dict[str, Copy] = {}  # those that are not back, by their keys
        self._due: list[Job] = []
        self._made: dict[str, dict[int, MadeCopy]] = {}

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

    @property
    def over(self) -> bool:
        """Whether the generation has all of its samples."""
        return self._race is not None and self._race.over

    def due(self, block: Mapping[str, Evaluation], population: int, grain: int = 1) -> list[Job]:
        """Return copies that are certain to be needed, and that no call returned before.

        Args:
            block: Candidates by id that are complete, in an order that only grows.
            population: Candidates of the generation.
            grain: A multiple of this number is returned, others are kept for later, if there may be more by then: a
                device is slow on few.
        """
        for name, one in islice(block.items(), self._looked_at, None):
            if not one.outcome.ok:
                continue
            self._original[name] = original = self._first.setdefault(tuple(one.values.values()), name)
            if original == name:
                self._candidates[name] = one
                if _meets(one.shortfalls):
                    self._met.append(name)
        self._looked_at = len(block)
        if self._looked_at < population:
            count = beginning(
                self._aim, len(self._met), population - len(block), fewest=self._fewest, least=self._least
            )
            for name in self._met:
                self._ask(name, count)
        else:
            self._decide()
        last = self._race is not None and self._race.count >= self._aim.total  # no others will be due
        number = len(self._due) if last else len(self._due) // grain * grain
        due, self._due = self._due[:number], self._due[number:]
        return due

    def take(self, landed: Landed) -> list[Outcome]:
        """Take in outcomes that the farm gave; nothing is returned of those that are no samples under way.

        Args:
            landed: By the keys from `due`, as received.
        """
        ours = [(key, outcome) for key, outcome in landed if key in self._under_way]
        if not ours:
            return []
        copies = {key: self._under_way.pop(key) for key, _ in ours}
        outcomes, designs = [Outcome.of(one) for _, one in ours], [one.design for one in copies.values()]
        solved = with_figures(outcomes, designs, self._experiment.figures, self._experiment.kind)
        self._keep(copies, solved)
        return solved

    def finished(self, block: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
        """Return the candidates with their samples, and the fitness of these; the next generation may begin.

        Args:
            block: Candidates by id, all of them.
        """
        assert self._race is not None  # noqa: S101 - `over` is asked before
        fitness, taken, originals, found = self._race.fitness(), self._race.taken, self._original, {}
        for name, one in block.items():
            about = vars(one) | {"nominal_fitness": one.fitness}
            if name in originals:
                about["fitness"] = fitness[originals[name]]
            if name in taken:
                count = len(taken[name].counted) + taken[name].lost
                about["samples"] = tuple(self._made[name][number] for number in range(1, count + 1))
            found[name] = owned(Evaluation, about)
        self._solved = {}
        self._begin()
        return found

    def _decide(self) -> None:
        """Ask for the copies of the round, and of later ones what is certain; begin the next where one is complete."""
        if self._race is None:
            designs = {name: (one.fitness, _meets(one.shortfalls)) for name, one in self._candidates.items()}
            self._race = Race(self._aim, designs, fewest=self._fewest, least=self._least)
        race = self._race
        while not race.over:
            for name in race.racing:
                self._ask(name, race.count)
            taken = {name: self._taken(name, race.count) for name in race.racing}
            if any(one.open for one in taken.values()):
                names, count = race.certain(taken)
                for name in names:
                    self._ask(name, count)
                return
            race.next(taken)

    def _ask(self, name: str, count: int) -> None:
        """Ask for the samples of a candidate up to a number."""
        before = self._asked.get(name, 0)
        if before >= count:
            return
        if name not in self._nominal:
            self._nominal[name] = self._experiment.design(self._candidates[name].values)
        nominal = self._nominal[name]
        for number in range(before + 1, count + 1):
            key, design = sample_key(name, number), perturbed(self._tolerance, nominal, self._drawn[number - 1])
            one = Copy(name, number, design)
            if key in self._solved:
                self._keep({key: one}, [self._solved[key]])
            elif (fault := impossible(self._tolerance, design)) is not None:
                self._keep({key: one}, [Outcome(status="infeasible", error=fault)])
            else:
                self._under_way[key] = one
                self._due.append((key, design))
        self._asked[name] = count

    def _keep(self, copies: Mapping[str, Copy], outcomes: Sequence[Outcome]) -> None:
        """Note copies that are solved, with their outcomes in the same order."""
        missed, entries, forgotten = all_shortfalls(outcomes, self._experiment.goals), self._tolerance.entries, {}
        fitness = self._order.all_fitness([one.status for one in outcomes], missed)
        for (key, copy), solved, short, number in zip(copies.items(), outcomes, missed, fitness, strict=True):
            self._solved[key] = outcome = _without_cuts(solved, forgotten)
            about = {
                "sample": copy.number,
                "design": {name: copy.design[name] for name in entries},
                "outcome": outcome,
                "shortfalls": short,
                "fitness": number,
                "met": (outcome.ok and _meets(short)) if outcome.status in REPEATABLE else None,
            }
            self._made.setdefault(copy.name, {})[copy.number] = owned(MadeCopy, about)

    def _taken(self, name: str, count: int) -> Taken:
        made = self._made.get(name, {})
        copies = [made[number] for number in range(1, count + 1) if number in made]
        counted: list[Sample] = [(one.fitness, bool(one.met)) for one in copies if one.counts]
        return Taken(counted=counted, lost=len(copies) - len(counted), open=count - len(copies))


def _without_cuts(outcome: Outcome, known: dict[int, Sent]) -> Outcome:
    """Return an outcome without the entries that the driver drops, still linked to the numbers of its batch.

    Args:
        outcome: As received.
        known: Batches without cuts so far, by `id` of those that they were made of.
    """
    one = outcome.changed(**_FORGOTTEN)
    sent, place = getattr(outcome, "sent", (None, 0))
    if sent is not None:
        if id(sent) not in known:
            known[id(sent)] = sent.without_cuts()
        object.__setattr__(one, "sent", (known[id(sent)], place))
    return one


def _meets(missed: Sequence[float]) -> bool:
    """Say whether an antenna that is `ok` meets all goals; those of a search with samples have bounds."""
    return max(missed, default=0.0) <= 0.0


def sampling_of(experiment: Experiment, plan: Mapping[str, Any]) -> Sampling | None:
    """Return what takes the samples of an experiment's search; None where it takes none."""
    tolerance = experiment.tolerance
    return None if tolerance is None or tolerance.samples == 0 else Sampling(experiment, plan)
