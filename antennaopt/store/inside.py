"""A run folder holds its own files: what readers open in it is a regular file in it, and nothing leads out."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from antennaopt.errors import ResumeRefusedError

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
