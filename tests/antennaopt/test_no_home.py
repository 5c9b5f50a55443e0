"""A run where no home folder can be written: a container, a service account, a read-only root."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

QUICKSTART = Path(__file__).parents[2] / "experiments" / "quickstart.toml"
SMALL = ["evolution.population=3", "evolution.generations=1", "solver.cell=0.6 mm", "certificate.mode=off"]


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
    assert str(folder) in said[0]
    assert not [line for line in said if "Matplotlib" in line or "MPLCONFIGDIR" in line]
    assert {one.name for one in folder.iterdir()} >= {"evaluations.sqlite", "kernels", "matplotlib"}
    assert len(list(work.glob("results/quickstart/*/report.html"))) == 1
    held = command("cache").stdout
    assert held.startswith(f"{folder / 'evaluations.sqlite'}: 3 antennas")
