"""What the schemes of the axisymmetric stencil need a cell-step, from their shapes."""

from __future__ import annotations

import math

from fdtd.errors import Unsuitable
from fdtd.stencils import BOR
from fdtd.tiling import wavefront
from fdtd.tiling.machine import Machine
from fdtd.tiling.need import WAITS, Need, clusters_at_once

_ISSUED = 24.5  # instructions of an update with operands in registers: 23 to 26 in machine code
_OVERHEAD = {"trapezoidal": 1.2, "wavefront": 1.4, "resident": 1.2}  # instructions that only move and count
_FILLED = 0.5  # part of the cells that are neither air nor metal, and read their six coefficients
_TILE = (72, 64, 8)  # rows and columns with halo, steps: what fills the registers of a multiprocessor
_HELD = 0.5  # part of the registers that can hold fields


def bor_need(scheme: str, machine: Machine, rows: int, columns: int, batch: int, size: int) -> tuple[Need, str]:
    """Of one useful cell-step, and the plan in words.

    Raises:
        Unsuitable: The scheme cannot step this lattice.
    """
    if scheme == "one_step":
        moved = BOR.split_bytes(size) + _FILLED * BOR.coefficients * size
        wait = 2 * WAITS["launch"] / (rows * columns * batch)
        return Need(memory_bytes=moved, instructions=2 * _ISSUED, wait=wait), "two launches a step"
    if scheme == "trapezoidal":
        return tile_need(machine, *_TILE, size=size), "tiles of {} x {} in registers, depth {}".format(*_TILE)
    if scheme == "wavefront":
        made = wavefront.plan(BOR, columns, rows, layer=0, record_every=8, size=size, limits=machine.limits)
        need = rows_need(machine, rows, columns, batch, levels=made.levels, cells=made.cells, size=size)
        return need, f"{made.levels} levels, {made.cells} cells a lane"
    if scheme == "resident":
        for cluster in (1, 2, 4, 8, 16):
            if rows * columns / cluster * len(BOR.fields) * size / 4 <= _HELD * machine.registers:
                return cluster_need(machine, rows * columns, batch, cluster), f"clusters of {cluster}"
        raise Unsuitable(f"resident: {rows * columns} cells do not fit in the registers of 16 blocks; use wavefront")
    raise Unsuitable(f"{scheme} has no kernel for bor")


def tile_need(machine: Machine, height: int, width: int, depth: int, *, size: int) -> Need:
    """Redundant computation in registers: one block a multiprocessor, so it waits for its own loads and stores."""
    core, state = (height - 2 * depth) * (width - 2 * depth), len(BOR.fields) * size
    transfer = (height * width + core) * state / (machine.memory_bytes_per_s / machine.multiprocessors)
    return Need(
        memory_bytes=2 * state / depth,
        cache_bytes=state * (height * width / core + 1) / depth,
        instructions=_OVERHEAD["trapezoidal"] * _ISSUED * height * width / core,
        wait=(2 * WAITS["barrier"] + transfer / depth) / core / machine.multiprocessors,
    )


def rows_need(machine: Machine, rows: int, columns: int, batch: int, *, levels: int, cells: int, size: int) -> Need:
    """A wavefront: each row of `levels` time levels waits once for its neighbours."""
    waves = math.ceil(batch / machine.multiprocessors)
    return Need(
        memory_bytes=2 * len(BOR.fields) * size / levels,
        instructions=_OVERHEAD["wavefront"] * _ISSUED * cells * 32 / columns,
        wait=WAITS["row"] / (levels * columns) / machine.multiprocessors,
        busy=batch / (waves * machine.multiprocessors),
    )


def cluster_need(machine: Machine, cells: int, batch: int, cluster: int) -> Need:
    """A lattice in the registers of a cluster, whose blocks meet twice a step."""
    if machine.capability < 90:
        raise Unsuitable("resident: thread-block clusters need compute capability 9.0")
    at_once = clusters_at_once(machine.multiprocessors, cluster)
    return Need(
        memory_bytes=0.0,
        instructions=_OVERHEAD["resident"] * _ISSUED,
        wait=2 * WAITS["cluster"] / (cells / cluster) / machine.multiprocessors,
        busy=batch / math.ceil(batch / at_once) * cluster / machine.multiprocessors,
    )
