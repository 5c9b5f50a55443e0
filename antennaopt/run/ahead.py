"""The figures and files of a run that its rows decide, made while its workers certify the best antennas."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from antennaopt.report.drawn import Drawn

DRAWING = ("antennaopt.report.page", "matplotlib.backends.backend_svg", "ezdxf")
"""Modules that the report is drawn with."""


def load_drawing() -> None:
    """Import them while antennas are solved: it takes seconds, which would otherwise pass after the search."""
    for name in DRAWING:
        with suppress(Exception):  # the report meets it again
            import_module(name)


class Drawer:
    """A process that draws one run, for drivers whose own interpreter is busy when a search ends.

    It imports what draws at once, and then waits for the folder on its standard input. Where that ends first, because
    the driver did, so does the process.
    """

    def __init__(self) -> None:
        """Start it."""
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the driver
        )

    def draw(self, path: Path) -> Drawn | None:
        """Have a run folder drawn, wait for it and return it; None where that went wrong. Only once."""
        from antennaopt.report.best_files import BestFile
        from antennaopt.report.drawn import Drawn

        text, _ = self._process.communicate(json.dumps(str(path.absolute())) + "\n")
        found = json.loads(text) if self._process.returncode == 0 else None
        return found and Drawn(**{**found, "files": [BestFile(**one) for one in found["files"]]})

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()


class Ahead:
    """Draws in a thread, from a run's folder whose search is over, what its report needs.

    It takes the best antenna by fitness for the winner. Certificates may crown another, of which all is drawn again.
    Imports of what draws happen in the thread too.
    """

    def __init__(self, path: Path, drawer: Drawer | None = None) -> None:
        """Begin.

        Args:
            path: The run folder; all rows are on disk.
            drawer: Draws in place of this process.
        """
        self._path, self._over, self._drawer = path, Event(), drawer
        self._found: Drawn | None = None
        self._thread = Thread(target=self._draw, name="report", daemon=True)
        self._thread.start()

    def drawn(self) -> Drawn | None:
        """Wait for it and return it; None where anything is damaged or went wrong: the report then finds out itself."""
        self._thread.join()
        return self._found

    def close(self) -> None:
        """Stop after the figure under way; a drawer, which is to be closed before, has stopped."""
        self._over.set()
        self._thread.join()

    def _draw(self) -> None:
        with suppress(Exception):
            if self._drawer is None:
                self._found = _drawn(self._path, lambda: not self._over.is_set())
            else:
                self._found = self._drawer.draw(self._path)


def _drawn(path: Path, proceed: Callable[[], bool] = lambda: True) -> Drawn | None:
    """Draw a run folder and write its best antenna's files; None where some of it is damaged."""
    from antennaopt.report.best_files import write_best_files
    from antennaopt.report.drawn import draw
    from antennaopt.report.record import read_run

    record = read_run(path)
    found = draw(record, proceed)
    found = replace(found, files=write_best_files(record))
    return None if record.warnings or record.folder.left_out else found


def _serve() -> None:
    """Draw the folder that the standard input names, and write what was drawn to the standard output, as JSON."""
    load_drawing()
    asked = sys.stdin.readline()
    if asked:
        found = _drawn(Path(json.loads(asked)))
        print(json.dumps(found and asdict(found)))


if __name__ == "__main__":
    _serve()
