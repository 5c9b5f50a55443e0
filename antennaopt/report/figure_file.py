"""Figures as files: of which kinds, and written in one step."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from antennaopt.errors import ConfigurationError
from antennaopt.report.canvas import render
from antennaopt.store.atomic import write_atomically

KINDS = ("png", "svg", "pdf")


def check_kind(path: Path | str) -> str:
    """Return a figure's format by its file's ending.

    Raises:
        ConfigurationError: It is not known.
    """
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in KINDS:
        known = ", ".join(f".{one}" for one in KINDS)
        raise ConfigurationError(f"--plot {path} has no known ending; use one of {known}")
    return kind


def write_figure(path: Path | str, figure: Figure) -> Path:
    """Write a figure in one step and return its path.

    Args:
        path: Target; its ending chooses the format.
        figure: What to write.

    Raises:
        ConfigurationError: The ending is not known.
        StorageError: It cannot be written.
    """
    data = render(figure, check_kind(path), dpi=160)
    write_atomically(Path(path), lambda file: file.write(data))
    return Path(path)
