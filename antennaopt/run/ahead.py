"""The figures and files of a run that its rows decide, made while its workers certify the best antennas."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from antennaopt.report.drawn import Drawn


class Ahead:
    """Draws in a thread, from a run's folder whose search is over, what its report needs.

    It takes the best antenna by fitness for the winner. Certificates may crown another, of which all is drawn again.
    Imports of what draws happen in the thread too.
    """

    def __init__(self, path: Path) -> None:
        """Begin.

        Args:
            path: The run folder; all rows are on disk.
        """
        self._path, self._over = path, Event()
        self._found: Drawn | None = None
        self._thread = Thread(target=self._draw, name="report", daemon=True)
        self._thread.start()

    def drawn(self) -> Drawn | None:
        """Wait for it and return it; None where anything is damaged or went wrong: the report then finds out itself."""
        self._thread.join()
        return self._found

    def close(self) -> None:
        """Stop after the figure under way."""
        self._over.set()
        self._thread.join()

    def _draw(self) -> None:
        with suppress(Exception):
            from antennaopt.report.best_files import write_best_files
            from antennaopt.report.drawn import draw
            from antennaopt.report.record import read_run

            record = read_run(self._path)
            found = draw(record, lambda: not self._over.is_set())
            found = replace(found, files=write_best_files(record))
            self._found = None if record.warnings or record.folder.left_out else found
