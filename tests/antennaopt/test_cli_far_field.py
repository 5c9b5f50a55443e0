"""`export` and `simulate` write far fields and scripts with the same flags; the solver is arithmetic."""

from __future__ import annotations

import shutil

import cheap_evaluation
import pytest

from antennaopt.run import start  # noqa: F401 - knows the true plan before the tests replace it

FILES = {"cut": "f.cut", "sph": "f.sph", "ffs": "f.ffs", "ffe": "f.ffe", "netcdf": "f.nc", "touchstone": "f.s1p"}
FLAGS = [word for name, file in FILES.items() for word in (f"--{name}", file)]


@pytest.fixture
def call(cheap_call):
    return cheap_call


def test_simulate_writes_all(call, tmp_path):
    code, _, err = call("simulate", "lens.toml", *FLAGS, "--msi", "f.pln", "--pattern-frequency", "30 GHz")
    assert code == 0 and all(f"wrote {name}" in err for name in [*FILES.values(), "f.pln"])
    assert "FREQUENCY 30000.0" in (tmp_path / "f.pln").read_text()
    assert (tmp_path / "f.cut").read_text().count("GHz, phi = 0 deg") == 1


def test_an_antenna_of_a_run_without_solving(call, small_run, tmp_path):
    shutil.copytree(small_run, tmp_path / "RUN")
    code, out, err = call("export", "RUN", *FLAGS)
    assert (code, err) == (0, "") and sorted(out.split()) == sorted(FILES.values())
    assert (tmp_path / "f.cut").read_text().count("GHz, phi = 0 deg") == 3
    assert not any(one[0] == "evaluate" for one in cheap_evaluation.CALLS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("simulate lens.toml --cut f.txt", "--cut f.txt has no known ending; use .cut"),
        ("simulate lens.toml --msi f.txt", "--msi f.txt has no known ending; use one of .msi, .pln"),
        ("simulate lens.toml --msi f.msi", "--msi holds one frequency, and 3 are solved"),
        ("simulate lens.toml --cut f.cut --pattern-frequency 3GHz", "is not solved; use one of"),
        ("simulate lens.toml --pattern-frequency 30GHz", "--pattern-frequency 30GHz goes with --cut"),
        ("simulate lens.toml --cut f.cut --meep f.cut", "f.cut is named for two outputs"),
        ("simulate lens.toml --meep -", "a script on stdout goes with `antennaopt export`"),
        ("export lens.toml --ffs f.ffs", "use `antennaopt simulate lens.toml --ffs`"),
        ("export lens.toml --meep - --openems -", "--meep and --openems cannot both go to stdout"),
        ("export lens.toml --meep m.py --format meep", "--format meep is another way to write --meep FILE"),
        ("export RUN --individual= --cut f.cut", "--individual: '' is not an individual's id"),
        ("export RUN --msi f.msi", "--msi holds one frequency, and 3 are solved"),
    ],
)
def test_refused_in_one_line_before_solving(call, small_run, tmp_path, arguments, says):
    if "RUN" in arguments:
        shutil.copytree(small_run, tmp_path / "RUN")
    code, out, err = call(*arguments.split())
    assert (code, out) == (2, "") and says in err and len(err.splitlines()) == 1
    assert not any(one[0] == "evaluate" for one in cheap_evaluation.CALLS)
    assert not [path.name for path in tmp_path.iterdir() if path.stem in ("f", "m")]


@pytest.mark.parametrize("command", ["export", "simulate"])
def test_help_teaches(call, command):
    code, out, _ = call(command, "--help")
    assert code == 0
    for name in (*FILES, "msi", "meep", "openems"):
        assert f"--{name} FILE" in out
