"""The planar CPU backend: Numba, float32 or float64, one problem a core.

The loops are written from the formulas of the stencils (`fdtd.backends.cpu.loops`).
"""
# ruff: noqa: ANN001, ANN202 - compiled text: Numba infers the types

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy.constants import c, epsilon_0, mu_0

from fdtd.backends.cpu.compiled import compiled
from fdtd.backends.cpu.loops import DERIVATIVES
from fdtd.backends.cpu.planar_loops import tez_0, tez_1, tez_2, tmz_0, tmz_1
from fdtd.backends.cpu.stretching import OPTIONS
from fdtd.errors import ConfigError
from fdtd.planar.coefficients import coefficients
from fdtd.planar.problem import PlanarProblem, PlanarRecords
from fdtd.stencils import COUPLED_TEZ, TMZ

_DTYPES = {"float32": np.float32, "float64": np.float64}


class _Cells(NamedTuple):
    """One problem: components and coefficients as the formula has them, [planes, ny, nx]; coupled nodes, [2, nodes]."""

    state: np.ndarray
    media: np.ndarray
    nodes: np.ndarray


class _Layers(NamedTuple):
    """Absorbing layers: cells, filters along x and y at nodes and half nodes [2, 3, columns or rows], memory."""

    cells: int
    along: np.ndarray
    across: np.ndarray
    psi: np.ndarray


class _Drive(NamedTuple):
    """Currents of one kind: places [sources, 3], and what each takes off its field at every step [sources, steps]."""

    places: np.ndarray
    samples: np.ndarray


@compiled(**OPTIONS)
def _drive(state, drive, step):
    """Subtract the currents of this step."""
    for s in range(len(drive.places)):
        state[drive.places[s, 0], drive.places[s, 1], drive.places[s, 2]] -= drive.samples[s, step]


@compiled(**OPTIONS)
def _march(tm, cells, layers, scratch, drives, points, out):
    magnetic, electric = drives
    state, media = cells.state, cells.media
    for step in range(len(out)):
        if tm:
            tmz_0(state, media, layers, scratch)
        else:
            tez_0(state, media, layers, scratch)
        _drive(state, magnetic, step)
        if tm:
            tmz_1(state, media, layers, scratch)
        else:
            tez_1(state, media, layers, scratch)
            tez_2(state, media, cells.nodes)
        _drive(state, electric, step)
        for p in range(len(points)):
            out[step, p] = state[points[p, 0], points[p, 1], points[p, 2]]


def run(
    problem: PlanarProblem, *, precision: str = "float32", threads: int = 1, stages: dict[str, float] | None = None
) -> PlanarRecords:
    """Step a batch to its end.

    Args:
        problem: What to step.
        precision: "float32" or "float64".
        threads: Problems stepped at the same time.
        stages: Where to add the seconds of stepping, `step`, summed over the batch.

    Returns:
        Records in the given precision; those of one problem do not depend on its neighbours in the batch.

    Raises:
        ConfigError: The precision is unknown.
    """
    if precision not in _DTYPES:
        raise ConfigError(f"precision = {precision!r} is unknown (allowed: {', '.join(_DTYPES)})")
    dtype = np.dtype(_DTYPES[precision])
    stencil = TMZ if problem.grid.polarisation == "TM" else COUPLED_TEZ
    media, gain = coefficients(problem, stencil)

    def step(index: int) -> tuple[np.ndarray, np.ndarray, float]:
        return _step(problem, index, media[index].astype(dtype), gain[index])

    batch = range(problem.media.batch)
    if threads > 1 and len(batch) > 1:
        with ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(step, batch))
    else:
        results = [step(index) for index in batch]
    if stages is not None:
        stages["step"] = stages.get("step", 0.0) + sum(seconds for _, _, seconds in results)
    ends = np.cumsum([len(probe.rows) for probe in problem.probes])
    samples = np.split(np.stack([out for _, out, _ in results]), ends, axis=2)[: len(problem.probes)]
    final = np.stack([state for state, _, _ in results])
    finite = np.array([bool(np.isfinite(one).all()) for one in final])
    return PlanarRecords(samples=tuple(samples), final=final, finite=finite)


def _step(
    problem: PlanarProblem, index: int, media: np.ndarray, gain: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Final state and samples of all probes of one problem, and the seconds of its stepping."""
    grid, layer, dtype = problem.grid, problem.layer, media.dtype
    tm = grid.polarisation == "TM"
    stencil = TMZ if tm else COUPLED_TEZ
    state = np.zeros((stencil.planes, *grid.shape), dtype)
    if problem.initial is not None:
        state[: stencil.kept] = np.where(problem.live()[index], problem.initial[index], 0.0)
    coupled = np.nonzero(np.zeros(grid.shape) if tm else media[-1])
    along = np.stack([layer.filters(grid, "x", offset) for offset in (0.0, 0.5)]).astype(dtype)
    across = np.stack([layer.filters(grid, "y", offset) for offset in (0.0, 0.5)]).astype(dtype)
    points = [
        (grid.components.index(probe.component), row, column)
        for probe in problem.probes
        for row, column in zip(probe.rows, probe.columns, strict=True)
    ]
    cells = _Cells(state, media, np.stack(coupled))
    layers = _Layers(layer.cells, along, across, np.zeros((stencil.memories, *grid.shape), dtype))
    scratch = np.zeros((len(DERIVATIVES), grid.shape[1]), dtype)
    drives = tuple(_drives(problem, kind, gain, dtype) for kind in ("h", "e"))
    out, places = np.zeros((problem.steps, len(points)), dtype), np.array(points, dtype=np.int64).reshape(-1, 3)
    start = time.perf_counter()
    _march(tm, cells, layers, scratch, drives, places, out)
    return state[: stencil.kept], out, time.perf_counter() - start


def _drives(problem: PlanarProblem, kind: str, gain: np.ndarray, dtype: Any) -> _Drive:
    """Currents on E ("e") or on H ("h")."""
    grid = problem.grid
    sources = [source for source in problem.sources if source.component[0] == kind]
    places = np.zeros((len(sources), 3), dtype=np.int64)
    samples = np.zeros((len(sources), problem.steps))
    for n, source in enumerate(sources):
        component = grid.components.index(source.component)
        places[n] = component, source.row, source.column
        if kind == "e":
            scale = np.sqrt(mu_0 / epsilon_0) * gain[max(component - 1, 0), source.row, source.column] / grid.cell
        else:
            scale = grid.time_step * c / grid.cell**2
        count = min(problem.steps, len(source.samples))
        samples[n, :count] = scale * np.asarray(source.samples, dtype=float)[:count]
    return _Drive(places, samples.astype(dtype))
