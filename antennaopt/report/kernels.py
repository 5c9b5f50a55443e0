"""The figure of `bench kernels`: what each scheme reaches, whole and with parts left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from antennaopt.errors import ConfigurationError
from antennaopt.report.canvas import FREQUENCY_COLOURS, GREY, INK, dress, new_figure
from antennaopt.report.figure_file import check_kind, write_figure
from antennaopt.report.labels import kernel_name
from antennaopt.report.throughput import LABELS

Rows = Sequence[Mapping[str, Any]]

DRAWN: Mapping[str, Any] = {
    **dict.fromkeys(("stencil", "scheme", "device"), str),
    **dict.fromkeys(("cell_steps_per_s", "spread"), (int, float)),
    "shape": list,
    "batch": int,
}
"""What a row must have."""

UPDATE, MEMORY = "update only", "memory only"
STYLES: Mapping[str, Mapping[str, Any]] = {
    "no records": {"marker": "<", "color": FREQUENCY_COLOURS[3]},
    "no media": {"marker": "s", "color": FREQUENCY_COLOURS[2]},
    "no layers": {"marker": "D", "color": FREQUENCY_COLOURS[1]},
    UPDATE: {"marker": "|", "markersize": 11, "markeredgewidth": 1.8, "color": INK},
    MEMORY: {"marker": "x", "color": GREY},
}
"""How each part left out is marked; others are not drawn."""


def plot_kernels(path: Path | str, rows: Rows) -> Path:
    """Draw the rate of every scheme, a panel a stencil: a bar for the whole kernel, marks without parts of it.

    Args:
        path: Target; its ending chooses the format.
        rows: Of `bench kernels`, of one device and precision; of each stencil the case with the most cells is drawn.

    Raises:
        ConfigurationError: The ending is not known, there are no rows, or rows of several devices.
        StorageError: It cannot be written.
    """
    check_kind(path)
    whole = [row for row in rows if not row.get("without")]
    if not whole:
        raise ConfigurationError("there is nothing to plot: no row is of a whole kernel")
    if len({(row["device"], row.get("dtype")) for row in rows}) > 1:
        raise ConfigurationError("rows of several devices or precisions would lie over each other; draw them apart")
    cases = _cases(whole)
    figure = new_figure(4.4 * min(len(cases), 2), 1.0 + 2.5 * -(-len(cases) // 2))
    panels = figure.subplots(-(-len(cases) // 2), min(len(cases), 2), squeeze=False).flat
    for axes, case in zip(panels, cases, strict=False):
        _draw(axes, [row for row in rows if _case(row) == case])
    for axes in list(panels)[len(cases) :]:
        axes.set_visible(False)
    handles = {
        label: handle for one in figure.axes for handle, label in zip(*one.get_legend_handles_labels(), strict=True)
    }
    names = [name for name in ("everything on", *STYLES) if name in handles]
    figure.legend(
        [handles[name] for name in names], names, loc="outside lower left", ncols=len(names), fontsize=8, frameon=False
    )
    devices = ", ".join(sorted({str(row["device"]) for row in rows}))
    figure.suptitle(f"Kernels, everything on and in part ({devices})", fontsize=10, color=INK, x=0.01, ha="left")
    return write_figure(path, figure)


def _draw(axes: Axes, rows: Rows) -> None:
    stencil, (nr, nz), batch = _case(rows[0])
    dress(axes, x_label="G cell-steps/s", title=f"{LABELS.get(stencil, stencil)}, {nr} x {nz} cells, batch {batch}")
    schemes = [str(row["scheme"]) for row in rows]
    kernels = sorted(dict.fromkeys(map(kernel_name, rows)), key=lambda name: schemes.index(name.split(", ")[0]))
    for at, kernel in enumerate(kernels):
        mine = {_part(row): row for row in rows if kernel_name(row) == kernel}
        rate, spread = (_rate(mine["whole"]), mine["whole"]["spread"]) if "whole" in mine else (0.0, 0.0)
        axes.barh(
            at, rate, xerr=spread * rate, height=0.45, color=FREQUENCY_COLOURS[0], ecolor=INK,
            label="everything on",
        )  # fmt: skip
        for part, style in STYLES.items():
            if part in mine:
                axes.plot(_rate(mine[part]), at, linestyle="", **{"markersize": 6, **style}, label=part)
    axes.set_yticks(range(len(kernels)), kernels)
    axes.set_ylim(len(kernels) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0.0)


def _rate(row: Mapping[str, Any]) -> float:
    return 1e-9 * float(row["cell_steps_per_s"])


def _part(row: Mapping[str, Any]) -> str:
    """What is left out of a row's kernel, in words."""
    without = set(row.get("without") or ())
    if not without:
        return "whole"
    if {"layers", "record", "media"} <= without or (row["stencil"] == "jacobi5" and "arithmetic" in without):
        return MEMORY if "arithmetic" in without else UPDATE
    return {"record": "no records"}.get(name := next(iter(without)), f"no {name}") if len(without) == 1 else "others"


def _case(row: Mapping[str, Any]) -> tuple[str, tuple[int, int], int]:
    return str(row["stencil"]), tuple(row["shape"]), int(row["batch"])


def _cases(rows: Rows) -> list[tuple[str, tuple[int, int], int]]:
    """Of each stencil the case with the most cells."""
    largest: dict[str, tuple[str, tuple[int, int], int]] = {}
    for case in map(_case, rows):
        known = largest.setdefault(case[0], case)
        if case[1][0] * case[1][1] * case[2] > known[1][0] * known[1][1] * known[2]:
            largest[case[0]] = case
    return list(largest.values())
