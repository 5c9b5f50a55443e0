"""Randomness that depends on the seed and the generation only, never on what ran before or runs beside it."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np

DRAWING = ("deap.tools.crossover", "deap.tools.emo", "deap.tools.mutation", "deap.tools.selection")
"""DEAP's modules that draw from what they know by the name `random`; those of this package do the same."""


@contextmanager
def seeded(seed: int, generation: int) -> Iterator[None]:
    """Give DEAP and our operators a generator of their own for one generation, and seed NumPy's global one.

    Seeding it anew each generation makes a resumed run equal to one that was never stopped, without any generator state
    in a checkpoint. Python's global generator will not do: other threads of the driver draw from it at any moment (Dask
    does, to wait a random time before it connects once more), and a draw in the midst of breeding changes all that
    follow.

    Args:
        seed: The experiment's seed, at least 0.
        generation: The generation that is about to be made.
    """
    numpy_state = np.random.get_state()
    words = np.random.SeedSequence([seed, generation]).generate_state(16, np.uint32)
    generator = random.Random(int.from_bytes(words[:8].tobytes(), "little"))
    np.random.seed(words[8:])
    drawing = [module for module in list(sys.modules.values()) if _draws(module)]
    for module in drawing:
        module.random = generator  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module in drawing:
            module.random = random  # type: ignore[attr-defined]
        np.random.set_state(numpy_state)


def _draws(module: ModuleType) -> bool:
    """Whether a module is DEAP's or ours and knows Python's `random` by its name."""
    name = getattr(module, "__name__", "")
    ours = name.startswith("antennaopt.search.") and name != __name__
    return (ours or name in DRAWING) and getattr(module, "random", None) is random
