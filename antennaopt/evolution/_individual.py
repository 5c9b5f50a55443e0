"""DEAP's view of an individual. Module-level classes: `deap.creator` rebinds its own when they are unpickled."""

from __future__ import annotations

from collections.abc import Iterable

from deap import base

from antennaopt.evolution._candidate import Scored, require_finite


class MinimisedFitness(base.Fitness):
    """One number, minimised. Weights stay +-1: others lose bits of the stored value."""

    weights = (-1.0,)


class Individual(list):
    """A genome with the fitness and the id that DEAP's operators carry along."""

    def __init__(self, genome: Iterable[float], individual: str = "") -> None:
        super().__init__(genome)
        self.individual = individual
        self.fitness = MinimisedFitness()

    @classmethod
    def from_scored(cls, scored: Scored) -> Individual:
        """Build DEAP's form."""
        require_finite(scored.candidate.individual, scored.fitness)
        one = cls(scored.candidate.genome, scored.candidate.individual)
        one.fitness.values = (scored.fitness,)
        return one

    def child(self) -> Individual:
        """Copy the genes only: a child has no fitness until it is solved."""
        return Individual(self, self.individual)
