"""Time the schemes of a CUDA device on antennas with metal: random ones of experiments, from the first step on.

    python benchmarks/gpu_metal.py [--json FILE]

264 antennas, 22 random ones over and over, sources and records as in a search. `kept` says which coefficients rows have
on chip: "all" from the axis on, as `resident` keeps them for lenses, or those "by need". Variants of an experiment take
turns; one that a scheme cannot step is left out. A row: experiment, cell (mm), shape, scheme, kept, cell-steps a second
(median of `TURNS`), spread (half of the range over the median), and whether a study takes it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from antennaopt.bench.on_device import compile_texts, seconds_of
from antennaopt.bench.runner import in_turns, typical
from antennaopt.experiment import load_experiment
from antennaopt.run.planning import plan_for
from antennaopt.search.candidate import decode
from antennaopt.solve.evaluate import kind, scene_of, stack
from antennaopt.solve.plan import SolverPlan
from fdtd.axisymmetric.problem import Problem
from fdtd.axisymmetric.simulation import fill, pose
from fdtd.backends.cuda import choose
from fdtd.backends.cuda.device import CudaDevice
from fdtd.backends.cuda.marching import Marching, kernel_texts, marching
from fdtd.errors import Unsuitable
from fdtd.schemes.antennas import SCHEMES

EXPERIMENTS = (
    ("dual_mode_horn", 0.3), ("corrugated_horn", 0.2), ("splash_plate", 0.3), ("cassegrain", 0.36),
    ("ring_focus", 0.36), ("reflector", 0.3), ("corrugated_horn", 0.1), ("choke_ring_dish", 0.2),
    ("splash_plate", 0.15), ("cassegrain", 0.18),
)  # fmt: skip
"""With cells, mm: from 81 to 367 columns."""

ANTENNAS, DISTINCT = 264, 22
TURNS = 5
KEPT = {"all": 0, "by need": 1}
SLABS = ("resident", "trapezoidal")  # schemes with coefficients on chip for all steps of a launch


def problem_of(name: str, cell: float, *settings: str) -> Problem:
    """Return random antennas of an experiment, as a search would step them, for as many steps as are timed.

    Cells are in mm; `settings` are further ones of the file, as `--set` takes them.
    """
    experiment = load_experiment(
        Path(__file__).parents[1] / "experiments" / f"{name}.toml", [f'solver.cell="{cell} mm"', *settings]
    )
    solver, rng = SolverPlan.from_dict(plan_for(experiment)), np.random.default_rng(3)
    designs: list[dict[str, float]] = []
    family = kind(experiment.family, solver.bodies, solver.making)
    while len(designs) < DISTINCT:
        design = experiment.design(decode(experiment.genes, rng.random(len(experiment.genes)).tolist()))
        if family.of(design).refusal(stack([design]))[0] is None:
            designs.append(design)
    scene = scene_of(solver, family.of(designs[0]), designs)
    problem, _ = pose(solver.layout, fill(solver.layout, scene, np))
    steps = (TURNS + 2) * problem.sampling.check_every
    return replace(problem, sampling=replace(problem.sampling, steps=steps, settled=steps))


def variants(device: Any, problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield schemes that step a problem, and what their rows keep."""
    for scheme in ("wavefront", *SLABS):
        try:
            SCHEMES[scheme](problem, "float32", device.limits)
        except Unsuitable:
            continue
        yield from ((scheme, kept) for kept in (KEPT if scheme in SLABS else ("",)))


def rate(device: CudaDevice, one: Marching, steps: int) -> float:
    """Return cell-steps a second."""
    return one.cells * steps / seconds_of(device, one, steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    device, made = CudaDevice(), []
    posed = {one: problem_of(*one) for one in EXPERIMENTS}
    texts: set[str] = set()
    for problem in posed.values():
        for scheme, kept in variants(device, problem):
            macros = {"BY_NEED": KEPT[kept]} if kept else {}
            texts |= set(
                kernel_texts(
                    problem, device.limits, scheme, steps=problem.sampling.steps, copies=ANTENNAS // DISTINCT,
                    macros=macros,
                )
            )  # fmt: skip
    compile_texts(texts)
    for (name, cell), problem in posed.items():
        steps, chosen = problem.sampling.check_every, choose(problem, "float32", device.limits)[0]
        ready = {
            f"{scheme} {kept}": marching(
                problem, device, scheme, copies=ANTENNAS // DISTINCT, macros={"BY_NEED": KEPT[kept]} if kept else {}
            )
            for scheme, kept in variants(device, problem)
        }
        for one in ready.values():
            seconds_of(device, one, steps)
        turns = {key: partial(rate, device, one, steps) for key, one in ready.items()}
        for key, found in in_turns(turns, TURNS).items():
            scheme, _, kept = key.partition(" ")
            median, spread = typical(found)
            row = {
                "device": device.name, "experiment": name, "cell_mm": cell,
                "shape": [problem.grid.nr, problem.grid.nz], "scheme": scheme, "kept": kept,
                "cell_steps_per_s": median, "spread": spread, "chosen": scheme == chosen,
            }  # fmt: skip
            made.append(row)
            print(json.dumps(row), flush=True)
        del ready, turns
        if options.json:
            options.json.write_text(json.dumps({"rows": made}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
