"""Loops from formulas give the bits of the loops that were written by hand before: fields and samples of all probes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hand_written_planar import run as run_by_hand
from test_planar import random_problem

from fdtd.backends.cpu import planar


@pytest.mark.slow  # compiling both takes most of it
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(14, 17), (41, 33), (64, 35), (37, 129)])
@pytest.mark.parametrize("kind", ["TM", "TE", "TE, uncoupled"])
def test_same_bits(kind: str, shape: tuple[int, int], precision: str) -> None:
    """300 steps of everything at once; sizes around the widths that vectorised loops like."""
    problem = random_problem(kind[:2], shape)
    if kind == "TE, uncoupled":
        problem = replace(problem, media=replace(problem.media, coupling=0 * problem.media.coupling))
    made = planar.run(problem, precision=precision)
    final, samples = run_by_hand(problem, precision)
    assert made.final.tobytes() == final.tobytes()
    assert np.concatenate(made.samples, axis=2).tobytes() == samples.tobytes()
