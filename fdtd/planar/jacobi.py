"""The five-point sum, the smallest problem with the dependences of a leapfrog: a lattice, a weight, a number of steps.

    u(j, i) <- w (u(j, i) + u(j - 1, i) + u(j + 1, i) + u(j, i - 1) + u(j, i + 1)),

all inner points at once; the rim stays as it is. With w = 1 it is the pseudo-2-D Jacobi stencil of Barigou, which
grows without bound; w = 1/5 is a mean.

References:
    Barigou, Acceleration of real-life stencil codes on GPUs (2011), algorithm 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fdtd.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class JacobiProblem:
    """What to step.

    Attributes:
        initial: Start values (batch, rows, columns).
        steps: Times the sum is taken.
        weight: Of each of the five values, w.
    """

    initial: np.ndarray
    steps: int
    weight: float = 0.2

    def __post_init__(self) -> None:
        if self.initial.ndim != 3 or min(self.initial.shape[1:]) < 3:
            raise ConfigError(f"initial has shape {self.initial.shape} (needs (batch, rows, columns), >= 3 x 3 points)")
        if self.steps < 0:
            raise ConfigError(f"steps = {self.steps} must be >= 0")
