"""Variation and selection: DEAP's operators that keep the bounds, and bounded forms of the others.

Every operator works in place on genomes in [0, 1] and draws from Python's `random` module, as DEAP does; `seeded` puts
a generator of its own in that module's place. The three that nearly all searches use, `simulated_binary`, `polynomial`
and `tournament`, are DEAP's written out for these bounds: the same draws and the same bits in less than half of the
time.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Self

import numpy as np
from deap import tools

from antennaopt.search.candidate import Made, Scored, require_finite
from antennaopt.settings import Crossover, Mutation

DRAWING = (
    *("deap.tools.crossover", "deap.tools.emo", "deap.tools.mutation", "deap.tools.selection"),
    *(f"{__package__}.{one.name}" for one in iter_modules([str(Path(__file__).parent)])),
)
"""Modules that may draw from what they know by the name `random`: DEAP's, and all of this package."""

PYTHONS_RANDOM = random

SEED_BITS = 256
"""Of the seed of a generation."""

SAME_GENE = 1e-14
"""Two parents that are no further apart in a gene do not mix there."""


class Individual(list):
    """DEAP's view of an individual: a genome with the id and the standing that its operators carry along.

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


Genome = list[float]
CrossoverOperator = Callable[[Genome, Genome, Crossover], None]
MutationOperator = Callable[[Genome, Mutation], None]


class Draws:
    """A generator of its own for DEAP and our operators, in place of Python's and NumPy's global ones.

    A context manager that may be entered again: what is drawn then follows what was drawn before.
    """

    def __init__(self, number: int, numpy: dict[str, Any]) -> None:
        """Begin.

        Args:
            number: At least 0; seeds what takes the place of Python's `random`.
            numpy: State of NumPy's global generator.
        """
        self._number, self._generator, self._state = number, PYTHONS_RANDOM.Random(number), numpy
        self._drawing: list[ModuleType] = []

    def __enter__(self) -> Self:
        self._before = np.random.get_state(legacy=False)
        np.random.set_state(self._state)
        self._drawing = _drawing_modules()
        for module in self._drawing:
            module.random = self._generator  # type: ignore[attr-defined]
        return self

    def begin_part(self, part: int) -> None:
        """Begin the numbers of one part of a generation, which do not depend on what was drawn before.

        Those of NumPy go on.
        """
        self._generator.seed((part + 1) << SEED_BITS | self._number)

    def __exit__(self, *exception: object) -> None:
        for module in self._drawing:
            module.random = PYTHONS_RANDOM  # type: ignore[attr-defined]
        self._state = np.random.get_state(legacy=False)
        np.random.set_state(self._before)


def seeded(seed: int, generation: int) -> Draws:
    """Give DEAP and our operators a generator of their own for one generation, and seed NumPy's global one.

    What is drawn depends on the seed and the generation only. So a resumed run is equal to one that was never stopped,
    without any generator state in a checkpoint. Python's global generator will not do: other threads of the driver draw
    from it at any moment (Dask does, to wait a random time before it connects once more), and a draw in the midst of
    breeding changes all that follow.

    Args:
        seed: The experiment's seed, at least 0.
        generation: The generation that is about to be made.
    """
    words = np.random.SeedSequence([seed, generation]).generate_state(16, np.uint32)
    number = int.from_bytes(words[: SEED_BITS // 32].tobytes(), "little")
    return Draws(number, np.random.RandomState(words[SEED_BITS // 32 :]).get_state(legacy=False))


def _drawing_modules() -> list[ModuleType]:
    """Return the modules that are imported and know Python's `random` by its name."""
    modules = [sys.modules.get(name) for name in DRAWING]  # not all of them: thousands, at every `ask`
    return [one for one in modules if getattr(one, "random", None) is PYTHONS_RANDOM]  # type: ignore[misc]


def uniform_genome(genes: int) -> tuple[float, ...]:
    """Draw a genome."""
    return tuple(random.random() for _ in range(genes))


def reflect(x: float) -> float:
    """Fold a number back into [0, 1] at the ends, so that mass does not pile up on the bounds."""
    x = abs(x) % 2.0
    return 2.0 - x if x > 1.0 else x


def simulated_binary(one: Genome, other: Genome, settings: Crossover) -> None:
    """Simulated binary crossover, bounded (Deb and Agrawal 1995): `cxSimulatedBinaryBounded` of DEAP."""
    draw, power = random.random, -(settings.eta + 1)
    root = -1.0 / power
    for place, x in enumerate(one):
        if draw() > 0.5:
            continue
        y = other[place]
        low, high = (y, x) if y < x else (x, y)
        apart = high - low
        if apart <= SAME_GENE:
            continue
        middle, drawn = low + high, draw()
        alpha = 2.0 - (1.0 + 2.0 * low / apart) ** power
        scaled = drawn * alpha
        spread = (scaled if drawn <= 1.0 / alpha else 1.0 / (2.0 - scaled)) ** root
        lower = 0.5 * (middle - spread * apart)
        alpha = 2.0 - (1.0 + 2.0 * (1.0 - high) / apart) ** power
        scaled = drawn * alpha
        spread = (scaled if drawn <= 1.0 / alpha else 1.0 / (2.0 - scaled)) ** root
        upper = 0.5 * (middle + spread * apart)
        lower = 0.0 if lower < 0.0 else 1.0 if lower > 1.0 else lower
        upper = 0.0 if upper < 0.0 else 1.0 if upper > 1.0 else upper
        one[place], other[place] = (upper, lower) if draw() <= 0.5 else (lower, upper)


def blend(one: Genome, other: Genome, settings: Crossover) -> None:
    """Blend crossover BLX-alpha. DEAP's `cxBlend` leaves the bounds; its children are folded back."""
    tools.cxBlend(one, other, alpha=settings.alpha)
    one[:] = [reflect(x) for x in one]
    other[:] = [reflect(x) for x in other]


def uniform(one: Genome, other: Genome, settings: Crossover) -> None:
    """Exchange each gene with `swap_probability`, by DEAP."""
    tools.cxUniform(one, other, indpb=settings.swap_probability)


def two_point(one: Genome, other: Genome, settings: Crossover) -> None:
    """Exchange the genes between two cuts. DEAP's `cxTwoPoint` never moves gene 0 and needs two genes."""
    first, last = sorted(random.sample(range(len(one) + 1), 2))
    one[first:last], other[first:last] = other[first:last], one[first:last]


def polynomial(child: Genome, settings: Mutation) -> None:
    """Polynomial mutation, bounded (Deb and Goyal 1996): `mutPolynomialBounded` of DEAP."""
    draw, probability, power = random.random, settings.probability, settings.eta + 1.0
    root = 1.0 / power
    for place, x in enumerate(child):
        if draw() > probability:
            continue
        drawn = draw()
        if drawn < 0.5:
            x += (2.0 * drawn + (1.0 - 2.0 * drawn) * (1.0 - x) ** power) ** root - 1.0
        else:
            x += 1.0 - (2.0 * (1.0 - drawn) + 2.0 * (drawn - 0.5) * (1.0 - (1.0 - x)) ** power) ** root
        child[place] = 0.0 if x < 0.0 else 1.0 if x > 1.0 else x


def gaussian(child: Genome, settings: Mutation) -> None:
    """Gaussian mutation. DEAP's `mutGaussian` leaves the bounds; its children are folded back."""
    tools.mutGaussian(child, mu=0.0, sigma=settings.sigma, indpb=settings.probability)
    child[:] = [reflect(x) for x in child]


CROSSOVER_OPERATORS: dict[str, CrossoverOperator] = {
    "simulated_binary": simulated_binary,
    "blend": blend,
    "uniform": uniform,
    "two_point": two_point,
}
MUTATION_OPERATORS: dict[str, MutationOperator] = {"polynomial": polynomial, "gaussian": gaussian}


def mutate_one_gene(child: Genome, settings: Mutation) -> None:
    """Mutate one gene drawn at random: for a child that came out as a copy of its parent and would teach nothing."""
    place = random.randrange(len(child))
    gene = [child[place]]
    MUTATION_OPERATORS[settings.kind](gene, replace(settings, probability=1.0))
    child[place] = gene[0]


def tournament(population: Sequence[Individual], count: int, size: int) -> list[Individual]:
    """Select `count` parents, each the best of `size` drawn at random (with replacement): `selTournament` of DEAP.

    What is returned are the individuals themselves: vary copies of them only.
    """
    meeting = [population[place] for place in contestants(len(population), count * size)]
    standings: list[Any] = [one.standing for one in meeting]
    firsts = range(0, count * size, size)
    return [meeting[max(range(first, first + size), key=standings.__getitem__)] for first in firsts]


def winners(standings: Sequence[float], count: int, size: int) -> list[int]:
    """Return the places of the parents that `tournament` selects of a population with these standings."""
    drawn = np.array(contestants(len(standings), count * size)).reshape(count, size)
    best = np.argmax(np.array(standings)[drawn], axis=1)  # of equal ones the first
    return drawn[np.arange(count), best].tolist()


def contestants(among: int, count: int) -> list[int]:
    """Draw `count` places in a population of `among`, with replacement, as `random.choice` does."""
    draw, bits, places = random.getrandbits, among.bit_length(), []
    for _ in range(count):
        place = draw(bits)
        while place >= among:
            place = draw(bits)
        places.append(place)
    return places


def vary(one: Individual, other: Individual, crossover: Crossover, mutation: Mutation) -> list[Made]:
    """Make two children of two parents.

    Args:
        one: First parent; left as it is.
        other: Second parent; left as it is.
        crossover: How they mix.
        mutation: How the children are disturbed.

    Returns:
        For each child its genes, the ids of its parents, and the operators that changed it. A copy
        of a parent has one gene mutated, unless mutation is off; then it is a `clone`.
    """
    first, second = one[:], other[:]
    crossed = random.random() < crossover.probability
    if crossed:
        CROSSOVER_OPERATORS[crossover.kind](first, second, crossover)
        parents = (one.individual,) if one.individual == other.individual else (one.individual, other.individual)
        plain, mutated = crossover.kind, f"{crossover.kind}+{mutation.kind}"
        families = ((first, parents), (second, parents))
    else:
        plain, mutated = "clone", mutation.kind
        families = ((first, (one.individual,)), (second, (other.individual,)))
    mutate, may_mutate, made = MUTATION_OPERATORS[mutation.kind], mutation.probability > 0.0, []
    for child, parents in families:
        before = child[:]
        mutate(child, mutation)
        if may_mutate and child in (one, other):
            mutate_one_gene(child, mutation)
        made.append((tuple(map(float, child)), parents, plain if child == before else mutated))
    return made
