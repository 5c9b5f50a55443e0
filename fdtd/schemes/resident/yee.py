"""Chains of blocks that hold one 3-D antenna each: shapes that fit, and their use of a multiprocessor.

A chain is a cluster where one is large enough, else blocks of a launch that are on the device at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

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
_WORDS = 3  # of 32 bits of a parcel, whose fourth is its stamp
# Chains of blocks that are no cluster. On an H200, with 96 x 112 x 40 cells, a step takes so many us a row and column,
# and for all else; factors where numbers are spilled, and where memories along z stay in device memory.
_ROW_TIME, _EXCHANGE_TIME = 0.17, 3.4
_SPILLED, _AWAY = 1.4, 2.0
_CHAIN_WARPS = (8, 10, 12, 14, 16, 20)
FEW_PLANES = 2
"""Planes of a block of a cluster that is faster than a chain."""
_CHAIN = 4  # blocks of a chain are a multiple, again for few texts
_MOST_REGISTERS = 255
# Of clusters: warps, and most rows times planes of a warp, by bytes of a number. Fields take 96 of 128 registers, or up
# to 216 of 255.
_SHAPES = {4: ((16, 8), (8, 18)), 8: ((8, 8), (8, 9))}


@dataclass(frozen=True, kw_only=True)
class YeeResidentPlan:
    """Place of the antennas of a batch in clusters.

    Attributes:
        cluster: Blocks that hold an antenna.
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
        columns: A lane.
        chains: Antennas at a time where blocks are no clusters; 0 where they are.
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
    columns: int = 2
    chains: int = 0

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _LANES * self.warps

    @property
    def registers(self) -> int:
        """Registers that a thread needs, about: fields, and what a row is formed with."""
        return (6 * self.planes * self.rows + 12) * self.columns * self.size // 4 + 12

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
            "columns",
        )
        settings = {name.upper(): int(getattr(self, name)) for name in names}
        more = {"SPREAD": int(self.chains > 0), "TAPS": self.taps, "TRACE": TRACE}
        return settings | more | {"SHARED_BYTES": self.shared_bytes}

    @property
    def memories(self) -> dict[str, int]:
        """Numbers of an antenna's memories in device memory, as clusters keep them."""
        cells, numbers = self.planes * self.rows, self.cluster * 4 * self.columns
        return {
            "psi_x": numbers * cells * self.warps * (self.lanes_x + 1) if self.lanes_x else 0,
            "psi_y": numbers * (self.rows_y + 1) * self.planes * _LANES if self.rows_y else 0,
            "psi_z": numbers * cells * self.threads if self.layers_z else 0,
        }

    @property
    def parcels(self) -> int:
        """Parcels of 16 bytes in which the blocks of all chains send each other planes."""
        a_row = -(-2 * self.columns * (self.size // 4) // _WORDS)
        return self.chains * self.cluster * 2 * self.warps * self.rows * _LANES * a_row

    @property
    def least_bytes(self) -> int:
        """Shared memory of a block, as the kernel text lays it out, but for padding."""
        size, warps, cells = self.size, self.warps, self.planes * self.rows
        lane = self.columns * size
        arrived = warps * _LANES * 2 * lane * 2 * (self.planes + (0 if self.chains else self.rows))
        along_x = 4 * cells * warps * (self.lanes_x + 1) * lane
        along_y = 4 * (self.rows_y + 1) * self.planes * _LANES * lane
        along_z = (self.held_z + 1) * warps * _LANES * lane
        filters = 2 * (warps * self.rows + self.planes) * 4 * size + (4 * (self.lanes_x + 1) + 4 * _LANES) * lane
        media = self.table * 2 * size + (
            cells * self.threads * 3 * self.columns * self.number if self.keep_media else 0
        )
        return arrived + along_x + along_y + along_z + filters + media + 4 * self.taps + warps * 32 + 384


def _up(count: int, unit: int) -> int:
    return -(-count // unit) * unit


def _power_of_two(count: int) -> int:
    return 1 << (count - 1).bit_length()


def _lanes_in_layers(counts: Mapping[str, int], columns: int) -> int:
    low = -(-counts["LOW_X"] // columns)
    if not counts["HIGH_X"]:
        return low
    return low + (counts["NX"] - 1) // columns - max(low, (counts["NX"] - counts["HIGH_X"]) // columns) + 1


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
        spread: Whether blocks are no clusters.
        columns: A lane; of blocks that are no clusters.
        chains: Antennas at a time; likewise.
    """

    cluster: int | None = None
    warps: int | None = None
    rows: int | None = None
    planes: int | None = None
    held_z: int | None = None
    keep_media: int | None = None
    ahead_z: int | None = None
    spread: int | None = None
    columns: int | None = None
    chains: int | None = None


def plan_yee(
    antennas: Sequence[Mapping[str, int]], size: int, number: int, limits: Limits, **choice: int
) -> YeeResidentPlan:
    """Choose the smallest cluster that holds each antenna of a batch, or, if that has many planes, a chain of blocks.

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
    tries = (_small_cluster, _chain, _cluster) if given.spread is None else (_chain,) if given.spread else (_cluster,)
    made = next(filter(None, (plan(antennas, size, number, limits, given) for plan in tries)), None)
    if made is None:
        nx, ny, nz = (max(one[f"END_{axis}"] for one in antennas) for axis in "XYZ")
        raise Unsuitable(
            f"{nx} x {ny} x {nz} cells of {size} bytes do not fit in the registers of {_MOST_BLOCKS} blocks (64 x 64 x "
            f"{32 if size == 4 else 16} do), nor in those of {limits.multiprocessors} multiprocessors; use one_step"
        )
    return made


def _small_cluster(
    antennas: Sequence[Mapping[str, int]], size: int, number: int, limits: Limits, given: Choice
) -> YeeResidentPlan | None:
    """Return the smallest cluster whose blocks have a plane or two, or none: chains are faster than with more."""
    made = _cluster(antennas, size, number, limits, given)
    return made if made is not None and (made.planes <= FEW_PLANES or given.planes) else None


def _cluster(
    antennas: Sequence[Mapping[str, int]], size: int, number: int, limits: Limits, given: Choice
) -> YeeResidentPlan | None:
    """Return the smallest cluster, or None."""
    nx, ny, nz = (max(one[f"END_{axis}"] for one in antennas) for axis in "XYZ")
    if nx > 2 * _LANES:
        return None
    whole = given.warps and given.rows
    for deep in (given.planes,) if given.planes else (1, 2, 3, 4):
        for wide, most in [(given.warps, 0)] if given.warps and given.rows else _SHAPES[size]:
            blocks, high = given.cluster or -(-nz // deep), given.rows or -(-ny // wide)
            if blocks > _MOST_BLOCKS or blocks * deep < nz or wide * high < ny or (high * deep > most and not whole):
                continue
            warps = given.warps or _up(-(-ny // high), _EVEN)
            shape = {"cluster": blocks, "warps": warps, "planes": deep, "rows": high}
            made = _made(antennas, size, number, limits, given, **shape)
            if made is not None:
                return made
    return None


def _chain(
    antennas: Sequence[Mapping[str, int]], size: int, number: int, limits: Limits, given: Choice
) -> YeeResidentPlan | None:
    """Return the fastest chain of blocks that are no cluster, or None."""
    nx, ny, nz = (max(one[f"END_{axis}"] for one in antennas) for axis in "XYZ")
    best: tuple[float, YeeResidentPlan] | None = None
    for columns, deep, warps in product(
        (given.columns,) if given.columns else (2, 3, 4),
        (given.planes,) if given.planes else (1, 2, 3),
        (given.warps,) if given.warps else _CHAIN_WARPS,
    ):
        high = given.rows or -(-ny // warps)
        blocks = given.cluster or min(_up(-(-nz // deep), _CHAIN), limits.multiprocessors)
        chains = given.chains or limits.multiprocessors // blocks
        if _LANES * columns < nx or blocks * deep < nz or not 0 <= warps * high - ny < 2 * high:
            continue
        shape = {"cluster": blocks, "warps": warps, "planes": deep, "rows": high, "columns": columns}
        made = _made(antennas, size, number, limits, given, chains=chains, **shape)
        if made is None or (made.registers > _most_registers(warps, limits) and not (given.warps and given.rows)):
            continue
        rated = step_time(made, limits)
        if best is None or rated < best[0]:
            best = rated, made
    return None if best is None else best[1]


def _most_registers(warps: int, limits: Limits) -> int:
    """Return those that a thread can have: the warps of a block are dealt out to four schedulers."""
    return min(_MOST_REGISTERS, limits.registers // (4 * _LANES * -(-warps // 4)) // 8 * 8)


def step_time(plan: YeeResidentPlan, limits: Limits) -> float:
    """Return the expected time of an antenna's step by chains, in us, where many antennas are stepped."""
    rows = plan.rows * plan.planes
    a_step = rows * (plan.columns + 1) * _ROW_TIME + _EXCHANGE_TIME
    if plan.registers + 12 * (plan.columns + 1) > _most_registers(plan.warps, limits):
        a_step *= _SPILLED
    if plan.layers_z and plan.held_z < 4 * rows:
        a_step *= _AWAY
    return a_step / max(plan.chains, 1)


def _made(
    antennas: Sequence[Mapping[str, int]], size: int, number: int, limits: Limits, given: Choice, **shape: int
) -> YeeResidentPlan | None:
    """Return the plan of a shape, or None if shared memory is too small."""
    kinds, chains = max(one["KINDS"] for one in antennas), shape.get("chains", 0)
    made = YeeResidentPlan(
        **shape,
        lanes_x=_up(max(_lanes_in_layers(one, shape.get("columns", 2)) for one in antennas), 2 if chains else 1),
        rows_y=max(_rows_in_layers(one, shape["rows"]) for one in antennas),
        layers_z=any(one["LOW_Z"] + one["HIGH_Z"] for one in antennas),
        held_z=0,
        table=_up(kinds, _TABLE) if kinds <= _MOST_MEDIA else 0,
        keep_media=False,
        taps=_power_of_two(max(_TAPS, *(one["SOURCES"] + one["PROBES"] for one in antennas))),
        size=size,
        number=number,
        shared_bytes=limits.shared_bytes - _RESERVED,
        ahead_z=not chains if given.ahead_z is None else bool(given.ahead_z),
    )
    return _filled(made, given.held_z, given.keep_media) if made.least_bytes <= made.shared_bytes else None


def _filled(made: YeeResidentPlan, held_z: int | None, keep_media: int | None) -> YeeResidentPlan:
    """Give what is left of shared memory to media, then to memories along z."""
    with_media = replace(made, keep_media=True)
    kept = with_media if keep_media or (keep_media is None and with_media.least_bytes <= made.shared_bytes) else made
    a_row = made.warps * _LANES * made.columns * made.size
    most = 4 * made.planes * made.rows if made.layers_z else 0
    room = (made.shared_bytes - kept.least_bytes) // a_row
    filled = replace(kept, held_z=max(0, min(most, room)) if held_z is None else held_z)
    needed = _up(filled.least_bytes, 1024)
    # What chains leave is first-level cache, for the numbers that registers have no room for.
    return replace(filled, shared_bytes=min(needed, made.shared_bytes)) if made.chains else filled
