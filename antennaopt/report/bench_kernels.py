"""The figures of `bench kernels`, `bench sweep` and `tiles`: rates of the kernels, measured and predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from antennaopt.errors import ConfigurationError
from antennaopt.report.canvas import (
    DASHES,
    FAINT,
    FREQUENCY_COLOURS,
    GREY,
    INK,
    add_legend,
    dress,
    new_figure,
    write_figure,
)


def kernel_name(row: Mapping[str, Any]) -> str:
    """Name the kernel of a benchmark's row: its scheme, and its plan's options (`one_step, launches 1`)."""
    return ", ".join([str(row["scheme"]), *(f"{key} {value}" for key, value in (row.get("choice") or {}).items())])


MARKERS = ("o", "s", "^", "D")
SWEEP_ROW: Mapping[str, Any] = {
    **dict.fromkeys(("stencil", "scheme", "backend", "dtype", "device"), str),
    **dict.fromkeys(("cells", "million_cells_per_s", "spread"), (int, float)),
}
"""What a row must have."""

LABELS = {"tmz": "TM_z", "tez": "TE_z", "bor": "axisymmetric", "yee3d": "Yee, 3-D"}


def plot_throughput(path: Path | str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Draw million cells a second against the number of cells, a curve a stencil, scheme, backend and precision.

    Colours tell stencils apart; dashes and markers the curves of one, in the legend too.

    The bars are half of the range of the timings. The same axes as Elsherbeni & Demir, The FDTD Method for
    Electromagnetics, 2nd ed., figure 16.6, logarithmic in size.

    Args:
        path: Target; its ending chooses the format.
        rows: As `bench_sweep` makes them; of several sweeps too.

    Raises:
        ConfigurationError: The ending is not known, or there are no rows.
        StorageError: It cannot be written.
    """
    if not rows:
        raise ConfigurationError("there is nothing to plot: the sweep has no rows")
    figure = new_figure(7.6, 4.6)
    axes = dress(
        figure.subplots(),
        x_label="problem size (cells)",
        y_label="throughput (million cells/s)",
        title=f"Throughput against problem size, {', '.join(sorted({str(row['device']) for row in rows}))}",
    )
    keys = list(dict.fromkeys(_key(row) for row in rows))
    stencils = list(dict.fromkeys(key[0] for key in keys))
    for key in keys:
        curve = sorted((row for row in rows if _key(row) == key), key=lambda row: row["cells"])
        place = [other for other in keys if other[0] == key[0]].index(key)
        axes.errorbar(
            [row["cells"] for row in curve],
            [row["million_cells_per_s"] for row in curve],
            yerr=[row["spread"] * row["million_cells_per_s"] for row in curve],
            color=FREQUENCY_COLOURS[stencils.index(key[0]) % len(FREQUENCY_COLOURS)],
            linestyle=DASHES[place % len(DASHES)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=4.5,
            markerfacecolor=None if place == 0 else "white",
            linewidth=1.5,
            capsize=2.0,
            label=", ".join([LABELS.get(key[0], key[0]), *key[1:]]),
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0.0)
    add_legend(axes)
    return write_figure(path, figure)


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    layers = [f"layers of {row['layers']}"] if row.get("layers") else []
    return (str(row["stencil"]), kernel_name(row), *layers, str(row["backend"]), str(row["dtype"]))


Rows = Sequence[Mapping[str, Any]]

KERNEL_ROW: Mapping[str, Any] = {
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


_MARKERS = {"one_step": "o", "trapezoidal": "s", "skewed": "^", "wavefront": "D", "resident": "v"}


def rates_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw each row as a point; on the line prediction and measurement agree, in the band to a factor of 1.5.

    Args:
        rows: With `stencil`, `scheme`, `predicted_cell_steps_per_s`, `cell_steps_per_s`; `choice`, where the plan had
            options, makes the point hollow.
    """
    figure = new_figure(5.6, 4.6)
    axes = dress(figure.add_subplot(), x_label="predicted (G cell-steps/s)", y_label="measured (G cell-steps/s)")
    stencils = list(dict.fromkeys(row["stencil"] for row in rows))
    colours = dict(zip(stencils, FREQUENCY_COLOURS * len(stencils), strict=False))
    values = [1e-9 * row[name] for row in rows for name in ("predicted_cell_steps_per_s", "cell_steps_per_s")]
    ends = [0.7 * min(values), 1.4 * max(values)]
    axes.fill_between(ends, [2 / 3 * end for end in ends], [1.5 * end for end in ends], color=FAINT, alpha=0.5, lw=0)
    axes.plot(ends, ends, color=GREY, lw=1.0)
    drawn = set()
    for row in rows:
        kind = (row["stencil"], kernel_name(row))
        axes.plot(
            1e-9 * row["predicted_cell_steps_per_s"],
            1e-9 * row["cell_steps_per_s"],
            marker=_MARKERS.get(row["scheme"], "o"),
            color=colours[row["stencil"]],
            markerfacecolor="white" if row.get("choice") else None,
            linestyle="",
            markersize=6,
            label="_" if kind in drawn else " ".join(kind),
        )
        drawn.add(kind)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    add_legend(axes, columns=2, above=True)
    return figure


def draw_rates(rows: Sequence[Mapping[str, Any]], file: str) -> None:
    """Write the figure.

    Args:
        rows: See `rates_figure`.
        file: .png, .svg or .pdf.

    Raises:
        ConfigurationError: There are no rows, or the file is of no such kind.
    """
    if not rows:
        raise ConfigurationError("there is nothing to draw: no measured row has a prediction; name other files")
    write_figure(file, rates_figure(rows))
