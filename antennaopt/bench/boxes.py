"""`bench sweep` in three dimensions: Yee's lattice, closed or with absorbing layers, and the heat equation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from antennaopt.bench.devices import open_box
from antennaopt.bench.runner import in_turns, rates
from antennaopt.machine import processor_name
from fdtd.errors import Unsuitable
from fdtd.stencils import SPATIAL, Formula
from fdtd.stencils.sums import heat_weights
from fdtd.yee.media import empty
from fdtd.yee.problem import Sampling

_CELL_STEPS = 100e6  # of one timing
_LONGER = 4  # times as many in layers, where a timing holds the preparation of the problem too
_COURANT = 0.5  # c dt/d
_HEAT = 0.1  # diffusivity dt/d^2


def box_rows(
    stencil: str, size: int, backend: str, precision: str, repeat: int, layers: int = 0
) -> list[dict[str, Any]]:
    """Time a cube of `size` cells a side: fields, coefficients of each cell, no sources or records.

    On a core the time is that of the processor, so that other programs count as little as possible.

    Args:
        stencil: One of `fdtd.stencils.SPATIAL`.
        size: Cells along a side, layers included.
        backend: "cpu" or "cuda".
        precision: "float32" or "float64".
        repeat: Timings, of which the median.
        layers: Cells of the absorbing layers on all faces, of `yee3d` on a core: the loops that solve antennas, with
            the media of air. With 0 the faces are perfect metal.

    Returns:
        One row as `bench_kernels` makes them, with `layers` and the fastest timing, which a busy machine slows the
        least; cells at the far walls count.

    Raises:
        Unsuitable: The backend has no loops for it.
    """
    if backend not in ("cpu", "cuda"):
        raise Unsuitable(f"backend = {backend!r} steps no {stencil} (allowed: cpu, cuda); use --backend cpu")
    if layers and (backend, stencil) != ("cpu", "yee3d"):
        raise Unsuitable(
            f"layers = {layers} cells are timed for yee3d on a core (here {stencil}, backend {backend}); for devices "
            "use `antennaopt bench devices` or `antennaopt tiles --stencil yee3d --tune`"
        )
    if layers:
        return [
            _row(
                stencil,
                size,
                backend,
                precision,
                processor_name(),
                layers,
                *_in_layers(size, layers, precision, repeat),
            )
        ]
    formula = SPATIAL[stencil].formula
    assert formula is not None  # noqa: S101 - all of them have one
    faster, shape = 20 if backend == "cuda" else 1, (size, size, size)
    steps = max(4, int(faster * _CELL_STEPS / size**3))
    noise = np.random.default_rng(1)
    if formula.exchanged:
        state = np.repeat(noise.standard_normal((1, *shape), dtype=np.float32), 2, axis=0).astype(precision)
        given: dict[str, Any] = {"weights": heat_weights(7 if stencil == "heat7" else 19, _HEAT)}
    else:
        state = noise.standard_normal((len(formula.kept), *shape), dtype=np.float32).astype(precision)
        given = {
            "media": np.ones((len(formula.coefficients), *shape), precision),
            "spacings": np.full((len(formula.spacings), size), _COURANT, precision),
        }

    advance, name = (_on_device if backend == "cuda" else _on_a_core)(formula, state, given)
    clock = time.perf_counter if backend == "cuda" else time.thread_time

    def timed(count: int) -> float:
        start = clock()
        advance(count)
        return size**3 * count / (clock() - start)

    timed(2)  # compile and touch the memory
    measured = in_turns({"one_step": partial(timed, steps)}, repeat)["one_step"]
    return [_row(stencil, size, backend, precision, name, 0, steps, measured)]


def _row(
    stencil: str, size: int, backend: str, precision: str, name: str, layers: int, steps: int, measured: list[float]
) -> dict[str, Any]:
    return {
        "stencil": stencil,
        "scheme": "one_step",
        "backend": backend,
        "device": name,
        "dtype": precision,
        "shape": [size] * 3,
        "layers": layers,
        "batch": 1,
        "steps": steps,
        "levels": 1,
        **rates(measured, statistics.median(measured)),
        "fastest_cell_steps_per_s": max(measured),
        "timings": len(measured),
    }


def _in_layers(size: int, layers: int, precision: str, repeat: int) -> tuple[int, list[float]]:
    """Return the steps of a timing, and cell-steps a second of each: those of a run less those of its first step."""
    from fdtd.backends.cpu import yee

    problem = open_box((size, size, size), layers, 1)
    noise = np.random.default_rng(1).standard_normal((6, *problem.grid.shape))
    problem = replace(problem, media=empty(problem.grid), initial=noise, source=None, probe=None, box=None)
    steps = max(4, int(_LONGER * _CELL_STEPS / size**3))

    def spent(count: int) -> float:
        start = time.thread_time()
        yee.run(replace(problem, sampling=Sampling(steps=count)), precision=precision)
        return time.thread_time() - start

    spent(1)  # compiles
    first = min(spent(1) for _ in range(3))
    found = in_turns({"one_step": lambda: size**3 * steps / (spent(steps + 1) - first)}, repeat)
    return steps, found["one_step"]


Advance = Callable[[int], None]
"""Takes that many steps, and returns when they are done."""


def _on_a_core(formula: Formula, state: np.ndarray, given: dict[str, Any]) -> tuple[Advance, str]:
    from fdtd.backends.cpu.boxes import step_box

    def advance(steps: int) -> None:
        step_box(formula, state, steps, **given)

    return advance, processor_name()


def _on_device(formula: Formula, state: np.ndarray, given: dict[str, Any]) -> tuple[Advance, str]:
    from fdtd.backends import cuda
    from fdtd.backends.cuda.boxes import Box

    device = cuda.device()
    box = Box(device, formula, state, **given)

    def advance(steps: int) -> None:
        box.advance(steps)
        device.synchronize()

    return advance, device.name
