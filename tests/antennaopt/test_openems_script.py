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
        "from stub import Any\nclass ContinuousStructure(Any):\n    def __init__(self, **kw): super().__init__('csx')\n"
    )
    (tmp_path / "openEMS").mkdir()
    (tmp_path / "openEMS/__init__.py").write_text(
        "from stub import Any\nclass openEMS(Any):\n    def __init__(self, **kw): super().__init__('fdtd')\n"
    )
    (tmp_path / "openEMS/nf2ff.py").write_text(
        "from stub import Any\ndef nf2ff(*args, **kw): return Any('far').Box(*args, **kw)\n"
    )
    command = [sys.executable, "o.py", "--preview", "geometry.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for option, says in (
        (("--cells-per-wavelength", "12"), "is too coarse for walls of 0.4 mm (needs >= "),
        (("--angles", "17"), "--angles 17 must be even and at least 8"),
        (("--theta-step", "0"), "--theta-step 0 must divide 180 degrees and be at most 2"),
        (("--decay", "0"), "--decay 0 dB must be from 20 to 150"),
        (("--json", "no/such.json"), "--json no/such.json: there is no folder "),
    ):
        refused = subprocess.run([*command, *option], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert refused.returncode == 2 and says in refused.stderr
    calls = json.loads((tmp_path / "geometry.json").read_text())

    def of(ending):
        return [args for name, (args, _) in calls if name.endswith(ending)]

    lines = dict(of("SetLines"))
    for axis, held in (("r", [0.0, 3.6, 4.0]), ("z", [-20.4, -20.0, 0.0])):  # walls; back wall, aperture
        steps = [b - a for a, b in zip(lines[axis], lines[axis][1:], strict=False)]
        assert min(steps) > 0.0 and set(held) <= {round(one, 6) for one in lines[axis]}
        inside = [step for at, step in zip(lines[axis], steps, strict=False) if -20.4 <= at < 9.0]
        assert max(inside) <= 0.4 + 1e-9  # the feed's wall
    assert len(lines["a"]) == 25 and lines["a"][-1] == pytest.approx(6.283185307)
    turned = {name: kw for name, (_, kw) in calls if name.endswith("AddLinPoly")}
    lens, metal = turned["csx.AddMaterial:dielectric_1.AddLinPoly"], turned["csx.AddMetal:metal.AddLinPoly"]
    assert max(lens["points"][0]) == pytest.approx(9.0) and min(lens["points"][0]) == 0.0
    assert metal["points"][1][1:4] == pytest.approx([4.00001, 4.00001, 3.59999])  # nodes on the walls conduct
    assert metal["norm_dir"] == "a" and metal["priority"] > lens["priority"]
    discs = [args for name, (args, _) in calls if "absorber" in name and name.endswith("AddBox")]
    planes = [args for name, (args, _) in calls if "plane_" in name and name.endswith("AddBox")]
    (source,) = of("AddExcitation:source.AddBox")
    assert len(discs) == 12 and len(planes) >= 9
    assert discs[-1][1][2] <= source[0][2] < planes[0][0][2] < planes[-1][0][2] < 0.0


@pytest.mark.parametrize(("family", "back"), [("reflector", True), ("conical_horn", False)])
def test_scripts_know_which_way_an_antenna_looks(family, back):
    design = {one.name: one.default for one in KINDS[family].parameters if one.default is not None}
    design |= CASES[family].design
    settings = {"frequencies": [30e9], "design_frequency": 30e9, "cell": 0.6e-3}
    grid = plan(family, design, design, settings).to_dict()
    assert meep_model(family, design, grid, title="")["looks_back"] is back


def test_scripts_hold_what_fills_the_feed():
    """The filling is a body of the section; source, absorber and wave split need its permittivity."""
    design = {
        **CASES["open_waveguide"].design,
        "feed.inner_radius": 2.6e-3,
        "feed.permittivity": 2.1,
        "feed.plug": 5e-3,
    }
    settings = {"frequencies": [30e9], "design_frequency": 30e9, "cell": 0.2e-3}
    model = meep_model("open_waveguide", design, plan("open_waveguide", design, design, settings).to_dict(), title="")
    assert model["feed"]["permittivity"] == 2.1
    (body,) = model["lenses"]
    assert body["permittivity"] == 2.1 and max(z for _, z in body["outline_mm"]) == pytest.approx(5.0)
