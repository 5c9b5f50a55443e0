"""Perturbed copies of a design, as a workshop might make them, drawn from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from antennaopt.families import Parameter, parameter_of
from antennaopt.settings import TRUNCATED_AT, Spread, Tolerance

IN_A_SEARCH, AFTERWARDS = 1, 2
"""Streams of random numbers of one seed, which have nothing in common."""


def deviations(tolerance: Tolerance, count: int, seed: int, *, stream: int = AFTERWARDS) -> np.ndarray:
    """Draw the deviations of antennas from their design.

    The first of a larger number are those of a smaller one.

    Args:
        tolerance: What differs.
        count: Antennas.
        seed: Same seed, same deviations.
        stream: `IN_A_SEARCH` or `AFTERWARDS`.

    Returns:
        Deviations, SI, shape (antennas, `tolerance.deviations`).
    """
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(stream,))))
    uniform = generator.random((count, len(tolerance.deviations)))
    spreads = [one for one in tolerance.of for _ in one.deviations]
    drawn = [_deviation(one, uniform[:, column]) for column, one in enumerate(spreads)]
    return np.stack(drawn, axis=1) if drawn else uniform


def _deviation(spread: Spread, uniform: np.ndarray) -> np.ndarray:
    """Turn numbers between 0 and 1 into deviations, by the inverse of the distribution function."""
    if spread.kind == "uniform":
        return (2.0 * uniform - 1.0) * spread.reach
    below = ndtr(-TRUNCATED_AT)
    return np.clip(spread.sigma * ndtri(below + uniform * (1.0 - 2.0 * below)), -spread.reach, spread.reach)


def perturbed(tolerance: Tolerance, design: Mapping[str, float], deviation: np.ndarray) -> dict[str, float]:
    """Return the antenna that is made of a design.

    Args:
        tolerance: What differs.
        design: Every parameter, SI, by dotted name.
        deviation: One row of `deviations`.
    """
    drawn, made = deviation.tolist(), dict(design)
    for entry, place in tolerance.drawn_by:
        made[entry] = design[entry] + drawn[place]
    return made


def impossible(tolerance: Tolerance, design: Mapping[str, float]) -> str | None:
    """Return why an antenna cannot be made, where a parameter is not what an antenna file may hold; else None.

    Args:
        tolerance: What differs.
        design: From `perturbed`.
    """
    for entry, parameter in _limited(tolerance.entries):
        value = design[entry]
        low_enough = value > parameter.lowest if parameter.above else value >= parameter.lowest
        if not (low_enough and value <= parameter.highest):
            sign = ">" if parameter.above else ">="
            return (
                f"antenna.{entry} = {value:.6g} (SI) cannot be made (must be {sign} {parameter.lowest:g} and <= "
                f"{parameter.highest:g})"
            )
    return None


@lru_cache(maxsize=8)
def _limited(entries: tuple[str, ...]) -> tuple[tuple[str, Parameter], ...]:
    """Return the entries of a design that are of a parameter, each with it: looking one up takes 25 us."""
    found = ((entry, parameter_of(entry)) for entry in entries)
    return tuple((entry, parameter) for entry, parameter in found if parameter is not None)
