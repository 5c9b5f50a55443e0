"""Problems in space with driven edges, sums and samples in all planes, so that some are next to any cut."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from fdtd.yee.problem import Probe, Problem, Source

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from test_yee import CASES, random_problem


def with_ports_everywhere(problem: Problem) -> Problem:
    """The problem with driven edges in many planes, and sums of edges of all planes and components."""
    rng, shape = np.random.default_rng(5), problem.grid.shape
    places = rng.choice(3 * int(np.prod(shape)), 60, replace=False)
    driven = np.stack(np.unravel_index(places, (3, *shape)), axis=-1)
    summed = np.stack(np.unravel_index(rng.choice(6 * int(np.prod(shape)), 300), (6, *shape)), axis=-1)
    weights = rng.standard_normal((3, 300))
    weights[1, :140], weights[2, 160:] = 0, 0
    return replace(
        problem,
        source=Source(points=driven, gains=rng.standard_normal(60), waveform=np.sin(0.3 * np.arange(30))),
        probe=Probe(points=summed, weights=weights),
    )


@lru_cache
def posed(case: str, steps: int) -> Problem:
    """One of the cases, from noise."""
    return with_ports_everywhere(random_problem(**CASES[case], steps=steps))
