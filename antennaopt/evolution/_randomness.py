"""Randomness that depends on the seed and the generation only, never on what ran before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def seeded(seed: int, generation: int) -> Iterator[None]:
    """Seed Python's and NumPy's global generators for one generation, and give back their states afterwards.

    DEAP draws from the global `random` module. Seeding it anew each generation makes a resumed run equal to one that
    was never stopped, without any generator state in a checkpoint.

    Args:
        seed: The experiment's seed, at least 0.
        generation: The generation that is about to be made.
    """
    python_state, numpy_state = random.getstate(), np.random.get_state()
    words = np.random.SeedSequence([seed, generation]).generate_state(16, np.uint32)
    random.seed(int.from_bytes(words[:8].tobytes(), "little"))
    np.random.seed(words[8:])
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
