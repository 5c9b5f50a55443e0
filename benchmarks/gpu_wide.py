"""Time wide lattices of bodies of revolution on a CUDA device: what studies step them by, and what they did before.

    python benchmarks/gpu_wide.py [--json FILE] [--all]

Batches of reference lenses from noise, everything on: layers, feed, source, port, contour, field map, looks at the
energy. Tiles of whole rows, five steps a launch, are what lattices of up to 522 columns had; wider ones had `one_step`.
All kernels of a lattice take turns. `--all` adds the other shapes that a lane can have. Before that, fields and records
of each plan are compared with those of `one_step` after an odd number of samples.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from antennaopt.bench.on_device import Case, Variant, compile_texts, time_variants
from antennaopt.bench.problems import full_problem
from fdtd.backends.cuda.device import CudaDevice
from fdtd.backends.cuda.marching import kernel_texts
from fdtd.backends.cuda.stepping import Batch
from fdtd.errors import Unsuitable
from fdtd.schemes.antennas import SCHEMES

WIDE = ((280, 500), (400, 300), (600, 400), (800, 300))
LENSES = 32
NARROW = ((256, 320, 264), (256, 320, LENSES))
BEFORE: dict[str, Any] = {"segments": 1, "depth": 5, "cluster": 4}
SHAPES = ((4, 2), (5, 2), (6, 2), (8, 2))
STEPS = 320
CHECKED = 50  # steps: five samples, the last one and three others from the second buffer


def variants(shape: tuple[int, int], every: bool) -> list[Variant]:
    """Return what is timed on a lattice."""
    choices: list[dict[str, Any]] = [{}]
    if shape in WIDE:
        choices += [BEFORE] if shape[0] < 523 else []
        choices += [{"shape": one} for one in SHAPES] if every else []
    return [Variant(scheme="one_step"), *(Variant(scheme="trapezoidal", choice=choice) for choice in choices)]


def plan_of(device: Any, problem: Any, choice: dict[str, Any]) -> dict[str, Any] | None:
    """Return a plan in numbers and its promised pace; None where there is none."""
    try:
        made = SCHEMES["trapezoidal"](problem, "float32", device.limits, **choice)
    except Unsuitable:
        return None
    names = ("SEGMENTS", "ACROSS", "CELLS", "ROWS", "WARPS", "RADIAL_WARPS", "CLUSTER", "TILES", "STRIDE", "DEPTH")
    return {name.lower(): made.macros.get(name) for name in names} | {"pace": made.pace}


def unequal(device: Any, shape: tuple[int, int]) -> list[str]:
    """Return the records in which a plan differs from `one_step` by any bit."""
    problem, found = full_problem("bor", shape, CHECKED, 2), []
    for scheme in ("one_step", "trapezoidal"):
        batch = Batch(device, problem, SCHEMES[scheme](problem, "float32", device.limits), "float32")  # pyright: ignore
        batch.advance(CHECKED)
        found.append(batch.records())
    names = ("final", "port", "contour", "field_map", "energy")
    return [name for name in names if not np.array_equal(*(np.asarray(getattr(one, name)) for one in found))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    device, made = CudaDevice(), []
    cases = [(*shape, LENSES) for shape in WIDE] + list(NARROW)
    posed = {case[:2]: full_problem("bor", case[:2], STEPS, 1) for case in cases}
    texts: set[str] = set()
    for shape, problem in posed.items():
        for one in variants(shape, options.all):
            if one.scheme == "one_step" or plan_of(device, problem, dict(one.choice)):
                texts |= set(kernel_texts(problem, device.limits, one.scheme, steps=STEPS, **one.choice))
    compile_texts(texts)
    for shape in WIDE:
        print(shape, "differs in", unequal(device, shape) or "nothing", flush=True)
    for *lattice, batch in cases:
        shape = (lattice[0], lattice[1])
        case = Case(stencil="bor", shape=shape, batch=batch)
        for row in time_variants(
            device, case, variants(shape, options.all), steps=STEPS, repeat=3, told=lambda line: print(line, flush=True)
        ):
            plan = plan_of(device, posed[shape], row["choice"]) if row["scheme"] == "trapezoidal" else None
            made.append(row | {"plan": plan})
            print("   ", plan, row["difference_from_one_step"], row["copies_equal"], flush=True)
        if options.json:
            options.json.write_text(json.dumps({"rows": made}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
