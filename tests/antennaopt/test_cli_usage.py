"""Bad usage ends in one line and the exit code that the command line promises, never in a traceback."""

import os
import signal
import subprocess
import sys

import pytest
from config_files import LENS, WAVEGUIDE, replaced

from antennaopt import errors
from antennaopt.cli.entry import COMMANDS
from fdtd import errors as solver_errors


@pytest.fixture
def lens(tmp_path):
    path = tmp_path / "lens.toml"
    path.write_text(LENS)
    return path


@pytest.fixture
def guide(tmp_path):
    path = tmp_path / "guide.toml"
    path.write_text(WAVEGUIDE)
    return path


def one_line(err, says):
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert says in err


def test_help_imports_nothing_heavy():
    """What makes it quick, 0.09 s: 161 modules, those of the interpreter included."""
    code = "import sys; from antennaopt.cli import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "antennaopt run experiments/" in done.stdout
    modules = set(done.stdout.splitlines()[-1].split())
    heavy = {"numpy", "scipy", "numba", "pandas", "pyarrow", "matplotlib", "deap", "distributed", "pydantic"}
    assert not heavy & modules
    assert 50 < len(modules) < 250


LEAVES = """
import atexit, sys
from antennaopt.cli import main

class Taken:
    def __del__(self):
        print("taken apart", flush=True)

kept = Taken()
sys.argv = ["antennaopt", *sys.argv[1:]]
code = main()
atexit.register(print, "registered later")
sys.exit(code)
"""


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["simulate", "--nothing"], 2)])
def test_a_command_ends_without_taking_its_modules_apart(tmp_path, arguments, code):
    """Of a run that took half a second; the exit code, and what is registered with `atexit`, stay."""
    command = [sys.executable, "-c", LEAVES, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == "registered later"
    assert "taken apart" not in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(call, command):
    code, out, _ = call(command, "--help")
    assert code == 0
    assert "Example" in out
    assert f"antennaopt {command}" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "Missing argument 'EXPERIMENT.toml'; `antennaopt run --help`"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["run", "lens.toml", "--sed", "3"], "No such option '--sed'"),
        (["run", "lens.toml", "--seed", "three"], "'--seed'"),
        (["run", "lens.toml", "--workers", "0"], "'--workers'"),
        (["run", "none.toml"], "none.toml does not exist; check the path"),
        (["run", "."], "is a directory"),
        (["run", "guide.toml"], "no antenna parameter is a range"),
        (["run", "lens.toml", "--backend", "gpu"], "--backend gpu is not known; use one of auto, cpu, reference, cuda"),
        (["run", "lens.toml", "--set", "evolution.elites=16"], "evolution.elites = 16 leaves no room"),
        (["run", "lens.toml", "--set", "evolution"], "is not of the form a.b=value"),
        (["simulate", "lens.toml"], "antenna.lens.radii.0 is a range"),
        (["simulate", "guide.toml", "--cell", "0.2"], '--cell "0.2" has no unit; write for example "0.2 mm"'),
        (["simulate", "guide.toml", "--cell", "0.2 GHz"], '--cell "0.2 GHz" is a frequency, not a length'),
        (["simulate", "guide.toml", "--cell", "2 mm"], "solver.cell = 2 mm is too coarse"),
        (["simulate", "guide.toml", "--cells-per-wavelength", "3"], "solver.cells_per_wavelength = 3 is too coarse"),
        (["simulate", "guide.toml", "--cell", "1 mm", "--cells-per-wavelength", "20"], "exclude each other"),
        (["simulate", "guide.toml", "--individual", "g0000-s000"], "goes with a run folder"),
        (["simulate", "guide.toml", "--plot", "guide.docx"], "has no known ending"),
        (["simulate", "."], "say which antenna with --individual"),
        (["simulate", ".", "--individual", "best"], "is not a run folder"),
        (["validate", "none.toml"], "does not exist"),
        (["status", "."], "is not a run folder"),
        (["report", "none"], "does not exist; name the folder"),
        (["resume", "none"], "does not exist; name the folder"),
        (
            ["export", "."],
            "name at least one of --toml, --csv, --touchstone, --cut, --sph, --ffs, --ffe, --msi, --netcdf, --outline, "
            "--profile, --dxf, --stl, --step, --gerber, --meep, --openems, --format",
        ),
        (["export", "guide.toml", "--format", "hfss"], "--format hfss is not known; use one of meep"),
        (["export", "guide.toml", "--format", "meep", "--individual", "best"], "goes with a run folder"),
        (["export", "guide.toml", "--csv", "guide.csv"], "use `antennaopt simulate guide.toml --csv`"),
        (["export", "guide.toml", "--toml", "again.toml"], "it is one already"),
        (["export", ".", "--csv", "best.csv", "--out", "best.py"], "--out best.py goes with --format"),
        (["export", "none.toml", "--format", "meep"], "does not exist"),
        (["export", "lens.toml", "--format", "meep"], "is a range"),
        (["bench", "kernels", "--grid", "150"], "--grid 150 is not of the form NRxNZ"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(call, lens, guide, arguments, says):
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    one_line(err, says)


def test_a_bad_file_is_named_with_its_field(call, tmp_path):
    (tmp_path / "bad.toml").write_text(replaced(LENS, '"3.6 mm"', '"3.6 GHz"'))
    code, _, err = call("run", "bad.toml")
    assert code == 2
    one_line(err, 'bad.toml: antenna.feed.inner_radius = "3.6 GHz" is a frequency, not a length')


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia/version"), reason="this machine has a device")
def test_cuda_without_a_device_says_what_would_help(call, lens, guide):
    """Exit code 5 from every command that solves, before anything is planned or written."""
    for arguments in (["run", "lens.toml"], ["simulate", "guide.toml"], ["bench", "evaluate", "guide.toml"]):
        code, _, err = call(*arguments, "--backend", "cuda")
        assert code == 5
        one_line(err, "--backend cuda: there is no NVIDIA driver here; use --backend cpu, or a machine with one")


@pytest.mark.parametrize("option", ["--json", "--csv", "--plot", "--touchstone"])
def test_output_that_cannot_be_written_is_found_before_solving(call, guide, tmp_path, option):
    (tmp_path / "file").write_text("")
    code, out, err = call("simulate", "guide.toml", option, "file/x.png")
    assert code == 6
    one_line(err, "is not a folder")
    code, out, err = call("simulate", "guide.toml", option, ".")
    assert code == 6
    one_line(err, "is a folder; name a file in it")
    assert out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        *(("simulate", "guide.toml", option) for option in ("--json", "--csv", "--plot", "--touchstone")),
        ("doctor", "--json"),
        ("bench", "kernels", "--json"),
    ],
)
def test_a_missing_folder_is_not_made_on_the_way(call, guide, tmp_path, arguments):
    code, out, err = call(*arguments, "nofolder/x.png")
    assert (code, out) == (6, "")
    one_line(err, "nofolder does not exist, so nofolder/x.png cannot be written; make that folder first")
    assert not (tmp_path / "nofolder").exists()


def test_a_folder_that_cannot_be_written(call, lens):
    """No permission of /proc would help, so the message names none."""
    code, _, err = call("run", "lens.toml", "--out", "/proc/results")
    assert code == 6
    one_line(err, "nothing can be written in /proc")
    assert "permissions" not in err


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (errors.ConfigurationError("no"), 2),
        (errors.RunInUseError("no"), 3),
        (errors.ResumeRefusedError("no"), 4),
        (errors.ClusterError("no"), 5),
        (errors.StorageError("no"), 6),
        (errors.TooManyFailuresError("no"), 7),
        (solver_errors.ConfigError("no\nand no"), 2),
        (solver_errors.Unsuitable("no"), 5),
    ],
)
def test_every_error_has_its_exit_code(call, monkeypatch, problem, code):
    def fail():
        raise problem

    monkeypatch.setattr("antennaopt.cli.doctor.examine", fail)
    ended, _, err = call("doctor")
    assert ended == code
    one_line(err, "no")


@pytest.mark.parametrize(
    ("problem", "code"), [(KeyboardInterrupt(), 130), (errors.Interrupted("stopped", exit_code=143), 143)]
)
def test_interruptions(call, monkeypatch, problem, code):
    def stop():
        raise problem

    monkeypatch.setattr("antennaopt.cli.doctor.examine", stop)
    ended, _, err = call("doctor")
    assert ended == code
    assert "Traceback" not in err


def test_sigterm_ends_with_143(call, monkeypatch):
    monkeypatch.setattr("antennaopt.cli.doctor.examine", lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert call("doctor")[0] == 143
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_bug_shows_its_traceback(call, monkeypatch):
    monkeypatch.setattr("antennaopt.cli.doctor.examine", lambda: 1 / 0)
    code, _, err = call("doctor")
    assert code == 1
    assert "ZeroDivisionError" in err
    assert "Traceback" in err


@pytest.mark.slow
def test_a_closed_pipe_is_no_bug():
    command = f"{sys.executable} -m antennaopt doctor | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_doctor_says_what_can_run(call):
    code, out, _ = call("doctor")
    assert code == 0
    assert "backend    cpu: yes, Numba" in out
    assert "backend    cuda: no" in out
