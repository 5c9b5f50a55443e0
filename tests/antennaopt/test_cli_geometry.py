"""`export` and `simulate` write geometry with the same flags, before or after solving; the solver is arithmetic."""

from __future__ import annotations

import shutil

import cheap_evaluation
import ezdxf
import pytest
import trimesh
from config_files import WAVEGUIDE

from antennaopt.run import start  # noqa: F401 - knows the true plan before the tests replace it

FLAGS = ["--outline", "o.toml", "--profile", "p.csv", "--dxf", "d.dxf", "--stl", "s.stl"]
FILES = ["d.dxf", "o.toml", "p.csv", "s.stl", "s_dielectric_1.stl"]


@pytest.fixture
def call(cheap_call, tmp_path):
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    return cheap_call


def made(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name in FILES}


def test_simulate_and_export_write_the_same(call, tmp_path):
    code, out, err = call("export", "lens.toml", *FLAGS)
    assert (code, err) == (0, "") and sorted(out.split()) == FILES
    exported = made(tmp_path)
    assert sorted(exported) == FILES
    for name in FILES:
        (tmp_path / name).unlink()
    code, _, err = call("simulate", "lens.toml", *FLAGS)
    assert code == 0 and [f"wrote {name}" in err for name in FILES] == [True] * 5
    simulated = made(tmp_path)
    assert {name: data == exported[name] for name, data in simulated.items() if name != "d.dxf"} == dict.fromkeys(
        [name for name in FILES if name != "d.dxf"], True
    )
    assert ezdxf.readfile(tmp_path / "d.dxf").layers.has_entry("dielectric_1")  # type: ignore[attr-defined]


def test_the_outline_is_solved(call):
    assert call("export", "lens.toml", "--outline", "o.toml", "--quiet")[0] == 0
    code, out, _ = call("simulate", "o.toml", "--outline", "again.toml")
    assert code == 0 and "directivity" in out


def test_an_antenna_of_a_run(call, small_run, tmp_path):
    shutil.copytree(small_run, tmp_path / "RUN")
    code, out, _ = call("export", "RUN", "--individual", "best", *FLAGS)
    assert code == 0 and sorted(out.split()) == FILES
    assert trimesh.load_mesh(tmp_path / "s_dielectric_1.stl").is_watertight


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("lens.toml --dxf d.png", "--dxf d.png has no known ending; use .dxf"),
        ("lens.toml --stl s.obj", "--stl s.obj has no known ending; use .stl"),
        ("lens.toml --gerber g.gbr", "--gerber g.gbr holds flat metal, and a shaped_lens has none; use --dxf"),
        ("lens.toml --profile p.txt", "--profile p.txt has no known ending; use .csv"),
        ("lens.toml --step s.iges", "--step s.iges has no known ending; use one of .step, .stp"),
        ("guide.toml --profile p.csv", "the antenna is its feed alone"),
        ("guide.toml --outline o.toml", "an open_waveguide is its feed alone"),
    ],
)
@pytest.mark.parametrize("command", ["export", "simulate"])
def test_refused_in_one_line_before_solving(call, tmp_path, command, arguments, says):
    code, out, err = call(command, *arguments.split())
    assert (code, out) == (2, "") and says in err and len(err.splitlines()) == 1
    assert not any(one[0] == "evaluate" for one in cheap_evaluation.CALLS) and made(tmp_path) == {}


@pytest.mark.parametrize(
    ("option", "file", "ending"),
    [("csv", "x.xls", "csv"), ("touchstone", "x.s2p", "s1p"), ("touchstone", "a.b", "s1p")],
)
@pytest.mark.parametrize("command", ["export", "simulate"])
def test_tables_with_other_endings_are_refused(call, small_run, tmp_path, command, option, file, ending):
    shutil.copytree(small_run, tmp_path / "RUN")
    source = ["RUN"] if command == "export" else ["lens.toml"]
    code, out, err = call(command, *source, f"--{option}", file)
    assert (code, out) == (2, "") and f"--{option} {file} has no known ending; use one of .{ending}" in err
    assert not list(tmp_path.glob(f"{file}*"))


@pytest.mark.parametrize("command", ["export", "simulate"])
def test_help_teaches(call, command):
    code, out, _ = call(command, "--help")
    assert code == 0
    for option in (
        "--outline FILE",
        "--profile FILE",
        "--dxf FILE",
        "--stl FILE",
        "--step FILE",
        "--gerber FILE",
        "antennaopt[step]",
    ):
        assert option in out
