"""One writer a run folder: an advisory lock that the system releases when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import IO

from antennaopt.errors import RunInUseError
from antennaopt.store.atomic import storing


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
