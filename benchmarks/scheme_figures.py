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
from matplotlib.patches import Rectangle

sys.path.insert(0, str(Path(__file__).parents[1]))

from antennaopt.bench.problems import full_problem
from fdtd.axisymmetric.problem import Problem
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER
from fdtd.schemes.wavefront import lag

SHAPE = (256, 320)
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee")
PALE = "#dddddd"


def main() -> None:
    """Write the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    problem = full_problem("bor", SHAPE, 160, 1)
    assert isinstance(problem, Problem)
    plans = {name: make(problem, "float32", HOPPER).macros for name, make in SCHEMES.items() if name != "one_step"}
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.6), constrained_layout=True)
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
            axes.add_patch(_square(row, level, COLOURS[0] if iteration % 6 == 0 else PALE))
    for iteration in range(0, shown + lag(levels - 1), 6):
        done = [(iteration - lag(level), level) for level in range(levels) if 0 <= iteration - lag(level) < shown]
        axes.plot([k + 0.5 for k, _ in done], [v + 0.5 for _, v in done], color=COLOURS[0], linewidth=0.8)
    axes.annotate("", (shown, -1.3), (shown - 14, -1.3), arrowprops={"arrowstyle": "->"}, annotation_clip=False)
    axes.text(shown - 14.5, -1.3, "rows stream past the warps", ha="right", va="center", fontsize=8)
    axes.set(
        xlim=(0, shown), ylim=(-2, levels + 1.2), yticks=[0.5, levels - 0.5], yticklabels=["n", f"n + {levels - 1}"]
    )
    axes.set_title(
        f"wavefront: one block an antenna, one warp a time level,\n{levels} levels. Blue: what is stepped together in "
        "every\nsixth iteration; the next iteration is a row further",
        fontsize=9,
    )


def trapezoidal(axes: Axes, plan: dict[str, int]) -> None:
    """Tiles of whole rows that lose a row at each end in every step; darker: stepped by two tiles."""
    height, depth, stride = plan["WARPS"] * plan["ROWS"] * plan["CLUSTER"], plan["DEPTH"], plan["STRIDE"]
    for tile in range(3):
        low, colour = tile * stride, COLOURS[tile]
        for step in range(depth):
            start, end = low + step if tile else low, low + height - step - 1
            axes.add_patch(Rectangle((start, step + 0.06), end - start, 0.88, color=colour, alpha=0.4, linewidth=0))
        kept = low + depth if tile else low, low + height - depth
        axes.plot(kept, [depth + 0.15] * 2, color=colour, linewidth=4, solid_capstyle="butt")
        axes.text(sum(kept) / 2, depth + 0.35, f"tile {tile + 1} writes", ha="center", fontsize=8, color=colour)
    axes.set(xlim=(0, 2 * stride + height), ylim=(0, depth + 1), yticks=[0.5, depth - 0.5])
    axes.set_yticklabels(["n", f"n + {depth - 1}"])
    axes.set_title(
        f"trapezoidal: {plan['TILES']} tiles of {height} rows an antenna,\n"
        f"{plan['CLUSTER']} blocks a tile, {depth} steps a launch, {stride} rows kept.\nDarker: stepped by two tiles",
        fontsize=9,
    )


def resident(axes: Axes, plan: dict[str, int]) -> None:
    """Blocks of a cluster that keep their rows for all steps and exchange edge rows in each."""
    height, blocks, steps, shown = plan["WARPS"] * plan["ROWS"], plan["CLUSTER"], 6, min(plan["CLUSTER"], 8)
    for block in range(shown):
        colour, edge = COLOURS[block % 2 * 4], block * height
        for step in range(steps):
            axes.add_patch(Rectangle((edge, step + 0.06), height, 0.88, color=colour, alpha=0.55, linewidth=0))
            if block:
                for offset, way in ((0.3, -1), (0.7, 1)):
                    axes.annotate(
                        "", (edge + 5 * way, step + offset), (edge - 5 * way, step + offset),
                        arrowprops={"arrowstyle": "->", "linewidth": 0.7},
                    )  # fmt: skip
    axes.set(xlim=(0, shown * height), ylim=(0, steps + 0.5), yticks=[0.5, steps - 0.5])
    axes.set_yticklabels(["n", f"n + {steps - 1}"])
    axes.set_title(
        f"resident: {blocks} blocks of {height} rows an antenna\n(a cluster; {shown} shown), all steps in one launch.\n"
        "Arrows: E and H of edge rows to the neighbour blocks",
        fontsize=9,
    )


def _square(row: int, step: int, colour: str) -> Any:
    return Rectangle((row + 0.06, step + 0.06), 0.88, 0.88, color=colour, linewidth=0)


if __name__ == "__main__":
    main()
