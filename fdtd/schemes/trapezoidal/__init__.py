"""Redundant computation (approach 5 of the seed): tiles of rows in registers, several steps a trip to memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes import Workload
from fdtd.schemes.machine import Limits, clusters_at_once
from fdtd.schemes.march import SIDE, MarchedPlan, MarchPlan, strips
from fdtd.schemes.trapezoidal.planar import PlanarTrapezoidalPlan, plan_planar
from fdtd.stencils import Stencil

__all__ = ["PlanarTrapezoidalPlan", "TrapezoidalPlan", "plan", "plan_planar"]

_LANES = 32
# Cells and rows a lane that registers can hold, by bytes of a number: for whole rows, and for segments of wider ones.
_SHAPES = {4: ((4, 4), (8, 2), (12, 1), (16, 1)), 8: ((2, 4), (4, 2), (6, 1), (8, 1))}
_SEGMENTED = {4: ((4, 2), (5, 2), (6, 2), (8, 2)), 8: ((2, 2), (3, 2), (4, 2))}
_UNCUT = 2  # shapes whose rows are never cut
_ALIGNED = 4  # columns that are copied together
_WARPS = 12  # of a block, which leaves each of them 168 registers
_MORE_WARPS = 16  # of blocks with segments, with 128 registers each: enough for
_FEW_BYTES = 40  # of a component in a lane
# A tile's way from and to memory and one of its steps, by bytes of a component in a lane's row and rows a lane: those
# of one H200 (decision record 0070), in clusters of up to four blocks; larger ones take longer.
_TILE_SECONDS = {
    (16, 4): (8.5e-6, 4.8e-6), (32, 2): (8.5e-6, 1.5e-6), (48, 1): (6.1e-6, 1.3e-6), (64, 1): (7.2e-6, 1.6e-6),
    (16, 2): (7.8e-6, 0.65e-6), (20, 2): (10.5e-6, 1.0e-6), (24, 2): (4.8e-6, 1.35e-6),
}  # fmt: skip
_LARGE, _LONGER = 8, 1.1
_DEEPEST = 16  # steps a launch
_ARRIVALS = 128  # bytes
_CLUSTERS = (1, 2, 4, 8)  # blocks a tile
_UNCUT_CLUSTERS = (1, 2, 4)
_CLUSTERED = 90  # compute capability times ten


@dataclass(frozen=True, kw_only=True)
class TrapezoidalPlan(MarchedPlan):
    """Tiles of an antenna, a cluster each; their shared memory is without the signals of arrivals.

    Attributes:
        depth: Steps a launch, at most; halo rows.
        tiles: Of an antenna.
        stride: Rows from one tile to the next.
        segments: Parts that the columns before the radial layer are cut into.
        across: Columns from one segment to the next.
        layered_rows: Of a block in axial layers, at most; those of layers over a few columns count for less.
    """

    depth: int
    tiles: int
    stride: int
    segments: int
    across: int
    layered_rows: int

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        split = {"SEGMENTS": self.segments, "ACROSS": self.across} if self.segments > 1 else {}
        return super().macros | split | {
            "DEPTH": self.depth, "TILES": self.tiles, "STRIDE": self.stride, "LAYERED_ROWS": self.layered_rows,
        }  # fmt: skip

    @property
    def least_bytes(self) -> int:
        """Shared memory of a block without coefficients of media and without the signals of arrivals."""
        march, row = self.march, self.march.wide * self.march.size
        tables = march.air_bytes + march.height * (16 + 4 * march.radial_columns) * march.size + 32 * march.height
        tables += 8 if self.segments > 1 else 0
        rows = 6 * march.height + 4 * self.layered_rows
        return march.shared_bytes + -(-tables // 128) * 128 + rows * row

    def useful(self, nz: int, limits: Limits) -> float:
        """Rows of the lattice over those that tiles hold, times the part of the device that has a tile."""
        busy = clusters_at_once(limits.multiprocessors, self.cluster) * self.cluster / limits.multiprocessors
        return busy * nz / (self.tiles * self.cluster * self.march.height)

    def pace(self, work: Workload[Stencil]) -> float:
        """Cell-steps a second of a large batch in single precision; a shape that is not timed counts as the nearest."""
        at_once = clusters_at_once(work.limits.multiprocessors, self.cluster)
        size, rows = self.march.cells * self.march.size, self.march.rows
        nearest = min(_TILE_SECONDS, key=lambda one: (abs(one[0] - size), abs(one[1] - rows)))
        move, step = _TILE_SECONDS[nearest]
        seconds = (move + self.depth * step) * (_LONGER if self.cluster >= _LARGE else 1.0)
        return at_once * work.cells / (self.tiles * self.segments) * self.depth / seconds

    def launches(self, steps: int, second: bool = False, returns: bool = True) -> list[int]:
        """Steps of each launch, from one buffer to the other.

        Args:
            steps: In all.
            second: Whether the first launch reads the second buffer.
            returns: Whether the last launch must write the first buffer.
        """
        count = max(1, -(-steps // self.depth))
        count += returns and (second + count) % 2
        return [steps * (n + 1) // count - steps * n // count for n in range(count)]


def plan(
    work: Workload[Stencil],
    *,
    depth: int | None = None,
    cluster: int | None = None,
    warps: int | None = None,
    shape: tuple[int, int] | None = None,
    segments: int | None = None,
) -> TrapezoidalPlan:
    """Choose the least redundant tiles for the number of steps between samples, where launches end.

    Rows that a warp holds in its first shapes are not cut, and have two launches between samples.

    Args:
        work: What is stepped.
        depth: Steps a launch; chosen if None.
        cluster: Blocks of a tile; chosen if None.
        warps: Patches of a block, one above the other; chosen if None.
        shape: Cells and rows a lane; chosen if None.
        segments: Parts that rows are cut into; chosen if None.

    Raises:
        Unsuitable: Nodes are coupled, rows are too wide for this number of segments, or a tile does not fit the device.
    """
    limits, size, main = work.limits, work.size, work.main
    if work.coupled:
        raise Unsuitable("trapezoidal does not step coupled nodes; use surfaces = 'diagonal', or wavefront")
    if cluster and cluster > 1 and limits.capability < _CLUSTERED:
        raise Unsuitable("trapezoidal needs compute capability 9.0 for tiles of several blocks; use cluster = 1")
    uncut = main <= _LANES * _SHAPES[size][_UNCUT - 1][0] and (segments or 1) == 1
    least = -(-work.record_every // _DEEPEST)  # launches between samples
    counts = (2 * least,) if uncut else range(least, 2 * least + 1)
    depths = (depth,) if depth else tuple(-(-work.record_every // count) for count in counts)
    clusters = _UNCUT_CLUSTERS if uncut else _CLUSTERS
    if cluster or limits.capability < _CLUSTERED:
        clusters = (cluster or 1,)
    made, reasons = [], []
    for steps in depths:
        for way, parts in _ways(main, size, steps, shape, segments):
            try:
                made.append(_best(work, way, parts, steps, clusters, warps))
            except Unsuitable as error:
                reasons.append(str(error))
    if not (made or reasons):
        raise Unsuitable(
            f"trapezoidal: {main} columns (of {size} bytes) before the radial layer do not lie in {segments or 1} "
            f"segments of {shape or 'any shape'} with {depths[-1]} steps a launch; leave out segments and shape"
        )
    if not made:
        raise Unsuitable(next((reason for reason in reasons if reason.startswith("a ")), reasons[0]))
    return max(made, key=lambda each: each.pace(work))


def _whole(columns: int) -> int:
    """Columns in whole pieces that are copied together."""
    return -(-columns // _ALIGNED) * _ALIGNED


def _ways(
    main: int, size: int, depth: int, shape: tuple[int, int] | None, segments: int | None
) -> Iterator[tuple[tuple[int, int], int]]:
    """Shapes for rows of `main` columns, and segments of each: one in the first shape that holds a row, or several.

    A segment loses a column a step at each side, and its neighbours overlap by whole pieces.
    """
    whole = [each for each in ((shape,) if shape else _SHAPES[size]) if main <= _LANES * each[0]]
    if segments in (None, 1) and whole:
        yield whole[0], 1
    if segments == 1 or (not segments and whole and whole[0] in _SHAPES[size][:_UNCUT]):
        return
    for each in (shape,) if shape else _SEGMENTED[size]:
        wide = _LANES * each[0]
        across, rest = wide - 2 * _whole(depth), _whole(main) - wide
        if across <= 0 or rest <= 0:
            continue
        least = 1 + -(-rest // across)
        wanted = segments or least
        if least <= wanted and (wanted == 2 or _whole(-(-rest // (wanted - 1))) * (wanted - 2) < rest):
            yield each, wanted


def _best(
    work: Workload[Stencil], shape: tuple[int, int], segments: int, depth: int, clusters: tuple[int, ...],
    warps: int | None,
) -> TrapezoidalPlan:  # fmt: skip
    """Return the least redundant tiles of one shape."""
    made, reasons = [], []
    few = segments > 1 and shape[0] * shape[1] * work.size <= _FEW_BYTES
    most = _MORE_WARPS if few else _WARPS
    for blocks in clusters:
        for patches in (warps,) if warps else range(most - (work.layer > 0), 0, -1):
            try:
                march = strips(
                    cells=shape[0], rows=shape[1], warps=patches, layer=work.layer, size=work.size,
                    most=max(most - patches, 1),
                )  # fmt: skip
                made.append(_tiled(work, march, blocks, depth, segments))
                break
            except Unsuitable as error:
                reasons.append(str(error))
    if not made:
        raise Unsuitable(next((reason for reason in reasons if reason.startswith("a ")), reasons[0]))
    return max(made, key=lambda each: (each.useful(work.rows, work.limits), -each.cluster))


def _tiled(work: Workload[Stencil], march: MarchPlan, cluster: int, depth: int, segments: int) -> TrapezoidalPlan:
    """Return tiles of `cluster` blocks."""
    nz, limits = work.rows, work.limits
    height, stored = cluster * march.height, _whole(work.main) if segments > 1 else march.wide
    lead, left = stored - work.main, stored - march.wide
    across = _whole(-(-left // (segments - 1))) if segments > 1 else 0
    stride = height - 2 * depth
    if stride < 1:
        raise Unsuitable(f"a tile of {height} rows has nothing left after {depth} steps; lower the depth")
    tiles = 1 + max(0, -(-(nz - height) // stride))
    origins = [
        max(0, min(z * stride, nz - height)) + rank * march.height for z in range(tiles) for rank in range(cluster)
    ]
    made = TrapezoidalPlan(
        march=march,
        cluster=cluster,
        depth=depth,
        tiles=tiles,
        stride=stride,
        segments=segments,
        across=across,
        layered_rows=max(
            _layered(work.axial, lead, march, origin, min(part * across, left))
            for origin in origins
            for part in range(segments)
        ),
        lead=lead,
        pitch=stored + max(4, -(-work.layer // 4) * 4),
        shared_bytes=limits.shared_bytes - _ARRIVALS,
    )
    if made.least_bytes > made.shared_bytes:
        raise Unsuitable(
            f"a block of {march.height} x {march.wide} cells needs {made.least_bytes + _ARRIVALS} bytes of shared "
            f"memory (allowed here: {limits.shared_bytes}); use one_step"
        )
    return made


def _layered(axial: tuple[tuple[int, int, int], ...], lead: int, march: MarchPlan, origin: int, column: int) -> int:
    """Whole rows that the axial memories of a block fill; they come in parts of four lanes from the axis on.

    The block's rows begin with `origin`, its columns with `column` as stored.
    """
    part = SIDE * march.cells

    def numbers(end: int) -> int:
        if end <= 0 or end >= march.wide:
            return march.wide if end > 0 else 0
        return (-(-end // part) - lead // part) * part

    filled = sum(
        max(0, min(stop, origin + march.height) - max(start, origin)) * numbers(lead + columns - column)
        for start, stop, columns in axial
    )
    return -(-filled // march.wide)
