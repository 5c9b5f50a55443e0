"""Steppers of problems: `reference` (NumPy, float64, the oracle), `cpu` (Numba) and `cuda` (CuPy)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from fdtd.arrays import library
from fdtd.axisymmetric import media, polygons
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.problem import Problem, Records, Watch
from fdtd.axisymmetric.rim_windows import Windows
from fdtd.axisymmetric.rims import Compiled
from fdtd.axisymmetric.scene import LevelSet, Scene
from fdtd.yee import problem as yee_problem
from fdtd.yee.surface import Gathering, OnHost, Surface

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


def ahead(backend: str) -> AbstractContextManager[None]:
    """Let what a device is given go ahead of batches that other threads step on it; nothing on the host."""
    if backend != "cuda":
        return nullcontext()
    from fdtd.backends import cuda

    return cuda.device().ahead()


def rehearse(backend: str, problem: Problem, precision: str) -> None:
    """Have a device's kernels compiled and loaded that step problems like this one; nothing on the host."""
    if backend == "cuda":
        from fdtd.backends import cuda

        cuda.rehearse(problem, precision)


ARRAYS: dict[str, Callable[[], Any]] = {"cpu": _host_arrays, "cuda": _device_arrays, "reference": _host_arrays}
"""Library of the arrays that a backend takes media in."""

BACKENDS: dict[str, Backend] = {"cpu": _cpu, "cuda": _cuda, "reference": _reference}


def _yee_cpu(
    problem: yee_problem.Problem, take: yee_problem.Taker, precision: str, look: yee_problem.Look | None
) -> yee_problem.Records:
    from fdtd.backends.cpu import yee

    return yee.run(problem, take, precision=precision, look=look)


def _yee_reference(
    problem: yee_problem.Problem, take: yee_problem.Taker, precision: str, look: yee_problem.Look | None
) -> yee_problem.Records:
    del precision  # the oracle is float64
    from fdtd.backends import yee_reference

    return yee_reference.run(problem, take, look)


def _yee_cuda(
    problem: yee_problem.Problem, take: yee_problem.Taker, precision: str, look: yee_problem.Look | None
) -> yee_problem.Records:
    from fdtd.backends.cuda import yee

    return yee.run_batch([problem], [take], precision=precision, look=look)[0]


YeeBackend = Callable[[yee_problem.Problem, yee_problem.Taker, str, yee_problem.Look | None], yee_problem.Records]

YEE_BACKENDS: dict[str, YeeBackend] = {"cpu": _yee_cpu, "cuda": _yee_cuda, "reference": _yee_reference}
"""Steppers of rectilinear lattices."""


def step_batch(
    backend: str,
    problems: Sequence[yee_problem.Problem],
    takers: Sequence[yee_problem.Taker],
    precision: str,
    look: yee_problem.Look | None,
    devices: int = 1,
) -> list[yee_problem.Records]:
    """Step rectilinear lattices: together on a device, one after the other elsewhere and on several devices.

    Args:
        backend: One of `YEE_BACKENDS`.
        problems: What to step.
        takers: What gets the samples of each.
        precision: "float32" or "float64".
        look: Called at every look at the energy, on a device of the first alone.
        devices: That share each lattice; with "cuda" alone there may be several.
    """
    if backend == "cuda":
        from fdtd.backends.cuda import yee

        if devices > 1:
            given = zip(problems, takers, strict=True)
            return [yee.run_split(*one, devices=devices, precision=precision, look=look) for one in given]
        return yee.run_batch(problems, takers, precision=precision, look=look)
    step = YEE_BACKENDS[backend]
    return [step(problem, take, precision, look) for problem, take in zip(problems, takers, strict=True)]


def gathering(backend: str, surfaces: Sequence[Surface]) -> Gathering:
    """Return what takes the samples of a batch from a backend, and has its far fields.

    Args:
        backend: One of `YEE_BACKENDS`.
        surfaces: One an antenna.
    """
    if backend == "cuda":
        from fdtd.backends import cuda
        from fdtd.backends.cuda.yee_surface import OnDevice

        return OnDevice(cuda.device(), surfaces)
    return OnHost(surfaces)


def _polygon_table(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return edges and boxes of polygons, where the corners are; see `fdtd.axisymmetric.polygons.Polygons`."""
    if library(corners) is np:
        return polygons.table(corners)
    from fdtd.backends.cuda.polygons import table

    return table(corners)


def _polygon_depths(
    edges: np.ndarray, boxes: np.ndarray, index: np.ndarray, r: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """Return the depth of points in polygons, where the arrays are; see `fdtd.backends.cpu.polygons`."""
    if library(edges) is np:
        from fdtd.backends.cpu.polygons import depths
    else:
        from fdtd.backends.cuda.polygons import depths
    return depths(edges, boxes, index, r, z)


POLYGONS = polygons.Search(depths=_polygon_depths, table=_polygon_table)
"""Where the arrays are, the host's or a device's functions."""


def open_parts(
    grid: AxisymmetricGrid, metal: tuple[LevelSet, ...], antennas: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the open parts around metal on a device; see `fdtd.axisymmetric.conductors.open_parts`."""
    from fdtd.backends.cuda import rasterise

    return rasterise.open_parts(grid, metal, antennas)


def bodies(grid: AxisymmetricGrid, scene: Scene) -> media.Compiled | None:
    """Return a device's kernels for a scene's dielectrics, None where it has none for them."""
    from fdtd.backends.cuda.media import Bodies

    return Bodies.of(grid, scene)


def rims(windows: Windows) -> Compiled:
    """Return a device's kernels for the rims of a batch; see `fdtd.axisymmetric.rims.edge_conditions`."""
    from fdtd.backends.cuda.rims import Rims

    return Rims(windows)


def spectra(samples: np.ndarray, counts: np.ndarray, waves: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the spectra of a device's records; see `fdtd.backends.cuda.spectra.spectra`."""
    from fdtd.backends.cuda import spectra

    return spectra.spectra(samples, counts, waves, weights)


def flux(spectra: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the power through a contour from a device's spectra; see `fdtd.backends.cuda.spectra.flux`."""
    from fdtd.backends.cuda import spectra as kernels

    return kernels.flux(spectra, pairs)


def patterns(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return figures of patterns on a device; see `fdtd.backends.cuda.patterns.patterns`."""
    from fdtd.backends.cuda import patterns as kernels

    return kernels.patterns(a, b)
