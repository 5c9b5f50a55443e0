"""A normal distribution on [0, 1]^n that adapts to the better half of its samples: the step of CMA-ES.

Samples beyond a bound are folded back, and the distribution learns from the folded ones.

References:
    Hansen, The CMA evolution strategy: a tutorial, arXiv 1604.00772v2 (2023); defaults of its table 1.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from antennaopt.search.operators import reflect

ARRAYS = {"mean": 1, "covariance": 2, "path": 1, "path_sigma": 1}
"""What is learnt, with the number of dimensions."""


class Distribution:
    """Mean, step length, covariance and evolution paths.

    Attributes:
        mean: Of the distribution, shape (genes,).
        sigma: Step length, of a gene's range.
    """

    def __init__(self, genes: int, size: int, least: np.ndarray | None = None) -> None:
        """Take the constants; `begin` comes next.

        Args:
            genes: Number of genes.
            size: Samples a generation.
            least: Least standard deviation of each gene, of its range, (genes,); None for no limits.
        """
        n = genes
        self._least = least
        self._weights = _weights_of(size)
        self._mu_eff = float(1.0 / (self._weights**2).sum())
        self._c_sigma = (self._mu_eff + 2) / (n + self._mu_eff + 5)
        self._d_sigma = 1 + 2 * max(0.0, math.sqrt((self._mu_eff - 1) / (n + 1)) - 1) + self._c_sigma
        self._c_c = (4 + self._mu_eff / n) / (n + 4 + 2 * self._mu_eff / n)
        self._c_1 = 2 / ((n + 1.3) ** 2 + self._mu_eff)
        rank_mu = 2 * (0.25 + self._mu_eff + 1 / self._mu_eff - 2) / ((n + 2) ** 2 + self._mu_eff)
        self._c_mu = min(1 - self._c_1, rank_mu)
        self._length = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n**2))  # of a standard normal vector
        self._genes = n

    def begin(self, mean: np.ndarray, sigma: float) -> None:
        """Start from a mean, the same in all directions."""
        self.mean, self.sigma = mean, sigma
        self._covariance = np.eye(self._genes)
        self._path, self._path_sigma = np.zeros(self._genes), np.zeros(self._genes)

    def samples(self, count: int) -> list[tuple[float, ...]]:
        """Draw samples, folded into the bounds."""
        axes, lengths = self.axes()
        normal = np.array([[random.gauss(0.0, 1.0) for _ in range(self._genes)] for _ in range(count)])
        drawn = [self.mean + self.sigma * (axes @ (lengths * one)) for one in normal]
        genomes = [tuple(reflect(float(x)) for x in one) for one in drawn]
        self._steps = (np.array(genomes) - self.mean) / self.sigma
        return genomes

    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the covariance's eigenvectors and the square roots of its eigenvalues."""
        values, vectors = np.linalg.eigh(self._covariance)
        return vectors, np.sqrt(np.maximum(values, 1e-20))

    def learn(self, places: Sequence[int], since: int) -> None:
        """Update mean, paths, covariance and step length by the last samples.

        Args:
            places: Of the samples, the best first.
            since: Generations since `begin`, before this one.
        """
        weights = self._weights[: len(places)] / self._weights[: len(places)].sum()
        steps = self._steps[list(places[: len(weights)])]
        shift = weights @ steps
        self.mean = self.mean + self.sigma * shift
        axes, lengths = self.axes()
        keep = 1 - self._c_sigma
        self._path_sigma = keep * self._path_sigma + math.sqrt(self._c_sigma * (2 - self._c_sigma) * self._mu_eff) * (
            axes @ ((axes.T @ shift) / lengths)
        )
        size = float(np.sqrt(self._path_sigma @ self._path_sigma))
        damped = math.sqrt(1 - keep ** (2 * (since + 1)))
        steady = size / damped < (1.4 + 2 / (self._genes + 1)) * self._length
        self._path = (1 - self._c_c) * self._path
        if steady:
            self._path = self._path + math.sqrt(self._c_c * (2 - self._c_c) * self._mu_eff) * shift
        lost = 0.0 if steady else self._c_c * (2 - self._c_c)
        self._covariance = (
            (1 + self._c_1 * lost - self._c_1 - self._c_mu) * self._covariance
            + self._c_1 * np.outer(self._path, self._path)
            + self._c_mu * (steps.T * weights) @ steps
        )
        self._covariance = (self._covariance + self._covariance.T) / 2
        self.sigma *= math.exp(min(1.0, self._c_sigma / self._d_sigma * (size / self._length - 1)))
        self._keep_least()

    def fit(self, genomes: np.ndarray) -> None:
        """Move to the better half of some genomes: their weighted mean, their covariance and a part of the one before.

        The part is n / (n + mu), of n genes and an effective number mu of genomes: few say little of n directions. The
        evolution paths begin again.

        Args:
            genomes: The best first, (count, genes); at least one.
        """
        weights = _weights_of(len(genomes))
        near = genomes[: len(weights)]
        mean = weights @ near
        steps = near - mean
        part = self._genes / (self._genes + 1.0 / float(weights @ weights))
        found = (1.0 - part) * (steps.T * weights) @ steps + part * self.sigma**2 * self._covariance
        sigma = math.exp(float(np.linalg.slogdet(found)[1]) / (2 * self._genes))
        self.begin(mean, sigma)
        self._covariance = (found + found.T) / (2 * sigma**2)
        self._keep_least()

    def _keep_least(self) -> None:
        """Widen the covariance where a gene's standard deviation is below its least one."""
        if self._least is not None:
            missing = np.maximum((self._least / self.sigma) ** 2 - np.diag(self._covariance), 0.0)
            self._covariance = self._covariance + np.diag(missing)

    def deviations(self) -> np.ndarray:
        """Return the standard deviation of each gene, of its range, (genes,)."""
        return self.sigma * np.sqrt(np.diag(self._covariance))

    def state(self) -> dict[str, Any]:
        """Return what is learnt, as JSON-able data with exact floats."""
        arrays = {"mean": self.mean, "covariance": self._covariance, "path": self._path, "path_sigma": self._path_sigma}
        return {**{name: one.tolist() for name, one in arrays.items()}, "sigma": self.sigma}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to what `state` returned.

        Raises:
            ValueError: No distribution of so many genes can have had it.
        """
        found = {}
        for name, shape in ARRAYS.items():
            found[name] = np.array(state[name], dtype=float)
            if found[name].shape != (self._genes,) * shape or not np.isfinite(found[name]).all():
                raise ValueError(f"{name} of shape {found[name].shape} is not that of {self._genes} genes")
        self.mean, self._covariance = found["mean"], found["covariance"]
        self._path, self._path_sigma = found["path"], found["path_sigma"]
        self.sigma = float(state["sigma"])
        if not 0.0 < self.sigma < math.inf:
            raise ValueError(f"a step of {self.sigma}")


def _weights_of(size: int) -> np.ndarray:
    """Return the weights of the better half of samples, the best first; their sum is 1."""
    raw = math.log((size + 1) / 2) - np.log(np.arange(1, max(size // 2, 1) + 1))
    return raw / raw.sum() if raw.sum() > 0 else np.ones(1)
