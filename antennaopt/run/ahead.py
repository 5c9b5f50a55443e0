"""Figures and files of a run that depend on its rows only, made while workers certify the best antennas."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from antennaopt.solve.device import usable_cores

if TYPE_CHECKING:
    from antennaopt.report.drawn import Drawn

DRAWING = ("antennaopt.report.page", "matplotlib.backends.backend_svg", "ezdxf")
"""Modules that the report is drawn with."""


def load_drawing() -> None:
    """Import them while antennas are solved: it takes seconds, which would otherwise pass after the search."""
    for name in DRAWING:
        with suppress(Exception):  # the report meets it again
            import_module(name)


FILES = "files"
"""Part of what a `Drawer` makes: the best antenna's files; the others are `antennaopt.report.drawn.PARTS`."""

SHARES = (("charts",), ("antenna", FILES), ("explorer",))
"""Parts that one of three processes makes; each takes one to two seconds of a study of ten thousand."""

CORES_EACH = 2
"""Cores of a machine for each process that draws, at least: workers use some, and the driver."""


class Drawer:
    """Processes that draw one run, for drivers whose own interpreter is busy when a search ends.

    They import what draws at once, and then wait for the folder on their standard input. Where that ends first, because
    the driver did, so do they.
    """

    def __init__(self, cores: int | None = None) -> None:
        """Start them: one for each of `SHARES`, or one for all.

        Args:
            cores: Of this machine that may be used; counted when None.
        """
        several = (usable_cores() if cores is None else cores) >= CORES_EACH * len(SHARES)
        self._shares = SHARES if several else (tuple(part for share in SHARES for part in share),)
        self._processes = [
            subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the driver
            )
            for _ in self._shares
        ]

    def draw(self, path: Path) -> Drawn | None:
        """Have a run folder drawn, wait for it and return it; None where that went wrong. Only once."""
        with ThreadPoolExecutor(len(self._shares)) as waiting:
            texts = list(waiting.map(partial(_asked, path), self._processes, self._shares))
        from antennaopt.report.drawn import together

        found = [_read(one) for text in texts if text and (one := json.loads(text)) is not None]
        return together(found) if len(found) == len(self._shares) else None

    def close(self) -> None:
        """End the processes, whatever they do."""
        for one in self._processes:
            one.kill()
        for one in self._processes:
            one.wait()


def _asked(path: Path, process: subprocess.Popen[str], parts: Sequence[str]) -> str | None:
    """Ask a process for parts of a folder's report; return its answer, None where that went wrong."""
    text, _ = process.communicate(json.dumps([str(path.absolute()), list(parts)]) + "\n")
    return text if process.returncode == 0 else None


def _read(found: Mapping[str, Any]) -> Drawn:
    from antennaopt.report.best_files import BestFile
    from antennaopt.report.drawn import Drawn

    return Drawn(**{**found, "files": [BestFile(**one) for one in found["files"]]})


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
                everything = [part for share in SHARES for part in share]
                self._found = _drawn(self._path, everything, lambda: not self._over.is_set())
            else:
                self._found = self._drawer.draw(self._path)


def _drawn(path: Path, parts: Sequence[str], proceed: Callable[[], bool] = lambda: True) -> Drawn | None:
    """Draw parts of a run folder's report, its best antenna's files among them; None where some of it is damaged."""
    from antennaopt.report.best_files import write_best_files
    from antennaopt.report.drawn import PARTS, together
    from antennaopt.report.record import read_run

    record = read_run(path)
    found = together([PARTS[part](record, proceed) for part in parts if part != FILES])
    if FILES in parts:
        found = replace(found, files=write_best_files(record))
    return None if record.warnings or record.folder.left_out else found


def _serve() -> None:
    """Draw what the standard input names, a folder and parts, and write it to the standard output, as JSON."""
    load_drawing()
    asked = sys.stdin.readline()
    if asked:
        path, parts = json.loads(asked)
        found = _drawn(Path(path), parts)
        print(json.dumps(found and asdict(found)))


if __name__ == "__main__":
    _serve()
