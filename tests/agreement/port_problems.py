"""Small scenes with a port of each kind, and problems of them with noise to start from, samples and looks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from test_yee import CASES, random_problem

from fdtd.yee import FACES, Block, Dielectric, Grid, GuidePort, LinePort, LumpedPort, Scene, Sheet
from fdtd.yee.media import Media, fill
from fdtd.yee.microstrip import drive, line_on_lattice
from fdtd.yee.ports import port_columns
from fdtd.yee.problem import Problem, Sampling
from fdtd.yee.waveguide import guide_mode

GUIDE_HZ = np.array([10e9, 11e9, 12e9])
CIRCUIT_HZ = np.linspace(10e9, 25e9, 7)
_EVERYWHERE = (-np.inf, np.inf)


def guide_scene() -> tuple[Scene, Grid]:
    """Half a guide of metal blocks, next to a magnetic wall, that opens in front of a dielectric; graded planes."""
    x, y, z = _graded(16, 1.0e-3), _graded(20, 1.1e-3), 1.2e-3 * np.arange(27)
    grid = Grid(x=x, y=y, z=z, layers=(4, 0, 3, 4, 4, 3), magnetic=("x+",))
    tube = (-np.inf, z[17])
    walls = [Block(x=(x[7], x[8]), y=(y[6], y[14]), z=tube)]
    walls += [Block(x=(x[7], np.inf), y=side, z=tube) for side in ((y[6], y[7]), (y[13], y[14]))]
    glass = Dielectric(permittivity=2.5, conductivity=0.01)
    scene = Scene(
        blocks=(Block(x=(x[7], x[-1]), y=(y[6], y[14]), z=(z[18], z[21]), material=glass), *walls),
        port=GuidePort(x=(x[8], x[-1]), y=(y[7], y[13]), source=z[6], planes=(z[9], z[13]), reference=z[17]),
        open_faces=tuple(face for face in FACES if face != "x+"),
        magnetic_faces=("x+",),
    )
    return scene, grid


def turned_guide_scene() -> tuple[Scene, Grid]:
    """The same with x and y exchanged: E along x."""
    scene, grid = guide_scene()
    assert isinstance(scene.port, GuidePort)
    names = str.maketrans("xy", "yx")
    first, second, third = grid.layers[:2], grid.layers[2:4], grid.layers[4:]
    return (
        replace(
            scene,
            blocks=tuple(replace(one, x=one.y, y=one.x) for one in scene.blocks),
            port=replace(scene.port, x=scene.port.y, y=scene.port.x, field="x"),
            open_faces=tuple(face.translate(names) for face in scene.open_faces),
            magnetic_faces=tuple(face.translate(names) for face in scene.magnetic_faces),
        ),
        replace(grid, x=grid.y, y=grid.x, layers=(*second, *first, *third), magnetic=("y+",)),
    )


def lumped_scene() -> tuple[Scene, Grid]:
    """A patch on a dielectric; graded planes."""
    x, y, z = _graded(18, 1.0e-3), _graded(19, 1.1e-3), _graded(15, 1.0e-3)
    grid = Grid(x=x, y=y, z=z, layers=(3, 3, 3, 3, 3, 3))
    wide, deep = (x[5], x[13]), (y[5], y[14])
    scene = Scene(
        blocks=(Block(x=wide, y=deep, z=(z[6], z[8]), material=Dielectric(permittivity=3.0)),),
        sheets=(Sheet(x=wide, y=deep, z=z[6]), Sheet(x=(x[7], x[11]), y=(y[7], y[12]), z=z[8])),
        port=LumpedPort(x=x[8], y=y[9], z=(z[6], z[8])),
    )
    return scene, grid


def slot_scene() -> tuple[Scene, Grid]:
    """A resonator over a slot in a ground, fed by a line below it with a port of two columns; graded planes."""
    x, y, z = _graded(18, 1.0e-3), _graded(19, 1.1e-3), _graded(15, 1.0e-3)
    grid = Grid(x=x, y=y, z=z, layers=(3, 3, 3, 3, 3, 3))
    wide, deep, slot, ends = (x[5], x[13]), (y[5], y[14]), (x[8], x[9]), (y[7], y[12])
    faces = [((wide[0], slot[0]), deep), ((slot[1], wide[1]), deep)]
    faces += [(slot, (deep[0], ends[0])), (slot, (ends[1], deep[1]))]
    line = Sheet(x=(x[6], x[11]), y=(y[9], y[10]), z=z[5])
    scene = Scene(
        blocks=(
            Block(x=wide, y=deep, z=(z[5], z[7]), material=Dielectric(permittivity=3.4)),
            Block(x=(x[7], x[11]), y=(y[6], y[13]), z=(z[7], z[10]), material=Dielectric(permittivity=10.0)),
        ),
        sheets=(*(Sheet(x=one, y=other, z=z[7]) for one, other in faces), line),
        port=LumpedPort(x=x[6], y=line.y, z=(z[5], z[7])),
    )
    return scene, grid


def circuit_scene() -> tuple[Scene, Grid, list[LinePort]]:
    """A line along y with a port at both ends, and one along x, with a port, that ends in front of it."""
    x = np.concatenate([1e-3 * np.arange(11), 11e-3 + _graded(16, 0.9e-3)])
    y, z = 1.1e-3 * np.arange(27), np.concatenate([[0.0], 0.4e-3 + _graded(11, 0.5e-3)])
    grid = Grid(x=x, y=y, z=z, layers=(3, 3, 3, 3, 0, 3))
    along_x, along_y = (y[11], y[14]), (x[17], x[20])
    scene = Scene(
        blocks=(Block(x=_EVERYWHERE, y=_EVERYWHERE, z=(0, z[2]), material=Dielectric(permittivity=2.2)),),
        sheets=(Sheet(z=z[2], x=along_y, y=_EVERYWHERE), Sheet(z=z[2], x=(-np.inf, x[14]), y=along_x)),
        open_faces=tuple(face for face in FACES if face != "z-"),
    )

    def port(axis: str, planes: np.ndarray, source: int, into: int) -> LinePort:
        first, second, third = (float(planes[source + into * at]) for at in (2, 4, 6))
        return LinePort(
            axis=axis, into=into, strip=along_x if axis == "x" else along_y, z=(0.0, z[2]), source=planes[source],
            planes=(first, second, third), reference=first,
        )  # fmt: skip

    return scene, grid, [port("y", y, 4, 1), port("y", y, 22, -1), port("x", x, 4, 1)]


def lumped(steps: int) -> Problem:
    """A port of two edges in a random medium."""
    return random_problem(**CASES["layers all round, lossy"], steps=steps)


def guide(steps: int, *, turned: bool = False) -> Problem:
    """The guide's scene."""
    scene, grid = turned_guide_scene() if turned else guide_scene()
    media = fill(scene, grid)
    assert isinstance(scene.port, GuidePort)
    return guide_mode(scene.port, grid, media).drive(_noisy(grid, media, steps), _pulse())


def slot(steps: int) -> Problem:
    """The slot's scene."""
    scene, grid = slot_scene()
    media = fill(scene, grid)
    assert isinstance(scene.port, LumpedPort)
    port = port_columns(scene.port, grid, media)
    return port.drive(_noisy(grid, port.loaded(media), steps), _pulse())


def circuit(steps: int) -> Problem:
    """The circuit's scene, driven at the line along x."""
    scene, grid, ports = circuit_scene()
    media = fill(scene, grid)
    return drive(_noisy(grid, media, steps), [line_on_lattice(one, grid, media) for one in ports], 2, _pulse())


PROBLEMS = {"lumped": lumped, "guide": guide, "circuit": circuit}
TURNED = partial(guide, turned=True)


def _graded(count: int, cell: float) -> np.ndarray:
    steps = cell * np.random.default_rng(count).uniform(1.0, 1.4, count)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _noisy(grid: Grid, media: Media, steps: int) -> Problem:
    rng = np.random.default_rng(grid.cells)
    return Problem(
        grid=grid,
        media=replace(media, conductivity=media.conductivity + np.where(media.permittivity > 1, 0.02, 0.0)),
        sampling=Sampling(steps=steps, record_every=3, check_every=9),
        box=rng.integers(0, 6 * int(np.prod(grid.shape)), 150),
        initial=rng.standard_normal((6, *grid.shape)),
    )


def _pulse() -> np.ndarray:
    return 10 * np.sin(0.4 * np.arange(40))
