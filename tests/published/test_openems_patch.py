"""A probe-fed patch, ours against openEMS's, which steps its own code on the same lattice lines.

The patch is 16 x 20 mm on 1.6 mm of permittivity 2.2, a ground of 30 x 30 mm, fed 4 mm from its middle. Equal lines
leave equal errors of the mesh: what differs is how the programs treat the substrate's surface, the port and the layers.
The resonance, where |S11| is least, may differ by 1 %; it is read in steps of 5 MHz.

Measured: both 5.830 GHz; S11 0.017 apart at most, directivity 0.007 dB (7.55 and 7.54 dBi). The bounds are these and
half, and one step of the frequency.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from required import skip_without
from test_openems import PYTHON, missing

from antennaopt.families.spatial import Cylinder
from fdtd import yee

HEIGHT, GROUND, FEED = 1.6e-3, (-15e-3, 15e-3), -4e-3
PATCH = ((-8e-3, 8e-3), (-10e-3, 10e-3))
BAND = (5.2e9, 6.6e9)
SWEEP = np.linspace(*BAND, 281)
PATTERN = 5.8e9
SCENE = yee.Scene(
    blocks=(yee.Block(x=GROUND, y=GROUND, z=(0.0, HEIGHT), material=yee.Dielectric(permittivity=2.2)),),
    sheets=(yee.Sheet(z=0.0, x=GROUND, y=GROUND), yee.Sheet(z=HEIGHT, x=PATCH[0], y=PATCH[1])),
    port=yee.LumpedPort(x=FEED, y=0.0, z=(0.0, HEIGHT)),
)


def of_openems(
    scene: yee.Scene,
    grid: yee.Grid,
    folder: Path,
    *,
    sweep: np.ndarray,
    width_hz: float,
    pattern: list[float],
    rods: tuple[Cylinder, ...] = (),
) -> dict[str, np.ndarray]:
    """What the other program finds of sheets and lossless dielectrics, on the lines of a lattice.

    Args:
        scene: Of dielectric blocks, sheets and a port of a single column or of a width along y.
        grid: Its planes are the other program's lines; a port of a single column stands on the nearest ones.
        folder: For files.
        sweep: Frequencies of S11, Hz; the pulse is in their middle.
        width_hz: Of the pulse.
        pattern: Frequencies of the far field, Hz.
        rods: Cylinders of the antenna, which are blocks without lines in the scene.
    """
    port = scene.port
    assert isinstance(port, yee.LumpedPort)
    slabs = []
    for block in scene.blocks:
        assert block.material is not None and not block.material.conductivity
        box = [[span[side] for span in (block.x, block.y, block.z)] for side in (0, 1)]
        if block.lines:
            slabs.append({"permittivity": block.material.permittivity, "box_m": box})
    round_ones = [
        {"permittivity": rod.permittivity, "axis_m": [[0.0, 0.0, z] for z in rod.z], "radius_m": rod.radius}
        for rod in rods
    ]
    sheets = [[[one.x[side], one.y[side], one.z] for side in (0, 1)] for one in scene.sheets]
    x = float(grid.x[np.abs(grid.x - port.span("x")[0]).argmin()])
    y = port.span("y")
    if y[0] == y[1]:
        y = (float(grid.y[np.abs(grid.y - y[0]).argmin()]),) * 2
    given = {
        "band_hz": (float(sweep[0]), float(sweep[-1])),
        "width_hz": width_hz,
        "steps": 60_000,
        "decay_db": -50,
        "lines_m": {axis: planes.tolist() for axis, planes in zip("xyz", grid.planes, strict=True)},
        "slabs": slabs,
        "rods": round_ones,
        "sheets_m": sheets,
        "port_m": [[x, side, end] for side, end in zip(y, port.span("z"), strict=True)],
        "frequencies_hz": sweep.tolist(),
        "pattern_hz": pattern,
    }
    (folder / "patch.json").write_text(json.dumps(given))
    script = Path(__file__).with_name("openems_patch.py")
    command = [PYTHON, str(script), "patch.json", "result.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = {name: np.array(values) for name, values in json.loads((folder / "result.json").read_text()).items()}
    return found | {"s11": found["s11"] @ [1, 1j]}


@pytest.mark.slow
def test_openems_and_we_agree_on_a_patch(measured: Callable[..., float], tmp_path: Path) -> None:
    if missing():
        skip_without("openems", missing())
    grid = yee.layout(SCENE, BAND, cell=0.8e-3, cells_per_wavelength=14, margin=9e-3)
    ours = yee.solve(SCENE, grid, [PATTERN])
    s11 = ours.reflection(SWEEP)
    theirs = of_openems(SCENE, grid, tmp_path, sweep=SWEEP, width_hz=2e9, pattern=[PATTERN])
    resonances = [SWEEP[np.abs(one).argmin()] for one in (s11, theirs["s11"])]
    measured("resonances apart", abs(resonances[0] / resonances[1] - 1), at_most=1e-3)
    measured("S11 apart", np.abs(s11 - theirs["s11"]).max(), at_most=0.026)
    directivity = 10 * np.log10(ours.directivity.max() / theirs["directivity"][0])
    measured("directivity apart", abs(directivity), "dB", at_most=0.011)
    balance = theirs["radiated"][0] / theirs["accepted"][0]
    measured("openEMS: far field's power over the port's, from 1", abs(balance - 1), at_most=0.02)
