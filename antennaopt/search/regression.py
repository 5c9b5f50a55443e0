"""Gaussian process regression of several outputs of the same inputs.

The covariance is Matern's of order 5/2 plus that of a linear function. All outputs share its length and noise, which
are those of the largest likelihood on a grid; each output has an amplitude of its own, by its closed form.

References:
    Rasmussen, Williams, Gaussian processes for machine learning, MIT Press 2006: (2.25), (5.8), (4.17).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
from threadpoolctl import ThreadpoolController

LENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Of the covariance, over the root mean of the squared distances."""

NOISES = (1e-6, 1e-4, 1e-2)
"""Variances, over that of the amplitude."""

_SMALLEST = 1e-12  # of a variance


@lru_cache(maxsize=1)
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS take one thread while the body runs: its sums have another order with another number of threads.

    More of them gain nothing on a few hundred points, and next to workers that use all cores they wait for each other.
    """
    with _pools().limit(limits=1, user_api="blas"):
        yield


class Regression:
    """The mean of Gaussian processes, given values at some inputs."""

    def __init__(self, inputs: np.ndarray, outputs: np.ndarray, lengths: Sequence[float] = LENGTHS) -> None:
        """Fit.

        Args:
            inputs: Shape (points, dimensions); at least two points, no unit is much smaller than the others.
            outputs: Shape (points, outputs), finite.
            lengths: Candidates, over the root mean of the squared distances.
        """
        self._inputs = inputs
        self._middle, spread = outputs.mean(axis=0), outputs.std(axis=0)
        self._spread = np.where(spread > _SMALLEST, spread, 1.0)
        scaled = (outputs - self._middle) / self._spread
        squared = _squared_distances(inputs, inputs)
        self._unit = max(float(squared.mean()), _SMALLEST)
        straight = self._linear(inputs)
        best = -np.inf
        for length in lengths:
            covariance = _matern(squared / (length**2 * self._unit)) + straight
            for noise in NOISES:
                noisy = covariance + noise * np.eye(len(inputs))
                try:
                    root = np.linalg.cholesky(noisy)
                except np.linalg.LinAlgError:
                    continue
                weights = np.linalg.solve(noisy, scaled)
                amplitudes = np.maximum((scaled * weights).sum(axis=0) / len(inputs), _SMALLEST)
                spreads = 2.0 * float(np.log(np.diag(root)).sum())
                likelihood = -0.5 * (len(inputs) * float(np.log(amplitudes).sum()) + scaled.shape[1] * spreads)
                if likelihood > best:
                    best, self._length, self._weights = likelihood, length, weights
        if best == -np.inf:  # no covariance is positive definite: the mean alone
            self._length, self._weights = 1.0, np.zeros_like(scaled)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Return the mean at other inputs, shape (points, outputs)."""
        squared = _squared_distances(inputs, self._inputs)
        covariance = _matern(squared / (self._length**2 * self._unit)) + self._linear(inputs)
        return covariance @ self._weights * self._spread + self._middle

    def _linear(self, inputs: np.ndarray) -> np.ndarray:
        """Return the covariance of a linear function between some inputs and those of the fit."""
        return (inputs @ self._inputs.T + 1.0) / self._unit


def _squared_distances(ones: np.ndarray, others: np.ndarray) -> np.ndarray:
    squares = (ones**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)[None] - 2.0 * ones @ others.T
    return np.maximum(squares, 0.0)


def _matern(squared: np.ndarray) -> np.ndarray:
    """Return Matern's covariance of order 5/2 from squared distances over the squared length."""
    far = np.sqrt(5.0 * squared)
    return (1.0 + far + far**2 / 3.0) * np.exp(-far)
