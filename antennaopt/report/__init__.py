"""Figures and the HTML report of a run, from its files alone. Matplotlib and Jinja are used in here and nowhere else.

Every name is imported when it is first used, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.report.film import write_film
    from antennaopt.report.page import write_report
    from antennaopt.report.simulation import draw_simulation, plot_simulation

_HOMES = {
    "draw_simulation": "simulation",
    "plot_simulation": "simulation",
    "write_film": "film",
    "write_report": "page",
}

__all__ = ["draw_simulation", "plot_simulation", "write_film", "write_report"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
