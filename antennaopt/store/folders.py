"""The sub-folders of a run folder: made with it, and never links that lead elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

from antennaopt.errors import ResumeRefusedError, StorageError
from antennaopt.store.atomic import storing, sync_folder
from antennaopt.store.inside import FOLDERS


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
