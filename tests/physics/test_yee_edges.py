"""Where a sheet on a lattice acts as if it ended: the difference equation's solution, a strip's capacitance, a patch.

Close to an edge fields are static. On a uniform lattice of cells a wide and b high a half plane acts as if it ended
sqrt(a^2 + b^2) / 4 beyond its last line (decision record 0044). Measured from the symbol of the difference equation,
factored in numbers: within 4e-8 a. Cells that grow by up to g away from an edge add 0.1 (g - 1) a.

Strips over a ground on lattices of `layout` then have their capacitance, by Hammerstad and Jensen's formula (0.01 %),
as if their edges were at most 0.021 a from their places, on cells 0.25 to 2 times as high as wide. With lines a third
of a cell inside of edges that is up to 0.33 a.

A patch of 13 x 17 mm on 3 mm of permittivity 3 resonates at 5.5325, 5.533 and 5.533 GHz on 2, 4 and 8 cells in the
substrate. With lines a third of a cell inside of edges these are 5.482, 5.5145 and 5.5525 GHz.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

from fdtd import yee
from fdtd.yee import mesh
from fdtd.yee.edges import reach
from fdtd.yee.media import fill

HEIGHT, WIDTH = 2e-3, 10e-3


@pytest.mark.parametrize("ratio", [0.3, 0.7, 1.0, 1.6, 3.0])
def test_reach_on_a_uniform_lattice(ratio: float, measured: Callable[..., float]) -> None:
    """Next to the sheet's last line the potential is z (1 - z)^(-3/2) / G(z), with S = |1 - z| G(z) G(1 / z).

    With log G = g_0 / 2 + the sum of g_k z^k it goes as sqrt(n - d) far from the edge, d = 1/4 - the sum of k g_k.
    """
    turn = 2 * np.pi * (np.arange(1 << 14) + 0.5) / (1 << 14)
    step = 2 * ratio**2 * (1 - np.cos(turn))
    smooth = np.log(np.sqrt(step * (4 + step)) / (2 * np.sin(turn / 2)))
    parts = [k * np.mean(smooth * np.cos(k * turn)) for k in range(1, 800)]
    away = abs(0.25 - sum(parts) - reach(1.0, ratio, 1.0))
    measured("reach from the difference equation, cells", away, at_most=1e-6, ratio=ratio)


def line_capacitance(ratio: float) -> float:
    """Of a strip in air over a ground, over epsilon_0; `ratio` of its width and height. Hammerstad and Jensen."""
    f = 6 + (2 * np.pi - 6) * np.exp(-((30.666 / ratio) ** 0.7528))
    return 2 * np.pi / np.log(f / ratio + np.sqrt(1 + (2 / ratio) ** 2))


def lattice_capacitance(grid: yee.Grid, metal: np.ndarray) -> float:
    """The same of what is metal in the plane y = 0, [k, i] of nodes, by Laplace's difference equation."""
    x, z = grid.x, grid.z
    wide, high = ((np.append(np.diff(one), 0) + np.append(0, np.diff(one))) / 2 for one in (x, z))
    number = np.arange(x.size * z.size).reshape(z.size, x.size)
    first = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    other = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    weight = np.concatenate([(high[:, None] / np.diff(x)).ravel(), (wide / np.diff(z)[:, None]).ravel()])
    rows, columns = np.concatenate([first, other, first, other]), np.concatenate([first, other, other, first])
    matrix = coo_array((np.concatenate([weight, weight, -weight, -weight]), (rows, columns))).tocsr()
    known = metal.copy()
    known[[0, -1]] = known[:, [0, -1]] = True
    values, free = metal.ravel().astype(float), ~known.ravel()
    values[free] = spsolve(matrix[free][:, free].tocsc(), -(matrix[free] @ values))
    return float(values @ (matrix @ values))


@pytest.mark.parametrize("across", [2 / 3, 1.0, 4 / 3, 2.0, 8 / 3])
@pytest.mark.parametrize("cell", [0.5e-3, 1e-3])
def test_a_strip_has_its_capacitance(cell: float, across: float, measured: Callable[..., float]) -> None:
    """With 2 to 9 cells above the ground; the error is given as a distance of each edge from its place."""
    scene = yee.Scene(
        sheets=(yee.Sheet(z=HEIGHT, x=(-WIDTH / 2, WIDTH / 2), y=(-0.1, 0.1)),),
        blocks=(yee.Block(x=(-0.1, 0.1), y=(-0.1, 0.1), z=(0.0, HEIGHT), material=yee.Dielectric(permittivity=1.0)),),
        open_faces=("x-", "x+", "y-", "y+", "z+"),
    )
    grid = yee.layout(scene, [0.3e9], cell=cell, across=across)
    ends = fill(scene, grid).metal[0][:, grid.y.size // 2, :-1]
    nodes = np.zeros((grid.z.size, grid.x.size), dtype=bool)
    k = int(np.abs(grid.z - HEIGHT).argmin())
    nodes[k, :-1] |= ends[k]
    nodes[k, 1:] |= ends[k]
    nodes[k, [0, -1]] = False
    found, slope = lattice_capacitance(grid, nodes), 1e-6
    expected, more = (line_capacitance((WIDTH + 2 * one) / HEIGHT) for one in (0.0, slope))
    away = (found - expected) / (more - expected) * slope / cell
    cells = k - int(np.abs(grid.z).argmin())
    measured("place of a strip's edges, of a cell", abs(away), at_most=0.03, cell=cell, cells=cells)


@pytest.mark.slow
def test_a_patch_resonates_on_any_cells(measured: Callable[..., float], monkeypatch: pytest.MonkeyPatch) -> None:
    """With 2, 4 and 8 cells across the substrate the largest resistance is at the same frequency."""
    monkeypatch.setattr(mesh, "_HIGHEST", np.inf)
    length, width, height, ground = 13e-3, 17e-3, 3e-3, 6e-3
    x, y = ((-side / 2 - ground, side / 2 + ground) for side in (length, width))
    scene = yee.Scene(
        blocks=(yee.Block(x=x, y=y, z=(0.0, height), material=yee.Dielectric(permittivity=3.0)),),
        sheets=(
            yee.Sheet(z=0.0, x=x, y=y),
            yee.Sheet(z=height, x=(-length / 2, length / 2), y=(-width / 2, width / 2)),
        ),
        port=yee.LumpedPort(x=-3.5e-3, y=0.0, z=(0.0, height), radius=0.6e-3),
    )
    sweep, found = np.linspace(5e9, 6e9, 2001), []
    for cells in (2, 4, 8):
        monkeypatch.setattr(mesh, "_THICKNESS", cells)
        grid = yee.layout(yee.halved(scene), [5.2e9, 6e9], cell=1e-3)
        solution = yee.solve(yee.halved(scene), grid, [5.2e9, 6e9], decay_db=-50.0)
        reflected = solution.reflection(sweep)
        found.append(sweep[((1 + reflected) / (1 - reflected)).real.argmax()])
    measured("spread of a patch's resonance, of it", (max(found) - min(found)) / found[1], at_most=5e-4)
