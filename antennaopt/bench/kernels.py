"""Throughput of the update kernels, with absorbing layers, source, port and recording on."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from antennaopt.families import FAMILIES, stack
from fdtd.axisymmetric.layout import Extent, Settings, lay_out
from fdtd.axisymmetric.problem import Problem
from fdtd.axisymmetric.simulation import fill, pose
from fdtd.errors import ConfigError, Unsuitable

_RADII = (17e-3, 16.6e-3, 15.4e-3, 13.8e-3, 12.4e-3, 11.6e-3)
_LENS = {
    "feed.inner_radius": 3.6e-3,
    "feed.outer_radius": 4.0e-3,
    "feed.length": 12e-3,
    "lens.permittivity": 2.53,
    "lens.loss_tangent": 6.6e-4,
    **{f"lens.radii.{place}": radius for place, radius in enumerate(_RADII)},
}
_CELL = 0.3e-3
LEVELS = 16
"""Time levels that follow each other in `skewed`, as `run` has them."""
_TARGET_CELL_STEPS = 150e6  # of one timing, unless steps are given


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
    schemes = _schemes(backend, precision, levels)
    rates: dict[str, list[float]] = {name: [] for name in schemes}
    for name, step in schemes.items():
        step(_shortened(problem, 2 * LEVELS))  # compile and touch the memory
        del name
    for _ in range(repeat):
        for name, step in schemes.items():
            start = time.perf_counter()
            step(problem)
            rates[name].append(cells * count / (time.perf_counter() - start))
    base = statistics.median(rates["one_step"])
    return [
        {
            "stencil": "bor",
            "scheme": name,
            "backend": backend,
            "device": device_name(),
            "dtype": "float64" if backend == "reference" else precision,
            "shape": list(grid),
            "batch": batch,
            "steps": count,
            "levels": levels if name == "skewed" else 1,
            "cell_steps_per_s": statistics.median(measured),
            "spread": (max(measured) - min(measured)) / 2 / statistics.median(measured),
            "ratio_to_one_step": statistics.median(measured) / base,
        }
        for name, measured in rates.items()
    ]


def _schemes(backend: str, precision: str, levels: int) -> dict[str, Callable[[Problem], object]]:
    """The traversals that a backend offers."""
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


def reference_problem(grid: tuple[int, int], steps: int, batch: int, *, surfaces: str = "diagonal") -> Problem:
    """The reference lens, scaled down where the grid is too small for it, started from noise.

    Its surfaces are those of a search; "full" ones, those of certificates, couple nodes.
    """
    scale, reason = 1.0, ""
    for _ in range(12):
        try:
            return _scaled(grid, steps, batch, scale, surfaces)
        except ConfigError as error:
            scale, reason = 0.8 * scale, str(error)
    raise ConfigError(f"--grid {grid[0]}x{grid[1]} holds the reference lens at no size: {reason}")


def _scaled(grid: tuple[int, int], steps: int, batch: int, scale: float, surfaces: str) -> Problem:
    """The reference lens with its radii scaled, but never smaller than the feed's rim."""
    design = {
        name: max(4.0e-3, value * scale) if name.startswith("lens.radii") else value for name, value in _LENS.items()
    }
    family = FAMILIES["shaped_lens"]
    designs = stack([design] * batch)
    radius, height = family.size(designs)
    layout = lay_out(
        Extent(
            r_max=float(radius[0]),
            z_min=-12.4e-3,
            z_max=float(height[0]),
            feed_radius=3.6e-3,
            feed_length=12e-3,
            permittivity=2.53,
        ),
        Settings(
            frequencies=(30e9,), design_frequency=30e9, cell=_CELL, exact_steps=steps, shape=grid, surfaces=surfaces
        ),
    )
    media = fill(layout, family.scene(designs))
    problem, _ = pose(layout, media)
    noise = np.random.default_rng(1).standard_normal((batch, 6, layout.nz, layout.nr))
    noise[:, :3] *= media.open_length > 0
    noise[:, :2, 0] = 0.0
    noise[:, :4, :, 0] = 0.0
    noise[:, 1] *= np.arange(layout.nr)
    noise[:, 4] *= np.arange(layout.nr) + 0.5
    return replace(problem, initial=noise)


def _shortened(problem: Problem, steps: int) -> Problem:
    return replace(problem, sampling=replace(problem.sampling, steps=steps))


def device_name() -> str:
    """The processor as the system names it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
