"""What the planar schemes need a cell-step, from their plans."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fdtd.errors import Unsuitable
from fdtd.schemes.gpu import Machine
from fdtd.schemes.need import WAITS, Need, clusters_at_once
from fdtd.schemes.resident import planar as resident
from fdtd.schemes.skewed import planar as skewed
from fdtd.schemes.streamed import planar as streamed
from fdtd.schemes.trapezoidal import planar as trapezoidal
from fdtd.stencils.planar import COUPLED_TEZ_CELL, JACOBI5, JACOBI5_CELL, TEZ, TMZ, TMZ_CELL, PlanarStencil

# TE_z with coupled nodes: dielectric surfaces have some.
PLANAR = {"tmz": (TMZ_CELL, TMZ), "tez": (COUPLED_TEZ_CELL, TEZ), "jacobi5": (JACOBI5_CELL, JACOBI5)}

# Instructions a cell-step, all that a kernel does included. In tiles by an H200's counters for tmz (96 clear of the
# layers, 268 in tiles that touch them, from shared memory), in proportion to the operands for the others; in rows by
# counting in machine code.
_FROM_MEMORY = {"tmz": 110.0, "tez": 200.0, "jacobi5": 45.0}
_IN_TILES = {"tmz": 96.0, "tez": 190.0, "jacobi5": 40.0}
_IN_ROWS = {"tmz": 60.0, "tez": 120.0, "jacobi5": 20.0}
_IN_REGISTERS = {"jacobi5": 7.0}
_LAYERED = 2.8  # times as many where derivatives are stretched
# Numbers read from and written to shared memory a cell-step.
_TOUCHED = {"tmz": 17, "tez": 36, "jacobi5": 6}
_ISSUING = 0.75  # part of the cycles in which the busiest of these kernels issue: 60 to 80 % by counters
_BLOCKS = 2  # of a trapezoidal kernel on a multiprocessor


def planar_need(
    stencil: str,
    scheme: str,
    machine: Machine,
    rows: int,
    columns: int,
    batch: int,
    layer: int,
    size: int,
    choice: Mapping[str, Any],
) -> tuple[Need, str]:
    """Of one useful cell-step, and the plan in words; `choice` is what the plan is told.

    Raises:
        Unsuitable: The scheme cannot step this lattice on this machine.
    """
    cell, full = PLANAR[stencil]
    if scheme == "one_step":
        moved = full.split_bytes(size) + cell.coefficients * size
        if cell.phases > full.halves:  # curls are written, then read with the fields that they change
            moved += (2 * (cell.planes - cell.kept) + 5) * size
        wait = cell.phases * WAITS["launch"] / (rows * columns * batch)
        need = Need(memory_bytes=moved, instructions=_FROM_MEMORY[stencil], wait=wait)
        return need, "one launch a step" if cell.phases == 1 else f"{cell.phases} launches a step"
    if scheme == "trapezoidal":
        plan = trapezoidal.plan(cell, rows, columns, layer=layer, size=size, limits=machine.limits, **choice)
        shape = f"depth {plan.depth}, tiles up to {plan.kinds[0].height} x {plan.kinds[0].width}"
        return _tiles(cell, plan, rows, columns, machine, batch, size), shape
    if scheme == "skewed" and stencil in _IN_REGISTERS:
        return _streams(cell, rows, columns, machine, batch, size, choice)
    issued = _in_rows(cell, rows, columns, layer)
    if scheme == "skewed":
        windows = skewed.plan(cell, rows, columns, size=size, limits=machine.limits, **choice)
        need = _windows(cell, windows, rows, columns, machine, batch, size, issued)
        return need, f"{windows.levels} levels, {windows.group} warps each"
    if scheme == "resident":
        held = resident.plan(cell, rows, columns, size=size, limits=machine.limits, **choice)
        return _clusters(
            cell, held.cluster, rows * columns, machine, batch, size, issued
        ), f"clusters of {held.cluster}"
    raise Unsuitable(f"{scheme} has no kernel for {stencil}")


def _tiles(
    cell: PlanarStencil, plan: trapezoidal.TrapezoidalPlan, rows: int, columns: int, machine: Machine, batch: int,
    size: int,
) -> Need:  # fmt: skip
    """Summed over the tiles: what they read and write, and the cell-steps that they compute, in whole warps."""
    useful, reach = rows * columns * plan.depth, (cell.low + cell.high) * plan.depth
    read = computed = issued = 0.0
    blocks = 0
    for kind in plan.kinds:
        numbers = cell.kept + cell.coefficients + (cell.memories if kind.layered else 0)
        blocks += len(kind.tiles)
        for _, _, height, width in kind.tiles:
            read += (height + reach) * (width + reach) * numbers
            steps = plan.depth * (height + reach / 2) * math.ceil((width + reach / 2) / 32) * 32
            computed += steps
            issued += steps * _IN_TILES[cell.name] * (_LAYERED if kind.layered else 1.0)
    again = computed / useful
    return Need(
        memory_bytes=(2 * cell.kept + cell.coefficients) * size / plan.depth,
        cache_bytes=(read / useful + cell.kept / plan.depth) * size,
        shared_bytes=_TOUCHED[cell.name] * size * again,
        instructions=issued / useful / _ISSUING,
        wait=cell.phases * WAITS["barrier"] * blocks * plan.depth / _BLOCKS / useful / machine.multiprocessors,
        busy=min(1.0, blocks * batch / (_BLOCKS * machine.multiprocessors)),
    )


def _streams(
    cell: PlanarStencil, rows: int, columns: int, machine: Machine, batch: int, size: int, choice: Mapping[str, Any]
) -> tuple[Need, str]:
    plan = streamed.plan(cell, rows, columns, batch=batch, size=size, limits=machine.limits, **choice)
    again = 32 * plan.cells / streamed.strip_columns(plan.levels, plan.cells)
    chunk = min(plan.chunk, rows)
    again *= (chunk + 2 * plan.levels) / chunk
    waves = plan.blocks * batch / (machine.multiprocessors * plan.blocks_wanted)
    need = Need(
        memory_bytes=2 * cell.kept * size / plan.levels,
        cache_bytes=cell.kept * size * (again + 1) / plan.levels,
        instructions=_IN_REGISTERS[cell.name] * again / _ISSUING,
        busy=waves / math.ceil(waves),
    )
    return need, f"{plan.levels} levels in registers, {chunk} rows a warp"


def _windows(
    cell: PlanarStencil, plan: skewed.SkewedPlan, rows: int, columns: int, machine: Machine, batch: int, size: int,
    issued: float,
) -> Need:  # fmt: skip
    processors = machine.multiprocessors
    return Need(
        memory_bytes=(2 * cell.kept + cell.coefficients) * size / plan.levels,
        shared_bytes=_TOUCHED[cell.name] * size,
        instructions=issued,
        wait=(cell.phases + 1) * WAITS["barrier"] / (plan.levels * columns) / processors,
        busy=batch / (processors * math.ceil(batch / processors)) * rows / (rows + 2 * plan.levels),
    )


def _clusters(
    cell: PlanarStencil, cluster: int, cells: int, machine: Machine, batch: int, size: int, issued: float
) -> Need:
    at_once = clusters_at_once(machine.multiprocessors, cluster)
    return Need(
        memory_bytes=0.0,
        shared_bytes=_TOUCHED[cell.name] * size,
        instructions=issued,
        wait=cell.phases * WAITS["cluster"] / (cells / cluster) / machine.multiprocessors,
        busy=batch / math.ceil(batch / at_once) * cluster / machine.multiprocessors,
    )


def _in_rows(cell: PlanarStencil, rows: int, columns: int, layer: int) -> float:
    """Instructions a cell-step where rows are on chip, with the layers' share of the lattice."""
    inside = max(0, rows - 2 * layer) * max(0, columns - 2 * layer) / (rows * columns) if cell.memories else 1.0
    return _IN_ROWS[cell.name] * (inside + _LAYERED * (1 - inside)) / _ISSUING
