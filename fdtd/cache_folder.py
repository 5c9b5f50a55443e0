"""The cache folder: the user's, or a private temporary one if that cannot be written; JSON tables in it."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

TEMPORARY = "ANTENNAOPT_TEMPORARY_CACHE"
"""Environment variable that this program sets for the processes that it starts: the temporary folder in use."""

LIBRARIES = {"MPLCONFIGDIR": "matplotlib", "CUPY_CACHE_DIR": "cupy"}
"""Libraries with a cache in the home folder: the variable that moves it, and the folder's name here."""


def cache_folder() -> Path:
    """Return `antennaopt` in the user's cache folder (XDG), or a temporary folder where that cannot be written.

    The first process that needs the temporary folder gives a `UserWarning`. Processes that it starts inherit the
    folder; so do Matplotlib and CuPy, unless a variable of theirs names one.
    """
    usual = usual_cache_folder()
    if usual is not None and _is_writable(usual):
        return usual
    inherited = os.environ.get(TEMPORARY)
    if inherited:
        return Path(inherited)
    folder = temporary_folder()
    os.environ[TEMPORARY] = str(folder)
    for variable, name in LIBRARIES.items():
        os.environ.setdefault(variable, str(folder / name))
    warnings.warn(
        f"{usual or 'the home folder'} cannot be written: caches are in {folder} (set XDG_CACHE_HOME to keep them)",
        UserWarning,
        stacklevel=2,
    )
    return folder


def read_table(file: Path, version: int, name: str) -> dict[str, Any]:
    """Return the table of that name in a JSON file of a cache; an empty one where there is none of this version."""
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(data, dict) or data.get("version") != version or not isinstance(data.get(name), dict):
        return {}
    return data[name]


def write_table(file: Path, version: int, name: str, table: Mapping[str, Any]) -> None:
    """Write what `read_table` reads, in one step: a reader finds the file of before or of after.

    Raises:
        OSError: The file cannot be written.
    """
    text = json.dumps({"version": version, name: table}, indent=1, sort_keys=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        Path(part).replace(file)
    except OSError:
        Path(part).unlink(missing_ok=True)
        raise


def usual_cache_folder() -> Path | None:
    """Return `antennaopt` in the user's cache folder (XDG), there or not; None for a user without a home folder."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "antennaopt"
    except RuntimeError:  # no HOME, and no entry in the system's list of users
        return None


@lru_cache(maxsize=8)
def _is_writable(folder: Path) -> bool:
    """Make a folder and a file in it: permissions alone do not tell of a read-only file system."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def temporary_folder() -> Path:
    """Return this user's own temporary folder; one that others could have prepared is not used.

    What is cached is machine code, which a process loads and runs: the folder must belong to this user, and no other
    user may enter it.
    """
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    folder = Path(tempfile.gettempdir()) / f"antennaopt-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if _is_private(folder):
            return folder
    except OSError:
        pass
    once = Path(tempfile.mkdtemp(prefix="antennaopt-"))  # mode 0700
    atexit.register(shutil.rmtree, once, ignore_errors=True)
    return once


def _is_private(folder: Path) -> bool:
    """Return whether a path is a folder, no link, of this user alone."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return False
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
