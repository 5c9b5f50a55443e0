"""Clusters of blocks that hold an antenna in space each: shapes that fit, and what they take of a multiprocessor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fdtd.errors import Unsuitable
from fdtd.schemes.machine import Limits

TRACE = 32
"""Steps whose sums are formed at a time."""

_LANES = 32
_MOST_BLOCKS = 16
_RESERVED = 1024  # bytes of shared memory that clusters need for themselves
_MOST_MEDIA = 512  # in the table in shared memory
_EVEN, _TABLE = 2, 64  # warps and media are multiples: fewer texts to compile, a few seconds each
_TAPS = 32  # at least; a power of two, for the same reason: a port in a guide has hundreds, which vary with its cells
# Warps, and most rows times planes of a warp, by bytes of a number: fields take 96 of 128 registers, or up to 216 of
# 255.
_SHAPES = {4: ((16, 8), (8, 18)), 8: ((8, 8), (8, 9))}


@dataclass(frozen=True, kw_only=True)
class YeeResidentPlan:
    """Place of the antennas of a batch in clusters.

    Attributes:
        cluster: Blocks.
        warps: A block.
        planes: A block.
        rows: A warp.
        lanes_x: Most lanes in layers along x.
        rows_y: Most rows in layers along y.
        layers_z: Whether there are layers along z.
        held_z: Rows of a warp's memories along z in shared memory, of 4 planes rows.
        table: Most media of an antenna; 0 if they stay in device memory.
        keep_media: Whether the numbers of edges' media lie in shared memory.
        taps: Most driven edges and probes.
        size: Bytes of a number.
        number: Bytes of a medium's number.
        shared_bytes: Of a block, all there is.
        ahead_z: Whether other memories along z are read a row ahead.
    """

    cluster: int
    warps: int
    planes: int
    rows: int
    lanes_x: int
    rows_y: int
    layers_z: bool
    held_z: int
    table: int
    keep_media: bool
    taps: int
    size: int
    number: int
    shared_bytes: int
    ahead_z: bool = True

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _LANES * self.warps

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        names = (
            "cluster",
            "warps",
            "planes",
            "rows",
            "lanes_x",
            "rows_y",
            "layers_z",
            "held_z",
            "table",
            "keep_media",
            "ahead_z",
        )
        settings = {name.upper(): int(getattr(self, name)) for name in names}
        return settings | {"TAPS": self.taps, "TRACE": TRACE, "SHARED_BYTES": self.shared_bytes}

    @property
    def memories(self) -> dict[str, int]:
        """Numbers of an antenna's memories in device memory, as clusters keep them."""
        cells = self.planes * self.rows
        return {
            "psi_x": self.cluster * 8 * cells * self.warps * (self.lanes_x + 1) if self.lanes_x else 0,
            "psi_y": self.cluster * 8 * (self.rows_y + 1) * self.planes * _LANES if self.rows_y else 0,
            "psi_z": self.cluster * 8 * cells * self.threads if self.layers_z else 0,
        }

    @property
    def least_bytes(self) -> int:
        """Shared memory of a block, as the kernel text lays it out, but for padding."""
        size, warps, cells = self.size, self.warps, self.planes * self.rows
        pair = 2 * size
        arrived = warps * _LANES * 2 * pair * 2 * (self.rows + self.planes)
        along_x = 4 * cells * warps * (self.lanes_x + 1) * pair
        along_y = 4 * (self.rows_y + 1) * self.planes * _LANES * pair
        along_z = (self.held_z + 1) * warps * _LANES * pair
        filters = 2 * (warps * self.rows + self.planes + self.lanes_x + 1) * 4 * size + 4 * _LANES * pair
        media = self.table * pair + (cells * self.threads * 6 * self.number if self.keep_media else 0)
        return arrived + along_x + along_y + along_z + filters + media + 4 * self.taps + warps * 32 + 384


def _up(count: int, unit: int) -> int:
    return -(-count // unit) * unit


def _power_of_two(count: int) -> int:
    return 1 << (count - 1).bit_length()


def _lanes_in_layers(counts: Mapping[str, int]) -> int:
    low = (counts["LOW_X"] + 1) // 2
    if not counts["HIGH_X"]:
        return low
    return low + (counts["NX"] - 1) // 2 - max(low, (counts["NX"] - counts["HIGH_X"]) // 2) + 1


def _rows_in_layers(counts: Mapping[str, int], rows: int) -> int:
    """Rows of all warps that have any in a layer."""
    low, high, ny = counts["LOW_Y"], counts["HIGH_Y"], counts["NY"]
    warps = {j // rows for j in range(ny) if j < low or (high and j >= ny - high)}
    return rows * len(warps)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a plan does not choose by itself where it is given.

    Attributes:
        cluster: Blocks.
        warps: A block.
        rows: A warp.
        planes: A block.
        held_z: Rows of a warp's memories along z in shared memory.
        keep_media: Whether edges' media lie in shared memory.
        ahead_z: Whether other memories along z are read a row ahead.
    """

    cluster: int | None = None
    warps: int | None = None
    rows: int | None = None
    planes: int | None = None
    held_z: int | None = None
    keep_media: int | None = None
    ahead_z: int = 1


def plan_yee(
    antennas: Sequence[Mapping[str, int]], size: int, number: int, limits: Limits, **choice: int
) -> YeeResidentPlan:
    """Choose the smallest cluster that holds each antenna of a batch.

    Args:
        antennas: Their counts, by the names of `fdtd.backends.cuda.yee_packing.COUNTS`.
        size: Bytes of a number.
        number: Bytes of a medium's number.
        limits: Of the device.
        choice: Keywords of `Choice`.

    Raises:
        Unsuitable: The device has no clusters, or an antenna does not fit.
    """
    if limits.capability < 90:
        major, minor = divmod(limits.capability, 10)
        raise Unsuitable(
            f"resident needs thread-block clusters, so compute capability 9.0 (this device has {major}.{minor}); "
            "use one_step"
        )
    given = Choice(**choice)
    nx, ny, nz = (max(one[f"END_{axis}"] for one in antennas) for axis in "XYZ")
    kinds = max(one["KINDS"] for one in antennas)
    if nx > 2 * _LANES:
        raise Unsuitable(f"resident holds rows of at most {2 * _LANES} cells along x (found {nx}); use one_step")
    whole = given.warps and given.rows
    for deep in (given.planes,) if given.planes else (1, 2, 3, 4):
        for wide, most in [(given.warps, 0)] if given.warps and given.rows else _SHAPES[size]:
            blocks, high = given.cluster or -(-nz // deep), given.rows or -(-ny // wide)
            if blocks > _MOST_BLOCKS or blocks * deep < nz or wide * high < ny or (high * deep > most and not whole):
                continue
            made = YeeResidentPlan(
                cluster=blocks,
                warps=given.warps or _up(-(-ny // high), _EVEN),
                planes=deep,
                rows=high,
                lanes_x=max(map(_lanes_in_layers, antennas)),
                rows_y=max(_rows_in_layers(one, high) for one in antennas),
                layers_z=any(one["LOW_Z"] + one["HIGH_Z"] for one in antennas),
                held_z=0,
                table=_up(kinds, _TABLE) if kinds <= _MOST_MEDIA else 0,
                keep_media=False,
                taps=_power_of_two(max(_TAPS, *(one["SOURCES"] + one["PROBES"] for one in antennas))),
                size=size,
                number=number,
                shared_bytes=limits.shared_bytes - _RESERVED,
                ahead_z=bool(given.ahead_z),
            )
            if made.least_bytes <= made.shared_bytes:
                return _filled(made, given.held_z, given.keep_media)
    raise Unsuitable(
        f"{nx} x {ny} x {nz} cells of {size} bytes do not fit in the registers of {_MOST_BLOCKS} blocks (64 x 64 x "
        f"{32 if size == 4 else 16} do); use one_step"
    )


def _filled(made: YeeResidentPlan, held_z: int | None, keep_media: int | None) -> YeeResidentPlan:
    """Give what is left of shared memory to media, then to memories along z."""
    with_media = replace(made, keep_media=True)
    kept = with_media if keep_media or (keep_media is None and with_media.least_bytes <= made.shared_bytes) else made
    a_row = made.warps * _LANES * 2 * made.size
    most = 4 * made.planes * made.rows if made.layers_z else 0
    room = (made.shared_bytes - kept.least_bytes) // a_row
    return replace(kept, held_z=max(0, min(most, room)) if held_z is None else held_z)
