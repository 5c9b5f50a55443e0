"""Throughput of the update kernels: on one core, against problem size, and the best plan of a device.

All are timed with absorbing layers, source, port and recording on; `bench.on_device` times a device's kernels in part.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from antennaopt.bench.boxes import box_rows
from antennaopt.bench.problems import SMALLEST, cylinder_problem, plain_problem, reference_problem
from antennaopt.bench.runner import Log, in_turns, rates
from antennaopt.machine import processor_name
from fdtd.axisymmetric.problem import Problem
from fdtd.backends.cuda.device import CudaDevice, describe
from fdtd.backends.cuda.marching import cache_file, marching, schemes_of, tuned
from fdtd.errors import ConfigError, Unsuitable
from fdtd.planar.problem import PlanarProblem
from fdtd.schemes.machine import Machine
from fdtd.stencils import SPATIAL, STENCILS

LEVELS = 16
"""Time levels that follow each other in `skewed`, as `run` has them."""
_TARGET_CELL_STEPS = 150e6  # of one timing, unless steps are given

SWEPT = ("tmz", "tez", "bor")
_SWEPT_CELL_STEPS = 100e6  # of one timing
_ON_A_DEVICE = 20  # times as many, but no more steps than these
_MOST_STEPS = 9600

_TUNED_STEPS = 200  # more than any timing takes

Time = Callable[[PlanarProblem], float]
"""Steps a problem and returns the seconds that stepping took, its preparation left out."""


def bench_kernels(
    *,
    backend: str = "cpu",
    grid: tuple[int, int] = (150, 250),
    steps: int | None = None,
    batch: int = 1,
    precision: str = "float32",
    repeat: int = 5,
    levels: int = LEVELS,
) -> list[dict[str, Any]]:
    """Time the reference lens from random start fields on one core.

    Every timing steps the same problem from the same start, preparation of the problem excluded. The schemes take
    turns, so that a change in the machine's speed meets all of them alike.

    Args:
        backend: "cpu" or "reference".
        grid: (nr, nz), layers included.
        steps: Of one timing; about 150 million cell-steps if None.
        batch: Antennas stepped one after the other.
        precision: "float32" or "float64".
        repeat: Timings of each scheme.
        levels: Of `skewed`; as many as steps is time skewing over the whole run.

    Returns:
        One row a scheme: `stencil`, `scheme`, `backend`, `device`, `dtype`, `shape`, `batch`, `steps`,
        `levels`, `cell_steps_per_s` (median), `spread` (half of the range over the median), `ratio_to_one_step`.

    Raises:
        ConfigError: The reference lens does not fit the grid.
        Unsuitable: No such backend here.
    """
    cells = grid[0] * grid[1] * batch
    count = steps or max(64, int(_TARGET_CELL_STEPS / cells / (100 if backend == "reference" else 1)))
    problem = reference_problem(grid, count, batch)
    if levels > problem.sampling.check_every:  # looks at the energy end a trip
        sampling = problem.sampling
        looks = -(-levels // sampling.record_every) * sampling.record_every
        problem = replace(problem, sampling=replace(sampling, check_every=looks))
    steppers = _schemes(backend, precision, levels)
    for step in steppers.values():
        step(replace(problem, sampling=replace(problem.sampling, steps=2 * LEVELS)))  # compile and touch the memory

    def timed(step: Callable[[Problem], object]) -> float:
        start = time.perf_counter()
        step(problem)
        return cells * count / (time.perf_counter() - start)

    measured = in_turns({name: partial(timed, step) for name, step in steppers.items()}, repeat)
    base = statistics.median(measured["one_step"])
    return [
        {
            "stencil": "bor",
            "scheme": name,
            "backend": backend,
            "device": processor_name(),
            "dtype": "float64" if backend == "reference" else precision,
            "shape": list(grid),
            "batch": batch,
            "steps": count,
            "levels": levels if name == "skewed" else 1,
            **rates(found, base),
        }
        for name, found in measured.items()
    ]


def _schemes(backend: str, precision: str, levels: int) -> dict[str, Callable[[Problem], object]]:
    """Return the traversals that a backend offers."""
    if backend == "reference":
        from fdtd.backends import reference

        return {"one_step": reference.run}
    if backend == "cpu":
        from fdtd.backends import cpu

        return {
            "one_step": lambda problem: cpu.run(problem, precision=precision, steps_per_sweep=1),
            "skewed": lambda problem: cpu.run(problem, precision=precision, steps_per_sweep=levels),
        }
    raise Unsuitable(f"backend = {backend!r} has no kernels here (allowed: cpu, reference)")


def sizes_up_to(largest: int) -> list[int]:
    """Return sides of domains, two to a doubling, from 64 cells to the largest; multiples of eight."""
    steps = max(math.floor(2 * math.log2(largest / SMALLEST) + 1e-9), 0) if largest >= SMALLEST else -1
    return [8 * round(SMALLEST * 2 ** (step / 2) / 8) for step in range(steps + 1)]


def bench_sweep(
    *,
    stencils: Sequence[str] = SWEPT,
    sizes: Sequence[int],
    backend: str = "cpu",
    precision: str = "float32",
    repeat: int = 5,
    layers: int = 0,
    told: Log | None = None,
) -> list[dict[str, Any]]:
    """Time one problem of every size, on one core or on one device.

    Planar: a dielectric cylinder and a line source, absorbing layers on all sides, one sampled point. Axisymmetric:
    the reference lens with all that an evaluation has on (see `bench_kernels`). A size is the side of a square with
    as many cells, nearly: the axisymmetric domain is 5/8 as wide and 8/5 as long.

    Args:
        stencils: Some of `SWEPT` and `fdtd.stencils.SPATIAL`, whose sizes are sides of a cube.
        sizes: Sides, cells.
        backend: "cpu", "reference" or "cuda"; there every scheme that can step the problem.
        precision: "float32" or "float64".
        repeat: Timings, of which the median.
        layers: Cells of the absorbing layers of `yee3d` on a core; the others have those of their problems.
        told: Gets one line a row.

    Returns:
        Rows as `bench_kernels` makes them, with `cells` and `million_cells_per_s`: steps times cells over seconds.

    Raises:
        ConfigError: A size is too small.
        DeviceError: There is no device.
        Unsuitable: No such backend.
    """
    rows: list[dict[str, Any]] = []
    for stencil in stencils:
        for size in sizes:
            if stencil in SPATIAL:
                found = box_rows(stencil, size, backend, precision, repeat, layers)
            elif stencil == "bor":
                shape = (8 * round(5 * size / 64), 8 * round(size / 5))
                found = _lens(shape, backend, precision, repeat)
            else:
                found = _planar(stencil, size, backend, precision, repeat)
            for row in found:
                cells = math.prod(row["shape"])
                rows.append({**row, "cells": cells, "million_cells_per_s": row["cell_steps_per_s"] / 1e6})
                if told is not None:
                    told(_line(rows[-1]))
    return rows


def _lens(shape: tuple[int, int], backend: str, precision: str, repeat: int) -> list[dict[str, Any]]:
    if backend != "cuda":
        return bench_kernels(backend=backend, grid=shape, precision=precision, repeat=repeat)
    from antennaopt.bench.on_device import Case, bench_on_device

    case = Case(stencil="bor", shape=shape, batch=1)
    return bench_on_device([case], left_out=(), precision=precision, repeat=repeat)


def _line(row: dict[str, Any]) -> str:
    shape = " x ".join(str(one) for one in row["shape"])
    return f"{row['stencil']} {row['scheme']}, {shape} cells: {row['million_cells_per_s']:.0f} million cells/s"


def _planar(stencil: str, size: int, backend: str, precision: str, repeat: int) -> list[dict[str, Any]]:
    faster = {"reference": 1 / 40, "cuda": _ON_A_DEVICE}.get(backend, 1)
    steps = min(_MOST_STEPS, max(8, int(_SWEPT_CELL_STEPS / size**2 * faster)))
    problem = cylinder_problem("TM" if stencil == "tmz" else "TE", size, steps)
    warm = cylinder_problem(problem.grid.polarisation, size, 2)
    timed: dict[str, Callable[[], float]] = {}
    for name, advance in _planar_schemes(backend, precision).items():
        try:
            advance(warm)  # compile and touch the memory
        except Unsuitable:
            continue  # does not fit, at this size
        timed[name] = partial(lambda advance: size**2 * steps / advance(problem), advance)
    measured = in_turns(timed, repeat)
    base = statistics.median(measured["one_step"])
    return [
        {
            "stencil": stencil,
            "scheme": name,
            "backend": backend,
            "device": _device_name() if backend == "cuda" else processor_name(),
            "dtype": "float64" if backend == "reference" else precision,
            "shape": [size, size],
            "batch": 1,
            "steps": steps,
            **rates(found, base),
        }
        for name, found in measured.items()
    ]


def _planar_schemes(backend: str, precision: str) -> dict[str, Time]:
    """Return the planar traversals of a backend; one that offers another adds its line here."""
    if backend == "cpu":
        from fdtd.backends.cpu import planar

        def by_numba(problem: PlanarProblem) -> float:
            stages: dict[str, float] = {}
            planar.run(problem, precision=precision, stages=stages)
            return stages["step"]

        return {"one_step": by_numba}
    if backend == "reference":
        return {"one_step": _by_oracle}
    if backend == "cuda":
        return {name: partial(_on_device, name, precision) for name in schemes_of("tmz")}
    raise Unsuitable(f"backend = {backend!r} has no planar kernels (allowed: cpu, reference, cuda)")


def _on_device(scheme: str, precision: str, problem: PlanarProblem) -> float:
    from fdtd.backends import cuda

    device = cuda.device()
    ready = marching(problem, device, scheme, precision=precision)
    device.synchronize()
    start = time.perf_counter()
    ready.advance(problem.steps)
    device.synchronize()
    return time.perf_counter() - start


def _device_name() -> str:
    from fdtd.backends import cuda

    return cuda.device().name


def _by_oracle(problem: PlanarProblem) -> float:
    from fdtd.backends import planar_reference

    start = time.perf_counter()
    planar_reference.run(problem)
    return time.perf_counter() - start


def tune(
    stencil: str, grid: tuple[int, int], batch: int, *, device: Any = None, machine: Machine | None = None,
    file: Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Time the model's best few plans from noise, unless the winner is remembered.

    Args:
        stencil: One of `fdtd.stencils.STENCILS`.
        grid: Columns and rows.
        batch: Problems stepped together.
        device: Where; the CUDA device here if None.
        machine: Its numbers; queried if None.
        file: The cache; the user's if None.

    Returns:
        `stencil`, `shape`, `batch`, `device`, the winner's `scheme` and `choice`, `predicted_cell_steps_per_s`, and the
        `cache` file.

    Raises:
        ConfigError: There is no such stencil.
        DeviceError: There is no CUDA device here.
        Unsuitable: No scheme runs.
    """
    if stencil not in STENCILS:
        raise ConfigError(f"stencil = {stencil!r} is unknown (allowed: {', '.join(STENCILS)})")
    if device is None:
        device = CudaDevice()
    known = machine or describe(device)
    place = cache_file() if file is None else file
    winner = tuned(
        plain_problem(stencil, grid, _TUNED_STEPS), device, known,
        identity=device.identity, wait=device.synchronize, copies=batch, file=place,
    )  # fmt: skip
    return {
        "stencil": stencil,
        "shape": list(grid),
        "batch": batch,
        "device": known.name,
        "scheme": winner.scheme,
        "choice": winner.choice,
        "predicted_cell_steps_per_s": winner.predicted,
        "cache": str(place),
    }
