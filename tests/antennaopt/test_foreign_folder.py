"""Commands started in a folder that another user has filled with modules and settings: none of these is used."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from loopback import free_port

PROGRAM = Path(sysconfig.get_path("scripts")) / "antennaopt"
QUICKSTART = Path(__file__).parents[2] / "experiments" / "quickstart.toml"
PACKAGES = {"antennaopt", "bokeh", "cloudpickle", "cryptography", "dask", "deap", "distributed", "fdtd", "llvmlite",
            "matplotlib", "msgpack", "numba", "numpy", "psutil", "pyarrow", "scipy", "sitecustomize", "tornado",
            "usercustomize", "yaml"}  # fmt: skip
"""What workers, scheduler and driver import, in addition to the standard library."""


@pytest.fixture
def foreign(tmp_path):
    """A folder where every module that is imported by its name leaves a line in a file."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    text = (
        f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__ + '\\n')\nraise ImportError('a module of the folder')\n"
    )
    for name in sys.stdlib_module_names | PACKAGES:
        (folder / f"{name}.py").write_text(text)
    (folder / "matplotlibrc").write_text("text.usetex: True\n")
    (folder / ".numba_config.yaml").write_text(f"cache_dir: {folder}\nboundscheck: 1\n")
    return folder


def ran(foreign):
    file = foreign.parent / "ran"
    return file.read_text().split() if file.exists() else []


def program(foreign, *arguments, **more):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}  # as a user has it
    return subprocess.Popen(
        [PROGRAM, *map(str, arguments)], cwd=foreign, env=environment, stderr=subprocess.PIPE, text=True, **more
    )


def test_the_modules_of_the_folder_are_found_where_they_are_asked_for(foreign):
    """Else the other tests could not fail."""
    command = [sys.executable, "-c", "import pickle"]
    assert subprocess.run(command, cwd=foreign, capture_output=True, check=False).returncode == 1
    assert "pickle" in ran(foreign)


@pytest.mark.slow
def test_a_run_uses_nothing_of_the_folder(foreign):
    """Driver, the helper of multiprocessing, workers, report. `pickle.py` and others used to run in each worker."""
    small = ["--set", "evolution.population=4", "--set", "evolution.generations=2", "--set", "solver.cell=0.6 mm"]
    run = program(foreign, "run", QUICKSTART, *small, "--backend", "cpu", "--workers", 2, "--out", foreign.parent)
    _, said = run.communicate(timeout=280)
    assert ran(foreign) == []
    assert run.returncode == 0, said
    assert "could not be written" not in said, "LaTeX was looked for"


def test_a_host_s_workers_use_nothing_of_the_folder(foreign):
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = program(foreign, "scheduler", "--listen", address, "--no-dashboard")
    processes = [scheduler]
    try:
        while "scheduler tcp" not in (line := scheduler.stderr.readline()):
            assert line, "ended"
        worker = program(foreign, "worker", address, "--workers", 1, "--backend", "cpu")
        processes.append(worker)
        while "at work" not in (line := worker.stderr.readline()):
            assert line, "ended"
    finally:
        for process in reversed(processes):
            process.terminate()
            process.communicate(timeout=120)
    assert ran(foreign) == []


def test_numba_reads_no_settings_of_the_folder(foreign):
    """Some of them name files to load; others change the machine code, and results with it."""
    text = (
        "import fdtd.backends.cpu.compiled; from numba.core import config; print(config.CACHE_DIR, config.BOUNDSCHECK)"
    )
    found = subprocess.run([sys.executable, "-P", "-c", text], cwd=foreign, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["None"]
