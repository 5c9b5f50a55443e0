"""The local search at the end of a search: a small normal distribution around each of the best few antennas.

It has the last share of the budget. When the search before it is over for another reason, it begins then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.search.candidate import Made, Scored, counted, recorded
from antennaopt.search.distribution import Distribution
from antennaopt.settings import EvolutionSettings, Stop

if TYPE_CHECKING:
    from antennaopt.experiment import Gene

POLISHED = "polished"
"""Operator of an individual of the local search; its parent is the one that the search closes in on."""

FEW = 2
"""Individuals that are polished, at most."""

APART = 0.05
"""Least distance of two of them in some gene, of its range: nearer ones are one optimum."""

_FIRST_STEP = 0.03  # of a gene's range
_SMALLEST_STEP = 1e-4  # of a gene's range: a lens radius of 10 mm +- 1 um


@dataclass(kw_only=True)
class _Centre:
    """An individual that is polished.

    Attributes:
        individual: Its id.
        genome: Its genome; genes that move in steps keep these values.
        near: Distribution over the other genes.
    """

    individual: str
    genome: tuple[float, ...]
    near: Distribution


class Polish:
    """The local search, from its first generation on.

    Attributes:
        begins: Its first generation; None before.
        replayed: In place of the decision when to begin: the generation in which a run that is replayed began, or 0.
    """

    def __init__(self, settings: EvolutionSettings, genes: Sequence[Gene]) -> None:
        self._settings = settings
        self._free = [place for place, gene in enumerate(genes) if gene.kind == "real"]
        self.begins: int | None = None
        self.replayed: int | None = None
        self._why, self._spared, self._spent = "", 0, False
        self._centres: list[_Centre] = []

    @property
    def stop(self) -> Stop:
        """When a run is over that is polished."""
        return self._settings.stop

    @property
    def generations(self) -> int:
        """Number of generations of the run; a raised budget is the local search's."""
        return self._settings.generations - self._spared

    def is_on(self, generation: int) -> bool:
        """Return whether a generation is one of the local search."""
        return self.begins is not None and generation >= self.begins

    def begin(self, generation: int, why: str, best: Sequence[Scored]) -> bool:
        """Begin, if there is anything to polish.

        Args:
            generation: That is made next.
            why: The search before it is over.
            best: The best individuals, the best first.

        Returns:
            Whether it has begun.
        """
        if not best or not self._free or (self.replayed is not None and self.replayed != generation):
            return False
        self.begins, self._why = generation, why
        self._spared = max(self._settings.before_polish.generations - generation, 0)
        chosen = list(best[:1])
        for one in best:
            if len(chosen) < FEW and all(self._distance(one, other) > APART for other in chosen):
                chosen.append(one)
        self._centres = [self._centre(one.candidate.individual, one.candidate.genome, len(chosen)) for one in chosen]
        for one in self._centres:
            one.near.begin(np.array([one.genome[place] for place in self._free]), _FIRST_STEP)
        return True

    def _distance(self, one: Scored, other: Scored) -> float:
        pairs = zip(one.candidate.genome, other.candidate.genome, strict=True)
        return max(abs(x - y) for x, y in pairs)

    def _centre(self, individual: str, genome: tuple[float, ...], count: int) -> _Centre:
        size = max(self._settings.population // count, 2)
        return _Centre(individual=individual, genome=genome, near=Distribution(len(self._free), size))

    def over(self) -> str | None:
        """Return why it is over before its budget is used up, or None."""
        return f"{self._why}; polished until the step was below {_SMALLEST_STEP:g} of a range" if self._spent else None

    def ended(self, reason: str) -> str:
        """Return why the run is over, where the budget ended it."""
        return f"{self._why}; polished: {reason}"

    def breed(self, count: int) -> list[Made]:
        """Return individuals near each centre, those of a centre next to each other; drawn within `seeded`."""
        made: list[Made] = []
        for centre, share in zip(self._centres, self._shares(count), strict=True):
            for drawn in centre.near.samples(share) if share else ():
                genome = list(centre.genome)
                for place, gene in zip(self._free, drawn, strict=True):
                    genome[place] = gene
                made.append((tuple(genome), (centre.individual,), POLISHED))
        return made

    def _shares(self, count: int) -> list[int]:
        each, more = divmod(count, len(self._centres))
        return [each + (place < more) for place in range(len(self._centres))]

    def take(self, told: Sequence[Scored], count: int, generation: int) -> None:
        """Let each distribution learn from its individuals.

        Args:
            told: All of a generation, in the order of slots; the last ones may be missing.
            count: Individuals that were bred.
            generation: Which.
        """
        first = 0
        for centre, share in zip(self._centres, self._shares(count), strict=True):
            mine = told[first : first + share]
            first += share
            if len(mine) > 1 and self.begins is not None:
                order = sorted(range(len(mine)), key=lambda place: mine[place].rank)
                centre.near.learn(order, generation - self.begins)
        steps = (one.near.sigma * one.near.axes()[1].max() for one in self._centres)
        self._spent = all(step < _SMALLEST_STEP for step in steps)

    def state(self) -> dict[str, Any]:
        """Return JSON-able data with exact floats."""
        centres = [{"individual": one.individual, "genome": list(one.genome), **one.near.state()}
                   for one in self._centres]  # fmt: skip
        return {"begins": self.begins, "why": self._why, "spared": self._spared, "spent": self._spent,
                "centres": centres}  # fmt: skip

    def restore(self, state: Mapping[str, Any], generation: int) -> None:
        """Go back to what `state` returned.

        Args:
            state: From a checkpoint.
            generation: That is made next.

        Raises:
            ValueError: No search with these settings can have had it.
        """
        begins = None if state["begins"] is None else counted(state["begins"])
        centres = state["centres"]
        if (begins is None) != (not centres) or len(centres) > FEW or (begins or 0) > generation or begins == 0:
            raise ValueError(f"{len(centres)} individuals are polished from generation {begins} on")
        self.begins, self._why, self._spared = begins, str(state["why"]), counted(state["spared"])
        self._spent = state["spent"] is True
        self._centres = []
        for one in centres:
            genome = recorded(one["genome"])
            if not self._free or len(genome) <= self._free[-1]:
                raise ValueError(f"an individual of {len(genome)} genes is polished")
            centre = self._centre(str(one["individual"]), genome, len(centres))
            centre.near.restore(one)
            self._centres.append(centre)
