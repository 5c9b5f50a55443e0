"""CMA-ES: samples of a normal distribution whose mean, step length and covariance follow the better half of them.

Samples beyond a bound are folded back, and the distribution learns from the folded ones. (Learning from what was drawn
takes eight times as far from the minimum of a sphere of 24 genes after 2,500 evaluations.) When the step has shrunk to
nothing, or nothing better is found for a while, the search starts again from random designs.

Genes that move in steps are searched as real numbers, which decoding rounds. Their standard deviation keeps a least
value, so that samples reach the next step however small the others have become.

References:
    Hamano, Saito, Nomura, Shirakawa, CMA-ES with margin, GECCO 2022, p. 639: a least probability of leaving a step.
    Nomura, Watanabe, Akimoto, Ozaki, Onishi, Warm starting CMA-ES for hyperparameter optimization, AAAI 2021: a
        distribution that is fitted to the best of a similar task.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from antennaopt.search.base import Made
from antennaopt.search.candidate import Scored, counted, levels
from antennaopt.search.distribution import Distribution
from antennaopt.search.generational import Survivors
from antennaopt.search.operators import uniform_genome
from antennaopt.search.restart import RESTARTED

_FIRST_STEP = 0.25  # of a gene's range
_NEAR_STEP = 0.03  # of a gene's range: near an antenna that is good already
_SMALLEST_STEP = 1e-4  # of a gene's range: a lens radius of 10 mm +- 1 um
_WORST_CONDITION = 1e14
_LEAST_DEVIATION = 0.25  # of the width of a step: from its middle 4.6 % of the samples leave it
_PATIENCE = 10  # generations without a better best, plus 30 genes over the population; where none is given


class CovarianceAdaptation(Survivors):
    """A search by one normal distribution; its first generation is uniform and the best of it is the first mean."""

    _most_steps = 1  # of the distribution, a generation

    def __init__(self, *args: Any, **start: Any) -> None:
        super().__init__(*args, **start)
        widths = np.array([0.0 if one.kind == "real" else 1.0 / levels(one) for one in self.genes])
        self._stepped = widths > 0.0
        least = _LEAST_DEVIATION * widths if self._stepped.any() else None
        self._distribution = Distribution(len(self.genes), self._samples, least)
        self._begin(np.full(len(self.genes), 0.5))

    @property
    def _samples(self) -> int:
        """Number of samples that the distribution learns from at a time."""
        return self.settings.population

    def _begin(self, mean: np.ndarray) -> None:
        self._distribution.begin(mean, _FIRST_STEP)
        self._since, self._best, self._waiting = 0, math.inf, 0

    def breed(self, count: int) -> list[Made]:
        """Return samples, folded into the bounds; after a restart uniform ones."""
        if not self._since:
            return [(uniform_genome(len(self.genes)), (), RESTARTED) for _ in range(count)]
        return [(genome, (), "sampled") for genome in self._distribution.samples(count)]

    def survivors(self, told: Sequence[Scored]) -> list[Scored]:
        """Move the distribution towards the better half, and start again where that leads nowhere."""
        order = sorted(told, key=lambda one: one.rank)
        if not self._since:
            self._begin(np.array(order[0].candidate.genome))
        elif len(told) > 1:
            self._learn(order)
        self._since += 1
        found = min(order[0].fitness, self._best)
        self._waiting = 0 if found < self._best else self._waiting + 1
        self._best = found
        if self._is_spent():
            self._start_again()
        return list(told)

    def _learn(self, order: Sequence[Scored]) -> None:
        """Move the distribution by a generation, given the best first."""
        self._distribution.learn([one.candidate.slot for one in order], self._since)

    def _start_again(self) -> None:
        self._begin(np.full(len(self.genes), 0.5))

    def promoted(self, told: list[Scored]) -> list[Scored]:
        """Keep the distribution on finer cells, or fit it to the better half there, as the ladder says.

        One that was about to start again goes to the best there.
        """
        order = sorted(told, key=lambda one: one.rank)
        refit = self.climb is not None and self.climb.refit
        if not self._since:
            self._distribution.begin(np.array(order[0].candidate.genome), _NEAR_STEP if refit else _FIRST_STEP)
            self._since = 1
        if refit:
            self._distribution.fit(np.array([one.candidate.genome for one in order]))
            self._since = 1
        self._best, self._waiting = order[0].fitness, 0
        return told

    def _is_spent(self) -> bool:
        _, lengths = self._distribution.axes()
        given = self.settings.restart_after
        patience = _PATIENCE + 30 * len(self.genes) / self.settings.population if given is None else given - 1
        if self._stepped.any():
            small = max(self._distribution.deviations()[~self._stepped], default=1.0) < _SMALLEST_STEP
        else:
            small = self._distribution.sigma * lengths.max() < _SMALLEST_STEP
        return bool(small or (lengths.max() / lengths.min()) ** 2 > _WORST_CONDITION or self._waiting > patience)

    def own_state(self) -> dict[str, Any]:
        """Return the distribution."""
        best = None if math.isinf(self._best) else self._best
        return {**self._distribution.state(), "since": self._since, "waiting": self._waiting, "best": best}

    def restore_own(self, state: Mapping[str, Any]) -> None:
        """Go back to what `own_state` returned.

        Raises:
            ValueError: No search can have had it.
        """
        self._distribution.restore(state)
        self._since, self._waiting = counted(state["since"]), counted(state["waiting"])
        self._best = math.inf if state["best"] is None else float(state["best"])
        if self._since > self.generation * self._most_steps:
            raise ValueError(f"{self._since} generations after a start, in generation {self.generation}")
