"""`tiles --tune` for antennas in three dimensions: time schemes and their shapes on a device, from noise."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from antennaopt.bench.devices import open_box
from fdtd.backends.cuda.marching import Candidate, cache_file
from fdtd.backends.cuda.yee_tuning import STEPS, TIMINGS, tuned
from fdtd.errors import ConfigError, DeviceError, FdtdError

LAYERS = 8
"""Cells of the absorbing layers, on all faces."""
DRIVEN = 4
"""Driven edges, as across a substrate: every thread of a tile looks for its own among them."""
LEAST = 2 * LAYERS + 12
"""Cells along a side, at least: the Huygens box stands away from the layers."""


def tune_space(
    shape: tuple[int, int, int], batch: int, *, device: Any = None, file: Path | None = None
) -> list[dict[str, Any]]:
    """Time `one_step`, tiles, clusters and chains of blocks on boxes in open space, unless the winner is remembered.

    Boxes have absorbing layers, a dielectric, a short driven column, its voltage, samples every 50 steps and looks at
    the energy every 200.

    Args:
        shape: Cells along x, y, z, layers included.
        batch: Boxes stepped together.
        device: Where; the CUDA device here if None.
        file: The cache; the user's if None.

    Returns:
        The winner: `stencil`, `shape`, `batch`, `device`, `scheme`, `choice`, `cell_steps_per_s` and the `cache` file;
        then the candidates in the order in which they were timed, none if the winner was remembered: `scheme`,
        `choice`, and `cell_steps_per_s` or the reason why it cannot run, `unsuitable`.

    Raises:
        ConfigError: The lattice is too small.
        DeviceError: There is no CUDA device here, or too little memory for any.
        Unsuitable: No scheme runs.
    """
    if min(shape) < LEAST:
        raise ConfigError(
            f"{' x '.join(map(str, shape))} cells leave no room between layers of {LAYERS} cells (needs >= {LEAST} "
            "each way); enlarge --grid"
        )
    if device is None:
        from fdtd.backends.cuda.device import CudaDevice

        device = CudaDevice()
    fields = 6 * np.dtype(np.float32).itemsize * math.prod(shape) * batch
    if fields > device.limits.memory_bytes:
        raise DeviceError(
            f"the fields alone of {batch} x {' x '.join(map(str, shape))} cells take {fields / 1e9:.3g} GB, and "
            f"{device.name} has {device.limits.memory_bytes / 1e9:.3g}; choose a smaller --grid or --batch"
        )
    problem, place = open_box(shape, LAYERS, STEPS * (TIMINGS + 1), DRIVEN), cache_file() if file is None else file
    noise = np.random.default_rng(1).standard_normal((6, *problem.grid.shape), dtype=np.float32)
    timed: list[dict[str, Any]] = []

    def told(candidate: Candidate, found: float | FdtdError) -> None:
        result = {"unsuitable": str(found)} if isinstance(found, FdtdError) else {"cell_steps_per_s": found}
        timed.append({"scheme": candidate.scheme, "choice": candidate.choice, **result})

    winner, rate = tuned(
        replace(problem, initial=noise), device, identity=device.identity, wait=device.synchronize, copies=batch,
        file=place, told=told,
    )  # fmt: skip
    best = {
        "stencil": "yee3d", "shape": list(shape), "batch": batch, "device": device.name, "scheme": winner.scheme,
        "choice": winner.choice, "cell_steps_per_s": rate, "cache": str(place),
    }  # fmt: skip
    return [best, *timed]
