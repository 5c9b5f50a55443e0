"""A run folder as folders and files: made whole, one writer at a time, and nothing that leads elsewhere."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
from contextlib import suppress
from pathlib import Path
from typing import IO

from antennaopt.errors import ConfigurationError, ResumeRefusedError, RunInUseError, StorageError
from antennaopt.store.atomic import storing, sync_folder

FOLDERS = ("evals", "patterns", "checkpoint", "best", "logs")
FILES = ("experiment.toml", "resolved.json", "manifest.json", "parents.json", "failures.jsonl", ".lock")


def refuse_strangers(run: Path) -> None:
    """Refuse a run folder of which a reader would open something else: a file elsewhere, a FIFO, a device.

    The folder itself, and those above it, may be links: results may lie on another disk.

    Args:
        run: The run folder; nothing is refused where there is none.

    Raises:
        ResumeRefusedError: A link of it leads out of it, or something in it is neither a file nor a folder.
    """
    root = os.path.realpath(run)
    with suppress(OSError), os.scandir(run) as entries:
        found = [entry for entry in entries if entry.name in (*FOLDERS, *FILES)]
        for entry in found:
            _refuse_stranger(entry, root)
        for folder in (entry.path for entry in found if entry.name in FOLDERS):
            with suppress(OSError), os.scandir(folder) as below:
                for entry in below:
                    _refuse_stranger(entry, root)


def is_own_file(run: Path, path: Path) -> bool:
    """Say whether a path, by whatever links, is one of the files that make a run."""
    try:
        parts = path.resolve().relative_to(run.resolve()).parts
    except ValueError:
        return False
    return bool(parts) and (parts[0] in FOLDERS or parts[0] in FILES)


def _refuse_stranger(entry: os.DirEntry[str], root: str) -> None:
    if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(root):
        raise ResumeRefusedError(
            f"{entry.path} is a link that leads out of the run folder; put the file itself there, or remove the link"
        )
    if entry.is_symlink() and not Path(entry.path).exists():
        return  # leads nowhere: a missing file
    if not (entry.is_file() or entry.is_dir()):
        raise ResumeRefusedError(f"{entry.path} is not a regular file; a run folder holds files alone, remove it")


def new_folder(parent: Path, name: str) -> Path:
    """Make a run folder with its sub-folders; a second run in the same second gets `-2` added to its name."""
    with storing(parent):
        parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        path = parent / (name if number == 1 else f"{name}-{number}")
        with storing(path):
            try:
                path.mkdir()
            except FileExistsError:
                continue
            try:
                for folder in FOLDERS:
                    (path / folder).mkdir()
                sync_folder(parent)
            except OSError:
                shutil.rmtree(path, ignore_errors=True)
                raise
        return path
    raise StorageError(f"{parent / name} and 999 like it exist already; remove some")


def refuse_links(path: Path) -> None:
    """Write to no folder or log that leads elsewhere; files written in one step take the place of a link."""
    for name in (*FOLDERS, ".lock", "failures.jsonl", "logs/run.jsonl", "logs/order.jsonl"):
        if (path / name).is_symlink():
            raise ResumeRefusedError(f"{path / name} is a link; a run folder holds its own files, put them there")


class FolderLock:
    """An exclusive lock on `<folder>/.lock`, held until `release` or the end of the process.

    Raises:
        RunInUseError: Another process holds it; the message names it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / ".lock"
        with storing(self._path):
            self._file: IO[str] | None = self._path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self._holder()
            self._file.close()
            raise RunInUseError(
                f"{folder} is in use by {holder}; wait for it to end, stop it, or start another run"
            ) from None
        except BaseException:
            self._file.close()
            raise
        with storing(self._path):
            self._file.truncate(0)
            self._file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}) + "\n")
            self._file.flush()

    def release(self) -> None:
        """Let others in; a second call does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _holder(self) -> str:
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            holder = json.loads(self._path.read_text(encoding="utf-8"))
            return f"process {int(holder['pid'])} on {holder['host']}"
        return "another process"


def check_run_folder(path: Path) -> None:
    """Make sure that a path is a run folder at all, and that nothing in it leads elsewhere.

    Raises:
        ConfigurationError: It is not.
        ResumeRefusedError: A link of it leads out, or something in it is neither a file nor a folder.
    """
    refuse_strangers(path)
    if not (path / "manifest.json").is_file():
        what = "is not a run folder (manifest.json is missing)" if path.exists() else "does not exist"
        raise ConfigurationError(f"{path} {what}; name the folder that `antennaopt run` printed as its last line")
