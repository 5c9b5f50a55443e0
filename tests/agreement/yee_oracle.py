"""Records of an antenna in space against those of the oracle, for every backend's tests."""

from __future__ import annotations

import numpy as np
import pytest

from fdtd.backends import yee_reference
from fdtd.yee.problem import Problem, Records

TOLERANCE = {"float64": 5e-14, "float32": 2e-5}
"""Largest difference, over the largest value of the oracle."""


def assert_as_the_oracle(problem: Problem, found: Records, taken: np.ndarray, precision: str) -> None:
    """Compare steps, fields at the end, sums, box samples and energy.

    Args:
        problem: What was solved.
        found: Its records, with the fields at the end.
        taken: Its box samples, one block after the other.
        precision: "float32" or "float64".
    """
    blocks: list[np.ndarray] = []
    expected = yee_reference.run(problem, lambda first, block: blocks.append(block.copy()))
    assert found.steps == expected.steps
    bound = TOLERANCE[precision]
    pairs = {
        "fields": (found.final, expected.final),
        "sums": (found.sums, expected.sums),
        "samples": (taken, np.concatenate(blocks)),
    }
    for name, (one, other) in pairs.items():
        assert one is not None, name
        assert other is not None, name
        assert np.abs(one - other).max() <= bound * np.abs(other).max(), name
    assert found.energy == pytest.approx(expected.energy, rel=bound)
