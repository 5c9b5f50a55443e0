"""Tiles of one large 3-D lattice, streamed along z with two steps per pass.

A block has whole columns of cells along z. It forms a margin of two cells on each side once more than is needed, so
that it needs nothing of its neighbours between the two steps.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fdtd.errors import Unsuitable
from fdtd.schemes.machine import Limits

_COLUMNS = 64  # of a tile: a warp's
_WARP = 32
_MARGIN = 2  # columns on each side that a tile forms and does not store
_ROW_MARGIN = 3  # rows of both sides together: the row after the last is only read
_KEPT = 8  # memories of a cell along one axis between its two steps: those of two planes
_START = 4  # turns of a piece that store nothing
_LEAST = 4  # planes of a piece
_EVEN = 0.1  # planes by which the most that a block has may be too many
_SINGLE = 4  # bytes
_SIGNAL = 8  # bytes
_MEDIA = 3 * 2  # bytes of a cell's media, at most
_MOST_NUMBERS = 1 << 31  # of both places of the fields
# Work of a plane of a tile in layers along x or y, in both, and of a plane in a layer along z, more than that of one in
# none: from cycles measured on an H200.
_IN_EITHER, _IN_BOTH, _IN_Z = 0.64, 0.82, 0.53

Piece = tuple[int, int, int]
"""A tile, its first plane, and the one after its last."""


@dataclass(frozen=True, kw_only=True)
class YeeTilesPlan:
    """Tiles of one lattice.

    Attributes:
        rows: Of a tile along y, a warp each.
        stride: Cells from one tile to the next along x.
        tiles: Along x and y.
        blocks: Of a pass: one a multiprocessor, each with the same work.
        stages: Planes that are on chip before the first step.
        lattice: Counts by the names of `COUNTS`; a text is for one lattice.
        y_on_chip: Whether memories along y are in shared memory between the steps.
    """

    rows: int
    stride: int
    tiles: tuple[int, int]
    blocks: int
    stages: int
    lattice: Mapping[str, int]
    y_on_chip: bool = True

    @property
    def threads(self) -> int:
        """Of a block."""
        return _WARP * self.rows

    @property
    def kept(self) -> int:
        """Numbers in device memory for memories between the two steps of a pass."""
        return self.blocks * self.threads * 2 * _KEPT * (1 if self.y_on_chip else 2)

    @property
    def memories(self) -> dict[str, int]:
        """Numbers of the layers' memories, for both places."""
        c = self.lattice
        rest = {f"psi_{a}": c[f"LOW_{a.upper()}"] + c[f"HIGH_{a.upper()}"] for a in "yz"}
        slots = {name: count + 1 if count else 0 for name, count in rest.items()} | {"psi_x": self.columns_x}
        planes, rows, pitch = c["NZ"] + 1, c["NY"] + 1, c["PITCH"]
        whole = {"psi_x": planes * rows, "psi_y": planes * pitch, "psi_z": rows * pitch}
        return {name: 2 * 4 * slots[name] * whole[name] for name in whole}

    @property
    def memory_bytes(self) -> int:
        """Device memory of fields and memories, in two places, and of media, at most."""
        c = self.lattice
        cells = (c["NZ"] + 2) * (c["NY"] + 2) * c["PITCH"]
        return _SINGLE * (2 * 6 * cells + sum(self.memories.values()) + self.kept) + _MEDIA * cells

    @property
    def columns_x(self) -> int:
        """Entries of the memories of a row along x, two where one of a lane's columns is in a layer."""
        c = self.lattice
        above = (c["NX"] + 2 - (c["NX"] - c["HIGH_X"]) // 2 * 2) // 2 * 2 if c["HIGH_X"] else 0
        return (c["LOW_X"] + 1) // 2 * 2 + above

    @property
    def shared_bytes(self) -> int:
        """Of a block."""
        planes = (6 * self.stages + 16) * (self.rows + 1) * _COLUMNS
        numbers = planes + 6 * (self.lattice["END_Z"] + 6) + 4 * (_COLUMNS + self.rows)
        numbers += _KEPT * (self.rows * self.columns_x + self.y_on_chip * 2 * self.threads)
        media = 3 * self.rows * _COLUMNS * (self.stages + 1) * (1 if self.lattice.get("KINDS", 0) <= 256 else 2)
        return numbers * _SINGLE + media + 4 * self.rows * _SIGNAL

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        found = {
            "ROWS": self.rows, "ROW_STRIDE": self.rows - _ROW_MARGIN, "STRIDE": self.stride, "TILES_X": self.tiles[0],
            "STAGES": self.stages, "ROW_PITCH": self.lattice["PITCH"], "LONGEST_AXIS": self.lattice["LONGEST"],
            "PLANES_TOGETHER": 1, "Y_ON_CHIP": int(self.y_on_chip),
        }  # fmt: skip
        for axis in "XYZ":
            found |= {f"CELLS_{axis}": self.lattice[f"N{axis}"], f"LAST_{axis}": self.lattice[f"END_{axis}"]}
            found |= {f"LAYERS_{side}_{axis}": self.lattice[f"{side}_{axis}"] for side in ("LOW", "HIGH")}
        return found

    @property
    def stored(self) -> float:
        """Cells that a block stores in the time that it takes for a plane of a tile in air; of the slowest block."""
        c, (weights, layered) = self.lattice, self._weights()
        work = max(
            sum(weights[tile] * (_START + end - k) + _IN_Z * (layered[end] - layered[k]) for tile, k, end in pieces)
            for pieces in self.pieces()
        )
        return c["NX"] * c["NY"] * c["NZ"] / (self.blocks * work)

    def pieces(self) -> list[list[Piece]]:
        """Return the pieces of each block, so that all have about the same work."""
        weights, layered = self._weights()
        sums = {one: [one * k + _IN_Z * inside for k, inside in enumerate(layered)] for one in set(weights)}
        low, found = 0.0, None
        high = 1.01 * (2 * len(layered) + _START) * sum(weights)  # one block could do it all
        while found is None or high - low > _EVEN:
            middle = high if found is None else (low + high) / 2
            dealt = self._dealt(weights, sums, middle)
            if dealt is None:
                low = middle
            else:
                high, found = middle, dealt
        return found

    def table(self) -> list[int]:
        """Return the first piece of each block, their number, and the pieces, as the kernel reads them."""
        starts, flat = [0], []
        for pieces in self.pieces():
            flat += [number for piece in pieces for number in piece]
            starts.append(starts[-1] + len(pieces))
        return starts + flat

    def _weights(self) -> tuple[list[float], list[int]]:
        """Return the work of a plane of each tile, and how many planes before each one lie in layers along z."""
        c, weights, layered = self.lattice, [], [0]
        for tile in range(self.tiles[0] * self.tiles[1]):
            x, y = tile % self.tiles[0] * self.stride, tile // self.tiles[0] * (self.rows - _ROW_MARGIN)
            in_x = x < c["LOW_X"] or x + _COLUMNS > c["NX"] - c["HIGH_X"]
            in_y = y < c["LOW_Y"] or y + self.rows > c["NY"] - c["HIGH_Y"]
            weights.append(1 + (_IN_BOTH if in_x and in_y else _IN_EITHER * (in_x or in_y)))
        for k in range(c["END_Z"]):
            layered.append(layered[-1] + (k < c["LOW_Z"] or k >= c["NZ"] - c["HIGH_Z"]))
        return weights, layered

    def _dealt(self, weights: list[float], work: Mapping[float, list[float]], most: float) -> list[list[Piece]] | None:
        """Return pieces of blocks that have no more work than `most`, or None if there are too few blocks.

        `work` has that of the planes before each one, and of all, by the weight of a tile.
        """
        blocks: list[list[Piece]] = [[] for _ in range(self.blocks)]
        at, left, planes = 0, most, self.lattice["END_Z"]
        for tile, weight in enumerate(weights):
            first, sums = 0, work[weight]
            while first < planes:
                end = bisect_right(sums, sums[first] + left - weight * _START) - 1
                if end < planes:  # the next piece must not be too short
                    end = min(end, planes - _LEAST)
                if end < planes and end - first < _LEAST:
                    if left == most or at + 1 == self.blocks:
                        return None
                    at, left = at + 1, most
                    continue
                end = min(end, planes)
                blocks[at].append((tile, first, end))
                left -= weight * _START + sums[end] - sums[first]
                first = end
        return blocks


def plan_yee(
    counts: Mapping[str, int],
    size: int,
    limits: Limits,
    *,
    rows: int = 16,
    stages: int = 3,
    stride: int | None = None,
    blocks: int | None = None,
) -> YeeTilesPlan:
    """Plan passes over one lattice.

    Args:
        counts: Of the lattice, by the names of `COUNTS`.
        size: Bytes of a number.
        limits: Of the device.
        rows: Of a tile.
        stages: Planes on chip before the first step.
        stride: Cells from one tile to the next along x; for tiles of equal width if None.
        blocks: One a multiprocessor if None.

    Raises:
        Unsuitable: Numbers are not in single precision, there are too many, a tile does not fit the device, or the
            tiling is none.
    """
    if rows <= _ROW_MARGIN or stages <= 2 or not (stride is None or (0 < stride <= _COLUMNS - 2 * _MARGIN)):
        raise Unsuitable(
            f"tiles of {rows} rows (more than {_ROW_MARGIN} needed), {stages} stages (3 needed), {stride} columns "
            f"apart ({_COLUMNS - 2 * _MARGIN} at most)"
        )
    if stride is not None and stride % 4:
        raise Unsuitable(f"tiles are {stride} columns apart, and a copy has four; use a multiple of four")
    if size != _SINGLE:
        raise Unsuitable("trapezoidal steps lattices in space in single precision alone; use one_step")
    if 12 * (counts["NZ"] + 2) * (counts["NY"] + 2) * counts["PITCH"] >= _MOST_NUMBERS:
        raise Unsuitable(f"two places of the fields have more than {_MOST_NUMBERS:,} numbers; use one_step")
    x, y = counts["END_X"] - _MARGIN, counts["END_Y"] - _MARGIN
    if stride is None:
        across = max(1, -(-x // (_COLUMNS - 2 * _MARGIN)))
        stride = max(4, -(-x // (4 * across)) * 4)
    tiles = max(1, -(-x // stride)), max(1, -(-y // (rows - _ROW_MARGIN)))
    plan = YeeTilesPlan(
        rows=rows, stride=stride, tiles=tiles, blocks=blocks or limits.multiprocessors, stages=stages, lattice=counts
    )
    if plan.shared_bytes > limits.shared_bytes:
        plan = replace(plan, y_on_chip=False)
    if plan.shared_bytes > limits.shared_bytes:
        raise Unsuitable(
            f"trapezoidal keeps {plan.shared_bytes:,} bytes of a tile on chip, too many here; use one_step"
        )
    return plan


def steady(text: str) -> str:
    """Return a kernel text whose stencil says which product of a sum is rounded first: the one that `one_step` rounds.

    A compiler is free to choose, and chooses by what stands around the sum.
    """
    text = re.sub(r"- (v\d+) \* (v\d+)\)", r"- rounded(\1, \2))", text)
    return re.sub(r"(c\.coefficient\(GAIN_\w\)) \* (\(.*\)\)) : ", r"rounded(\1, \2) : ", text)
