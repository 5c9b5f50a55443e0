"""CMA-ES: samples of a normal distribution whose mean, step length and covariance follow the better half of them.

Samples beyond a bound are folded back, and the distribution learns from the folded ones. (Learning from what was drawn
takes eight times as far from the minimum of a sphere of 24 genes after 2,500 evaluations.) When the step has shrunk to
nothing, or nothing better is found for a while, the search starts again from random designs.

References:
    Hansen, The CMA evolution strategy: a tutorial, arXiv 1604.00772v2 (2023); defaults of its table 1.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from antennaopt.search.base import Made
from antennaopt.search.candidate import Scored, counted
from antennaopt.search.generational import Survivors
from antennaopt.search.operators import reflect, uniform_genome

_FIRST_STEP = 0.25  # of a gene's range
_SMALLEST_STEP = 1e-4  # of a gene's range: a lens radius of 10 mm +- 1 um
_WORST_CONDITION = 1e14
_PATIENCE = 10  # generations without a better best, plus 30 genes over the population


class CovarianceAdaptation(Survivors):
    """A search by one normal distribution; its first generation is uniform and the best of it is the first mean."""

    def __init__(self, *args: Any, **start: Any) -> None:
        super().__init__(*args, **start)
        n, size = len(self.genes), self.settings.population
        raw = math.log((size + 1) / 2) - np.log(np.arange(1, max(size // 2, 1) + 1))
        self._weights = raw / raw.sum() if raw.sum() > 0 else np.ones(1)
        self._mu_eff = float(1.0 / (self._weights**2).sum())
        self._c_sigma = (self._mu_eff + 2) / (n + self._mu_eff + 5)
        self._d_sigma = 1 + 2 * max(0.0, math.sqrt((self._mu_eff - 1) / (n + 1)) - 1) + self._c_sigma
        self._c_c = (4 + self._mu_eff / n) / (n + 4 + 2 * self._mu_eff / n)
        self._c_1 = 2 / ((n + 1.3) ** 2 + self._mu_eff)
        rank_mu = 2 * (0.25 + self._mu_eff + 1 / self._mu_eff - 2) / ((n + 2) ** 2 + self._mu_eff)
        self._c_mu = min(1 - self._c_1, rank_mu)
        self._length = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n**2))  # of a standard normal vector
        self._begin(np.full(n, 0.5))

    def _begin(self, mean: np.ndarray) -> None:
        n = len(self.genes)
        self._mean, self._sigma = mean, _FIRST_STEP
        self._covariance = np.eye(n)
        self._path, self._path_sigma = np.zeros(n), np.zeros(n)
        self._since, self._best, self._waiting = 0, math.inf, 0

    def breed(self, count: int) -> list[Made]:
        """Return samples, folded into the bounds; after a restart uniform ones."""
        if not self._since:
            return [(uniform_genome(len(self.genes)), (), "restart") for _ in range(count)]
        axes, lengths = self._axes()
        normal = np.array([[random.gauss(0.0, 1.0) for _ in self.genes] for _ in range(count)])
        drawn = [self._mean + self._sigma * (axes @ (lengths * one)) for one in normal]
        genomes = [tuple(reflect(float(x)) for x in one) for one in drawn]
        self._steps = (np.array(genomes) - self._mean) / self._sigma
        return [(genome, (), "sampled") for genome in genomes]

    def _axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the covariance's eigenvectors and the square roots of its eigenvalues."""
        values, vectors = np.linalg.eigh(self._covariance)
        return vectors, np.sqrt(np.maximum(values, 1e-20))

    def survivors(self, told: Sequence[Scored]) -> list[Scored]:
        """Move the distribution towards the better half, and start again where that leads nowhere."""
        order = sorted(told, key=lambda one: one.rank)
        if not self._since:
            self._begin(np.array(order[0].candidate.genome))
        elif len(told) > 1:
            self._move([one.candidate.slot for one in order])
        self._since += 1
        found = min(order[0].fitness, self._best)
        self._waiting = 0 if found < self._best else self._waiting + 1
        self._best = found
        if self._is_spent():
            self._begin(np.full(len(self.genes), 0.5))
        return list(told)

    def promoted(self, told: list[Scored]) -> list[Scored]:
        """Keep the distribution on finer cells; one that was about to start again goes to the best there."""
        best = min(told, key=lambda one: one.rank)
        if not self._since:
            self._begin(np.array(best.candidate.genome))
            self._since = 1
        self._best, self._waiting = best.fitness, 0
        return told

    def _move(self, slots: Sequence[int]) -> None:
        """Update mean, paths, covariance and step length by the samples of slots, the best first."""
        weights = self._weights[: len(slots)] / self._weights[: len(slots)].sum()
        steps = self._steps[list(slots[: len(weights)])]
        shift = weights @ steps
        self._mean = self._mean + self._sigma * shift
        axes, lengths = self._axes()
        keep = 1 - self._c_sigma
        self._path_sigma = keep * self._path_sigma + math.sqrt(self._c_sigma * (2 - self._c_sigma) * self._mu_eff) * (
            axes @ ((axes.T @ shift) / lengths)
        )
        size = float(np.sqrt(self._path_sigma @ self._path_sigma))
        damped = math.sqrt(1 - keep ** (2 * (self._since + 1)))
        steady = size / damped < (1.4 + 2 / (len(self.genes) + 1)) * self._length
        self._path = (1 - self._c_c) * self._path
        if steady:
            self._path = self._path + math.sqrt(self._c_c * (2 - self._c_c) * self._mu_eff) * shift
        lost = 0.0 if steady else self._c_c * (2 - self._c_c)
        self._covariance = (
            (1 + self._c_1 * lost - self._c_1 - self._c_mu) * self._covariance
            + self._c_1 * np.outer(self._path, self._path)
            + self._c_mu * (steps.T * weights) @ steps
        )
        self._covariance = (self._covariance + self._covariance.T) / 2
        self._sigma *= math.exp(min(1.0, self._c_sigma / self._d_sigma * (size / self._length - 1)))

    def _is_spent(self) -> bool:
        _, lengths = self._axes()
        patience = _PATIENCE + 30 * len(self.genes) / self.settings.population
        small = self._sigma * lengths.max() < _SMALLEST_STEP
        return bool(small or (lengths.max() / lengths.min()) ** 2 > _WORST_CONDITION or self._waiting > patience)

    def own_state(self) -> dict[str, Any]:
        """Return the distribution."""
        arrays = {name: getattr(self, f"_{name}").tolist() for name in _ARRAYS}
        best = None if math.isinf(self._best) else self._best
        return {**arrays, "sigma": self._sigma, "since": self._since, "waiting": self._waiting, "best": best}

    def restore_own(self, state: Mapping[str, Any]) -> None:
        """Go back to what `own_state` returned.

        Raises:
            ValueError: No search can have had it.
        """
        n = len(self.genes)
        for name, shape in _ARRAYS.items():
            found = np.array(state[name], dtype=float)
            if found.shape != (n,) * shape or not np.isfinite(found).all():
                raise ValueError(f"{name} of shape {found.shape} is not that of {n} genes")
            setattr(self, f"_{name}", found)
        self._sigma, self._since, self._waiting = (
            float(state["sigma"]),
            counted(state["since"]),
            counted(state["waiting"]),
        )
        self._best = math.inf if state["best"] is None else float(state["best"])
        if not 0.0 < self._sigma < math.inf or self._since > self.generation:
            raise ValueError(f"a step of {self._sigma}, {self._since} generations after a start")


_ARRAYS = {"mean": 1, "covariance": 2, "path": 1, "path_sigma": 1}
