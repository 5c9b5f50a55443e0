"""A run where no home folder can be written: a container, a service account, a read-only root."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from config_files import WAVEGUIDE

from fdtd.cache_folder import LIBRARIES, TEMPORARY

QUICKSTART = Path(__file__).parents[2] / "experiments" / "quickstart.toml"
SMALL = ["evolution.population=3", "evolution.generations=1", "solver.cell=0.6 mm", "certificate.mode=off"]


@pytest.fixture
def homeless(monkeypatch, tmp_path):
    """This process without a home folder; what is set there goes with the test."""
    for name in (TEMPORARY, "XDG_CACHE_HOME", *LIBRARIES):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "/dev/null/home")  # root cannot write there either
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("quiet", [[], ["-q"], ["--quiet"]])
def test_a_command_says_so_as_it_says_other_warnings(call, homeless, quiet):
    (homeless / "antenna.toml").write_text(WAVEGUIDE)
    code, _, err = call("simulate", "antenna.toml", "--cell", "1 m", *quiet)  # refused before anything is solved
    folder = homeless / f"antennaopt-{os.getuid()}"
    says = f"warning: /dev/null/home/.cache/antennaopt cannot be written: caches are in {folder} (set XDG_CACHE_HOME"
    lines = err.splitlines()
    assert code == 2 and lines[-1].startswith("error: ") and folder.is_dir()
    assert [line.startswith(says) for line in lines[:-1]] == ([] if quiet else [True])


@pytest.mark.filterwarnings("always")
def test_help_makes_no_folder(call, homeless):
    code, out, err = call("simulate", "--help")
    assert (code, err, list(homeless.iterdir())) == (0, "", []) and "--individual" in out


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_run_without_a_home_folder(tmp_path):
    """Two workers solve, the report is drawn, and one line says where the caches are; the next command finds them."""
    temporary, work = tmp_path / "tmp", tmp_path / "work"
    temporary.mkdir()
    work.mkdir()
    ours = ("XDG_", "ANTENNAOPT_", "MPLCONFIGDIR", "PYTHONPYCACHEPREFIX")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    environment |= {"HOME": "/dev/null/home", "TMPDIR": str(temporary)}  # root cannot write there either

    def command(*arguments):
        program = [sys.executable, "-m", "antennaopt", *arguments]
        done = subprocess.run(program, capture_output=True, text=True, timeout=1500, cwd=work, env=environment)
        assert done.returncode == 0, done.stderr
        return done

    small = [word for setting in SMALL for word in ("--set", setting)]
    done = command("run", str(QUICKSTART), "--backend", "cpu", "--workers", "2", *small)
    folder = temporary / f"antennaopt-{os.getuid()}"
    said = done.stderr.splitlines()
    assert [line for line in said if "cannot be written" in line] == [said[0]]
    assert said[0].startswith("warning: ") and str(folder) in said[0]
    assert not [line for line in said if "Matplotlib" in line or "MPLCONFIGDIR" in line]
    assert {one.name for one in folder.iterdir()} >= {"evaluations.sqlite", "kernels", "matplotlib"}
    assert len(list(work.glob("results/quickstart/*/report.html"))) == 1
    held = command("cache").stdout
    assert held.startswith(f"{folder / 'evaluations.sqlite'}: 3 antennas")
