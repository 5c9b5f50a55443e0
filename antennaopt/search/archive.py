"""Solved antennas of a search on one level, and their distances from each goal: the training data of predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from antennaopt.search.distribution import Distribution
from antennaopt.search.objectives import UNDEFINED_AIM, WORST_SHORTFALL_DB

KEPT = 1024
"""Antennas that are kept: half of them the last ones, half the best before those."""


class Archive:
    """Genomes, misses and fitness of solved antennas, in the order in which they were told.

    Attributes:
        genomes: Genes, each in [0, 1], shape (antennas, genes).
        misses: By how much each goal is missed at each frequency, shape (antennas, numbers).
        fitness: Shape (antennas,).
    """

    def __init__(self, genomes: np.ndarray, misses: np.ndarray, fitness: np.ndarray) -> None:
        """Take what is known.

        Raises:
            ValueError: The shapes do not go together, or a number is not finite.
        """
        if genomes.ndim != 2 or misses.ndim != 2 or not len(genomes) == len(misses) == len(fitness):
            raise ValueError(f"genomes {genomes.shape}, misses {misses.shape}, fitness {fitness.shape}")
        if not all(np.isfinite(one).all() for one in (genomes, misses, fitness)):
            raise ValueError("what is known of solved antennas is not finite")
        self.genomes, self.misses, self.fitness = genomes, misses, fitness

    @classmethod
    def empty(cls, genes: int) -> Self:
        """Return one that holds nothing."""
        return cls(np.empty((0, genes)), np.empty((0, 0)), np.empty(0))

    def __len__(self) -> int:
        return len(self.fitness)

    def with_more(self, genomes: np.ndarray, misses: np.ndarray, fitness: np.ndarray) -> Archive:
        """Return one with more antennas, and of those that are too many without the worst of the old ones."""
        if not len(fitness):
            return self
        if len(self):
            genomes, misses = np.concatenate([self.genomes, genomes]), np.concatenate([self.misses, misses])
            fitness = np.concatenate([self.fitness, fitness])
        old = max(len(fitness) - KEPT // 2, 0)
        best = np.sort(np.argsort(fitness[:old], kind="stable")[: KEPT // 2])
        kept = np.concatenate([best, np.arange(old, len(fitness))])
        return Archive(genomes[kept], misses[kept], fitness[kept])

    def near(self, distribution: Distribution, most: int) -> Archive:
        """Return those that are nearest to a distribution's mean, by its covariance, the nearest first."""
        axes, lengths = distribution.axes()
        away = ((self.genomes - distribution.mean) @ axes) / (distribution.sigma * lengths)
        kept = np.argsort((away**2).sum(axis=1), kind="stable")[:most]
        return Archive(self.genomes[kept], self.misses[kept], self.fitness[kept])

    def filled(self) -> np.ndarray:
        """Return the misses with the smallest, or largest, defined one of a column where none is defined."""
        found = self.misses.copy()
        for column in found.T:
            size = np.abs(column)
            sound = column[(size != WORST_SHORTFALL_DB) & (size < UNDEFINED_AIM)]
            least, most = (sound.min(), sound.max()) if len(sound) else (0.0, 0.0)
            np.clip(column, least, most, out=column)
        return found

    def state(self) -> dict[str, Any]:
        """Return it as JSON-able data with exact floats."""
        return {name: getattr(self, name).tolist() for name in ("genomes", "misses", "fitness")}

    @classmethod
    def restored(cls, state: Mapping[str, Any], genes: int) -> Archive:
        """Undo `state`.

        Raises:
            ValueError: It is not what `state` returned for this number of genes.
        """
        if not state["fitness"]:
            return cls.empty(genes)
        found = cls(*(np.array(state[name], dtype=float) for name in ("genomes", "misses", "fitness")))
        if found.genomes.shape[1] != genes or len(found) > KEPT:
            raise ValueError(f"{len(found)} solved antennas of {found.genomes.shape[1]} genes")
        return found
