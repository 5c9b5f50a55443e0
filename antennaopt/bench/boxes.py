"""`bench sweep` in space: a closed cavity of Yee's lattice and the heat equation, from noise, by a core or a device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from antennaopt.bench.runner import in_turns, rates
from antennaopt.machine import processor_name
from fdtd.errors import Unsuitable
from fdtd.stencils import SPATIAL, Formula
from fdtd.stencils.sums import heat_weights

_CELL_STEPS = 100e6  # of one timing
_COURANT = 0.5  # c dt/d
_HEAT = 0.1  # diffusivity dt/d^2


def box_rows(stencil: str, size: int, backend: str, precision: str, repeat: int) -> list[dict[str, Any]]:
    """Time a cube of `size` cells a side: fields, coefficients of each cell, no layers, sources or records.

    Args:
        stencil: One of `fdtd.stencils.SPATIAL`.
        size: Cells along a side.
        backend: "cpu" or "cuda".
        precision: "float32" or "float64".
        repeat: Timings, of which the median.

    Returns:
        One row as `bench_kernels` makes them; cells at the far walls count.

    Raises:
        Unsuitable: The backend has no loops for it.
    """
    if backend not in ("cpu", "cuda"):
        raise Unsuitable(f"backend = {backend!r} steps no {stencil} (allowed: cpu, cuda); use --backend cpu")
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

    def timed(count: int) -> float:
        start = time.perf_counter()
        advance(count)
        return size**3 * count / (time.perf_counter() - start)

    timed(2)  # compile and touch the memory
    measured = in_turns({"one_step": partial(timed, steps)}, repeat)["one_step"]
    return [
        {
            "stencil": stencil,
            "scheme": "one_step",
            "backend": backend,
            "device": name,
            "dtype": precision,
            "shape": list(shape),
            "batch": 1,
            "steps": steps,
            "levels": 1,
            **rates(measured, statistics.median(measured)),
        }
    ]


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
