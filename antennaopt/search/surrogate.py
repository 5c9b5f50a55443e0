"""CMA-ES with a surrogate model: Gaussian processes of the figures of solved antennas select the next antennas.

Before each generation the distribution takes a few steps by predictions alone. Then four times as many antennas are
drawn as the population has, and the best by prediction are solved. The distribution learns from all that were drawn: of
those that were solved by their fitness, of the others by what was predicted. How many steps are taken follows how well
the predictions ranked the last generation.

What is predicted is by how much each goal is missed at each frequency, which is smooth in the genes; fitness, made of
the worst of these, is not. On finer cells the coarse predictions stay, and the differences to them are predicted too:
they need few antennas. A sample whose nearest known antenna failed ranks as one that cannot be built.

References:
    Hansen, A global surrogate assisted CMA-ES, GECCO 2019, p. 664: steps on a model while it ranks well.
    Loshchilov, Schoenauer, Sebag, Self-adaptive surrogate-assisted CMA-ES, GECCO 2012, p. 321: their number.
    Kennedy, O'Hagan, Predicting the output from a complex computer code when fast approximations are available,
        Biometrika 87 (2000) 1: a model of the fine code as the coarse one and a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from antennaopt.search.archive import Archive
from antennaopt.search.base import Made
from antennaopt.search.candidate import Result, Scored, counted, levels
from antennaopt.search.cmaes import CovarianceAdaptation
from antennaopt.search.distribution import Distribution
from antennaopt.search.objectives import WORST_SHORTFALL_DB
from antennaopt.search.regression import LENGTHS, Regression, one_thread

PRESELECTED = "preselected"
"""Operator of an individual that was the best of several by prediction."""

_DRAWN = 4  # antennas for each one that is solved
_NEIGHBOURS = 300  # antennas that a prediction is made of
_FEWEST = 2  # antennas a gene, below which nothing is predicted
_FEWEST_DIFFERENCES = 8
_FIRST_STEPS, _MOST_STEPS = 2, 8  # by predictions alone
_GOOD, _POOR = 0.5, 0.3  # rank correlation of a generation: more steps above, fewer below
_MORE, _FEWER = 1.5, 0.7
_COARSE_STEP, _KNOWN_STEP = 0.02, 0.002  # of a gene's range: enough on coarse cells; where a new start finds more
_FAILED = ("infeasible", "diverged", "undecayed")  # what says something of an antenna, not of the machine
_MOST_FAILED = 512  # antennas that are kept
_LONGER = tuple(2.0 * one for one in LENGTHS)  # differences between cells vary slowly


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    """A generation as it was drawn: the distribution that moved by predictions, and its samples.

    Attributes:
        distribution: After `steps` steps.
        steps: By predictions alone.
        fitness: As predicted, one a sample.
        chosen: Samples that are solved, in order of slots.
    """

    distribution: Distribution
    steps: int
    fitness: np.ndarray
    chosen: np.ndarray


class SurrogateAdaptation(CovarianceAdaptation):
    """A search by one normal distribution, which also moves by predictions between generations.

    It starts again when it knows all genes to 0.2 % of their range, on coarse cells to 2 %, but not on the last cells
    of a ladder. The finer cells begin with the distribution of the best start, fitted to the better half of the
    promoted.
    """

    wants_misses = True
    _most_steps = 1 + _MOST_STEPS

    def __init__(self, *args: Any, **start: Any) -> None:
        self._counts: tuple[int, ...] = ()
        self._best_start: tuple[float, dict[str, Any]] | None = None
        self._drawn: _Drawn | None = None
        self._told_misses: dict[str, list[list[float]]] = {}
        self._told_failed: set[str] = set()
        super().__init__(*args, **start)
        self._steps_of_genes = np.array([0 if one.kind == "real" else levels(one) for one in self.genes])
        self._archive, self._coarse = Archive.empty(len(self.genes)), Archive.empty(len(self.genes))
        self._failed = np.empty((0, len(self.genes)))

    @property
    def _samples(self) -> int:
        return _DRAWN * self.settings.population

    def _begin(self, mean: np.ndarray) -> None:
        super()._begin(mean)
        self._steps, self._drawn = _FIRST_STEPS, None

    def tell(self, results: Iterable[Result | Scored]) -> list[Scored]:
        """Take results; the last ones close the generation."""
        given = list(results)
        for one in given:
            if isinstance(one, Scored):
                raise TypeError("this search wants misses, which only results have")
            if one.status == "ok" and not one.cached:
                self._told_misses[one.individual] = [*map(list, one.misses)] or [[each] for each in one.shortfalls]
            elif one.status in _FAILED:
                self._told_failed.add(one.individual)
        return super().tell(given)

    def breed(self, count: int) -> list[Made]:
        """Return those of many samples that are best by prediction; plain samples where too little is known."""
        self._drawn = None
        with one_thread():
            return self._preselected(count) if self._since else super().breed(count)

    def _preselected(self, count: int) -> list[Made]:
        predicted = self._predictor()
        if predicted is None:
            return super().breed(count)
        moved = copy(self._distribution)
        for step in range(self._steps):
            moved.learn(_ordered(predicted(np.array(moved.samples(self._samples)))), self._since + step)
        genomes = moved.samples(self._samples)
        fitness = predicted(np.array(genomes))
        chosen = np.argsort(fitness, kind="stable")[:count]
        self._drawn = _Drawn(distribution=moved, steps=self._steps, fitness=fitness, chosen=chosen)
        return [(genomes[place], (), PRESELECTED) for place in chosen]

    def survivors(self, told: Sequence[Scored]) -> list[Scored]:
        """Note what was solved, and move the distribution."""
        self._archive = self._with(self._archive, told)
        self._note_failed(told)
        return super().survivors(told)

    def _learn(self, order: Sequence[Scored]) -> None:
        drawn = self._drawn
        if drawn is None:
            super()._learn(order)
            return
        places = drawn.chosen[[one.candidate.slot for one in order]]
        solved, said = np.array([one.fitness for one in order]), drawn.fitness[places]
        fitness = drawn.fitness + float(np.median(solved - said))
        fitness[places] = solved
        drawn.distribution.learn(_ordered(fitness), self._since + drawn.steps)
        self._distribution, self._drawn = drawn.distribution, None
        self._since += drawn.steps
        rank = _rank_correlation(solved, said)
        more = _MORE if rank > _GOOD else _FEWER if rank < _POOR else 1.0
        self._steps = min(max(round(more * self._steps), 1), _MOST_STEPS)

    def promoted(self, told: list[Scored]) -> list[Scored]:
        """Go on with the distribution of the best start, fitted to the better half of the promoted."""
        order = sorted(told, key=lambda one: one.rank)
        self._note_start()
        if self._best_start is None:
            self._distribution.begin(np.array(order[0].candidate.genome), _COARSE_STEP)
        else:
            self._distribution.restore(self._best_start[1])
        self._distribution.fit(np.array([one.candidate.genome for one in order]))
        self._coarse = self._archive.near(self._distribution, _NEIGHBOURS)
        self._archive = self._with(Archive.empty(len(self.genes)), told)
        self._note_failed(told)
        self._steps, self._drawn, self._best_start = _FIRST_STEPS, None, None
        self._since, self._best, self._waiting = 1, order[0].fitness, 0
        return told

    def after_polish(self, told: list[Scored]) -> list[Scored]:
        """Return those who were polished: nothing is predicted any more."""
        self._told_misses, self._told_failed = {}, set()
        return super().after_polish(told)

    def _is_spent(self) -> bool:
        known = _KNOWN_STEP if self.climb is None else 0.0 if self.climb.at_top else _COARSE_STEP
        widest = max(self._distribution.deviations()[~self._stepped], default=1.0)
        return super()._is_spent() or bool(widest < known)

    def _start_again(self) -> None:
        self._note_start()
        super()._start_again()

    def _note_start(self) -> None:
        """Keep the distribution if it came to the best antenna of all starts on these cells."""
        if self._since and (self._best_start is None or self._best < self._best_start[0]):
            self._best_start = self._best, self._distribution.state()

    def _with(self, archive: Archive, told: Sequence[Scored]) -> Archive:
        """Return an archive with antennas whose misses were told."""
        misses, self._told_misses = self._told_misses, {}
        there = [one for one in told if misses.get(one.candidate.individual)]
        rows = [misses[one.candidate.individual] for one in there]
        if rows and not self._counts:
            self._counts = tuple(map(len, rows[0]))
        genomes = np.array([one.candidate.genome for one in there])
        flat = np.array([[x for goal in row for x in goal] for row in rows])
        return archive.with_more(genomes, flat, np.array([one.fitness for one in there]))

    def _note_failed(self, told: Sequence[Scored]) -> None:
        """Keep the last antennas that failed."""
        failed, self._told_failed = self._told_failed, set()
        more = [one.candidate.genome for one in told if one.candidate.individual in failed]
        if more:
            self._failed = np.concatenate([self._failed, np.array(more)])[-_MOST_FAILED:]

    def _fails(self, genomes: np.ndarray) -> np.ndarray:
        """Say of each genome whether the nearest known antenna failed, in units of the distribution."""
        if not len(self._failed):
            return np.zeros(len(genomes), dtype=bool)
        at = self._inputs(genomes)
        failed, solved = (
            ((at[:, np.newaxis] - self._inputs(one)[np.newaxis]) ** 2).sum(axis=2).min(axis=1, initial=np.inf)
            for one in (self._failed, self._archive.genomes)
        )
        return failed < solved

    def _predictor(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """Return what predicts fitness near the distribution; None where too few antennas are known."""
        near, inputs = self._archive.near(self._distribution, _NEIGHBOURS), self._inputs
        if len(self._coarse) >= _FEWEST * len(self.genes):
            if len(near) < _FEWEST_DIFFERENCES:
                return None
            coarse = Regression(inputs(self._coarse.genomes), self._coarse.filled())
            at = inputs(near.genomes)
            fine = Regression(at, near.filled() - coarse(at), _LONGER)
            return lambda genomes: self._fitness_of(coarse(inputs(genomes)) + fine(inputs(genomes)), genomes)
        if len(near) < _FEWEST * len(self.genes):
            return None
        known = Regression(inputs(near.genomes), near.filled())
        return lambda genomes: self._fitness_of(known(inputs(genomes)), genomes)

    def _inputs(self, genomes: np.ndarray) -> np.ndarray:
        """Return genomes in units of the distribution, those of genes with steps in the middle of their step."""
        counts = np.maximum(self._steps_of_genes, 1)
        middles = (np.minimum(np.floor(genomes * counts), counts - 1) + 0.5) / counts
        placed = np.where(self._steps_of_genes > 0, middles, genomes)
        return (placed - self._distribution.mean) / self._distribution.deviations()

    def _fitness_of(self, misses: np.ndarray, genomes: np.ndarray) -> np.ndarray:
        """Return the fitness of predicted misses, (antennas, numbers); where antennas fail, that of one that does."""
        ends, aims = np.cumsum(self._counts), self._order.aims
        worst = [misses[:, end - count : end].max(axis=1) for end, count in zip(ends, self._counts, strict=True)]
        for place, one in enumerate(worst):
            if not (place < len(aims) and aims[place]):
                worst[place] = np.clip(one, 0.0, WORST_SHORTFALL_DB)
        found = np.array([self._order.fitness("ok", row) for row in np.stack(worst, axis=1).tolist()])
        return np.where(self._fails(genomes), self._order.fitness("infeasible", ()), found)

    def own_state(self) -> dict[str, Any]:
        """Return the distribution, the best start on these cells, and what predictions are made of."""
        start = self._best_start
        return {
            **super().own_state(),
            "steps": self._steps,
            "counts": list(self._counts),
            "archive": self._archive.state(),
            "coarse": self._coarse.state(),
            "failed": self._failed.tolist(),
            "best_start": None if start is None else {**start[1], "best": start[0]},
        }

    def restore_own(self, state: Mapping[str, Any]) -> None:
        """Go back to what `own_state` returned.

        Raises:
            ValueError: No search can have had it.
        """
        super().restore_own(state)
        self._told_misses, self._told_failed, self._drawn = {}, set(), None
        self._steps, self._counts = counted(state["steps"]), tuple(counted(one) for one in state["counts"])
        if not 1 <= self._steps <= _MOST_STEPS:
            raise ValueError(f"{self._steps} steps by predictions")
        genes = len(self.genes)
        self._archive, self._coarse = (Archive.restored(state[name], genes) for name in ("archive", "coarse"))
        for one in (self._archive, self._coarse):
            if len(one) and one.misses.shape[1] != sum(self._counts):
                raise ValueError(f"{one.misses.shape[1]} misses an antenna, of goals with {list(self._counts)}")
        self._failed = np.array(state["failed"], dtype=float).reshape(-1, genes)
        if not ((self._failed >= 0.0) & (self._failed <= 1.0)).all() or len(self._failed) > _MOST_FAILED:
            raise ValueError(f"{len(self._failed)} antennas that failed")
        start = self._best_start = None
        if state["best_start"] is not None:
            start = {name: one for name, one in state["best_start"].items() if name != "best"}
            copy(self._distribution).restore(start)
            self._best_start = float(state["best_start"]["best"]), start


def _ordered(fitness: np.ndarray) -> list[int]:
    """Return places, that of the smallest first."""
    return np.argsort(fitness, kind="stable").tolist()


def _rank_correlation(ones: np.ndarray, others: np.ndarray) -> float:
    """Return Spearman's rank correlation; 0 of fewer than three, or of equal ones."""
    if len(ones) < 3 or ones.max() == ones.min() or others.max() == others.min():
        return 0.0
    ranks = np.array([np.argsort(np.argsort(one, kind="stable"), kind="stable") for one in (ones, others)])
    return float(np.asarray(np.corrcoef(ranks))[0, 1])
