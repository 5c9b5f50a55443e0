"""Draw how the three schemes for whole populations walk through time and space, from their plans' own numbers.

    python benchmarks/scheme_figures.py docs/images/schemes.png

Every square is one row of cells at one time step of the reference lens on 256 x 320 cells in single precision.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Rectangle

sys.path.insert(0, str(Path(__file__).parents[1]))

from fdtd.schemes.machine import HOPPER

from antennaopt.bench.problems import full_problem
from fdtd.axisymmetric.problem import Problem
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.wavefront.plan import lag

SHAPE = (256, 320)
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
PALE = "#dddddd"


def main() -> None:
    """Write the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    problem = full_problem("bor", SHAPE, 160, 1)
    assert isinstance(problem, Problem)
    plans = {name: make(problem, "float32", HOPPER).macros for name, make in SCHEMES.items() if name != "one_step"}
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), constrained_layout=True)
    wavefront(axes[0], plans["wavefront"])
    trapezoidal(axes[1], plans["trapezoidal"])
    resident(axes[2], plans["resident"])
    for place in axes:
        place.set_xlabel("row (space, along z)")
        place.set_ylabel("time step")
        place.spines[["top", "right"]].set_visible(False)
    figure.savefig(parser.parse_args().file, dpi=110)


def wavefront(axes: Axes, plan: dict[str, int]) -> None:
    """One warp a time level; squares of one colour are stepped in the same iteration."""
    levels, shown = plan["LEVELS"], 44
    for level in range(levels):
        for row in range(shown):
            iteration = row + lag(level)
            axes.add_patch(_square(row, level, COLOURS[iteration % 6] if iteration % 6 == 0 else PALE))
    for iteration in range(0, shown, 6):
        done = [(iteration - lag(level), level) for level in range(levels) if 0 <= iteration - lag(level) < shown]
        axes.plot([k + 0.5 for k, _ in done], [v + 0.5 for _, v in done], color=COLOURS[0], linewidth=0.8)
    axes.annotate("", (shown, -1.3), (shown - 14, -1.3), arrowprops={"arrowstyle": "->"}, annotation_clip=False)
    axes.text(shown - 14.5, -1.3, "rows stream past the warps", ha="right", va="center", fontsize=8)
    axes.set(
        xlim=(0, shown), ylim=(-2, levels + 1.2), yticks=[0.5, levels - 0.5], yticklabels=["n", f"n + {levels - 1}"]
    )
    axes.set_title(
        f"wavefront: a block an antenna, a warp each of {levels} time levels.\n"
        "Blue: every sixth iteration; the next one is a row further",
        fontsize=9,
    )


def trapezoidal(axes: Axes, plan: dict[str, int]) -> None:
    """Tiles of whole rows that lose a row at each end in every step; pale: computed and thrown away."""
    height, depth, stride = plan["WARPS"] * plan["ROWS"] * plan["CLUSTER"], plan["DEPTH"], plan["STRIDE"]
    for tile in range(3):
        low = tile * stride
        for step in range(depth):
            start, end = (low + step if tile else low), low + height - step - 1
            axes.add_patch(Rectangle((start, step + 0.06 + 0.0 * tile), end - start, 0.88, color=PALE, linewidth=0))
        kept = (low + depth if tile else low, low + height - depth)
        for step in range(depth):
            axes.add_patch(
                Rectangle((kept[0], step + 0.06), kept[1] - kept[0], 0.88, color=COLOURS[tile], alpha=0.75, linewidth=0)
            )
        slope = [(low, 0), (low + height, 0), (low + height - depth, depth), (low + depth * (tile > 0), depth)]
        axes.add_patch(Polygon(slope, closed=True, fill=False, edgecolor=COLOURS[tile], linewidth=1.4))
        axes.text(sum(kept) / 2, depth + 0.25, f"tile {tile + 1}", ha="center", fontsize=8, color=COLOURS[tile])
    axes.set(xlim=(0, 2 * stride + height), ylim=(0, depth + 1), yticks=[0.5, depth - 0.5])
    axes.set_yticklabels(["n", f"n + {depth - 1}"])
    axes.set_title(
        f"trapezoidal: {plan['TILES']} tiles of {height} rows an antenna ({plan['CLUSTER']} blocks each),\n"
        f"{depth} steps a launch, {stride} rows kept; grey: computed twice",
        fontsize=9,
    )


def resident(axes: Axes, plan: dict[str, int]) -> None:
    """Blocks of a cluster that keep their rows for all steps and exchange edge rows in each."""
    height, blocks, steps = plan["WARPS"] * plan["ROWS"], plan["CLUSTER"], 6
    for block in range(blocks):
        colour = COLOURS[block % 6]
        axes.add_patch(Rectangle((block * height, 0), height, steps, color=colour, alpha=0.35, linewidth=0))
        for step in range(steps):
            axes.plot([block * height + 1, (block + 1) * height - 1], [step + 0.5] * 2, color=colour, linewidth=1.6)
            if block:
                edge = block * height
                for offset, way in ((0.3, -1), (0.7, 1)):
                    axes.annotate(
                        "", (edge + 5 * way, step + offset), (edge - 5 * way, step + offset),
                        arrowprops={"arrowstyle": "->", "linewidth": 0.6},
                    )  # fmt: skip
    axes.set(xlim=(0, min(blocks * height, 8 * height)), ylim=(0, steps), yticks=[0.5, steps - 0.5])
    axes.set_yticklabels(["n", f"n + {steps - 1}"])
    axes.set_title(
        f"resident: a cluster of {blocks} blocks an antenna (half of it shown), {height} rows each;\n"
        "all steps in one launch, edge rows go to the neighbour blocks",
        fontsize=9,
    )


def _square(row: int, step: int, colour: str) -> Any:
    return Rectangle((row + 0.06, step + 0.06), 0.88, 0.88, color=colour, linewidth=0)


if __name__ == "__main__":
    main()
