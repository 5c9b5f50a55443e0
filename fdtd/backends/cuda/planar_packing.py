"""Lays planar problems and five-point sums out as the kernels' `Parameters` (planar_parameters.cuh). NumPy only."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.constants import epsilon_0, mu_0

from fdtd.planar.problem import JacobiProblem, PlanarProblem, inverse_or_zero
from fdtd.schemes import LEAD, pitch
from fdtd.stencils import COUPLED_TEZ, JACOBI5, TMZ, PlanarStencil

Packed = tuple[dict[str, np.ndarray], dict[str, float]]
"""Arrays by the name of their pointer, and every other member of `Parameters`."""

_IMPEDANCE = np.sqrt(mu_0 / epsilon_0)


def pack(problem: PlanarProblem | JacobiProblem, precision: str) -> Packed:
    """Lay out a batch.

    Args:
        problem: What to step.
        precision: "float32" or "float64".
    """
    dtype = np.dtype(precision)
    packer: Any = _pack_sum if problem.stencil is JACOBI5 else _pack_fields
    return packer(problem, dtype)


def unpack(planes: np.ndarray, columns: int) -> np.ndarray:
    """The lattice's part of planes [..., rows + 2, pitch]."""
    return planes[..., 1:-1, LEAD : LEAD + columns]


def _padded(planes: np.ndarray, dtype: Any) -> np.ndarray:
    rows, columns = planes.shape[-2:]
    out = np.zeros((*planes.shape[:-2], rows + 2, pitch(columns)), dtype)
    out[..., 1:-1, LEAD : LEAD + columns] = planes
    return out


def _numbers(batch: int, rows: int, columns: int, steps: int) -> dict[str, float]:
    return {
        "batch": batch, "rows": rows, "columns": columns, "pitch": pitch(columns), "steps": steps,
        "source_count": 0, "probe_count": 0, "layer": 0, "weight": 0.0,
    }  # fmt: skip


def _pack_sum(problem: JacobiProblem, dtype: Any) -> Packed:
    batch, rows, columns = problem.initial.shape
    planes = np.zeros((batch, JACOBI5.planes, rows + 2, pitch(columns)), dtype)
    planes[:, 0] = _padded(problem.initial, dtype)
    nothing, whole = np.zeros(1, dtype), np.zeros(1, np.int32)
    arrays = {
        "state": planes, "psi": nothing, "coefficients": nothing, "filters_x": nothing, "filters_y": nothing,
        "sources": whole, "samples": nothing, "probes": whole, "record": nothing,
    }  # fmt: skip
    return arrays, _numbers(batch, rows, columns, problem.steps) | {"weight": problem.weight}


def _pack_fields(problem: PlanarProblem, dtype: Any) -> Packed:
    grid, layer, batch = problem.grid, problem.layer, problem.media.batch
    rows, columns = grid.shape
    cell = problem.stencil
    planes = np.zeros((batch, cell.planes, rows + 2, pitch(columns)), dtype)
    if problem.initial is not None:
        planes[:, :3] = _padded(np.where(problem.live(), problem.initial, 0.0), dtype)
    coefficients, gain = _coefficients(problem, cell)
    names = grid.components
    sources, samples = _sources(problem, cell, gain)
    probes = [
        (names.index(probe.component), row, column)
        for probe in problem.probes
        for row, column in zip(probe.rows, probe.columns, strict=True)
    ]
    arrays = {
        "state": planes,
        "psi": np.zeros((batch, cell.memories, rows + 2, pitch(columns)), dtype),
        "coefficients": _padded(coefficients, dtype),
        "filters_x": np.stack([layer.filters(grid, "x", offset) for offset in (0.0, 0.5)]).astype(dtype),
        "filters_y": np.stack([layer.filters(grid, "y", offset) for offset in (0.0, 0.5)]).astype(dtype),
        "sources": np.array(sources or [(0, 0, 0, 0)], np.int32),
        "samples": samples.astype(dtype),
        "probes": np.array(probes or [(0, 0, 0)], np.int32),
        "record": np.zeros((batch, max(problem.steps, 1), max(len(probes), 1)), dtype),
    }
    numbers = _numbers(batch, rows, columns, problem.steps)
    return arrays, numbers | {"source_count": len(sources), "probe_count": len(probes), "layer": layer.cells}


def _coefficients(problem: PlanarProblem, cell: PlanarStencil) -> tuple[np.ndarray, np.ndarray]:
    """Planes of the stencil's coefficients, and the gains of the E components, all zero where nothing is stepped."""
    grid, media, live, courant = problem.grid, problem.media, problem.live(), problem.grid.courant_number
    electric = live[:, :1] if cell is TMZ else live[:, 1:]
    loss = media.conductivity * grid.time_step / (2 * media.permittivity * epsilon_0)
    keep = np.where(electric, (1 - loss) / (1 + loss), 0.0)
    gain = np.where(electric, courant / (media.permittivity * (1 + loss)), 0.0)
    x, y = media.open_x[:, None], media.open_y[:, None]
    if cell is TMZ:
        # What dy e_z adds to h_x and dx e_z to h_y.
        planes = [-courant * inverse_or_zero(y) * live[:, 1:2], courant * inverse_or_zero(x) * live[:, 2:], keep, gain]
    else:
        planes = [-courant * inverse_or_zero(media.open_area[:, None]) * live[:, :1], x, y, keep, gain]
    if cell is COUPLED_TEZ:
        planes.append(_coupling(problem)[:, None] * courant / 4)
    return np.concatenate(planes, axis=1), gain


def _coupling(problem: PlanarProblem) -> np.ndarray:
    """The nodes' coupling, without those in the walls, which reach no field."""
    inside = problem.media.coupling.copy()
    inside[:, 0] = inside[:, :, 0] = 0.0
    return inside


def _sources(
    problem: PlanarProblem, cell: PlanarStencil, gain: np.ndarray
) -> tuple[list[tuple[int, int, int, int]], np.ndarray]:
    """Phase, plane, row and column of each source, and what it takes off its field, (batch, sources, steps)."""
    grid, names, batch = problem.grid, problem.grid.components, problem.media.batch
    places = []
    samples = np.zeros((batch, max(len(problem.sources), 1), max(problem.steps, 1)))
    for n, source in enumerate(problem.sources):
        plane = names.index(source.component)
        electric = source.component[0] == "e"
        places.append((cell.phases - 1 if electric else 0, plane, source.row, source.column))
        scale = np.full(batch, grid.courant_number / grid.cell)
        if electric:
            scale = _IMPEDANCE / grid.cell * gain[:, max(plane - 1, 0), source.row, source.column]
        count = min(problem.steps, len(source.samples))
        samples[:, n, :count] = scale[:, None] * np.asarray(source.samples, dtype=float)[:count]
    return places, samples
