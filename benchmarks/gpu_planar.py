"""Time plans of the planar stencils next to those that the schemes choose, as `antennaopt bench kernels` times these.

    python benchmarks/gpu_planar.py --json FILE [--only TEXT,...] [--repeat 5]
    python benchmarks/gpu_planar.py --profile

`--profile` starts each scheme once and ends, for a profiler to look at.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from antennaopt.bench.on_device import STANDARD, Case, Variant, time_variants
from antennaopt.bench.problems import full_problem
from fdtd.backends.cuda.device import CudaDevice
from fdtd.backends.cuda.marching import marching, schemes_of
from fdtd.errors import FdtdError


def plans(case: Case) -> Iterator[Variant]:
    """The chosen plan of every scheme, then others."""
    for scheme in schemes_of(case.stencil):
        yield Variant(scheme=scheme)
    if case.stencil != "jacobi5":
        for depth, warps in ((3, 16), (4, 16), (6, 16), (8, 16), (3, 8), (5, 8), (7, 8)):
            yield Variant(scheme="trapezoidal", choice={"depth": depth, "warps": warps})
        for levels in (4, 6, 8, 10):
            yield Variant(scheme="skewed", choice={"levels": levels})
    elif case.batch == 1:
        for n, c, b, k in ((4, 4, 4, 6), (8, 4, 2, 4), (8, 4, 4, 3), (10, 4, 2, 3), (12, 4, 2, 3), (8, 8, 2, 2)):
            yield Variant(scheme="skewed", choice={"levels": n, "cells": c, "burst": b, "blocks_wanted": k})
        for levels, burst, chunk in ((8, 4, 32), (8, 4, 96), (8, 4, 128), (10, 2, 64), (12, 2, 64), (12, 2, 128)):
            yield Variant(scheme="skewed", choice={"levels": levels, "burst": burst, "chunk": chunk})


def profile(device: CudaDevice, cases: list[Case]) -> None:
    """Twelve steps of each scheme."""
    for case in cases:
        problem = full_problem(case.stencil, case.shape, 12, case.distinct)
        for scheme in schemes_of(case.stencil):
            try:
                marching(problem, device, scheme, copies=case.batch // case.distinct).advance(12)
                device.synchronize()
            except FdtdError as error:
                print(f"{case.stencil} {scheme}: {str(error)[:200]}", flush=True)


def main() -> None:
    """Time and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="stencils or schemes, by comma")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="start each scheme once and end")
    arguments = parser.parse_args()
    cases = [case for case in STANDARD if case.stencil != "bor"]
    device = CudaDevice()
    if arguments.profile:
        profile(device, cases)
        return
    rows: list[dict[str, Any]] = []
    wanted = arguments.only.split(",") if arguments.only else []
    for case in cases:
        variants = [
            one for one in plans(case) if not wanted or any(w in (case.stencil, one.scheme, "") for w in wanted)
        ]
        if variants:
            rows += time_variants(device, case, variants, repeat=arguments.repeat, told=print)
        if arguments.json:  # after each case: a run that is cut short keeps what it has
            arguments.json.write_text(json.dumps({"command": sys.argv[1:], "rows": rows}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
