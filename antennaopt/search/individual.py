"""DEAP's view of an individual: a genome with what its operators and its selection read."""

from __future__ import annotations

from collections.abc import Iterable

from antennaopt.search.candidate import Scored, require_finite


class Individual(list):
    """A genome with the id and the standing that DEAP's operators carry along.

    Attributes:
        individual: Its id, or its parent's while it is bred.
        standing: Its fitness with the other sign, so that the largest is the best; None before it is solved. Selection
            compares these: DEAP's own `Fitness` takes as long to make and compare as all the rest of breeding.
    """

    def __init__(self, genome: Iterable[float], individual: str = "", standing: float | None = None) -> None:
        super().__init__(genome)
        self.individual = individual
        self.standing = standing

    @classmethod
    def from_scored(cls, scored: Scored) -> Individual:
        """Build DEAP's form."""
        require_finite(scored.candidate.individual, scored.fitness)
        return cls(scored.candidate.genome, scored.candidate.individual, -scored.fitness)

    def child(self) -> Individual:
        """Copy the genes only: a child has no standing until it is solved."""
        return Individual(self, self.individual)
