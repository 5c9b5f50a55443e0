"""Patterns that are known at every angle, as cuts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import j0, j1, jvp

from fdtd.farfield.cuts import Cuts

Pattern = Callable[[np.ndarray], np.ndarray]


def angles(samples: int = 181) -> np.ndarray:
    return np.linspace(0.0, np.pi, samples)


def cuts_of(e: Pattern, h: Pattern | None = None, samples: int = 181) -> Cuts:
    theta = angles(samples)
    return Cuts(e=np.asarray(e(theta), complex), h=np.asarray((h or e)(theta), complex))


def cosine_power(n: int) -> Pattern:
    """Amplitude cos^(n/2)(theta) in front, nothing behind: directivity 2 (n + 1)."""
    return lambda theta: np.where(theta < np.pi / 2 + 1e-9, np.maximum(np.cos(theta), 0.0), 0.0) ** (n / 2)


def uniform_disc(ka: float) -> Pattern:
    """2 J_1(u)/u of a disc uniformly lit, u = ka sin(theta), times (1 + cos theta)/2, so that none is behind."""

    def field(theta: np.ndarray) -> np.ndarray:
        u = np.maximum(ka * np.sin(theta), 1e-9)
        return (1 + np.cos(theta)) * j1(u) / u

    return field


def te11_disc(ka: float) -> tuple[Pattern, Pattern]:
    """E- and H-plane of TE11 in a large mouth: J_1(u)/u and J_1'(u)/(1 - (u/1.8412)^2) (Balanis, sec. 12.5)."""
    zero = 1.841183781340659

    def h_plane(theta: np.ndarray) -> np.ndarray:
        u = ka * np.sin(theta)
        return (1 + np.cos(theta)) / 2 * 2 * jvp(1, u) / (1 - (u / zero) ** 2)

    return uniform_disc(ka), h_plane


def he11_disc(ka: float) -> Pattern:
    """A mouth lit by J_0(2.4048 rho/a): J_0(u)/(1 - (u/2.4048)^2)."""
    return lambda t: (1 + np.cos(t)) / 2 * j0(ka * np.sin(t)) / (1 - (ka * np.sin(t) / 2.404825557695773) ** 2)


def rippled(seed: int = 3, batch: int = 6) -> Cuts:
    """Random smooth cuts, (batch, 3, 181), each with a beam, side lobes, and E(0) = H(0)."""
    rng = np.random.default_rng(seed)
    order = np.arange(24)
    wave = np.cos(np.outer(order, angles()))
    shape = (2, batch, 3, len(order))
    factors = (rng.normal(size=shape) + 1j * rng.normal(size=shape)) / (1 + order) ** 1.5
    e, h = 0.04 * factors @ wave + np.exp(-((angles() / 0.4) ** 2))
    return Cuts(e=e, h=h - h[..., :1] + e[..., :1])


def on_circles(field: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]], rings: int) -> np.ndarray:
    """E_theta and E_phi of a function of theta, (L, 1), and phi, (2 L,), on Gauss's circles, (L, 2 L, 2)."""
    nodes = np.arccos(np.polynomial.legendre.leggauss(rings)[0])
    return np.stack(np.broadcast_arrays(*field(nodes[:, None], np.pi * np.arange(2 * rings) / rings)), axis=-1) + 0j


def of_revolution(cuts: Cuts, rings: int) -> np.ndarray:
    """The field of cuts of order 1 on Gauss's circles, (F, L, 2 L, 2)."""
    nodes = np.arccos(np.polynomial.legendre.leggauss(rings)[0])
    phi = np.pi * np.arange(2 * rings) / rings
    order = np.arange(cuts.samples)
    both = []
    for values in (cuts.e, cuts.h):
        waves = np.linalg.solve(np.cos(np.outer(cuts.theta, order)), values[..., None])[..., 0]
        both.append(waves @ np.cos(np.outer(order, nodes)))
    return np.stack([both[0][..., None] * np.cos(phi), -both[1][..., None] * np.sin(phi)], axis=-1)
