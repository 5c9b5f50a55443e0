"""A slot-fed cylinder in openEMS, a program of its own, on the same lattice lines.

The antenna is that of `tests/physics/test_slot_feed.py`: a resonator on a ground with a slot, a line on a substrate
below it. openEMS gets the cylinder as a cylinder and averages it over cells in its own way; ours is made of strips.
Sheets and port are equal. The frequency of least |S11| may be 1 % apart, and is read in steps of 5 MHz.

Measured: 5.135 and 5.160 GHz; S11 0.062 apart at most, directivity 0.004 dB. On cells of 0.4 mm and 20 a wavelength,
in 3 minutes, on lattices up to 2db2ba03: 5.135 and 5.140 GHz, S11 0.030 apart.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from antennas_in_space import SLOT_FED_CYLINDER
from required import skip_without
from test_openems import missing
from test_openems_patch import of_openems

from antennaopt.families.dielectric_resonator import FAMILY
from antennaopt.solve.yee_plan import scene_of
from fdtd import yee

SWEEP = np.linspace(4.4e9, 6.2e9, 361)
PATTERN = 5.2e9


@pytest.mark.slow
def test_openems_and_we_agree_on_a_slot_fed_cylinder(measured: Callable[..., float], tmp_path: Path) -> None:
    if missing():
        skip_without("openems", missing())
    assert FAMILY.spatial is not None
    board = FAMILY.spatial.board(SLOT_FED_CYLINDER)
    scene = scene_of(board, 5.3e9, whole=True)  # openEMS has no symmetry planes here
    grid = yee.layout(scene, (4.6e9, 5.6e9), cell=0.8e-3, cells_per_wavelength=10)
    ours = yee.solve(scene, grid, [PATTERN])
    s11 = ours.reflection(SWEEP)
    theirs = of_openems(scene, grid, tmp_path, sweep=SWEEP, width_hz=2.4e9, pattern=[PATTERN], rods=board.rods)
    own, other = (float(SWEEP[np.abs(one).argmin()]) for one in (s11, theirs["s11"]))
    measured("frequency of least |S11|", own / 1e9, "GHz")
    measured("frequency of least |S11|, from openEMS's", abs(own / other - 1), at_most=0.01)
    measured("S11 apart", np.abs(s11 - theirs["s11"]).max(), at_most=0.09)
    directivity = 10 * np.log10(ours.directivity.max() / theirs["directivity"][0])
    measured("directivity apart", abs(directivity), "dB", at_most=0.03)
    balance = theirs["radiated"][0] / theirs["accepted"][0]
    measured("openEMS: far field's power over the port's, from 1", abs(balance - 1), at_most=0.02)
