"""What the schemes of the axisymmetric stencil need a cell-step, from their shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fdtd.errors import Unsuitable
from fdtd.schemes.gpu import Machine
from fdtd.schemes.need import WAITS, Need, clusters_at_once
from fdtd.schemes.resident import plan as resident
from fdtd.schemes.trapezoidal import plan as trapezoidal
from fdtd.schemes.wavefront import plan as wavefront
from fdtd.stencils import BOR

_ISSUED = 24.5  # instructions of an update with operands in registers: 23 to 26 in machine code
_OVERHEAD = {"trapezoidal": 1.2, "wavefront": 1.4, "resident": 1.2}  # instructions that only move and count
_FILLED = 0.5  # part of the cells that are neither air nor metal, and read their six coefficients
_RECORDED = 10  # steps between samples, which plans go by


def bor_need(
    scheme: str,
    machine: Machine,
    rows: int,
    columns: int,
    batch: int,
    layer: int,
    size: int,
    choice: Mapping[str, Any],
) -> tuple[Need, str]:
    """Of one useful cell-step, and the plan in words. What the layers cost beside their cells is not counted.

    Of `choice` only the launches of `one_step` count; the other schemes are predicted in the plan of their own.

    Raises:
        Unsuitable: The scheme cannot step this lattice.
    """
    if scheme == "one_step":
        whole = choice.get("launches") == 1
        moved = BOR.bytes_per_step(size) if whole else BOR.split_bytes(size)
        need = Need(
            memory_bytes=moved + _FILLED * BOR.coefficients * size,
            instructions=2 * _ISSUED,
            wait=(1 if whole else 2) * WAITS["launch"] / (rows * columns * batch),
        )
        return need, "one launch a step" if whole else "two launches a step"
    limits = machine.limits
    if scheme == "trapezoidal":
        tiles = trapezoidal.plan(
            BOR,
            columns,
            rows,
            layer=layer,
            axial=((0, layer, columns), (rows - layer, rows, columns)) if layer else (),
            record_every=_RECORDED,
            coupled=False,
            size=size,
            limits=limits,
        )
        height, width = tiles.cluster * tiles.march.height, tiles.march.wide + tiles.march.radial_columns
        useful = rows * columns / tiles.tiles
        need = tile_need(machine, height, width, tiles.depth, useful=useful, blocks=tiles.cluster, size=size)
        busy = min(1.0, batch * tiles.tiles * tiles.cluster / machine.multiprocessors)
        return replace(need, busy=busy), f"tiles of {height} x {tiles.march.wide} in registers, depth {tiles.depth}"
    if scheme == "wavefront":
        front = wavefront.plan(BOR, columns, rows, layer=layer, record_every=_RECORDED, size=size, limits=limits)
        need = rows_need(machine, columns, batch, levels=front.levels, cells=front.cells, size=size)
        return need, f"{front.levels} levels, {front.cells} cells a lane"
    if scheme == "resident":
        held = resident.plan(BOR, columns, rows, layer=layer, axial=layer > 0, coupled=False, size=size, limits=limits)
        room = held.cluster * held.march.height * (held.march.wide + held.march.radial_columns)
        return cluster_need(machine, rows * columns, batch, held.cluster, room=room), f"clusters of {held.cluster}"
    raise Unsuitable(f"{scheme} has no kernel for bor")


def tile_need(
    machine: Machine, height: int, width: int, depth: int, *, useful: float | None = None, blocks: int = 1, size: int
) -> Need:
    """Redundant computation in registers: one block a multiprocessor, so it waits for its own loads and stores.

    Of the cells that a tile holds, `useful` are the lattice's and no other tile's; all but its halo rows if None.
    """
    stored, state = (height - 2 * depth) * width, len(BOR.fields) * size
    core = stored if useful is None else useful
    transfer = (height * width + stored) * state / (machine.memory_bytes_per_s / machine.multiprocessors)
    return Need(
        memory_bytes=2 * state / depth,
        cache_bytes=state * (height * width + stored) / core / depth,
        instructions=_OVERHEAD["trapezoidal"] * _ISSUED * height * width / core,
        wait=(2 * WAITS["barrier"] * blocks + transfer / depth) / core / machine.multiprocessors,
    )


def rows_need(machine: Machine, columns: int, batch: int, *, levels: int, cells: int, size: int) -> Need:
    """A wavefront: each row of `levels` time levels waits once for its neighbours."""
    waves = math.ceil(batch / machine.multiprocessors)
    return Need(
        memory_bytes=2 * len(BOR.fields) * size / levels,
        instructions=_OVERHEAD["wavefront"] * _ISSUED * cells * 32 / columns,
        wait=WAITS["row"] / (levels * columns) / machine.multiprocessors,
        busy=batch / (waves * machine.multiprocessors),
    )


def cluster_need(machine: Machine, cells: int, batch: int, cluster: int, *, room: int | None = None) -> Need:
    """A lattice in the registers of a cluster, which has room for more cells, and whose blocks meet twice a step."""
    at_once = clusters_at_once(machine.multiprocessors, cluster)
    return Need(
        memory_bytes=0.0,
        instructions=_OVERHEAD["resident"] * _ISSUED * (room or cells) / cells,
        wait=2 * WAITS["cluster"] / (cells / cluster) / machine.multiprocessors,
        busy=batch / math.ceil(batch / at_once) * cluster / machine.multiprocessors,
    )
