"""TE10 ports of rectangular guides: WR-90, 22.86 x 10.16 mm, 9 to 12 GHz, cells of 1.143 x 1.27 x 1.2 mm.

The port reads S11 = R / A at two planes with the wave number of the lattice. So a closed end has S11 = -1 in its plane,
up to what has not decayed at the last step: 1.3e-6 after 6,000 steps, 8.9e-6 after 4,000, the same for half a guide
beside a magnetic wall, 1.2e-6 on graded planes. A guide that runs into a layer of 10, 20 or 30 cells shows what the
layer reflects, at most -91, -88 and -86 dB over the band. The phase over 20 cells is that of the lattice within 0.005
degrees; with the wave number of free space it would be off by 0.13 to 0.40 degrees: the lattice is up to 0.14 % off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fdtd.backends import YEE_BACKENDS
from fdtd.backends.cpu import yee as cpu
from fdtd.errors import ConfigError
from fdtd.yee.grid import Grid
from fdtd.yee.media import empty, fill
from fdtd.yee.problem import Problem, Sampling
from fdtd.yee.scene import Block, GuidePort, Scene
from fdtd.yee.waveguide import GuideMode, guide_mode

A, B, CELL = 22.86e-3, 10.16e-3, 1.2e-3
BAND = np.linspace(9e9, 12e9, 13)


def guide(*, cells: int, layers: int, far: int, half: bool = False, graded: bool = False) -> tuple[Grid, GuidePort]:
    """A guide with a layer at -z and `far` cells of layer at +z; its planes are 8 cells apart."""
    x = np.linspace(0.0, A, 21)
    if graded:
        x = x + 0.1 * A / np.pi * np.sin(2 * np.pi * x / A)
    x = x[:11] if half else x
    z = CELL * np.arange(cells + 1)
    grid = Grid(
        x=x,
        y=np.linspace(0.0, B, 9),
        z=z,
        layers=(0, 0, 0, 0, layers, far),
        magnetic=("x+",) if half else (),
    )
    first = layers + 12
    port = GuidePort(
        x=(x[0], x[-1]), y=(0.0, B), source=z[layers + 4], planes=(z[first], z[first + 8]), reference=z[-1]
    )
    return grid, port


def solved(
    grid: Grid, port: GuidePort, *, steps: int, backend: str = "cpu", precision: str = "float64"
) -> tuple[GuideMode, np.ndarray]:
    media = empty(grid)
    mode = guide_mode(port, grid, media)
    problem = Problem(grid=grid, media=media, sampling=Sampling(steps=steps))
    problem = mode.drive(problem, mode.pulse(BAND).samples(grid.dt))
    return mode, YEE_BACKENDS[backend](problem, lambda *_: None, precision, None).sums


@pytest.mark.parametrize("shape", ["whole", "half", "graded"])
def test_a_shorted_guide_reflects_minus_one(shape: str, measured: Callable[..., float]) -> None:
    grid, port = guide(cells=60, layers=20, far=0, half=shape == "half", graded=shape == "graded")
    mode, sums = solved(grid, port, steps=6000)
    error = np.abs(mode.reflection(sums, BAND) + 1).max()
    measured(f"|S11 + 1| of a shorted guide, {shape}", error, at_most=1e-5)


def test_a_guide_of_metal_blocks_ends_where_its_short_stands(measured: Callable[..., float]) -> None:
    """The guide's walls and short are blocks in a larger lattice, as an antenna's feed has them."""
    inside, port = guide(cells=60, layers=20, far=0)
    x, y = (
        np.concatenate([one[0] + step * np.array([-2, -1]), one, one[-1] + step * np.array([1, 2])])
        for one, step in ((inside.x, A / 20), (inside.y, B / 8))
    )
    grid = Grid(x=x, y=y, z=inside.z, layers=(0, 0, 0, 0, 20, 0))
    every, end = (-np.inf, np.inf), float(grid.z[52])
    walls = [Block(x=side, y=every, z=every) for side in ((-np.inf, 0.0), (A, np.inf))]
    walls += [Block(x=every, y=side, z=every) for side in ((-np.inf, 0.0), (B, np.inf))]
    media = fill(Scene(blocks=(*walls, Block(x=every, y=every, z=(end, np.inf)))), grid)
    port = replace(port, x=(grid.x[2], grid.x[-3]), y=(grid.y[2], grid.y[-3]), reference=end)
    mode = guide_mode(port, grid, media)
    problem = Problem(grid=grid, media=media, sampling=Sampling(steps=6000))
    sums = cpu.run(mode.drive(problem, mode.pulse(BAND).samples(grid.dt)), precision="float64").sums
    error = np.abs(mode.reflection(sums, BAND) + 1).max()
    measured("|S11 + 1| of a short of metal blocks", error, at_most=1e-5)


def test_a_uniform_guide_reflects_nothing(measured: Callable[..., float]) -> None:
    grid, port = guide(cells=90, layers=20, far=30)
    mode, sums = solved(grid, port, steps=6000)
    worst = 20 * np.log10(np.abs(mode.reflection(sums, BAND)).max())
    measured("S11 of a uniform guide, dB", worst, at_most=-80.0)


def test_the_phase_is_that_of_the_lattice(measured: Callable[..., float]) -> None:
    """Two pairs of planes of one guide: the forward waves differ by exp(-jBL), with B of the lattice."""
    grid, port = guide(cells=110, layers=20, far=30)
    moved = replace(port, planes=tuple(one + 20 * CELL for one in port.planes))
    found = []
    for one in (port, moved):
        one = replace(one, reference=one.planes[0])
        mode, sums = solved(grid, one, steps=6000)
        found.append(mode.waves(sums, BAND)[0])
    turn = found[1] / found[0] * np.exp(1j * mode.phase_constant(BAND) * 20 * CELL)
    measured("phase over 20 cells against the lattice, degrees", np.abs(np.angle(turn, deg=True)).max(), at_most=0.01)
    exact = np.sqrt((2 * np.pi * BAND / 299792458.0) ** 2 - (np.pi / A) ** 2)
    measured("relative error of B", np.abs(mode.phase_constant(BAND) / exact - 1).max(), at_most=2e-3)


def test_the_oracle_agrees(measured: Callable[..., float]) -> None:
    grid, port = guide(cells=40, layers=8, far=0)
    (mode, ours), (_, oracle) = (solved(grid, port, steps=300, backend=name) for name in ("cpu", "reference"))
    assert mode.points.shape[0] == 3
    measured("CPU against the oracle", np.abs(ours - oracle).max() / np.abs(oracle).max(), at_most=1e-12)


def test_other_modes_are_not_counted() -> None:
    """The projection of TE20 and TE30 of the lattice is zero to rounding."""
    grid, port = guide(cells=40, layers=8, far=0)
    mode = guide_mode(port, grid, empty(grid))
    x = grid.x[mode.points[0, :, 3]]
    for order in (2, 3):
        assert abs(mode.weights @ np.sin(order * np.pi * x / A)) < 1e-14


def test_frequencies_outside_the_band_are_refused() -> None:
    grid, port = guide(cells=40, layers=8, far=0)
    mode = guide_mode(port, grid, empty(grid))
    with pytest.raises(ConfigError, match=r"TE10 does not propagate at 6 GHz in a guide of 22.86 x 10.16 mm .alone"):
        mode.pulse(np.array([6e9]))
    with pytest.raises(ConfigError, match=r"TE10 is not the only mode at 14 GHz"):
        mode.pulse(np.array([14e9]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": 1.0e-3}, "port.source = 0.001 m lies between lattice planes"),
        ({"x": (0.0, 11.43e-3)}, "the guide has no wall at x = 0.01143 m"),
        ({"x": (1.0, 0.0)}, r"port.x = \(1, 0\) m is empty"),
        ({"source": 4 * CELL}, "port.source = 0.0048 m is in an absorbing layer"),
        ({"source": 1.0}, "need to increase, beyond source"),
    ],
)
def test_bad_ports_are_refused(change: dict, message: str) -> None:
    grid, port = guide(cells=40, layers=8, far=0)
    with pytest.raises(ConfigError, match=message):
        guide_mode(replace(port, **change), grid, empty(grid))


def test_planes_half_a_wavelength_apart_are_refused() -> None:
    grid, port = guide(cells=60, layers=8, far=0)
    mode = guide_mode(replace(port, planes=(port.planes[0], port.planes[0] + 16 * CELL)), grid, empty(grid))
    with pytest.raises(ConfigError, match=r"port.planes are 19\.2 mm apart"):
        mode.waves(np.zeros((4, 2)), np.array([10e9]))
