"""Steps small random problems with everything on, on a device, and compares with the oracle; for compute-sanitizer.

Antennas without coupled nodes by every scheme, and with them by those that do not refuse them; `whole_step` is
`one_step` in one launch.

compute-sanitizer --tool racecheck python benchmarks/gpu_small.py --scheme resident [--steps 40] [--order 1]
compute-sanitizer --tool memcheck python benchmarks/gpu_small.py --stencil tez
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "agreement"))

from random_problems import error, random_problem, record_errors
from random_problems import worst as largest
from test_planar import error as planar_error
from test_planar import random_problem as random_planar_problem

from fdtd.backends import cuda, planar_reference, reference
from fdtd.backends.cuda import planar
from fdtd.backends.cuda.marching import schemes_of
from fdtd.errors import Unsuitable
from fdtd.planar.problem import JacobiProblem

STENCILS = ("bor", "tmz", "tez", "jacobi5")
WHOLE_STEP = "whole_step"


def kernels_of(stencil: str) -> tuple[str, ...]:
    """What is stepped: the stencil's schemes, and `one_step` of antennas in one launch as well."""
    return schemes_of(stencil) + ((WHOLE_STEP,) if stencil == "bor" else ())


def way_of(kernel: str) -> tuple[str, dict[str, Any]]:
    """Return the scheme of one of `kernels_of`, and the settings of its plan."""
    return ("one_step", {"launches": 1}) if kernel == WHOLE_STEP else (kernel, {})


def antennas_worst(schemes: list[str], shape: tuple[int, int], order: int, batch: int, steps: int, real: str) -> float:
    """Largest difference of fields and records from the oracle, over each component's largest magnitude."""
    coupled = random_problem(7, order, batch, shape=shape, steps=steps)
    worst = 0.0
    for problem in (replace(coupled, media=replace(coupled.media, coupling=None)), coupled):
        nodes = "plain" if problem.media.coupling is None else "coupled"
        expected = reference.run(problem)
        for scheme in schemes:
            name, choice = way_of(scheme)
            try:
                measured = cuda.run(problem, precision=real, scheme=name, **choice)
            except Unsuitable as refused:
                if nodes == "plain":
                    raise
                print(f"{scheme}, {nodes} nodes: refused: {refused}")
                continue
            assert measured.final is not None and expected.final is not None
            fields = largest(error(measured.final[:, c], expected.final[:, c]) for c in range(6))
            found = {"fields": fields, **record_errors(measured, expected)}
            print(f"{scheme}, {nodes} nodes: " + ", ".join(f"{what} {value:.1e}" for what, value in found.items()))
            worst = largest((worst, *found.values()))
    return worst


def planar_worst(stencil: str, schemes: list[str], steps: int, precision: str) -> float:
    """Largest difference of the planar schemes from their oracle."""
    device, worst = cuda.device(), 0.0
    sums = JacobiProblem(initial=np.random.default_rng(3).standard_normal((2, 61, 97)), steps=steps)
    waves = random_planar_problem(stencil[:2].upper(), (61, 53), steps=steps, batch=2) if stencil != "jacobi5" else None
    for scheme in schemes:
        if waves is None:
            found = planar.run_sum(sums, device, precision=precision, scheme=scheme)
            off = float(np.abs(found - planar_reference.run_sum(sums)).max())
        else:
            found = planar.run(waves, device, precision=precision, scheme=scheme)
            off = float(planar_error(found, planar_reference.run(waves), waves))
        print(f"{stencil} {scheme}: {off:.1e}")
        worst = largest((worst, off))
    return worst


def main() -> None:
    """Step, compare, print; exit with 1 where they differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stencil", default="bor", choices=STENCILS)
    parser.add_argument("--scheme", default="", help="by comma; all if empty")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--grid", default="91x141")
    parser.add_argument("--order", type=int, default=1)
    parser.add_argument("--precision", default="float32")
    arguments = parser.parse_args()
    schemes = arguments.scheme.split(",") if arguments.scheme else list(kernels_of(arguments.stencil))
    shape = tuple(int(n) for n in arguments.grid.split("x"))
    if arguments.stencil != "bor":
        sys.exit(not planar_worst(arguments.stencil, schemes, arguments.steps, arguments.precision) <= 1e-4)
    worst = antennas_worst(
        schemes, (shape[0], shape[1]), arguments.order, arguments.batch, arguments.steps, arguments.precision
    )
    sys.exit(not worst <= {"float32": 1e-4, "float64": 1e-11}[arguments.precision])  # NaN fails


if __name__ == "__main__":
    main()
