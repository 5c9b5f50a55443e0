"""The planar cpu backend against the oracle on random fields, media, metal, layers and currents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fdtd.backends import planar_reference
from fdtd.backends.cpu import planar
from fdtd.errors import ConfigError
from fdtd.planar.bodies import free_space
from fdtd.planar.problem import PlanarGrid, PlanarLayer, PlanarMedia, PlanarProblem, PlanarRecords, PointCurrent, Probe

# Relative to each component's largest. One rounding a step, of any sign, are sqrt(2000) times 2^-53 and 2^-24, 5e-15
# and 2.7e-6; four times and twice that, as a step rounds more than once. Measured: 5.5e-15 and 1.5e-6.
TOLERANCE = {"float64": 2e-14, "float32": 5e-6}


def random_problem(
    polarisation: str, shape: tuple[int, int] = (41, 33), steps: int = 300, batch: int = 2, start: bool = True
) -> PlanarProblem:
    """Everything at once: lossy cells, cut and closed metal, coupled nodes, both kinds of current, all components."""
    rng = np.random.default_rng(sum(shape) + steps)
    nx, ny = shape
    grid = PlanarGrid(nx=nx, ny=ny, cell=1e-3, courant_number=0.45, polarisation=polarisation)
    parts = 1 if polarisation == "TM" else 2
    one = (batch, *grid.shape)
    cut = [np.where(rng.random(one) < 0.1, rng.uniform(0.8, 1.0, one), 1.0) for _ in range(3)]
    node, area = rng.random(one) > 0.02, np.where(rng.random(one) < 0.02, 0.0, cut[2])
    cut = [np.where(rng.random(one) < 0.02, 0.0, lengths) for lengths in cut[:2]]
    centre = np.s_[:, ny // 2, nx // 2]
    for array in (*cut, area):
        array[centre] = 1.0
    node[centre] = True
    coupling = np.where(rng.random(one) < 0.2, rng.uniform(-0.05, 0.05, one), 0.0)
    edge = np.ones(grid.shape, bool)
    edge[1:-1, 1:-1] = False
    coupling[:, edge] = 0.0
    media = PlanarMedia(
        permittivity=rng.uniform(1.2, 4.0, (batch, parts, *grid.shape)),
        conductivity=rng.uniform(0.0, 0.2 if start else 0.05, (batch, parts, *grid.shape)),
        open_node=node,
        open_x=cut[0],
        open_y=cut[1],
        open_area=area,
        coupling=coupling,
    )
    pulse = np.exp(-(((np.arange(steps) - 60) / 15) ** 2)) * np.sin(0.4 * np.arange(steps))
    names = grid.components
    rows, columns = rng.integers(0, ny + 1, 7), rng.integers(0, nx + 1, 7)
    return PlanarProblem(
        grid=grid,
        media=media,
        layer=PlanarLayer(cells=6, kappa=2.0, alpha=1e9),
        steps=steps,
        sources=tuple(
            PointCurrent(component=name, row=ny // 2, column=nx // 2, samples=pulse[: steps - 10]) for name in names
        ),
        probes=tuple(Probe(component=name, rows=rows, columns=columns) for name in names),
        initial=rng.standard_normal((batch, 3, *grid.shape)) if start else None,
    )


def error(measured: PlanarRecords, expected: PlanarRecords, problem: PlanarProblem) -> float:
    """Largest difference over the largest magnitude of that component in samples or final fields, over the batch."""
    worst = 0.0
    for at, (one, other) in enumerate(zip(measured.samples, expected.samples, strict=True)):
        assert one.shape == other.shape
        first = 0.0 if problem.initial is None else np.abs(problem.initial[:, at]).max()
        scale = max(np.abs(other).max(), np.abs(expected.final[:, at]).max(), first)
        difference = np.maximum(np.abs(one - other).max(), np.abs(measured.final[:, at] - expected.final[:, at]).max())
        worst = float(np.maximum(worst, difference / scale))  # NaN stays
    assert measured.finite.all() and expected.finite.all()
    return worst


@pytest.mark.parametrize("shape", [(14, 17), (41, 33), (64, 35), (37, 129)])
@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_double_precision(polarisation: str, shape: tuple[int, int]) -> None:
    """300 steps from random fields; sizes around the widths that vectorised loops like."""
    problem = random_problem(polarisation, shape)
    measured = planar.run(problem, precision="float64")
    assert error(measured, planar_reference.run(problem), problem) < TOLERANCE["float64"]


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_after_2000_steps(polarisation: str, start: bool, precision: str) -> None:
    problem = random_problem(polarisation, steps=2000, start=start)
    measured = planar.run(problem, precision=precision)
    assert error(measured, planar_reference.run(problem), problem) < TOLERANCE[precision]


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_same_bits_in_any_place_of_a_batch(polarisation: str, precision: str) -> None:
    problem = random_problem(polarisation, batch=3)
    assert problem.initial is not None
    together = planar.run(problem, precision=precision, threads=2)
    for index in range(3):
        media = PlanarMedia(**{name: array[[index]] for name, array in vars(problem.media).items()})
        alone = planar.run(replace(problem, media=media, initial=problem.initial[[index]]), precision=precision)
        np.testing.assert_array_equal(alone.final[0], together.final[index])
        for one, other in zip(alone.samples, together.samples, strict=True):
            np.testing.assert_array_equal(one[0], other[index])


@pytest.mark.parametrize("backend", [planar_reference.run, planar.run])
@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_stays_zero_in_metal(polarisation: str, backend) -> None:
    problem = random_problem(polarisation)
    assert not backend(problem).final[~problem.live()].any()


def test_refusals_name_what_is_allowed() -> None:
    grid = PlanarGrid(nx=30, ny=30, cell=1e-3, courant_number=0.75)
    with pytest.raises(ConfigError, match=r"courant_number = 0.75 .* <= 0.7071"):
        PlanarProblem(grid=grid, media=free_space(grid), layer=PlanarLayer(), steps=1)
    grid = replace(grid, courant_number=0.7)
    source = PointCurrent(component="h_z", row=15, column=15, samples=np.ones(1))
    with pytest.raises(ConfigError, match="e_z, h_x, h_y"):
        PlanarProblem(grid=grid, media=free_space(grid), layer=PlanarLayer(), steps=1, sources=(source,))
    with pytest.raises(ConfigError, match="outside the grid"):
        wall = replace(source, component="e_z", row=31)
        PlanarProblem(grid=grid, media=free_space(grid), layer=PlanarLayer(), steps=1, sources=(wall,))
