"""The rectilinear cpu backend against the oracle: random fields, planes, media and metal, layers, walls, a port."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fdtd.backends import yee_reference
from fdtd.backends.cpu import yee
from fdtd.errors import ConfigError
from fdtd.yee.grid import Grid
from fdtd.yee.media import Media, empty
from fdtd.yee.ports import PortColumns
from fdtd.yee.problem import Problem, Records, Sampling

# Relative to the largest of the final state, of records, of the energy. Issue 16 asks for 1e-4 and 1e-12; the rounding
# of 500 steps of noise that is up to 15 times larger at the start is what there is. Measured: 7.8e-6 and 1.8e-14.
TOLERANCE = {"float64": 5e-14, "float32": 2e-5}

CASES = {
    "layers all round, lossy": {"counts": (27, 23, 21), "layers": (5, 6, 4, 5, 5, 4), "magnetic": ()},
    "magnetic walls": {"counts": (45, 12, 13), "layers": (0, 0, 3, 3, 0, 3), "magnetic": ("x-", "x+", "z-")},
    "half of an antenna": {"counts": (26, 15, 16), "layers": (4, 3, 0, 4, 3, 4), "magnetic": ("y-",)},
    "closed": {"counts": (12, 13, 14), "layers": (0,) * 6, "magnetic": ()},
    "layers as thick as may be": {"counts": (40, 14, 12), "layers": (15, 15, 2, 3, 0, 2), "magnetic": ("z-",)},
    "a layer over most of a row": {"counts": (15, 14, 12), "layers": (0, 11, 3, 0, 0, 2), "magnetic": ("x-",)},
}


def random_problem(
    counts: tuple[int, int, int], layers: tuple[int, ...], magnetic: tuple[str, ...], steps: int = 500
) -> Problem:
    """Everything at once: planes at random, random media and metal on every edge, a port, noise to start from."""
    rng = np.random.default_rng(sum(counts))
    planes = [np.concatenate([[0.0], np.cumsum(1e-3 * rng.uniform(1.0, 1.5, count))]) for count in counts]
    grid = Grid(x=planes[0], y=planes[1], z=planes[2], layers=layers, magnetic=magnetic)  # type: ignore[arg-type]
    shape = (3, *grid.shape)
    j, i, k = counts[1] // 2, counts[0] // 2, counts[2] // 2
    metal = empty(grid).metal | (rng.random(shape) < 0.03)
    metal[2, k : k + 2, j, i] = False
    media = Media(permittivity=rng.uniform(1.0, 4.0, shape), conductivity=rng.uniform(0.0, 0.05, shape), metal=metal)
    port = PortColumns(
        points=np.array([(2, k, j, i), (2, k + 1, j, i)]),
        lengths=np.diff(planes[2])[k : k + 2],
        conductances=np.full(2, 1 / (50 * 1e-6)),
        weights=np.ones(2),
        resistance=50.0,
    )
    problem = Problem(
        grid=grid,
        media=port.loaded(media),
        sampling=Sampling(steps=steps, record_every=3, check_every=9),
        box=rng.integers(0, 6 * int(np.prod(grid.shape)), 200),
        initial=rng.standard_normal((6, *grid.shape)),
    )
    return port.drive(problem, 100 * np.sin(0.3 * np.arange(200)))


def both(problem: Problem, precision: str) -> tuple[tuple[Records, np.ndarray], tuple[Records, np.ndarray]]:
    """Records and box samples, the oracle's first."""
    found = []
    for run in (yee_reference.run, lambda *given: yee.run(*given, precision=precision)):
        blocks: list[np.ndarray] = []
        records = run(problem, lambda first, block, into=blocks: into.append(block.copy()))
        found.append((records, np.concatenate(blocks)))
    return found[0], found[1]


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("case", CASES)
def test_fields_and_records_from_noise(case: str, precision: str) -> None:
    problem = random_problem(**CASES[case])
    (expected, sampled), (found, taken) = both(problem, precision)
    bound = TOLERANCE[precision]
    assert found.steps == expected.steps == 500
    assert np.abs(found.final - expected.final).max() <= bound * np.abs(expected.final).max()
    assert np.abs(found.sums - expected.sums).max() <= bound * np.abs(expected.sums).max()
    assert np.abs(taken - sampled).max() <= bound * np.abs(sampled).max()
    assert found.energy == pytest.approx(expected.energy, rel=bound)


def test_both_stop_at_the_same_look() -> None:
    """A port and lossy media take the energy away; looks are every 9 steps."""
    problem = random_problem(**CASES["layers all round, lossy"])
    problem = replace(problem, sampling=replace(problem.sampling, decay=1e-2, settled=200))
    (expected, sampled), (found, taken) = both(problem, "float64")
    assert expected.steps == found.steps < 500
    assert expected.steps % 9 == 0
    assert len(taken) == len(sampled) == expected.steps // 3


def test_large_lattices_are_stepped_a_few_steps_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signals are heard between calls of the kernel. Bits and samples are the same."""
    problem = random_problem(**CASES["half of an antenna"], steps=100)
    (_, sampled), (found, taken) = both(problem, "float32")
    calls: list[int] = []
    march = yee._march

    def counted(*given: Any) -> None:
        calls.append(given[-1][1] - given[-1][0])
        march(*given)

    monkeypatch.setattr(yee, "_march", counted)
    monkeypatch.setattr(yee, "_CELL_STEPS", 2 * 26 * 15 * 16)
    (_, _), (again, samples) = both(problem, "float32")
    assert sum(calls) == 100 and max(calls) == 2
    assert np.array_equal(again.final, found.final) and np.array_equal(again.sums, found.sums)
    assert np.array_equal(again.energy, found.energy) and np.array_equal(samples, taken)
    assert len(samples) == len(sampled)


def test_unknown_precision_is_refused() -> None:
    with pytest.raises(ConfigError, match="float16"):
        yee.run(random_problem(**CASES["closed"], steps=1), precision="float16")
