"""Steppers of problems: `reference` (NumPy, float64, the oracle), `cpu` (Numba) and `cuda` (CuPy)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fdtd.arrays import library
from fdtd.axisymmetric.problem import Problem, Records, Watch

Backend = Callable[[Problem, str, int, Watch | None], Records]


def _cpu(problem: Problem, precision: str, threads: int, watch: Watch | None) -> Records:
    from fdtd.backends import cpu

    return cpu.run(problem, precision=precision, threads=threads, watch=watch)


def _reference(problem: Problem, precision: str, threads: int, watch: Watch | None) -> Records:
    del precision, threads  # the oracle is float64 and steps the whole batch at once
    from fdtd.backends import reference

    return reference.run(problem, watch=watch)


def _cuda(problem: Problem, precision: str, threads: int, watch: Watch | None) -> Records:
    del threads  # the device steps the whole batch at once
    from fdtd.backends import cuda

    return cuda.run(problem, precision=precision, watch=watch)


def _host_arrays() -> Any:
    return np


def _device_arrays() -> Any:
    from fdtd.backends import cuda

    return cuda.device().arrays


ARRAYS: dict[str, Callable[[], Any]] = {"cpu": _host_arrays, "cuda": _device_arrays, "reference": _host_arrays}
"""Library of the arrays that a backend takes media in."""

BACKENDS: dict[str, Backend] = {"cpu": _cpu, "cuda": _cuda, "reference": _reference}


def nearest_edges(
    places: np.ndarray, boxes: np.ndarray, corners: int, antenna: np.ndarray, r: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """Return the nearest edge of polygons to each point, where the arrays are; see `fdtd.backends.cpu.polygons`."""
    if library(r) is np:
        from fdtd.backends.cpu.polygons import nearest_edges as search
    else:
        from fdtd.backends.cuda.polygons import nearest_edges as search
    return search(places, boxes, corners, antenna, r, z)
