"""Folders for Dask's files: private, removed at the end, and removed by a later start where the end was a kill."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

PREFIX = "antennaopt-dask-"
OWNER = ".owner"
"""File that the owner of a folder keeps locked; the system unlocks it when the owner ends, however it ends."""


class PrivateFolder(TemporaryDirectory[str]):
    """A folder for Dask's files, which no other user can change.

    Dask's own choice is one for all users of a machine. It puts its folder first where modules are looked for.
    """

    def __init__(self) -> None:
        remove_stale()
        super().__init__(prefix=PREFIX, ignore_cleanup_errors=True)
        self._lock: int | None = None
        with suppress(OSError):  # a file system without locks: the folder is never taken for a stale one
            self._lock = _locked(Path(self.name))

    def cleanup(self) -> None:
        """Remove the folder, and look for modules in it no more: its name is free for any user from now on."""
        sys.path[:] = [one for one in sys.path if not Path(one).is_relative_to(self.name)]
        super().cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_stale(root: Path | None = None) -> None:
    """Remove this user's folders whose owner has ended without removing them.

    Args:
        root: Where they are; the system's temporary folder when None.
    """
    for folder in _own(root or Path(tempfile.gettempdir())):
        with suppress(OSError):
            file = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while the owner lives
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(file)


def _own(root: Path) -> Iterator[Path]:
    """Yield this user's folders, no links, which no other user may enter."""
    with suppress(OSError):
        for folder in root.glob(f"{PREFIX}*"):
            with suppress(OSError):
                found = folder.lstat()
                if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
                    yield folder


def _locked(folder: Path) -> int:
    """Make the owner's file and return its descriptor.

    It gets its name once it is locked: between the two another start would take the folder for a stale one.
    """
    file = os.open(folder / f"{OWNER}-new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / f"{OWNER}-new").rename(folder / OWNER)
    except BaseException:
        os.close(file)
        raise
    return file
