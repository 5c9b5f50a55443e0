"""Rates of the rectilinear solver on one core: closed boxes and boxes with absorbing layers on all six faces.

    python benchmarks/yee.py --sizes 64 128 --layers 0 10 --precision float32

prints a row a case: cells a side, layers, precision, million cell-steps a second of processor time, best of three.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from fdtd.backends.cpu import yee
from fdtd.yee.grid import Grid
from fdtd.yee.media import empty
from fdtd.yee.problem import Problem, Sampling


def rate(size: int, layers: int, precision: str, cell_steps: float) -> float:
    """Million cell-steps a second of a cube of `size` cells a side, from noise."""
    planes = 1e-3 * np.arange(size + 1)
    grid = Grid(x=planes, y=planes, z=planes, layers=(layers,) * 6)  # type: ignore[arg-type]
    steps = max(4, int(cell_steps / grid.cells))
    initial = np.random.default_rng(0).standard_normal((6, *grid.shape))

    def spent(count: int) -> float:
        problem = Problem(grid=grid, media=empty(grid), sampling=Sampling(steps=count), initial=initial)
        start = time.thread_time()
        yee.run(problem, precision=precision)
        return time.thread_time() - start

    spent(1)  # compiles
    preparing, whole = (min(spent(count) for _ in range(3)) for count in (1, steps + 1))
    return grid.cells * steps / (whole - preparing) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128], metavar="CELLS")
    parser.add_argument("--layers", type=int, nargs="+", default=[0, 10], metavar="CELLS")
    parser.add_argument("--precision", nargs="+", default=["float32"], choices=["float32", "float64"])
    parser.add_argument("--cell-steps", type=float, default=1e9, help="of each measurement")
    options = parser.parse_args()
    print("cells  layers  precision  M cell-steps/s")
    for precision in options.precision:
        for size in options.sizes:
            for layers in options.layers:
                found = rate(size, layers, precision, options.cell_steps)
                print(f"{size}^3  {layers:6d}  {precision}  {found:14.0f}", flush=True)


if __name__ == "__main__":
    main()
