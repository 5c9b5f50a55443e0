"""Lets the schemes of one stencil compete on the device here, once, and remembers the winner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from antennaopt.bench.kernels import reference_problem
from fdtd.axisymmetric.problem import Problem
from fdtd.backends.cuda.tuning import cache_file, tuned
from fdtd.errors import ConfigError
from fdtd.planar.bodies import free_space
from fdtd.planar.problem import JacobiProblem, PlanarGrid, PlanarLayer, PlanarProblem
from fdtd.schemes.machine import Machine
from fdtd.stencils import STENCILS

_STEPS = 200  # more than any timing takes


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
        from fdtd.backends.cuda.device import CudaDevice

        device = CudaDevice()
    known = machine or _here(device)
    place = cache_file() if file is None else file
    winner = tuned(
        _problem(stencil, grid), device, known,
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


def _here(device: Any) -> Machine:
    from fdtd.backends.cuda.device import describe

    return describe(device)


def _problem(stencil: str, grid: tuple[int, int]) -> Problem | PlanarProblem | JacobiProblem:
    """One problem, from noise: rates on zeros are not those of fields."""
    columns, rows = grid
    noise = np.random.default_rng(1)
    if stencil == "bor":
        return reference_problem(grid, _STEPS, 1)
    if stencil == "jacobi5":
        return JacobiProblem(initial=noise.standard_normal((1, rows, columns), dtype=np.float32), steps=_STEPS)
    lattice = PlanarGrid(nx=columns, ny=rows, cell=1e-3, polarisation="TM" if stencil == "tmz" else "TE")
    start = noise.standard_normal((1, 3, *lattice.shape))
    return PlanarProblem(
        grid=lattice, media=free_space(lattice), layer=PlanarLayer(), steps=_STEPS, initial=start
    )  # fmt: skip
