"""What the device's kernels are timed on: problems with everything on, from noise, and the same with parts left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from antennaopt.bench.kernels import reference_problem
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import FieldMap
from fdtd.axisymmetric.problem import Problem
from fdtd.cpml import RadialLayer
from fdtd.errors import ConfigError
from fdtd.planar.bodies import dielectric_cylinder, free_space, stack
from fdtd.planar.problem import JacobiProblem, PlanarGrid, PlanarLayer, PlanarProblem, PointCurrent, Probe

PARTS = ("layers", "radial", "axial", "record", "media", "coupling")
"""What `without` can leave out; `radial` and `axial` are layers of the axisymmetric lattice alone."""

_LOSSES = 1e-3  # S/m, of the planar problems' ground
_PROBES = 16


def full_problem(
    stencil: str, shape: tuple[int, int], steps: int, distinct: int, *, surfaces: str = "diagonal"
) -> Problem | PlanarProblem | JacobiProblem:
    """A batch with all that its stencil has, from noise.

    Axisymmetric: reference lenses with layers, feed, source, port, contour and field map, as searches have them.
    Planar: a dielectric cylinder in lossy ground, layers of ten cells on all sides, a source, 16 probes. Five-point
    sums: noise.

    Args:
        stencil: "bor", "tmz", "tez" or "jacobi5".
        shape: Columns and rows.
        steps: That it will be stepped, at most.
        distinct: Problems of the batch.
        surfaces: Of lenses: "diagonal", or "full" with coupled nodes as in certificates.

    Raises:
        ConfigError: There is no such stencil, or the lens or the layers do not fit the lattice.
    """
    if stencil == "bor":
        return _lenses(shape, steps, distinct, surfaces)
    rng = np.random.default_rng(7)
    columns, rows = shape
    if stencil == "jacobi5":
        return JacobiProblem(initial=rng.standard_normal((distinct, rows, columns), dtype=np.float32), steps=steps)
    if stencil not in ("tmz", "tez"):
        raise ConfigError(f"stencil = {stencil!r} is unknown (allowed: bor, tmz, tez, jacobi5)")
    if min(shape) < 2 * _PROBES + 20:
        raise ConfigError(f"{columns} x {rows} cells are too few for {stencil} (needs >= {2 * _PROBES + 20} each way)")
    grid = PlanarGrid(nx=columns, ny=rows, cell=1e-3, courant_number=0.6, polarisation=stencil[:2].upper())
    air = free_space(grid)
    ground = replace(air, conductivity=np.full_like(air.conductivity, _LOSSES))
    bodies = [
        dielectric_cylinder(grid, centre=(columns / 2, rows / 2), radius=min(shape) / 5 + n, permittivity=2.53)
        for n in range(distinct - 1)
    ]
    at, current = 20 + np.arange(_PROBES), np.sin(0.2 * np.arange(steps))
    source = grid.components[0 if stencil == "tmz" else 1]
    return PlanarProblem(
        grid=grid,
        media=stack(ground, *bodies),
        layer=PlanarLayer(cells=10),
        steps=steps,
        sources=(PointCurrent(component=source, row=rows // 2, column=columns // 2, samples=current),),
        probes=(Probe(component=grid.components[0], rows=at, columns=at),),
        initial=rng.standard_normal((distinct, 3, *grid.shape)),
    )


def _lenses(shape: tuple[int, int], steps: int, distinct: int, surfaces: str) -> Problem:
    problem = reference_problem(shape, steps, distinct, surfaces=surfaces)
    k, i = np.nonzero((problem.media.conductivity > 0).any(axis=(0, 1)))
    box = FieldMap(
        rows=(int(k.min()), int(k.max()) + 1), columns=(int(i.min()), int(i.max()) + 1), frequencies=np.array([30e9])
    )
    return replace(problem, field_map=box)


def without(problem: Any, parts: Sequence[str]) -> Any:
    """The problem less some of `PARTS`; what it does not have is not missed."""
    less = {"bor": _antennas_without, "jacobi5": lambda sums, _: sums}
    return less.get(problem.stencil.name, _fields_without)(problem, parts)


def _fields_without(problem: PlanarProblem, parts: Sequence[str]) -> PlanarProblem:
    if "layers" in parts:
        problem = replace(problem, layer=PlanarLayer(cells=0))
    if "record" in parts:
        problem = replace(problem, probes=())
    if "media" in parts:
        air = free_space(problem.grid)
        problem = replace(problem, media=stack(*[air] * problem.media.batch))
    elif "coupling" in parts:
        problem = replace(problem, media=replace(problem.media, coupling=np.zeros_like(problem.media.coupling)))
    return problem


def _antennas_without(problem: Problem, parts: Sequence[str]) -> Problem:
    media = problem.media
    if "layers" in parts or "radial" in parts:
        problem = replace(problem, radial_layer=RadialLayer(cells=0))
    if "layers" in parts or "axial" in parts:
        problem = replace(problem, axial_layers=())
    if "record" in parts:
        problem = replace(problem, contour=None, port=None, field_map=None)
    if "media" in parts:
        ones = np.ones_like(media.permittivity)
        air = Media(permittivity=ones, conductivity=0 * ones, open_length=ones, open_area=ones, coupling=None)
        return replace(problem, media=air)
    return replace(problem, media=replace(media, coupling=None)) if "coupling" in parts else problem
