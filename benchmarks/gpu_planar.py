"""Times the CUDA kernels of the planar stencils, checks them against one_step and the oracles, prints a table and JSON.

    python benchmarks/gpu_planar.py --json FILE [--only TEXT,...] [--repeat 5] [--seconds 0.05]

Fields: 264 problems of 256 x 320 cells, a dielectric cylinder in lossy ground, layers of ten cells on all sides, a
source, 16 probes. Five-point sums: one lattice of 8,192 x 8,192 points. Variants take turns, so that a change of the
clock meets all alike; every variant starts from noise.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from fdtd.backends import jacobi_reference, planar_reference
from fdtd.backends.cuda import planar
from fdtd.backends.cuda.device import CudaDevice
from fdtd.errors import FdtdError
from fdtd.jacobi import JacobiProblem
from fdtd.planar import PlanarGrid, PlanarLayer, PlanarProblem, PointCurrent, Probe
from fdtd.planar_bodies import dielectric_cylinder, free_space, stack

DISTINCT = 8
ROUND = 240  # steps; every depth divides it
LONGEST = 4 * ROUND  # of one timing


@dataclass(frozen=True, eq=False)
class Variant:
    """A stencil, a scheme and what its plan is told."""

    stencil: str
    scheme: str
    choice: dict[str, Any] = field(default_factory=dict)
    shape: tuple[int, int] = (256, 320)
    batch: int = 264

    @property
    def name(self) -> str:
        told = ", ".join(f"{key} {value}" for key, value in self.choice.items())
        return f"{self.stencil} {self.scheme}" + (f" ({told})" if told else "") + f" {self.shape[0]}x{self.shape[1]}"


def fields_variants(stencil: str) -> list[Variant]:
    made = [Variant(stencil, "one_step"), Variant(stencil, "trapezoidal"), Variant(stencil, "skewed")]
    made += [Variant(stencil, "trapezoidal", {"depth": depth}) for depth in (3, 4, 6, 8)]
    made += [Variant(stencil, "trapezoidal", {"depth": depth, "warps": 8}) for depth in (3, 5, 7)]
    made += [Variant(stencil, "skewed", {"levels": levels}) for levels in (4, 6, 8, 10)]
    made += [Variant(stencil, scheme, {}, (200, 200), 112) for scheme in ("one_step", "resident", "skewed")]
    return made


def sum_variants() -> list[Variant]:
    square = (8192, 8192)
    made = [Variant("jacobi5", "one_step", {}, square, 1), Variant("jacobi5", "skewed", {}, square, 1)]
    made += [
        Variant("jacobi5", "skewed", {"levels": n, "cells": c, "burst": b, "blocks_wanted": k}, square, 1)
        for n, c, b, k in ((4, 4, 4, 6), (8, 4, 2, 4), (8, 4, 4, 3), (10, 4, 2, 3), (12, 4, 2, 3), (8, 8, 2, 2))
    ]
    made += [
        Variant("jacobi5", "skewed", {"levels": levels, "burst": burst, "chunk": chunk}, square, 1)
        for levels, burst, chunk in (
            (8, 4, 32), (8, 4, 48), (8, 4, 96), (8, 4, 128), (10, 2, 64), (10, 2, 96), (12, 2, 64), (12, 2, 128),
        )
    ]  # fmt: skip
    made += [Variant("jacobi5", "trapezoidal", {"depth": depth}, square, 1) for depth in (4, 8, 12)]
    made += [Variant("jacobi5", scheme, {}, (400, 400), 132) for scheme in ("one_step", "resident", "skewed")]
    return made


VARIANTS = [*sum_variants(), *fields_variants("tmz"), *fields_variants("tez")]


def problem_of(variant: Variant, steps: int, distinct: int = DISTINCT) -> PlanarProblem | JacobiProblem:
    """Everything on, from noise."""
    rng = np.random.default_rng(7)
    if variant.stencil == "jacobi5":
        shape = (min(distinct, variant.batch), *variant.shape)
        return JacobiProblem(initial=rng.standard_normal(shape, dtype=np.float32), steps=steps)
    nx, ny = variant.shape
    grid = PlanarGrid(nx=nx, ny=ny, cell=1e-3, courant_number=0.6, polarisation=variant.stencil[:2].upper())
    ground = replace(free_space(grid), conductivity=np.full_like(free_space(grid).conductivity, 1e-3))
    bodies = [
        dielectric_cylinder(grid, centre=(nx / 2, ny / 2), radius=min(nx, ny) / 5 + n, permittivity=2.53)
        for n in range(distinct - 1)
    ]
    media = stack(ground, *bodies)
    source = grid.components[0 if variant.stencil == "tmz" else 1]
    at = np.arange(16)
    return PlanarProblem(
        grid=grid,
        media=media,
        layer=PlanarLayer(cells=10),
        steps=steps,
        sources=(PointCurrent(component=source, row=ny // 2, column=nx // 2, samples=np.sin(0.2 * np.arange(steps))),),
        probes=(Probe(component=grid.components[0], rows=20 + at, columns=20 + at),),
        initial=rng.standard_normal((distinct, 3, *grid.shape)),
    )


class Recorder:
    """A device that only notes what it should compile."""

    def __init__(self, limits: Any) -> None:
        self.limits, self.texts = limits, []

    def upload(self, array: np.ndarray, copies: int = 1) -> int:
        return 0

    def address(self, buffer: int) -> int:
        return buffer

    def program(self, text: str) -> Recorder:
        self.texts.append(text)
        return self

    def set_parameters(self, data: bytes) -> None:
        pass

    def launch(self, *arguments: Any, **settings: Any) -> None:
        pass


def compile_one(index: int) -> None:
    """Leave a variant's machine code in CuPy's cache; errors come again, with a name, in the parent."""
    device, check_index = CudaDevice(), index - len(VARIANTS)
    recorder = Recorder(device.limits)
    with contextlib.suppress(FdtdError):
        if check_index >= 0:
            stencil, scheme = CHECKS[check_index]
            made, choice = check_problem(stencil), {}
            batch = planar.PlanarBatch(recorder, made, "float32")
            steps = made.steps
        else:
            variant = VARIANTS[index]
            scheme, choice, steps = variant.scheme, variant.choice, ROUND
            batch = planar.PlanarBatch(recorder, problem_of(variant, 1, 2), "float32", max(1, variant.batch // 2))
        planar.prepare(batch, scheme, **choice)(steps)
        for text in recorder.texts:
            device.program(text)


CHECKS = [(stencil, scheme) for stencil in ("tmz", "tez", "jacobi5") for scheme in planar.PLANAR_SCHEMES]


def check_problem(stencil: str) -> PlanarProblem | JacobiProblem:
    """Small and odd."""
    if stencil == "jacobi5":
        return JacobiProblem(initial=np.random.default_rng(3).standard_normal((2, 301, 517)), steps=43)
    return problem_of(Variant(stencil, "", {}, (101, 83)), 300, 3)


def check(device: CudaDevice) -> list[dict[str, Any]]:
    """Every scheme on small lattices against the float64 oracle, in float32."""
    rows = []
    for stencil in ("tmz", "tez"):
        for scheme in planar.PLANAR_SCHEMES:
            made = check_problem(stencil)
            assert isinstance(made, PlanarProblem)
            expected = planar_reference.run(made)
            rows.append({"stencil": stencil, "scheme": scheme})
            try:
                measured = planar.run(made, device, scheme=scheme)
                again = planar.run(made, device, scheme=scheme)
            except FdtdError as error:
                rows[-1]["error"] = str(error)[:300]
                continue
            scale = np.abs(made.initial).max(axis=(0, 2, 3)) if made.initial is not None else 1.0
            scale = np.maximum(scale, np.abs(expected.final).max(axis=(0, 2, 3)))
            rows[-1]["fields"] = float((np.abs(measured.final - expected.final).max(axis=(0, 2, 3)) / scale).max())
            rows[-1]["samples"] = float(np.abs(measured.samples[0] - expected.samples[0]).max() / scale[0])
            rows[-1]["same_bits"] = bool(np.array_equal(measured.final, again.final))
    for scheme in planar.PLANAR_SCHEMES:
        made = check_problem("jacobi5")
        assert isinstance(made, JacobiProblem)
        rows.append({"stencil": "jacobi5", "scheme": scheme})
        try:
            measured = planar.run_sum(made, device, scheme=scheme)
            rows[-1]["fields"] = float(np.abs(measured - jacobi_reference.run(made)).max() / np.abs(made.initial).max())
            rows[-1]["same_bits"] = bool(np.array_equal(measured, planar.run_sum(made, device, scheme=scheme)))
        except FdtdError as error:
            rows[-1]["error"] = str(error)[:300]
    return rows


def time_group(device: CudaDevice, variants: list[Variant], repeat: int, seconds: float) -> list[dict[str, Any]]:
    """Time variants of one stencil and shape, which take turns; their fields after the same steps are compared."""
    marches, counts, differences, rows, shapes = {}, {}, {}, [], variants[0]
    cells = shapes.shape[0] * shapes.shape[1] * shapes.batch
    made = problem_of(shapes, 2 * ROUND + repeat * LONGEST)
    distinct, expected = min(shapes.batch, DISTINCT), None
    for variant in variants:
        try:
            batch = planar.PlanarBatch(device, made, "float32", shapes.batch // distinct)
            march = planar.prepare(batch, variant.scheme, **variant.choice)
            march(ROUND)
            device.synchronize()
        except FdtdError as error:
            print(f"{variant.name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        fields = batch.fields()[:distinct]
        if expected is None:
            expected = fields
        differences[variant] = float(np.abs(fields - expected).max() / np.abs(expected).max())
        start = time.perf_counter()
        march(ROUND)
        device.synchronize()
        rounds = int(seconds / (time.perf_counter() - start))
        marches[variant] = march
        counts[variant] = min(LONGEST, max(ROUND, rounds * ROUND))
    rates: dict[Variant, list[float]] = {variant: [] for variant in marches}
    for _ in range(repeat):
        for variant, march in marches.items():
            device.synchronize()
            start = time.perf_counter()
            march(counts[variant])
            device.synchronize()
            rates[variant].append(cells * counts[variant] / (time.perf_counter() - start))
    base = statistics.median(rates[variants[0]]) if variants[0] in rates else float("nan")
    for variant, measured in rates.items():
        rate = statistics.median(measured)
        rows.append({
            "stencil": variant.stencil, "scheme": variant.scheme, "choice": variant.choice, "backend": "cuda",
            "device": device.name, "dtype": "float32", "shape": list(variant.shape), "batch": variant.batch,
            "steps": counts[variant], "cell_steps_per_s": rate, "spread": (max(measured) - min(measured)) / 2 / rate,
            "ratio_to_one_step": rate / base, "difference_from_one_step": differences[variant],
        })  # fmt: skip
        print(
            f"{variant.name:78} {rate / 1e9:8.1f} G +-{rows[-1]['spread']:.1%} {rate / base:6.2f} x "
            f"difference {differences[variant]:.1e}",
            flush=True,
        )
    return rows


def profile(device: CudaDevice) -> None:
    """One round of each scheme's launches, for a profiler to look at."""
    for variant in (
        Variant("jacobi5", "one_step", {}, (8192, 8192), 1), Variant("jacobi5", "skewed", {}, (8192, 8192), 1),
        Variant("tmz", "one_step"), Variant("tmz", "trapezoidal", {"depth": 7}),
        Variant("tmz", "skewed", {"levels": 14}), Variant("tmz", "resident", {}, (200, 200), 112),
    ):  # fmt: skip
        distinct = min(variant.batch, DISTINCT)
        batch = planar.PlanarBatch(device, problem_of(variant, ROUND), "float32", variant.batch // distinct)
        steps = (
            variant.choice.get("depth") or variant.choice.get("levels") or (1 if variant.scheme == "one_step" else 8)
        )
        planar.prepare(batch, variant.scheme, **variant.choice)(steps)
        device.synchronize()
        print(f"profiled {variant.name}", flush=True)


def main() -> None:
    """Build, check, time, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.03)
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--profile", action="store_true", help="start each scheme once and end")
    arguments = parser.parse_args()
    if arguments.profile:
        profile(CudaDevice())
        return
    wanted = [
        index
        for index, variant in enumerate(VARIANTS)
        if not arguments.only or any(part in variant.name for part in arguments.only.split(","))
    ]
    start = time.perf_counter()
    with ProcessPoolExecutor(15, mp_context=get_context("spawn")) as pool:
        checks_too = [] if arguments.no_check else list(range(len(VARIANTS), len(VARIANTS) + len(CHECKS)))
        list(pool.map(compile_one, [*checks_too, *wanted]))
    device = CudaDevice()
    print(f"{device.name}, compiled in {time.perf_counter() - start:.1f} s", flush=True)
    checks = [] if arguments.no_check else check(device)
    for row in checks:
        print(row, flush=True)
    groups: dict[tuple[str, tuple[int, int], int], list[Variant]] = {}
    for index in wanted:
        variant = VARIANTS[index]
        groups.setdefault((variant.stencil, variant.shape, variant.batch), []).append(variant)
    rows: list[dict[str, Any]] = []
    for group in groups.values():
        rows += time_group(device, group, arguments.repeat, arguments.seconds)
        if arguments.json:  # after each group: a run that is cut short keeps what it has
            arguments.json.parent.mkdir(parents=True, exist_ok=True)
            arguments.json.write_text(json.dumps({"command": sys.argv[1:], "checks": checks, "rows": rows}, indent=1))
    print(f"done after {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
