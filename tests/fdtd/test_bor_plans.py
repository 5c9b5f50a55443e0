"""Plans of the axisymmetric tiles and clusters fit what a block has, whatever layers a lattice has."""

from __future__ import annotations

import pytest

from fdtd.errors import Unsuitable
from fdtd.schemes import Workload, resident, trapezoidal
from fdtd.schemes.machine import HOPPER
from fdtd.stencils import BOR, Stencil

LATTICES = ((33, 106), (62, 130), (79, 166), (148, 312), (256, 320))
_HELD = 14  # numbers of a cell of the radial layer: six components, eight filters


def registers_per_thread(threads: int) -> int:
    """Most registers that every thread of a lone block can have.

    A multiprocessor has four parts with a quarter of the registers each; warps go round them, and a warp's share comes
    in units of 8 a thread.
    """
    warps = -(-threads // 32)
    return min(255, HOPPER.registers // 4 // (32 * -(-warps // 4)) // 8 * 8)


def work(nr: int, nz: int, layer: int, axial: int) -> Workload[Stencil]:
    ends = ((0, axial, nr), (nz - axial, nz, nr)) if axial else ()
    return Workload(stencil=BOR, rows=nz, columns=nr, layer=layer, axial=ends, size=4, limits=HOPPER)


def tiles(nr: int, nz: int, layer: int, axial: int, depth: int | None = None) -> trapezoidal.TrapezoidalPlan:
    return trapezoidal.plan(work(nr, nz, layer, axial), depth=depth)


@pytest.mark.parametrize("shape", LATTICES)
@pytest.mark.parametrize("layer", [0, 6, 8, 10, 12])
@pytest.mark.parametrize("axial", [0, 10, 16])
def test_tiles_fit(shape: tuple[int, int], layer: int, axial: int) -> None:
    """Shared memory and registers hold a block, in any depth.

    Without a radial layer 24 rows of 256 columns with 10 of them in an axial layer needed 249,600 bytes of 232,448: the
    kernel wrote beyond its memory (CUDA_ERROR_ILLEGAL_ADDRESS).
    """
    for depth in (3, 4, 5):
        plan = tiles(*shape, layer, axial, depth)
        assert plan.least_bytes <= plan.shared_bytes
        assert _HELD * plan.march.strip_rows < registers_per_thread(plan.threads)
        assert plan.stride == plan.cluster * plan.march.height - 2 * depth
        assert (plan.tiles - 1) * plan.stride + plan.cluster * plan.march.height >= shape[1]


def test_tiles_of_several_blocks_step_fewer_rows_twice() -> None:
    """256 x 320 cells: 11 tiles of 40 rows in place of 31 of 20, measured 131 for 113 G."""
    assert (tiles(256, 320, 10, 10).cluster, tiles(256, 320, 10, 10).tiles) == (2, 11)
    old = trapezoidal.plan(work(256, 320, 10, 0), cluster=1)
    assert old.tiles == 31


@pytest.mark.parametrize("columns", [267, 280, 331, 400, 523, 600, 801, 1500])
@pytest.mark.parametrize("layer", [0, 8, 10, 12])
def test_segments_write_each_column_once(columns: int, layer: int) -> None:
    """Each at least as far from a cut as a launch has steps, and in pieces of 16 bytes; blocks fit the device."""
    plan = tiles(columns, 300, layer, layer)
    assert plan.segments > 1 or columns - layer <= 512
    if plan.segments == 1:
        return
    stored, wide, skirt = columns - layer + plan.lead, plan.march.wide, -(-plan.depth // 4) * 4
    assert plan.lead < 4
    assert plan.pitch >= stored + layer
    origins = [min(part * plan.across, stored - wide) for part in range(plan.segments)]
    ends = [0, *(origin + skirt for origin in origins[1:]), stored]
    for origin, left, right in zip(origins, ends, ends[1:], strict=False):
        assert left < right
        assert not (origin % 4 or left % 4 or right % 4)
        assert left == 0 or left - origin >= plan.depth
        assert right == stored or origin + wide - right >= plan.depth
    assert plan.least_bytes <= plan.shared_bytes
    assert _HELD * plan.march.strip_rows < registers_per_thread(plan.threads)


def test_launches_go_back_where_they_must() -> None:
    """From sample to sample in one launch; a second one where the fields must be in the first buffer again."""
    plan = tiles(400, 300, 10, 10)
    assert plan.launches(10, returns=False) == [10]
    assert plan.launches(10, second=True) == [10]
    assert plan.launches(10) == [5, 5]
    assert plan.launches(1) == [0, 1]
    narrow = tiles(256, 320, 10, 10)
    assert narrow.launches(10) == narrow.launches(10, returns=False) == [5, 5]


def test_wide_lattices_step_deep_tiles_of_large_clusters() -> None:
    """400 x 300 cells on an H200: 146 G in place of 111 with five steps a launch, both in segments (record 0070)."""
    deep, flat = tiles(400, 300, 10, 10), tiles(400, 300, 10, 10, 5)
    assert (deep.depth, deep.cluster, deep.segments) == (10, 8, 2)
    assert deep.pace(work(400, 300, 10, 10)) > 1.2 * flat.pace(work(400, 300, 10, 10))


@pytest.mark.parametrize("shape", [*LATTICES, (46, 148), (106, 359), (114, 240)])
def test_clusters_hold_their_rows_in_registers(shape: tuple[int, int]) -> None:
    """At most six rows of the radial layer a lane; two where a lane holds eight cells, as sixteen warps leave it 128.

    A lane had 44 rows of the layer at 79 x 166 cells, which took 1.1 s where 0.22 s are enough. With four of them
    antennas of 115 x 192 cells were stepped at 143 G in place of 176.
    """
    nr, nz = shape
    plan = resident.plan(work(nr, nz, 10, 10))
    assert plan.cluster * plan.march.height >= nz
    assert plan.march.strip_rows <= 6
    assert plan.least_bytes <= plan.shared_bytes
    if plan.march.cells == 4:
        assert (plan.march.rows, plan.march.strip_rows) == (2, 2)
    fewer = resident.plan(work(nr, nz, 10, 10), warps=12)
    assert plan.cluster <= fewer.cluster
    if plan.march.cells == 4:
        assert registers_per_thread(fewer.threads) == 255


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(Unsuitable, match="do not fit in the registers of 16 blocks"):
        resident.plan(work(217, 458, 10, 10))
