"""Arrays of a reply in a file, if worker and driver share a machine: a socket would encrypt and decrypt them.

The file is in the folder that the cluster has for itself, which no other user may enter. Its reader removes it; what a
worker leaves that dies in between goes with the folder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

LEAST = 1 << 16
"""Bytes of a reply from which on they travel in a file."""

PREFIX = "reply-"


def write_arrays(folder: str, arrays: Sequence[memoryview | bytes]) -> tuple[str, list[int]] | None:
    """Write arrays one after the other into a new file.

    Args:
        folder: Of the cluster.
        arrays: As bytes.

    Returns:
        The file's name in the folder and the bytes of each array; None where they are few, or the disk takes no more.
    """
    sizes = [len(one) for one in arrays]
    if sum(sizes) < LEAST:
        return None
    path = None
    try:
        file, path = tempfile.mkstemp(prefix=PREFIX, dir=folder)
        with os.fdopen(file, "wb", buffering=0) as out:
            for one in arrays:
                _write(out.fileno(), memoryview(one))
    except OSError:
        if path is not None:
            with suppress(OSError):
                Path(path).unlink()
        return None
    return Path(path).name, sizes


def _write(file: int, data: memoryview) -> None:
    """Write all of it: a system may take less at a time."""
    while data:
        data = data[os.write(file, data) :]


def _read(file: int, size: int) -> bytes:
    """Read `size` bytes, or what is left; a system may give less at a time."""
    parts = [os.read(file, size)]
    while parts[-1] and (left := size - sum(map(len, parts))) > 0:
        parts.append(os.read(file, left))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_arrays(folder: str, name: str, sizes: Sequence[int]) -> list[bytes]:
    """Read arrays that `write_arrays` wrote, and remove the file.

    Raises:
        OSError: It cannot be read.
        ValueError: It holds something else, or is not in the folder.
    """
    if Path(name).name != name or not name.startswith(PREFIX):
        raise ValueError(f"{name!r:.40} is no reply")
    path = Path(folder, name)
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        path.unlink()
        found = [_read(file, size) for size in sizes]
        if list(map(len, found)) != list(sizes) or os.read(file, 1):
            raise ValueError(f"{name} has not the bytes that were written")
    finally:
        os.close(file)
    return found
