"""Steps small random problems with everything on, on a device, and compares with the oracle; for compute-sanitizer.

compute-sanitizer --tool racecheck python benchmarks/gpu_small.py --scheme resident [--steps 40] [--order 1]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "agreement"))

from random_problems import error, random_problem, record_errors

from fdtd.backends import cuda, reference


def main() -> None:
    """Step, compare, print; exit with 1 where they differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scheme", default="one_step,wavefront,trapezoidal,resident")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--grid", default="91x141")
    parser.add_argument("--order", type=int, default=1)
    parser.add_argument("--precision", default="float32")
    arguments = parser.parse_args()
    shape = tuple(int(n) for n in arguments.grid.split("x"))
    problem = random_problem(7, arguments.order, arguments.batch, shape=(shape[0], shape[1]), steps=arguments.steps)
    problem = replace(problem, media=replace(problem.media, coupling=None))
    expected, worst = reference.run(problem), 0.0
    for scheme in arguments.scheme.split(","):
        measured = cuda.run(problem, precision=arguments.precision, scheme=scheme)
        assert measured.final is not None and expected.final is not None
        fields = max(error(measured.final[:, c], expected.final[:, c]) for c in range(6))
        records = record_errors(measured, expected)
        print(f"{scheme}: fields {fields:.1e}, " + ", ".join(f"{name} {value:.1e}" for name, value in records.items()))
        worst = max(worst, fields, *records.values())
    sys.exit(worst > {"float32": 1e-4, "float64": 1e-11}[arguments.precision])


if __name__ == "__main__":
    main()
