"""Options of a call of `evaluate` in addition to an antenna's figures and fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SolveOptions:
    """SolveOptions of one call; those of a worker's call are plain data.

    Attributes:
        max_steps: Stop after at most this many steps; the plan's own limit when None.
        known: From `antennaopt.solve.recognition.beginnings`: antennas are recognised by their cells, and those that
            the driver may know come back unsolved. None to solve all.
        threads: Antennas solved at the same time.
        stages: Where to add the seconds of each stage (see `fdtd.axisymmetric.simulation.solve`).
        sphere: Whether to add the far field on the whole sphere, of an antenna that is no body of revolution.
        devices: CUDA devices that share each antenna's lattice; several in three dimensions alone.
        watch: Called at every test of an antenna's energy with the steps done and the energy over its peak.
    """

    max_steps: int | None = None
    known: bytes | None = None
    threads: int = 1
    stages: dict[str, float] | None = None
    sphere: bool = False
    devices: int = 1
    watch: Callable[[int, float], None] | None = None


PLAIN = SolveOptions()
"""Nothing besides."""
