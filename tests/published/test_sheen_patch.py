"""The patch of Sheen, Ali, Abouzahra and Kong (1990), on the paper's own cells.

The paper is IEEE Transactions on Microwave Theory and Techniques 38 (1990) 849.
Cells of 0.389 x 0.400 x 0.265 mm: a patch of 32 x 40 cells (12.45 x 16.00 mm) on three cells of permittivity 2.2 over a
ground plane, fed by a line of six cells (2.33 mm) that begins five cells from the patch's corner. Edges stand on
lattice lines, as the paper's did, so no edge is corrected here.

A lumped port drives the line's other end. Forward and backward wave come from the voltages below the line in two
planes; what the line does to a wave between them comes from a second run, in which it goes on into the absorbing layer.
So neither the port's mismatch nor a formula for the line enters.

The paper's curve has its main resonance at 7.5 GHz and the next near 10; openEMS on comparable meshes 7.45 to 7.58 GHz.
The bound is 1 % of the paper's. Measured: 7.445 GHz, 0.73 % below the paper's and 5 MHz below openEMS's
least; next 9.98 GHz; -16.5 dB at the resonance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fdtd import yee
from fdtd.backends.cpu import yee as cpu
from fdtd.waveforms import short_pulse_for
from fdtd.yee.media import fill
from fdtd.yee.ports import port_columns, transform
from fdtd.yee.problem import Probe, Problem, Sampling

DX, DY, DZ = 0.389e-3, 0.400e-3, 0.265e-3
LAYERS, LINE = 8, 40
FREQUENCIES = np.arange(6.0e9, 11.0e9, 5e6)
PLANES = (LAYERS + 20, LAYERS + 28)  # of the two voltages; 3.2 mm are a ninth of a wavelength at 7.5 GHz


def voltages(*, patch: bool) -> np.ndarray:
    """Spectra of the voltage in both planes, (2, frequencies), of the patch or of a line without end."""
    counts = 60 + 2 * LAYERS, 5 + LINE + 50 + 2 * LAYERS, 16 + LAYERS
    x, y, z = (cell * np.arange(count + 1) for cell, count in zip((DX, DY, DZ), counts, strict=True))
    grid = yee.Grid(x=x, y=y, z=z, layers=(LAYERS, LAYERS, LAYERS, LAYERS, 0, LAYERS))
    left, first, last, everywhere = LAYERS + 14, LAYERS + 5, LAYERS + 5 + LINE, (-np.inf, np.inf)
    strip = (x[left + 5], x[left + 11])
    sheets = [yee.Sheet(z=z[3], x=strip, y=(y[first], y[last] if patch else np.inf))]
    if patch:
        sheets.append(yee.Sheet(z=z[3], x=(x[left], x[left + 32]), y=(y[last], y[last + 40])))
    substrate = yee.Block(x=everywhere, y=everywhere, z=(0.0, z[3]), material=yee.Dielectric(permittivity=2.2))
    lumped = yee.LumpedPort(x=strip, y=y[first], z=(0.0, z[3]))
    open_faces = ("x-", "x+", "y-", "y+", "z+")
    scene = yee.Scene(blocks=(substrate,), sheets=tuple(sheets), port=lumped, open_faces=open_faces)
    media = fill(scene, grid)
    port = port_columns(lumped, grid, media)
    waveform = short_pulse_for(FREQUENCIES, 0.0).samples(grid.dt)
    sampling = Sampling(steps=30_000, record_every=1, check_every=200, decay=1e-5, settled=len(waveform))
    problem = port.drive(Problem(grid=grid, media=port.loaded(media), sampling=sampling), waveform)
    points = np.array([(2, k, j, left + 8) for j in PLANES for k in range(3)])
    weights = np.kron(np.eye(2), np.full(3, -DZ))
    records = cpu.run(replace(problem, probe=Probe(points=points, weights=weights)))
    assert records.finite
    assert records.decay < 1e-5
    return np.array([transform(one, grid.dt, 1.0, FREQUENCIES) for one in records.sums.T])


def reflection() -> np.ndarray:
    """Backward over forward wave in the first plane, (frequencies,)."""
    near, far = voltages(patch=False)
    delay = far / near
    near, far = voltages(patch=True)
    forward = (far - near / delay) / (delay - 1 / delay)
    return near / forward - 1


@pytest.mark.slow
def test_resonances(measured: Callable[..., float]) -> None:
    level = np.abs(reflection())
    lower = FREQUENCIES < 8.5e9
    first, second = (FREQUENCIES[part][level[part].argmin()] for part in (lower, ~lower))
    measured("resonance", first / 1e9, "GHz")
    measured("resonance, from the paper's 7.5 GHz", abs(first / 7.5e9 - 1), at_most=0.01)
    measured("next resonance", second / 1e9, "GHz", at_least=9.8, at_most=10.2)
    measured("|S11| at resonance", 20 * np.log10(level.min()), "dB", at_most=-10)
