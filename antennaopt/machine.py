"""Data of this machine: user files, installed packages, processor. Imports nothing heavy."""

from __future__ import annotations

import errno
import os
import platform
import stat
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

MOST_BYTES = 10_000_000
"""Largest size of a file that a user or a command wrote."""

FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""A FIFO opens at once, and no terminal becomes ours."""


def read_regular(path: Path | str, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file; links to one are followed.

    The check uses the opened file, so that another file in its place is not read unchecked.

    Args:
        path: Path of the file.
        most_bytes: A larger file is refused.

    Raises:
        OSError: It is not there, cannot be read, is not a regular file (a device, a FIFO, a folder) or is too large;
            `strerror` names the reason.
    """
    handle = os.open(path, FLAGS)
    with os.fdopen(handle, "rb", buffering=0) as file:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = bytearray()
        while len(data) <= most_bytes and (more := file.read(most_bytes + 1 - len(data))):
            data += more
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes // 1_000_000} MB", str(path))
    return bytes(data)


def installed(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def processor_name() -> str:
    """Return the processor's model name, or its architecture where the system does not give it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
