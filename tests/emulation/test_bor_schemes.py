"""Every scheme of the CUDA backend, run on the CPU by the emulation, against the oracle: the whole contract at once."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from host_device import HostDevice

from fdtd.backends import cuda, reference
from fdtd.errors import Unsuitable

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import error, part, random_problem, record_errors  # noqa: E402

SCHEMES = tuple(cuda.SCHEMES)
UNCOUPLED = ("trapezoidal", "resident")  # refuse coupled nodes; more of them in test_bor_trapezoidal, test_bor_resident
# Relative to each component's largest magnitude at the end. Measured: 4e-15 and 4e-6.
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}


@pytest.mark.parametrize(("order", "batch", "precision"), [(0, 1, "float64"), (1, 2, "float32"), (2, 1, "float64")])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_random_problem(scheme: str, order: int, batch: int, precision: str) -> None:
    """120 steps from random fields with everything on: metal, loss, layers on all sides, source, every monitor."""
    problem = random_problem(seed=10 * order + batch, order=order, batch=batch, steps=120)
    if scheme in UNCOUPLED:
        with pytest.raises(Unsuitable, match="coupled"):
            cuda.run(problem, precision=precision, scheme=scheme, on=HostDevice())
        problem = replace(problem, media=replace(problem.media, coupling=None))
    measured = cuda.run(problem, precision=precision, scheme=scheme, on=HostDevice())
    expected = reference.run(problem)
    assert measured.final is not None and expected.final is not None
    np.testing.assert_array_equal(measured.steps, expected.steps)
    components = [error(measured.final[:, c], expected.final[:, c]) for c in range(6)]
    assert max(components) < TOLERANCE[precision], components
    errors = record_errors(measured, expected)
    assert max(errors.values()) < TOLERANCE[precision], errors
