"""Plans of the planar schemes: every cell in one tile, tiles and halos where they belong, memory as it is there."""

import itertools

import numpy as np
import pytest

from fdtd.errors import Unsuitable
from fdtd.schemes import LEAD, ROW_LEAD, Workload, pitch, resident, skewed, trapezoidal
from fdtd.schemes.machine import HOPPER
from fdtd.stencils import COUPLED_TEZ, JACOBI5, TEZ, TMZ, PlanarStencil

CELLS = (TMZ, TEZ, COUPLED_TEZ, JACOBI5)


def work(cell: PlanarStencil, rows: int, columns: int, layer: int = 0, size: int = 4) -> Workload[PlanarStencil]:
    return Workload(stencil=cell, rows=rows, columns=columns, layer=layer, size=size, limits=HOPPER)


SIZES = [(28, 34), (321, 257), (101, 700), (14, 15)]


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize(("rows", "columns"), SIZES)
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.name}{cell.phases}")
@pytest.mark.parametrize("layer", [0, 5])
def test_tiles_cover_each_cell_once(cell, rows, columns, layer, size):
    plan = trapezoidal.plan_planar(work(cell, rows, columns, layer, size))
    covered = np.zeros((rows, columns), int)
    for kind in plan.kinds:
        for row, column, height, width in kind.tiles:
            assert height > 0 and width > 0
            covered[row : row + height, column : column + width] += 1
            low, high = cell.low * plan.depth, cell.high * plan.depth
            assert min(rows, row + height + high) - max(0, row - low) <= kind.height
            assert min(columns, column + width + high) - max(0, column - low) <= kind.width
            if not kind.layered and layer and cell.memories:
                # The kernel stretches nothing where layer < index < count - 2 - layer.
                assert row - low > layer and row + height + high <= rows - 2 - layer
                assert column - low > layer and column + width + high <= columns - 2 - layer
        numbers = cell.planes + cell.coefficients + (cell.memories if kind.layered else 0)
        assert kind.shared_bytes == (kind.height + 2) * (kind.width + 2) * numbers * size <= HOPPER.shared_bytes
    assert (covered == 1).all()


def test_layered_tiles_are_smaller():
    """They carry four more numbers a cell."""
    plan = trapezoidal.plan_planar(work(TMZ, 321, 257, 10))
    inside, layered = plan.kinds
    largest = [max(height * width for _, _, height, width in kind.tiles) for kind in (inside, layered)]
    assert not inside.layered and layered.layered
    assert largest[0] > largest[1]


@pytest.mark.parametrize("columns", [1, 30, 31, 32, 63, 257])
def test_stored_rows_start_on_cache_lines(columns):
    """And have a zero on both sides."""
    assert pitch(columns) % 32 == 0
    assert LEAD + columns + 1 <= pitch(columns) < LEAD + columns + 1 + 32


@pytest.mark.parametrize(("cell", "levels"), list(itertools.product(CELLS, [2, 5])))
def test_skewed_windows_fit(cell, levels):
    plan = skewed.plan(work(cell, 321, 201), levels=levels)
    assert ROW_LEAD + 201 + 1 <= plan.row < ROW_LEAD + 201 + 1 + 4
    assert plan.shared_bytes <= HOPPER.shared_bytes
    assert plan.threads <= 1024
    deepest = skewed.plan(work(cell, 321, 201))
    assert deepest.levels >= 4
    if deepest.levels < 16:
        with pytest.raises(Unsuitable, match="too long"):
            skewed.plan(work(cell, 321, 201), levels=deepest.levels + 1)


@pytest.mark.parametrize("cell", CELLS)
def test_slabs_hold_all_rows_and_none_is_empty(cell):
    for rows, columns in ((28, 34), (101, 211), (200, 200)):
        plan = resident.plan_planar(work(cell, rows, columns))
        assert plan.slab * (plan.cluster - 1) < rows <= plan.slab * plan.cluster
        assert plan.shared_bytes <= HOPPER.shared_bytes
    with pytest.raises(Unsuitable, match=r"allowed here: up to [1-9]"):
        resident.plan_planar(work(cell, 3000, 500, size=8))


def test_streams_leave_no_multiprocessor_idle():
    """Large lattices are cut into chunks of eight times the levels, smaller ones so that all warps run at once."""
    large = skewed.plan_streamed(work(JACOBI5, 8192, 8192))
    assert large.chunk == 8 * large.levels
    small = skewed.plan_streamed(work(JACOBI5, 2048, 2048))
    assert 4 * small.levels <= small.chunk < large.chunk
    at_once = HOPPER.multiprocessors * small.blocks_wanted
    assert small.blocks <= at_once
    assert skewed.plan_streamed(work(JACOBI5, 100, 100)).chunk == 4 * small.levels
    with pytest.raises(Unsuitable, match="more state a cell"):
        skewed.plan_streamed(work(TMZ, 100, 100))
    with pytest.raises(Unsuitable, match="below 64"):
        skewed.plan_streamed(work(JACOBI5, 100, 100), levels=64)
