"""An output that would overwrite another one, or what the command reads, is refused before anything is done."""

import errno
import os
import shutil

import pytest
from config_files import LENS, WAVEGUIDE, replaced

from antennaopt.errors import StorageError
from antennaopt.store.files import storing, write_text


@pytest.fixture
def files(small_run, tmp_path):
    shutil.copytree(small_run, tmp_path / "RUN")
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    (tmp_path / "lens.toml").write_text(LENS)
    (tmp_path / "fixed.toml").write_text(
        replaced(LENS, '{ count = 6, min = "8 mm", max = "20 mm" }', '["9 mm", "9 mm"]')
    )
    (tmp_path / "rows.json").write_text("[]")
    (tmp_path / "folder").mkdir()
    (tmp_path / "way").symlink_to("folder")
    (tmp_path / "old.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("old.csv")
    (tmp_path / "soon.csv").symlink_to("folder/none.csv")
    os.link(tmp_path / "old.csv", tmp_path / "hard.csv")
    return tmp_path


TWICE = [
    "export RUN --csv s --toml s",
    "export RUN --csv s --toml ./s",
    "export RUN --csv s --toml folder/../s",
    "export RUN --csv way/s --toml folder/s",
    "export RUN --csv old.csv --toml link.csv",
    "export RUN --csv old.csv --toml hard.csv",
    "export RUN --csv soon.csv --toml folder/none.csv",
    "export RUN --csv s --toml s_patterns.csv",
    "export RUN --touchstone s --toml s.s1p",
    "export RUN --toml s.py --format meep --out s.py",
    "export RUN --toml s --dxf s",
    "export RUN --stl s.stl --csv s_dielectric_1.stl",
    "export RUN --profile s.csv --csv s.csv",
    "simulate guide.toml --stl s.stl --step s.stl",
    "simulate fixed.toml --stl s.stl --json s_dielectric_1.stl",
    "simulate guide.toml --json s --csv s",
    "simulate guide.toml --json s.png --plot s.png",
    "simulate guide.toml --csv s.npz --fields s.npz",
    "simulate guide.toml --csv s.gif --animate s.gif",
    "simulate guide.toml --csv s.s1p --touchstone s",
    "compare RUN RUN --json s.png --plot s.png",
    "bench kernels --json s.png --plot s.png",
    "bench sweep --json s.png --plot s.png",
    "bench search --workers 2 --json s.png --plot s.png",
    "bench farm --json s.png --plot s.png",
    "tiles --measured rows.json --json s.png --plot s.png",
]


def listing(folder):
    return {path: (path.read_bytes() if path.is_file() else None) for path in folder.rglob("*")}


@pytest.mark.parametrize("command", TWICE)
def test_two_outputs_of_one_file(call, files, command):
    before = listing(files)
    code, out, err = call(*command.split())
    assert (code, out) == (2, "")
    assert "give each output a file of its own" in err.splitlines()[-1]
    assert listing(files) == before


@pytest.mark.parametrize(
    "command",
    [
        "simulate guide.toml --json guide.toml",
        "simulate guide.toml --csv ./guide.toml",
        "export guide.toml --format meep --out guide.toml",
        "export guide.toml --dxf guide.toml",
        "bench evaluate guide.toml --json guide.toml",
        "bench search lens.toml --json lens.toml",
        "bench farm lens.toml --json lens.toml",
        "tiles --measured rows.json --json rows.json",
        "tiles --stencil tmz --device rows.json --json rows.json",
    ],
)
def test_an_output_that_is_the_input(call, files, command):
    before = listing(files)
    code, out, err = call(*command.split())
    assert (code, out) == (2, "")
    assert "would overwrite the input" in err.splitlines()[-1]
    assert listing(files) == before


@pytest.mark.parametrize(
    "command",
    [
        "export RUN --toml RUN/experiment.toml",
        "export RUN --csv RUN/evals/gen-000000.parquet",
        "export RUN --csv RUN/best/new.csv",
        "simulate RUN --individual best --json RUN/manifest.json",
        "status RUN --json RUN/resolved.json",
        "compare RUN RUN --json RUN/logs/run.jsonl",
    ],
)
def test_an_output_that_is_a_file_of_the_run(call, files, command):
    before = listing(files)
    code, out, err = call(*command.split())
    assert (code, out) == (2, "")
    assert "would overwrite a file of the run RUN" in err
    assert listing(files) == before


def test_files_of_their_own(call, files):
    """Next to the run's own there is room."""
    code, _, err = call("export", "RUN", "--toml", "RUN/new.toml", "--csv", "RUN/new.csv")
    assert (code, err) == (0, "")


@pytest.mark.parametrize("option", ["--toml", "--csv", "--touchstone", "--dxf"])
def test_a_fifo_is_not_replaced(call, files, option):
    """Nor a device: a rename over the null device, as root, takes it from the whole machine. No test may name one."""
    os.mkfifo(files / "pipe.s1p")
    code, out, err = call("export", "RUN", option, "pipe.s1p")
    assert (code, out) == (6, "")
    assert "pipe.s1p is not a regular file, and would be replaced by one; name a file, or - for stdout" in err
    assert (files / "pipe.s1p").is_fifo()


def test_nothing_written_in_one_step_replaces_a_fifo(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="not a regular file"):
        write_text(tmp_path / "pipe", "text")
    assert (tmp_path / "pipe").is_fifo() and len(list(tmp_path.iterdir())) == 1


def test_a_run_folder_that_cannot_be_written_is_refused_before_samples_are_solved(call, files, monkeypatch):
    def refuse(**_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("antennaopt.cli.options.tempfile.TemporaryFile", refuse)
    monkeypatch.setattr("antennaopt.run.tolerance.tolerance", lambda *_, **__: pytest.fail("it begins"))
    code, out, err = call("tolerance", "RUN", "--samples", "2")
    assert (code, out) == (6, "")
    assert "nothing can be written in" in err and "Read-only file system" in err


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EROFS, "the file system is read-only; use another folder: --out of a new run, a copy of this one"),
        (errno.ENOSPC, "the disk is full; free some space, then `antennaopt resume` the run or repeat the command"),
    ],
)
def test_the_advice_holds_for_every_command(tmp_path, number, says):
    """`resume` and `tolerance` have no other folder to give."""
    with pytest.raises(StorageError, match=says), storing(tmp_path / "checkpoint.json"):
        raise OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("run lens.toml --out l\udcf6t", r"l\udcf6t/lens is a name that is not UTF-8; rename it or choose another"),
        ("status l\udcf6t", r"l\udcf6t is a name that is not UTF-8"),
        ("validate lens.toml --set title=l\udcf6t", "is not UTF-8"),
    ],
)
def test_names_that_are_not_utf8_are_refused_before_anything_is_solved(call, files, command, says):
    """Bytes of Latin-1: PyArrow opens no such path, and a title of them ended in a traceback."""
    shutil.copytree(files / "RUN", files / "l\udcf6t")
    code, out, err = call(*command.split())
    assert (code, out) == (2, "")
    assert says in err


@pytest.mark.parametrize(
    "command",
    [
        "status {0}",
        "run lens.toml --out {0}",
        "simulate {0}",
        "export RUN --toml {0}",
        "simulate fixed.toml --plot {0}.png",
    ],
)
def test_names_that_are_too_long_are_refused_in_one_line(call, files, command):
    """File systems have 255 bytes for a name."""
    code, out, err = call(*command.format("a" * 300).split())
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and "(File name too long); " in err and "Traceback" not in err
