"""Times the CUDA kernels of the axisymmetric stencil, checks them against one_step, and prints a table and JSON.

    python benchmarks/gpu_kernels.py --json FILE [--batch 264] [--grid 256x320] [--only NAME,...] [--diagonal]

Every variant steps the same reference lenses (eight of them, over and over) from the same noise, with layers, source,
port, contour record and field map on, unless an ablation leaves something out. Variants take turns, so that a change of
the clock meets all alike.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from antennaopt.bench.on_device import compile_one
from antennaopt.bench.problems import full_problem
from antennaopt.bench.problems import without as leave_out
from fdtd.backends.cuda import SCHEMES
from fdtd.backends.cuda.device import CudaDevice
from fdtd.backends.cuda.sources import flatten
from fdtd.backends.cuda.stepping import Batch
from fdtd.errors import FdtdError
from fdtd.problem import Problem

DISTINCT = 8

# name: (scheme, tuning, ablation, precision)
VARIANTS: dict[str, tuple[str, dict[str, int], str, str]] = {
    "one_step": ("one_step", {}, "", "float32"),
    "one_step 128x6": ("one_step", {"resident": 6}, "", "float32"),
    "one_step 128x10": ("one_step", {"resident": 10}, "", "float32"),
    "one_step 256x4": ("one_step", {"threads": 256, "resident": 4}, "", "float32"),
    "one_step 64x16": ("one_step", {"threads": 64, "resident": 16}, "", "float32"),
    "wavefront": ("wavefront", {}, "", "float32"),
    "wavefront 8+4": ("wavefront", {"levels": 8, "radial_warps": 3}, "", "float32"),
    "wavefront 10+2": ("wavefront", {"levels": 10, "radial_warps": 2}, "", "float32"),
    "wavefront without layers": ("wavefront", {"levels": 10}, "layers", "float32"),
    "wavefront without record": ("wavefront", {}, "record", "float32"),
    "wavefront in air": ("wavefront", {}, "media", "float32"),
    "wavefront without coupling": ("wavefront", {}, "coupling", "float32"),
    "wavefront in air without axial layers": ("wavefront", {}, "media axial", "float32"),
    "wavefront in air without radial layer": ("wavefront", {"levels": 9}, "media radial", "float32"),
    "wavefront update only": ("wavefront", {"levels": 11}, "layers record media", "float32"),
    "one_step update only": ("one_step", {}, "layers record media", "float32"),
    "trapezoidal": ("trapezoidal", {}, "", "float32"),
    "trapezoidal 3 steps": ("trapezoidal", {"depth": 3}, "", "float32"),
    "trapezoidal without layers": ("trapezoidal", {}, "layers", "float32"),
    "trapezoidal without record": ("trapezoidal", {}, "record", "float32"),
    "trapezoidal in air": ("trapezoidal", {}, "media", "float32"),
    "trapezoidal update only": ("trapezoidal", {}, "layers record media", "float32"),
    "resident": ("resident", {}, "", "float32"),
    "resident without layers": ("resident", {}, "layers", "float32"),
    "resident without record": ("resident", {}, "record", "float32"),
    "resident in air": ("resident", {}, "media", "float32"),
    "resident update only": ("resident", {}, "layers record media", "float32"),
}


def everything(grid: tuple[int, int], steps: int, batch: int = DISTINCT, diagonal: bool = True) -> Problem:
    """Reference lenses with all that an evaluation has."""
    del diagonal  # they have no coupled nodes, as in a search
    problem = full_problem("bor", grid, steps, batch)
    assert isinstance(problem, Problem)
    return problem


def without(problem: Problem, ablation: str) -> Problem:
    """The problem less what an ablation names."""
    less = leave_out(problem, ablation.split())
    assert isinstance(less, Problem)
    return less


def compile_all(problem: Problem, names: list[str], device: CudaDevice) -> None:
    """Fill CuPy's cache of compiled kernels, one process a variant."""
    texts = set()
    for name in names:
        scheme, tuning, ablation, precision = VARIANTS[name]
        try:
            made = SCHEMES[scheme](without(problem, ablation), precision, device.limits, **tuning)
        except FdtdError:
            continue
        real = {"float32": "float", "float64": "double"}[precision]
        texts.add(flatten(made.text, {"REAL": real, **made.macros}))
    with ProcessPoolExecutor(min(len(texts), 15), mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_one, texts))


def main() -> None:
    """Build, check, time, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    parser.add_argument("--batch", type=int, default=264)
    parser.add_argument("--grid", default="256x320")
    parser.add_argument("--steps", type=int, default=480)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--diagonal", action="store_true", help="no coupled nodes")
    parser.add_argument("--no-check", action="store_true")
    arguments = parser.parse_args()
    shape = tuple(int(n) for n in arguments.grid.split("x"))
    grid = (shape[0], shape[1])
    names = [name for name in VARIANTS if not arguments.only or name in arguments.only.split(",")]
    device = CudaDevice()
    print(device.name, device.limits, flush=True)
    distinct = min(DISTINCT, arguments.batch)
    problem = everything(grid, 32 * arguments.steps, distinct, arguments.diagonal)
    copies = arguments.batch // distinct
    compile_all(problem, names, device)
    batches: dict[str, Batch] = {}
    leads: dict[str, int] = {}
    for name in names:
        scheme, tuning, ablation, precision = VARIANTS[name]
        start = time.perf_counter()
        try:
            part = without(problem, ablation)
            made = SCHEMES[scheme](part, precision, device.limits, **tuning)
            batches[name], leads[name] = Batch(device, part, made, precision, copies), made.lead
            batches[name].advance(arguments.steps)
            device.synchronize()
        except FdtdError as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:2000]}", flush=True)
            continue
        kernel = {"one_step": "e_step"}.get(scheme, scheme)
        print(
            f"{name}: {made.macros} {dict(batches[name]._stepper.attributes(kernel))} "
            f"built in {time.perf_counter() - start:.1f} s",
            flush=True,
        )
    if not arguments.no_check and "one_step" in batches:
        check(device, problem, batches["one_step"], leads["one_step"], names, arguments.steps)
    rates: dict[str, list[float]] = {name: [] for name in batches}
    for _ in range(arguments.repeat):
        for name, batch in batches.items():
            device.synchronize()
            start = time.perf_counter()
            batch.advance(batch.steps + arguments.steps)
            device.synchronize()
            rates[name].append(grid[0] * grid[1] * batch.size * arguments.steps / (time.perf_counter() - start))
    base = statistics.median(rates.get("one_step", [float("nan")]))
    rows = []
    for name, measured in rates.items():
        rate = statistics.median(measured)
        scheme, tuning, ablation, precision = VARIANTS[name]
        rows.append({
            "stencil": "bor", "scheme": scheme, "variant": name, "tuning": tuning, "without": ablation.split(),
            "backend": "cuda", "device": device.name, "dtype": precision, "shape": list(grid),
            "batch": batches[name].size, "coupled": problem.media.coupling is not None,
            "steps": arguments.steps, "cell_steps_per_s": rate,
            "spread": (max(measured) - min(measured)) / 2 / rate, "ratio_to_one_step": rate / base,
        })  # fmt: skip
        print(
            f"{name:32} {rate / 1e9:8.1f} G cell-steps/s  +-{rows[-1]['spread']:.1%}  {rate / base:.2f} x", flush=True
        )
    if arguments.json:
        arguments.json.write_text(json.dumps({"command": sys.argv[1:], "rows": rows}, indent=1))


def check(device: CudaDevice, problem: Problem, base: Batch, lead: int, names: list[str], steps: int) -> None:
    """Largest difference of every component from one_step's, over its largest magnitude; and copies have equal bits."""
    distinct = problem.media.batch
    expected = base.fetch("fields")[:distinct, ..., lead : lead + problem.grid.nr]
    scale = np.abs(expected).max(axis=(0, 1, 3))
    for name in names:
        scheme, tuning, ablation, precision = VARIANTS[name]
        if ablation or name == "one_step":
            continue
        try:
            made = SCHEMES[scheme](problem, precision, device.limits, **tuning)
            batch = Batch(device, problem, made, precision, 2)
        except FdtdError:
            continue
        batch.advance(steps)
        fields = batch.fetch("fields")[..., made.lead : made.lead + problem.grid.nr]
        errors = np.abs(fields[:distinct].astype(float) - expected).max(axis=(0, 1, 3)) / scale
        same = np.array_equal(fields[:distinct], fields[distinct:])
        records = [
            float(
                np.abs(batch.fetch(kind)[:distinct] - base.fetch(kind)[:distinct]).max()
                / np.abs(base.fetch(kind)).max()
            )
            for kind in ("port_record", "contour_record", "sums", "energies")
            if kind != "energies"
        ]
        print(f"check {name}: fields {errors.max():.1e}, port, contour, map {records}, same bits {same}", flush=True)


if __name__ == "__main__":
    main()
