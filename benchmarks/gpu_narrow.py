"""Time the schemes of a CUDA device on lattices of up to 128 columns, and shapes of `resident` that plans may have.

    python benchmarks/gpu_narrow.py [--json FILE]

264 antennas. "ten_thousand" are 22 random lenses of that experiment over and over, from the first step on, as a search
steps them (with layers of 8 cells, and of 10); the others are eight reference lenses over and over, from noise. All
have layers, records, media and source. Variants take turns. A row: lattice, shape, scheme, options of its plan, what is
left out, blocks of a cluster, antennas at a time, cell-steps a second (median of `TURNS`), spread (half of the range
over the median), the largest difference of the fields from those of `one_step` over their largest magnitude (null where
something is left out), and whether a study takes the scheme.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from gpu_metal import ANTENNAS, TURNS, problem_of, rate

from antennaopt.bench.on_device import compile_texts, seconds_of
from antennaopt.bench.problems import full_problem, without
from antennaopt.bench.runner import in_turns, typical
from fdtd.axisymmetric.problem import Problem
from fdtd.backends.cuda import choose
from fdtd.backends.cuda.device import CudaDevice
from fdtd.backends.cuda.marching import kernel_texts, marching
from fdtd.errors import Unsuitable
from fdtd.schemes.antennas import SCHEMES

LENSES = {"ten_thousand": (), "ten_thousand, layers of 10 cells": ("solver.pml_cells=10",)}
GRIDS = ((33, 106), (46, 148), (62, 130), (79, 166), (110, 180), (106, 359), (114, 240))
BEFORE: dict[str, Any] = {"warps": 12}
"""Of a plan of `resident`: without the shape of sixteen warps, which it then did not have."""

TRIED: tuple[dict[str, Any], ...] = (
    *({"shape": (4, rows), "warps": 12} for rows in (3, 4, 5, 6)),
    *({"shape": (4, rows), "warps": 8} for rows in (5, 6)),
    {"shape": (4, 3), "warps": 12, "cluster": 8},
    *({"shape": (4, rows), "warps": 16} for rows in (2, 3, 4)),
)
LEFT_OUT = ("layers", "axial", "radial", "record", "media")
_STEPS = 143  # of a timing
Variant = tuple[str, Mapping[str, Any], tuple[str, ...]]


def posed() -> Iterator[tuple[str, Problem]]:
    """Yield antennas with names of their lattices."""
    for name, settings in LENSES.items():
        yield name, problem_of("ten_thousand", 0.2, *settings)
    for grid in GRIDS:
        found = full_problem("bor", grid, (TURNS + 2) * _STEPS, 8)
        assert isinstance(found, Problem)
        yield "reference lens", found


def variants(device: CudaDevice, name: str, problem: Problem) -> Iterator[Variant]:
    """Yield scheme, options of its plan and what is left out, of all that can step a problem."""
    made: list[Variant] = [("wavefront", {}, ()), ("resident", {}, ()), ("resident", BEFORE, ())]
    if name == "ten_thousand":
        made += [("resident", tuning, ()) for tuning in TRIED]
        made += [(scheme, {}, (part,)) for part in LEFT_OUT for scheme in ("wavefront", "resident")]
    for scheme, tuning, parts in made:
        try:
            SCHEMES[scheme](without(problem, parts), "float32", device.limits, **tuning)
        except Unsuitable:
            continue
        yield scheme, tuning, parts


def rows_of(device: CudaDevice, name: str, problem: Problem) -> Iterator[dict[str, Any]]:
    """Time all variants on one lattice."""
    copies = ANTENNAS // problem.media.batch
    reference = marching(problem, device, "one_step", copies=copies)
    reference.advance(_STEPS)
    expected, chosen = reference.fields(), choose(problem, "float32", device.limits)[0]
    del reference
    there = list(variants(device, name, problem))
    ready = [
        marching(without(problem, parts), device, scheme, copies=copies, **tuning) for scheme, tuning, parts in there
    ]
    differences: list[float | None] = []
    for one, (_, _, parts) in zip(ready, there, strict=True):
        seconds_of(device, one, _STEPS)
        difference = None if parts else float(np.abs(one.fields() - expected).max() / np.abs(expected).max())
        differences.append(difference)
    turns = {str(n): partial(rate, device, one, _STEPS) for n, one in enumerate(ready)}
    for n, found in in_turns(turns, TURNS).items():
        (scheme, tuning, parts), (median, spread) = there[int(n)], typical(found)
        made = SCHEMES[scheme](without(problem, parts), "float32", device.limits, **tuning)
        yield {
            "device": device.name, "lattice": name, "shape": [problem.grid.nr, problem.grid.nz], "scheme": scheme,
            "plan": dict(tuning), "without": list(parts), "cluster": made.macros.get("CLUSTER"),
            "at_once": made.at_once,
            "cell_steps_per_s": median, "spread": spread, "difference_from_one_step": differences[int(n)],
            "chosen": scheme == chosen and not tuning and not parts,
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    device, made = CudaDevice(), []
    problems = list(posed())
    texts: set[str] = set()
    for name, problem in problems:
        for scheme, tuning, parts in [("one_step", {}, ()), *variants(device, name, problem)]:
            left, copies = without(problem, parts), ANTENNAS // problem.media.batch
            texts |= set(kernel_texts(left, device.limits, scheme, steps=_STEPS, copies=copies, **tuning))
    compile_texts(texts)
    for name, problem in problems:
        for row in rows_of(device, name, problem):
            made.append(row)
            print(json.dumps(row), flush=True)
        if options.json:
            options.json.write_text(json.dumps({"rows": made}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
