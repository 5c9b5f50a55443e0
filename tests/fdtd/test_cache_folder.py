"""Where caches go: the user's folder, and a private temporary one where that cannot be written."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from fdtd import cache_folder as module
from fdtd.cache_folder import LIBRARIES, TEMPORARY, cache_folder

NOWHERE = "/dev/null/home"  # cannot be made, not even by root


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A user whose home cannot be written; the folder for temporary files."""
    for name in (TEMPORARY, "XDG_CACHE_HOME", *LIBRARIES):
        monkeypatch.setenv(name, "")  # whatever the test leaves there goes with it
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", NOWHERE)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def first_found():
    """The temporary folder, as the first process finds it."""
    with pytest.warns(UserWarning, match="cannot be written: caches are in"):
        return cache_folder()


def is_private(folder):
    found = folder.lstat()
    return (stat.S_IMODE(found.st_mode), found.st_uid) == (0o700, os.getuid())


def test_the_users_folder_is_used_where_it_can_be(nowhere, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere / "caches"))
    assert cache_folder() == nowhere / "caches" / "antennaopt"
    assert cache_folder().is_dir()
    assert TEMPORARY not in os.environ


def test_without_one_there_is_a_private_temporary_folder_and_one_warning(nowhere):
    """Processes started by this one inherit it without a warning; so do libraries with a cache of their own."""
    with pytest.warns(UserWarning) as warned:
        folder = cache_folder()
    assert folder == nowhere / f"antennaopt-{os.getuid()}"
    assert is_private(folder)
    (says,) = (str(one.message) for one in warned)
    assert says.startswith(f"{NOWHERE}/.cache/antennaopt cannot be written: caches are in {folder}")
    assert cache_folder() == folder  # a second warning would be an error
    assert {name: os.environ[name] for name in LIBRARIES} == {name: f"{folder}/{of}" for name, of in LIBRARIES.items()}


def test_a_later_command_finds_the_same_folder(nowhere, monkeypatch):
    folder = first_found()
    (folder / "kept").touch()
    monkeypatch.delenv(TEMPORARY)
    assert (first_found() / "kept").exists()


def test_a_user_without_a_home_folder(nowhere, monkeypatch):
    """No HOME, and no entry in the list of users: as with `docker run --user 12345`."""

    def none():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    with pytest.warns(UserWarning, match="^the home folder cannot be written: caches are in "):
        assert is_private(cache_folder())


def open_to_all(path):
    path.mkdir()
    path.chmod(0o777)


def a_link(path):
    path.with_name("elsewhere").mkdir(mode=0o700)
    path.symlink_to(path.with_name("elsewhere"))


def a_file(path):
    path.touch(mode=0o700)


@pytest.mark.parametrize("prepare", [open_to_all, a_link, a_file])
def test_a_folder_that_others_may_have_prepared_is_not_used(nowhere, prepare):
    """What lies there is loaded as machine code."""
    usual = nowhere / f"antennaopt-{os.getuid()}"
    prepare(usual)
    folder = first_found()
    assert (folder.parent, folder != usual) == (nowhere, True)
    assert is_private(folder)


def test_a_folder_of_another_user_is_not_used(nowhere, monkeypatch):
    owner, other = os.getuid(), os.getuid() + 1
    (nowhere / f"antennaopt-{other}").mkdir(mode=0o700)
    monkeypatch.setattr(module.os, "getuid", lambda: other)
    folder = first_found()
    assert folder.name != f"antennaopt-{other}"
    assert (folder.parent, folder.stat().st_uid) == (nowhere, owner)


def test_what_a_library_was_told_is_left_alone(nowhere, monkeypatch):
    monkeypatch.setenv("MPLCONFIGDIR", "/my/own")
    first_found()
    assert os.environ["MPLCONFIGDIR"] == "/my/own"
