"""Files that are there whole or not at all, and storage errors in words.

A file is written as `.tmp-*` next to its target (readers of Parquet folders skip names with a leading dot), flushed to
the disk, renamed over the target, and the folder flushed, in that order: whatever kills the process, the target is
either the old file or the new one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from antennaopt.errors import StorageError

TEMPORARY_PREFIX = ".tmp-"

ADVICE = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EACCES: "permission denied; choose another folder with --out or change its permissions",
    errno.EPERM: "permission denied; choose another folder with --out or change its permissions",
    errno.EROFS: "the file system is read-only; choose another folder with --out",
    errno.ENOTDIR: "a part of this path is a file, not a folder; choose another folder with --out",
    errno.EEXIST: "there is a file where a folder is needed; choose another folder with --out",
}


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn every operating-system error inside into a `StorageError` that names the path and what to do."""
    try:
        yield
    except OSError as problem:
        number = problem.errno or 0
        advice = ADVICE.get(number, problem.strerror or str(problem))
        raise StorageError(f"cannot write {path}: {advice}") from problem


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Create or replace a file in one step.

    Args:
        path: Target; its folder must exist.
        write: Writes the whole content to the open file it is given.

    Raises:
        StorageError: Disk full, no permission. The target is as it was before and no temporary file is left.
    """
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{path.name}")
    with storing(path):
        _refuse_device(path)
        try:
            with temporary.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def _refuse_device(path: Path) -> None:
    """Replace no device or FIFO by a file: as root that would take `/dev/null` from the whole machine.

    Raises:
        OSError: It is one.
    """
    with suppress(FileNotFoundError):
        kind = path.lstat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
            raise OSError(errno.EINVAL, "it is not a regular file")


def write_text(path: Path, text: str) -> None:
    """Create or replace a text file (UTF-8) in one step."""
    write_atomically(path, lambda file: file.write(text.encode()))


def append_line(path: Path, line: str) -> None:
    """Append one line to a log; a torn last line of a killed process is closed off first, never joined to ours.

    Raises:
        StorageError: Disk full, no permission.
    """
    with storing(path), path.open("ab+") as file:
        data = line.encode() + b"\n"
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                data = b"\n" + data
        file.write(data)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk, so that a rename in it survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of a process that was killed while it wrote here."""
    for leftover in folder.glob(f"{TEMPORARY_PREFIX}*"):
        with suppress(OSError):
            leftover.unlink()
