"""The process that writes for a driver, the driver, or both struck at any write: the run equals the one left alone."""

import json
import subprocess
import sys
from pathlib import Path

import bits
import pytest
from test_every_write import small_disk  # noqa: F401 - a fixture

HERE = Path(__file__).parent
OPERATIONS = 44
"""Of the process on files in three generations of six antennas, and some more: a run is struck before each of them."""

EVEN, ODD = (pytest.mark.parametrize("quarter", one) for one in ((0, 2), (1, 3)))
"""Half of all operations each: two kinds of strikes together are before each of them."""


def script(*arguments):
    command = [sys.executable, str(HERE / "writer_strikes.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """A run whose thread writes."""
    return Path(script(tmp_path_factory.mktemp("quiet"), "quiet")[-1])


def assert_equal(line, quiet):
    folder = Path(line["folder"])
    bits.assert_equal(folder, quiet)
    assert not list(folder.rglob(".tmp-*"))
    assert (folder / "best/antenna.toml").read_bytes() == (quiet / "best/antenna.toml").read_bytes()


def assert_struck(lines, quiet, *, code, met=None):
    """Every run was struck, ended with a code, and came to the same bits; perhaps a resume met its lock."""
    for line in lines:
        assert line["at"] is not None
        assert line["code"] == code, line
        assert line["resumed"] == (0 if code else None), line
        assert met in (None, line["met"]), "whether a resume met the lock of a process that still wrote"
        assert not line["outlived"], "what was resumed did not wait for the last write of the run before"
        assert_equal(line, quiet)


def strikes(top, victims, quiet, quarter, *, code, met=None):
    """Strike runs before every fourth operation; those that are not struck any more, after the last, are complete."""
    lines = [json.loads(line) for line in script(top, victims, *range(1 + quarter, OPERATIONS, 4))]
    through = [line for line in lines if line["at"] is None]
    assert 1 <= len(through) <= 3, "either too few operations were struck, or hardly any"
    for line in through:
        assert line["code"] == 0, line["said"]
        assert_equal(line, quiet)
        assert not bits.events(Path(line["folder"]), "writer_lost")
    struck = lines[: -len(through)]
    assert_struck(struck, quiet, code=code, met=met)
    return struck


def test_it_is_killed_and_the_driver_writes_in_its_place(tmp_path, quiet):
    """Before the file of rows of the first generation is renamed."""
    lines = [json.loads(line) for line in script(tmp_path, "writer", 7)]
    assert_struck(lines, quiet, code=0)
    (lost,) = bits.events(Path(lines[0]["folder"]), "writer_lost")
    assert lost["exit_code"] == -9


def test_a_resume_waits_for_the_last_write_of_a_killed_driver(tmp_path, quiet):
    """The process goes on in the middle of a checkpoint when the resume has met the folder's lock, which it holds."""
    assert_struck([json.loads(line) for line in script(tmp_path, "driver", 11)], quiet, code=-9, met=True)


@pytest.mark.slow
@EVEN
def test_killed_before_any_write_the_driver_writes_in_its_place(tmp_path, quiet, quarter):
    for line in strikes(tmp_path, "writer", quiet, quarter, code=0):
        assert bits.events(Path(line["folder"]), "writer_lost"), line


@pytest.mark.slow
@ODD
def test_killed_with_half_of_it_written_the_driver_writes_in_its_place(tmp_path, quiet, quarter):
    strikes(tmp_path, "writer,torn", quiet, quarter, code=0)


@pytest.mark.slow
@EVEN
def test_the_driver_killed_at_any_write_resumes_once_the_write_is_over(tmp_path, quiet, quarter):
    strikes(tmp_path, "driver", quiet, quarter, code=-9, met=True)


@pytest.mark.slow
@ODD
def test_both_killed_at_any_write_it_resumes(tmp_path, quiet, quarter):
    strikes(tmp_path, "driver,writer", quiet, quarter, code=-9)


@pytest.mark.slow
def test_a_process_that_is_stopped_is_woken(tmp_path, quiet):
    lines = [json.loads(line) for line in script(tmp_path, "stopped", 3, 9, 20)]
    assert_struck(lines, quiet, code=0)
    assert not any(bits.events(Path(line["folder"]), "writer_lost") for line in lines)


@pytest.mark.slow
def test_a_disk_that_fills_is_told_as_ever(tmp_path, quiet, small_disk):  # noqa: F811
    """Room for the run's first files, and for few or many of those that the process writes."""
    for line in map(json.loads, script(tmp_path, "full", small_disk, 12, 14, 16, 18, 20, 22, 24)):
        assert line["torn"] == []
        if line["code"] != 0:
            assert line["code"] == 6, line
            assert "the disk is full; free some space" in line["said"]
        assert line["resumed"] == 0, line
        bits.assert_equal(Path(line["folder"]), quiet)
