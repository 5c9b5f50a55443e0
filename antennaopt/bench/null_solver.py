"""An evaluation that solves nothing: it returns outcomes of realistic size and shape, to measure the cost of the farm.

Workers import this module by its name.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from antennaopt.metrics import METRICS
from antennaopt.solve.outcome import Outcome

NUMBER = "ANTENNAOPT_WORKER"
"""Environment variable with a local worker's number; see `antennaopt.farm.servers`."""

LARGEST_LENGTH = 0.1
"""What is smaller in a design is taken for a length, m."""

_DEVICE = threading.Lock()
"""Two batches of a worker step one after the other, as they do on a device."""

THETA_DEG = np.arange(181.0)
THETA_DEG.setflags(write=False)  # all outcomes have this very array
"""Angles of a cut, as of an antenna of at most 20 wavelengths."""


def null_evaluate(
    family: str, designs: Sequence[Mapping[str, float]], plan: Mapping[str, Any], *, backend: str, fields: bool = False
) -> list[Outcome]:
    """Return an outcome a design as `evaluate` does, from a formula.

    Directivity falls with the distance of the design's lengths from a slope of 10, 11, ... mm, so that a search has
    something to climb; everything else is the same for all, but for the cuts: each has values of its own, so that as
    many bytes travel and are stored as of antennas that were solved.

    Args:
        family: Antenna family; of no consequence.
        designs: Full designs, SI, by dotted name.
        plan: With `frequencies_hz`; `seconds` that an antenna is to take, in which the worker sleeps as one does whose
            device steps; or `speeds`, antennas/s of each worker by its number, in place of these.
        backend: Of no consequence.
        fields: Of no consequence: there are none.
    """
    frequencies = list(plan["frequencies_hz"])
    seconds = _sleep(len(designs), plan)
    outcomes = []
    for design in designs:
        lengths = [value for value in design.values() if value < LARGEST_LENGTH]
        off = sum((1e3 * value - 10.0 - place) ** 2 for place, value in enumerate(lengths))
        directivity = round(22.0 / (1.0 + 1e-3 * off), 9)
        e_plane, h_plane = _cuts(directivity, len(frequencies))
        found = {"directivity_dbi": directivity, "max_directivity_dbi": directivity, "gain_dbi": directivity - 0.02}
        metrics = {key: [found.get(key, METRICS[key].typical)] * len(frequencies) for key in METRICS}
        outcomes.append(
            Outcome(
                status="ok",
                steps=6000,
                cells=81920,
                frequency_hz=frequencies,
                s11=[[0.1, -0.05]] * len(frequencies),
                metrics=metrics,
                decay_db=-61.2,
                theta_deg=THETA_DEG,
                e_plane=e_plane,
                h_plane=h_plane,
                seconds=seconds,
                stepping_seconds=seconds,
            )
        )
    return outcomes


def _sleep(antennas: int, plan: Mapping[str, Any]) -> float:
    """Sleep for as long as the antennas are to take; return how long one took."""
    speeds = plan.get("speeds")
    each = 1.0 / speeds[int(os.environ.get(NUMBER, "0"))] if speeds else float(plan.get("seconds", 0.0))
    if each <= 0.0:
        return 0.0
    with _DEVICE:
        began = time.perf_counter()
        time.sleep(each * antennas)
        return (time.perf_counter() - began) / max(antennas, 1)


def _cuts(directivity: float, frequencies: int) -> np.ndarray:
    """Return a pattern of this antenna alone, amplitudes, complex64 of shape (planes, frequencies, angles).

    A smooth beam and ripple: the digits are as hard to compress as those of a solved antenna.
    """
    beam, ripple = _shape(frequencies)
    return (directivity * (1.0 + 1e-3 * directivity * ripple) * beam).astype(np.complex64)


@lru_cache(maxsize=4)
def _shape(frequencies: int) -> tuple[np.ndarray, np.ndarray]:
    theta = np.radians(THETA_DEG)
    waves = 4.0 + np.arange(2.0 * frequencies).reshape(2, frequencies, 1)
    return np.exp((-1.7 + 9.0j) * (1.0 - np.cos(theta))), np.sin(waves * theta)
