"""Our solution against openEMS's of the same antenna, by the script that `antennaopt export --openems` writes.

openEMS steps its own code in three dimensions on a cylindrical mesh, with 24 cells round the axis. Largest differences
over 28.5, 30 and 31.5 GHz (patterns down to 20 dB below boresight), theirs and ours from finite elements and from each
other:

                                   D dB    S11     pattern dB
    open_waveguide          openEMS  0.047   0.0129  1.17
                            ours     0.003   0.0003  0.02
                            apart    0.049   0.0126  1.17
    hemispherical_lens_7p7  openEMS  0.088   0.0123  0.23
                            ours     0.010   0.0024  0.09
                            apart    0.096   0.0125  0.27
    conical_horn_12         openEMS  0.187   0.0491  3.72
                            ours     0.001   0.0010  0.07
                            apart    0.188   0.0485  3.69

Its errors are those of its mesh: 0.4 mm, 0.3 mm and 0.27 mm, the coarsest that keeps the walls closed. With 0.2 mm and
32 cells round the axis the first antenna's fall to 0.019 dB, 0.0079 and 0.97 dB.
The horn's slanted wall is made of steps. The bounds are the measured differences and a quarter.

Both programs are tested at once: S11's phase convention and reference plane, E- and H-plane.
"""

from __future__ import annotations

import json
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference_antennas import EVERY, design, differences, solved, worst
from required import skip_without

from antennaopt import cli
from antennaopt.run.summary import antenna_toml

PYTHON = "/usr/bin/python3"  # of the system, where Debian's python3-openems is; ours has no openEMS
CELL = 0.2e-3  # of our own solution
BOUNDS = {
    "open_waveguide": {"D": 0.061, "S11": 0.0158, "pattern": 1.46},
    "hemispherical_lens_7p7": {"D": 0.12, "S11": 0.0156, "pattern": 0.34},
    "conical_horn_12": {"D": 0.235, "S11": 0.061, "pattern": 4.6},
}
CASES = [pytest.param(one, marks=pytest.mark.long if one == "conical_horn_12" else ()) for one in BOUNDS]


@lru_cache
def missing() -> str:
    """Why openEMS cannot be run here, or nothing."""
    command = [PYTHON, "-c", "import openEMS.nf2ff, CSXCAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{PYTHON} cannot be run: {error}"
    if done.returncode:
        return f"`{' '.join(command)}` says: {done.stderr.strip().splitlines()[-1:]} (Debian: python3-openems)"
    return ""


def of_openems(name: str, folder: Path, *options: str) -> dict[str, Any]:
    """What the exported script finds, run as a program of its own: columns over frequency."""
    case = EVERY[name]
    solver = {"frequencies": case["frequencies_hz"], "design_frequency": case["design_frequency_hz"], "cell": CELL}
    text = antenna_toml(title=name, family=case["family"], design=design(case), solver=solver)
    (folder / "antenna.toml").write_text(text)
    script = folder / "script.py"
    assert cli.main(["export", str(folder / "antenna.toml"), "--openems", str(script), "--quiet"]) == 0
    command = [PYTHON, script.name, "--threads", "1", "--json", "result.json", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == ""
    results = json.loads((folder / "result.json").read_text())["results"]
    assert [entry["frequency_hz"] for entry in results] == case["frequencies_hz"]
    found = {key: np.array([entry[key] for entry in results]) for key in results[0]}
    return found | {"radiation_efficiency": np.ones(len(results))}  # the script has none


def apart(name: str, theirs: dict[str, Any], ours: dict[str, Any] | None) -> dict[str, float]:
    """Largest differences of two solutions, or of one from the finite elements."""
    mine, yours = differences(name, theirs), differences(name, ours) if ours else None
    found = worst({key: mine[key] - yours[key] if yours else mine[key] for key in mine})
    pattern = max(found["e_plane_db"], found["h_plane_db"])
    return {"D": found["directivity_db"], "S11": found["s11"], "pattern": pattern}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_openems_and_we_agree(name: str, measured, tmp_path: Path) -> None:
    if missing():
        skip_without("openems", missing())
    theirs, bounds = of_openems(name, tmp_path), BOUNDS[name]
    found = apart(name, theirs, solved(name, CELL))
    measured("directivity apart", found["D"], "dB", at_most=bounds["D"], antenna=name)
    measured("S11 apart", found["S11"], at_most=bounds["S11"], antenna=name)
    measured("patterns apart", found["pattern"], "dB", at_most=bounds["pattern"], antenna=name)
    balance = np.abs(theirs["box_balance"] - 1).max()
    measured("openEMS: pattern's power over the box's, distance from 1", balance, at_most=0.02, antenna=name)
