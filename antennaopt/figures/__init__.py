"""Figures of merit with options, computed from the stored cuts and the geometry for objectives.

A metric (`antennaopt.metrics`) is in every row. A figure is in the rows of the runs that ask for it. It is computed
from stored cuts, so that another one costs no field solve (`antennaopt.solve.figures`).
"""

from antennaopt.figures.figure import (
    OPTIONS,
    RESERVED,
    Figure,
    FigureError,
    bounds_of,
    figure_of,
    metric_name,
)
from antennaopt.figures.kinds import KINDS, FigureKind, Solved, SolvedInSpace
from antennaopt.figures.lines import LimitLine, limit_lines
from fdtd.farfield.polarisation import CIRCULAR, LINEAR, POLARISATIONS

__all__ = [
    "CIRCULAR",
    "KINDS",
    "LINEAR",
    "OPTIONS",
    "POLARISATIONS",
    "RESERVED",
    "Figure",
    "FigureError",
    "FigureKind",
    "LimitLine",
    "Solved",
    "SolvedInSpace",
    "bounds_of",
    "figure_of",
    "limit_lines",
    "metric_name",
]
