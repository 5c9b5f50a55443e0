"""The script for openEMS, run against a stand-in of openEMS's Python interface, which is no package of this project."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from config_files import LENS, replaced
from family_cases import CASES, KINDS

from antennaopt.report.meep import meep_model
from antennaopt.solve.plan import plan


@pytest.fixture(autouse=True)
def lens(tmp_path):
    (tmp_path / "lens.toml").write_text(
        replaced(LENS, '{ count = 6, min = "8 mm", max = "20 mm" }', '["9 mm", "8 mm"]')
    )


def test_format_is_the_same_as_the_flag(call, tmp_path):
    for arguments in (("--meep", "a.py"), ("--format", "meep", "--out", "b.py")):
        assert call("export", "lens.toml", *arguments)[0] == 0
    code, out, _ = call("export", "lens.toml", "--format", "meep")
    assert code == 0 and out == (tmp_path / "a.py").read_text() == (tmp_path / "b.py").read_text()


STUB = """
import json

CALLS = []


class Any:
    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        def call(*args, **kw):
            text = json.dumps([args, kw], default=lambda x: str(x) if isinstance(x, Any) else x.tolist())
            CALLS.append([self.name + "." + name, json.loads(text)])
            if name == "Write2XML":
                with open(args[0], "w") as file:
                    json.dump(CALLS, file)
            return Any(self.name + "." + name + (":" + str(args[0]) if args else ""))

        return call
"""


def test_openems_script_builds_the_antenna(call, tmp_path):
    assert call("export", "lens.toml", "--openems", "o.py")[0] == 0
    (tmp_path / "stub.py").write_text(STUB)
    (tmp_path / "CSXCAD.py").write_text(
        "from stub import Any\nclass ContinuousStructure(Any):\n    def __init__(self): super().__init__('csx')\n"
    )
    (tmp_path / "openEMS.py").write_text(
        "from stub import Any\nclass openEMS(Any):\n    def __init__(self, **kw): super().__init__('fdtd')\n"
        "    def AddCircWaveGuidePort(self, *args): return Any('fdtd').AddCircWaveGuidePort(*args)\n"
    )
    command = [sys.executable, "o.py", "--preview", "geometry.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    steps = [args for name, (args, _) in json.loads((tmp_path / "geometry.json").read_text()) if "Smooth" in name]
    assert all(cell < 0.4 / 1.5 + 1e-9 for _, cell in steps)  # the feed's wall
    coarse = [*command[:-2], "--cells-per-wavelength", "12"]
    refused = subprocess.run(coarse, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "is too coarse for walls of 0.4 mm (needs >= " in refused.stderr
    calls = json.loads((tmp_path / "geometry.json").read_text())
    turned = {name: kw for name, (_, kw) in calls if name.endswith("AddRotPoly")}
    lens, metal = turned["csx.AddMaterial:dielectric_1.AddRotPoly"], turned["csx.AddMetal:metal.AddRotPoly"]
    assert max(lens["points"][1]) == pytest.approx(9.0) and min(lens["points"][1]) == 0.0
    assert (
        metal["points"][0][1:4] == [4.0, 4.0, 3.6] and metal["rot_axis"] == "z" and metal["priority"] > lens["priority"]
    )
    (port,) = [args for name, (args, _) in calls if name.endswith("AddCircWaveGuidePort")]
    assert port[3:] == ["z", pytest.approx(3.6e-3), "TE11", 0, 1] and port[1][2] < port[2][2] < 0.0
    discs = [args for name, (args, _) in calls if "absorber" in name and name.endswith("AddCylinder")]
    assert len(discs) == 12 and all(args[1][2] <= port[1][2] for args in discs)
    lines = [args for name, (args, _) in calls if name.endswith("SetLines")]
    assert [axis for axis, _ in lines] == ["x", "y", "z"] and all(one == sorted(set(one)) for _, one in lines)


@pytest.mark.parametrize(("family", "back"), [("reflector", True), ("conical_horn", False)])
def test_scripts_know_which_way_an_antenna_looks(family, back):
    design = {one.name: one.default for one in KINDS[family].parameters if one.default is not None}
    design |= CASES[family].design
    settings = {"frequencies": [30e9], "design_frequency": 30e9, "cell": 0.6e-3}
    grid = plan(family, design, design, settings).to_dict()
    assert meep_model(family, design, grid, title="")["looks_back"] is back
