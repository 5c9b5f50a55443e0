"""Checks of the arguments of every solver: frequencies, and the stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from fdtd.errors import ConfigError

_SLOWEST = 1e6  # time steps a period
_FASTEST = 4.0


def checked_frequencies(frequencies: Sequence[float] | np.ndarray, time_step: float | None = None) -> np.ndarray:
    """Return frequencies as an array, Hz, (F,), in the same order; one number becomes an array of one.

    Args:
        frequencies: Hz.
        time_step: Of the lattice, s; a period has to be 4 to a million of them. None where the lattice is chosen by the
            frequencies.

    Raises:
        ConfigError: There is none, one is no number, not finite or not positive, or the lattice is not made for it.
    """
    try:
        given = np.atleast_1d(np.asarray(frequencies))
    except (TypeError, ValueError):  # lists of several lengths
        given = np.array([None])
    if given.size and given.dtype.kind not in "iuf":
        raise ConfigError(f"frequencies = {_short(frequencies)} are no list of numbers; give each in Hz")
    wanted = given.astype(float)
    if wanted.ndim != 1 or not len(wanted):
        raise ConfigError(f"frequencies have the shape {wanted.shape} (need at least one along one axis)")
    for at, one in enumerate(wanted.tolist()):
        if not 0 < one < math.inf:
            raise ConfigError(f"frequencies[{at}] = {one:g} Hz is not allowed (needs > 0 and finite)")
        period = math.inf if time_step is None else 1 / one / time_step
        if time_step is not None and not _FASTEST <= period <= _SLOWEST:
            raise ConfigError(
                f"frequencies[{at}] = {one:g} Hz has {period:.3g} of the lattice's time steps a period (needs "
                f"{_FASTEST:g} to {_SLOWEST:g}); give it in Hz, or make a lattice for it"
            )
    return wanted


def check_stop(decay_db: float, max_steps: int | None) -> None:
    """Check when to stop: `decay_db` against the energy's largest, so below zero, and a step limit or None.

    Raises:
        ConfigError: The one is not negative and finite, or the other no whole number from 1.
    """
    if not isinstance(decay_db, Real) or not -math.inf < float(decay_db) < 0:
        raise ConfigError(f"decay_db = {_short(decay_db)} is not allowed (needs < 0 and finite: the energy falls)")
    check_count("max_steps", max_steps)


def check_count(name: str, value: int | None) -> None:
    """Check that a value is None or a whole number from 1.

    Raises:
        ConfigError: It is not.
    """
    if value is not None and (not isinstance(value, Integral) or int(value) < 1):
        raise ConfigError(f"{name} = {_short(value)} is not allowed (needs a whole number from 1, or None)")


def _short(value: Any) -> str:
    found = " ".join(repr(value).split())
    return found if len(found) <= 60 else f"{found[:57]}..."
