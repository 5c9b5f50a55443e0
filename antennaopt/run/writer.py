"""A process that writes the generations and checkpoints of a run, to relieve a busy driver.

The process holds the run folder's lock together with the driver, by the same open file. Where the driver ends first the
process ends after the write under way, and with it the lock: nothing else writes to the folder meanwhile.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from antennaopt.run.handover import read_message, rows_of
from antennaopt.run.other_process import OtherProcess, WriterLost, answer_all
from antennaopt.store.evaluations import write_evaluations
from antennaopt.store.files import FolderLock
from antennaopt.store.run_folder import RunFolder

__all__ = ["Writer", "WriterLost", "serve"]


class Writer(OtherProcess):
    """The driver's side of the process."""

    def __init__(self, folder: RunFolder) -> None:
        """Start it.

        Args:
            folder: Open for writing.

        Raises:
            OSError: No process can be started.
        """
        lock = folder.lock
        if lock is None:
            raise RuntimeError(f"{folder.path} was opened for reading; open it with write=True")
        super().__init__(__name__, str(folder.path.absolute()), str(lock.handle), handles=(lock.handle,))


def _write(folder: RunFolder, helper: Executor, text: bytearray, buffers: Sequence[Any]) -> None:
    """Write what a message holds."""
    told = read_message(text)
    if "state" in told:
        folder.save_checkpoint(told["generation"], told["state"])
    else:
        write_evaluations(folder, told["generation"], rows_of(told, buffers), told["copies"], helper=helper)


def serve(path: Path, lock: int, end: socket.socket) -> None:
    """Write what comes, until nothing more does.

    Args:
        path: The run folder.
        lock: File descriptor of its lock, which this process holds from now on.
        end: Of the pair of sockets.
    """
    folder = RunFolder.open(path, lock=FolderLock.inherited(path, lock))
    folder.refuse_unwritable([])  # imports what the first table is made with
    with ThreadPoolExecutor(1) as helper:
        answer_all(end, partial(_write, folder, helper))


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), socket.socket(fileno=int(sys.argv[3])))
