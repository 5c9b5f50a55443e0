"""Problems for timing kernels: reference lenses, fields in cylinders, sums, from noise, also with parts left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from antennaopt.families import FAMILIES, stack
from fdtd.axisymmetric.layout import Extent, lay_out
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import FieldMap
from fdtd.axisymmetric.problem import Problem
from fdtd.axisymmetric.settings import Settings
from fdtd.axisymmetric.simulation import fill, pose
from fdtd.cpml import RadialLayer
from fdtd.errors import ConfigError
from fdtd.planar.bodies import dielectric_cylinder, free_space
from fdtd.planar.bodies import stack as stacked
from fdtd.planar.problem import JacobiProblem, PlanarGrid, PlanarLayer, PlanarProblem, PointCurrent, Probe

PARTS = ("layers", "radial", "axial", "record", "media", "coupling")
"""What `without` can leave out; `radial` and `axial` are layers of the axisymmetric lattice alone."""

_LOSSES = 1e-3  # S/m, of the planar problems' ground
_PROBES = 16

_RADII = (17e-3, 16.6e-3, 15.4e-3, 13.8e-3, 12.4e-3, 11.6e-3)
_LENS = {
    "feed.inner_radius": 3.6e-3,
    "feed.outer_radius": 4.0e-3,
    "feed.length": 12e-3,
    "lens.permittivity": 2.53,
    "lens.loss_tangent": 6.6e-4,
    **{f"lens.radii.{place}": radius for place, radius in enumerate(_RADII)},
}
_LENS_CELL = 0.3e-3

SMALLEST = 64
"""Side of the smallest domain of a sweep, cells."""
_LAYER = 10  # cells
_CYLINDER = 0.2  # radius over the side of the domain
_PERMITTIVITY = 4.0
_CELL = 1e-3
_PERIOD = 40  # steps


def reference_problem(grid: tuple[int, int], steps: int, batch: int, *, surfaces: str = "diagonal") -> Problem:
    """Return the reference lens, scaled down where the grid is too small for it, started from noise.

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
            frequencies=(30e9,),
            design_frequency=30e9,
            cell=_LENS_CELL,
            exact_steps=steps,
            shape=grid,
            surfaces=surfaces,
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


def full_problem(
    stencil: str, shape: tuple[int, int], steps: int, distinct: int, *, surfaces: str = "diagonal"
) -> Problem | PlanarProblem | JacobiProblem:
    """Return a batch with all that its stencil has, from noise.

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
        media=stacked(ground, *bodies),
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
    """Return the problem less some of `PARTS`; those that it does not have are passed over."""
    less = {"bor": _antennas_without, "jacobi5": lambda sums, _: sums}
    return less.get(problem.stencil.name, _fields_without)(problem, parts)


def _fields_without(problem: PlanarProblem, parts: Sequence[str]) -> PlanarProblem:
    if "layers" in parts:
        problem = replace(problem, layer=PlanarLayer(cells=0))
    if "record" in parts:
        problem = replace(problem, probes=())
    if "media" in parts:
        air = free_space(problem.grid)
        problem = replace(problem, media=stacked(*[air] * problem.media.batch))
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


def plain_problem(stencil: str, grid: tuple[int, int], steps: int) -> Problem | PlanarProblem | JacobiProblem:
    """Return one problem without sources, from noise: rates on zeros are not those of fields.

    Args:
        stencil: One of `fdtd.stencils.STENCILS`.
        grid: Columns and rows.
        steps: That it will be stepped, at most.
    """
    columns, rows = grid
    noise = np.random.default_rng(1)
    if stencil == "bor":
        return reference_problem(grid, steps, 1)
    if stencil == "jacobi5":
        return JacobiProblem(initial=noise.standard_normal((1, rows, columns), dtype=np.float32), steps=steps)
    lattice = PlanarGrid(nx=columns, ny=rows, cell=1e-3, polarisation="TM" if stencil == "tmz" else "TE")
    start = noise.standard_normal((1, 3, *lattice.shape))
    return PlanarProblem(grid=lattice, media=free_space(lattice), layer=PlanarLayer(), steps=steps, initial=start)


def cylinder_problem(polarisation: str, size: int, steps: int) -> PlanarProblem:
    """Return a line source next to a dielectric cylinder in the middle of a square domain.

    Args:
        polarisation: "TM" or "TE".
        size: Cells along a side, layers included.
        steps: Time steps.

    Raises:
        ConfigError: It does not fit so few cells.
    """
    if size < SMALLEST // 2:
        raise ConfigError(f"size = {size} cells is too small for a sweep (needs >= {SMALLEST // 2})")
    grid = PlanarGrid(nx=size, ny=size, cell=_CELL, polarisation=polarisation)
    middle, beside = size // 2, size // 2 + round(1.3 * _CYLINDER * size)
    media = dielectric_cylinder(
        grid, centre=(middle, middle), radius=_CYLINDER * size, permittivity=_PERMITTIVITY, tensor=polarisation == "TE"
    )
    current = np.sin(2 * np.pi * np.arange(steps) / _PERIOD)
    out = grid.components[0]
    return PlanarProblem(
        grid=grid,
        media=media,
        layer=PlanarLayer(cells=_LAYER),
        steps=steps,
        sources=(PointCurrent(component=out, row=middle, column=beside, samples=current),),
        probes=(Probe(component=out, rows=np.array([middle]), columns=np.array([middle])),),
    )
