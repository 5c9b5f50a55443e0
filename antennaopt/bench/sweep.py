"""Throughput against problem size: planar TM_z and TE_z, and the axisymmetric update, on one core or one device."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from antennaopt.bench.kernels import bench_kernels, device_name
from fdtd.backends.cuda.marching import marching, schemes_of
from fdtd.errors import ConfigError, Unsuitable
from fdtd.planar.bodies import dielectric_cylinder
from fdtd.planar.problem import PlanarGrid, PlanarLayer, PlanarProblem, PointCurrent, Probe

STENCILS = ("tmz", "tez", "bor")
SMALLEST = 64
_LAYER = 10  # cells
_CYLINDER = 0.2  # radius over the side of the domain
_PERMITTIVITY = 4.0
_CELL = 1e-3
_PERIOD = 40  # steps
_TARGET_CELL_STEPS = 100e6  # of one timing
_ON_A_DEVICE = 20  # times as many, but no more steps than these
_MOST_STEPS = 9600

Time = Callable[[PlanarProblem], float]
"""Steps a problem and returns the seconds that stepping took, its preparation left out."""


def sizes_up_to(largest: int) -> list[int]:
    """Return sides of domains, two to a doubling, from 64 cells to the largest; multiples of eight."""
    steps = max(math.floor(2 * math.log2(largest / SMALLEST) + 1e-9), 0) if largest >= SMALLEST else -1
    return [8 * round(SMALLEST * 2 ** (step / 2) / 8) for step in range(steps + 1)]


def bench_sweep(
    *,
    stencils: Sequence[str] = STENCILS,
    sizes: Sequence[int],
    backend: str = "cpu",
    precision: str = "float32",
    repeat: int = 5,
    told: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """Time one problem of every size, on one core or on one device.

    Planar: a dielectric cylinder and a line source, absorbing layers on all sides, one sampled point. Axisymmetric:
    the reference lens with all that an evaluation has on (see `bench_kernels`). A size is the side of a square with
    as many cells, nearly: the axisymmetric domain is 5/8 as wide and 8/5 as long.

    Args:
        stencils: Some of `STENCILS`.
        sizes: Sides, cells.
        backend: "cpu", "reference" or "cuda"; there every scheme that can step the problem.
        precision: "float32" or "float64".
        repeat: Timings, of which the median.
        told: Told one line a row.

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
            if stencil == "bor":
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
    return bench_on_device([case], ablations=False, precision=precision, repeat=repeat)


def _line(row: dict[str, Any]) -> str:
    shape = " x ".join(str(one) for one in row["shape"])
    return f"{row['stencil']} {row['scheme']}, {shape} cells: {row['million_cells_per_s']:.0f} million cells/s"


def _planar(stencil: str, size: int, backend: str, precision: str, repeat: int) -> list[dict[str, Any]]:
    faster = {"reference": 1 / 40, "cuda": _ON_A_DEVICE}.get(backend, 1)
    steps = min(_MOST_STEPS, max(8, int(_TARGET_CELL_STEPS / size**2 * faster)))
    problem = cylinder_problem("TM" if stencil == "tmz" else "TE", size, steps)
    warm = cylinder_problem(problem.grid.polarisation, size, 2)
    measured: dict[str, list[float]] = {}
    for name, timed in _planar_schemes(backend, precision).items():
        try:
            timed(warm)  # compile and touch the memory
        except Unsuitable:
            continue  # does not fit, at this size
        measured[name] = [size**2 * steps / timed(problem) for _ in range(repeat)]
    base = statistics.median(measured["one_step"])
    return [
        {
            "stencil": stencil,
            "scheme": name,
            "backend": backend,
            "device": _device_name() if backend == "cuda" else device_name(),
            "dtype": "float64" if backend == "reference" else precision,
            "shape": [size, size],
            "batch": 1,
            "steps": steps,
            "cell_steps_per_s": statistics.median(rates),
            "spread": (max(rates) - min(rates)) / 2 / statistics.median(rates),
            "ratio_to_one_step": statistics.median(rates) / base,
        }
        for name, rates in measured.items()
    ]


def _planar_schemes(backend: str, precision: str) -> dict[str, Time]:
    """Planar traversals of a backend; one that offers another adds its line here."""
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


def cylinder_problem(polarisation: str, size: int, steps: int) -> PlanarProblem:
    """A line source beside a dielectric cylinder in the middle of a square domain.

    Args:
        polarisation: "TM" or "TE".
        size: Cells along a side, layers included.
        steps: Time steps.

    Raises:
        ConfigError: It does not fit so few cells.
    """
    if size < SMALLEST // 2:
        raise ConfigError(f"size = {size} cells is too small for a sweep (needs >= {SMALLEST // 2})")
    grid = PlanarGrid(nx=size, ny=size, cell=_CELL, polarisation=polarisation)
    middle, beside = size // 2, size // 2 + round(1.3 * _CYLINDER * size)
    media = dielectric_cylinder(
        grid, centre=(middle, middle), radius=_CYLINDER * size, permittivity=_PERMITTIVITY, tensor=polarisation == "TE"
    )
    current = np.sin(2 * np.pi * np.arange(steps) / _PERIOD)
    out = grid.components[0]
    return PlanarProblem(
        grid=grid,
        media=media,
        layer=PlanarLayer(cells=_LAYER),
        steps=steps,
        sources=(PointCurrent(component=out, row=middle, column=beside, samples=current),),
        probes=(Probe(component=out, rows=np.array([middle]), columns=np.array([middle])),),
    )
