"""What an absorbing layer of a rectilinear lattice sends back, over what a wall in its place sends back.

A current along z radiates a pulse centred at 14 cells a wavelength, five cells in front of the face x-. Probes as far
from it, and up to 2 x 5 x tan(60 degrees) = 17 cells along y, see waves that it reflects at up to 60 degrees. All other
faces are so far away that nothing comes back in time; the direct wave is taken off by a run where x- is too.

Measured with 8 cells: -83 dB at 11 degrees, -92 dB at 60 degrees; the target is -60 dB.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from fdtd.backends.cpu import yee
from fdtd.waveforms import KaiserPulse
from fdtd.yee.grid import Grid
from fdtd.yee.media import empty
from fdtd.yee.problem import Probe, Problem, Sampling, Source

CELL = 1e-3
WAVELENGTH_CELLS = 14
AWAY = 5
OFFSETS = (2, 6, 10, 17)  # cells along the layer: 11, 31, 45, 60 degrees


def probed(face: str, room: int = 0) -> np.ndarray:
    """Field at the probes, (steps, probes), where x- is a `layer`, a `wall` or `far` away."""
    layers, before = 8 if face == "layer" else 0, {"layer": 8, "wall": 0, "far": room}[face]
    counts = (2 * AWAY + room + before, 2 * AWAY + max(OFFSETS) + 2 * room, 2 * AWAY + 2 * room)
    x, y, z = (CELL * np.arange(count + 1) for count in counts)
    grid = Grid(x=x, y=y, z=z, layers=(layers, 0, 0, 0, 0, 0))
    frequency = 299792458.0 / (WAVELENGTH_CELLS * CELL)
    waveform = KaiserPulse(centre=frequency, width=0.37 * frequency).samples(grid.dt)
    steps = len(waveform) + 40
    if not room:
        return probed(face, math.ceil(0.98 * steps / math.sqrt(3) / 2) + 2)
    at = np.array([(2, room + AWAY, room + AWAY + offset, before + AWAY) for offset in (0, *OFFSETS)])
    problem = Problem(
        grid=grid,
        media=empty(grid),
        sampling=Sampling(steps=steps),
        source=Source(points=at[:1], gains=np.ones(1), waveform=waveform),
        probe=Probe(points=at[1:], weights=np.eye(len(OFFSETS))),
    )
    return yee.run(problem).sums


@pytest.mark.slow
def test_reflection_up_to_sixty_degrees(measured: Callable[..., float]) -> None:
    far = probed("far")
    layer, wall = (np.abs(probed(face) - far).max(axis=0) for face in ("layer", "wall"))
    for offset, level in zip(OFFSETS, 20 * np.log10(layer / wall), strict=True):
        angle = float(np.rad2deg(np.arctan2(offset, 2 * AWAY)))
        measured("reflection", level, "dB", at_most=-60, angle_deg=round(angle))
