"""Predicted cell-steps per second of each scheme, from the needs of a useful cell-step in each part of the device.

A cell-step of use needs bytes of device memory, bytes of the second-level cache, bytes of shared memory, and issued
instructions; work done twice counts as often as it is done. What a multiprocessor does (shared memory or instructions,
whichever takes longer) it does between waits: for barriers, and for transfers that no other block hides. So

    1 / rate = max(memory, cache, (max(shared, instructions) + waits) / busy),

each in seconds a useful cell-step, `busy` the part of the multiprocessors that has work. The largest term is the limit.
Instructions are counted, in machine code or by a device's counters, and waits come from prototypes: none of them is
fitted to a rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fdtd.errors import ConfigError, Unsuitable
from fdtd.schemes import Workload, resident, skewed, trapezoidal, wavefront
from fdtd.schemes.machine import Machine, clusters_at_once
from fdtd.stencils import BOR, COUPLED_TEZ, SPATIAL, STENCILS, PlanarStencil, Stencil
from fdtd.stencils.composition import tile_work

SCHEMES = ("one_step", "trapezoidal", "skewed", "wavefront", "resident")

_NEVER = {
    ("bor", "skewed"): "antennas are stepped in batches, where time skewing is the wavefront, one block an antenna",
    ("tmz", "wavefront"): "it streams rows through a warp's registers, which cannot hold a planar cell's coefficients; "
    "use skewed, the same order of cells in shared memory",
    (
        "jacobi5",
        "wavefront",
    ): "it steps batches of antennas; a large lattice is streamed by skewed, many warps at a time",
}
_NEVER["tez", "wavefront"] = _NEVER["tmz", "wavefront"]

# Seconds that a block waits: for its own barrier with the loads behind it; for a row handed on in a wavefront; for a
# cluster's barrier; and between launches started one by one. Measured on prototypes on an H200.
WAITS = {"barrier": 0.20e-6, "row": 0.76e-6, "cluster": 0.5e-6, "launch": 2.5e-6}

# Axisymmetric schemes.
_ISSUED = 24.5  # instructions of an update with operands in registers: 23 to 26 in machine code
_OVERHEAD = {"trapezoidal": 1.2, "wavefront": 1.4, "resident": 1.2}  # instructions that only move and count
_FILLED = 0.5  # part of the cells that are neither air nor metal, and read their six coefficients

# Planar schemes.
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


def check_pair(stencil: str, scheme: str) -> None:
    """Refuse what cannot work whatever the lattice and the device.

    Raises:
        ConfigError: There is no scheme of that name.
        Unsuitable: The pair cannot work.
    """
    if scheme not in SCHEMES:
        raise ConfigError(f"scheme = {scheme!r} is unknown (allowed: {', '.join(SCHEMES)})")
    if stencil in SPATIAL and scheme != "one_step":
        raise Unsuitable(f"{scheme} steps lattices with two axes, and {stencil} has three; use one_step")
    if (stencil, scheme) in _NEVER:
        raise Unsuitable(f"{scheme} does not suit {stencil}: {_NEVER[stencil, scheme]}")


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Predicted rate of one scheme.

    Attributes:
        scheme: Its name.
        rate: Cell-steps a second.
        limit: What limits it: "memory", "cache", "shared memory", "instructions" or "waits".
        plan: What was assumed, in words.
        need: Of a cell-step.
    """

    scheme: str
    rate: float
    limit: str
    plan: str
    need: Need


def workload(
    name: str, machine: Machine, *, rows: int, columns: int, batch: int = 1, layer: int = 10, size: int = 4
) -> Workload[Stencil]:
    """Describe lattices of a stencil; those of TE_z with coupled nodes, which dielectric surfaces have.

    Args:
        name: Stencil.
        machine: Device.
        rows: Rows of the lattice (nz of the axisymmetric one).
        columns: Columns of the lattice (nr).
        batch: Problems stepped together.
        layer: Absorbing layers, cells.
        size: Bytes of a number.

    Raises:
        ConfigError: No such stencil, or an empty lattice.
    """
    if name not in STENCILS:
        raise ConfigError(f"stencil = {name!r} is unknown (allowed: {', '.join(STENCILS)})")
    if min(rows, columns, batch) < 1:
        raise ConfigError(f"{batch} lattices of {rows} x {columns} cells have no cells (needs >= 1 of each)")
    stencil: Stencil = COUPLED_TEZ if name == "tez" else STENCILS[name]
    return Workload(stencil=stencil, rows=rows, columns=columns, size=size, limits=machine, batch=batch, layer=layer)


def predict(work: Workload[Any], scheme: str, machine: Machine, choice: Mapping[str, Any] | None = None) -> Prediction:
    """Predict one pair of stencil and scheme.

    Args:
        work: What is stepped.
        scheme: One of `SCHEMES`.
        machine: Device.
        choice: Keywords of a planar scheme's plan, such as `depth`; of bor, the `launches` of one_step.

    Raises:
        ConfigError: No such scheme.
        Unsuitable: The pair cannot work on this machine or lattice.
    """
    check_pair(work.stencil.name, scheme)
    need, plan = (bor_need if work.stencil.name == "bor" else planar_need)(work, scheme, machine, choice or {})
    rate, limit = need.rate(machine, work.size)
    return Prediction(scheme=scheme, rate=rate, limit=limit, plan=plan, need=need)


@dataclass(frozen=True, kw_only=True)
class Need:
    """Needs of one useful cell-step.

    Attributes:
        memory_bytes: Of device memory.
        cache_bytes: Of the second-level cache.
        shared_bytes: Of shared memory.
        instructions: Issued, lanes.
        wait: Seconds of the whole device, not hidden.
        busy: Part of the multiprocessors that has work.
    """

    memory_bytes: float
    cache_bytes: float = 0.0
    shared_bytes: float = 0.0
    instructions: float = 0.0
    wait: float = 0.0
    busy: float = 1.0

    def rate(self, machine: Machine, size: int) -> tuple[float, str]:
        """Cell-steps a second, and what limits them; double precision issues at half the rate."""
        times = {
            "memory": self.memory_bytes / machine.memory_bytes_per_s,
            "cache": self.cache_bytes / machine.l2_bytes_per_s,
        }
        inside = {
            "shared memory": self.shared_bytes / machine.shared_bytes_per_s,
            "instructions": self.instructions * (size / 4) / machine.instructions_per_s,
        }
        longest = max(inside, key=lambda name: inside[name])
        own = (inside[longest] + self.wait) / self.busy
        times[longest if inside[longest] > self.wait else "waits"] = own
        limit = max(times, key=lambda name: times[name])
        return 1 / times[limit], limit


def bor_need(work: Workload[Stencil], scheme: str, machine: Machine, choice: Mapping[str, Any]) -> tuple[Need, str]:
    """Return what one useful cell-step of an antenna needs, and the plan in words.

    What the layers cost beside their cells is not counted. Of `choice` only the launches of `one_step` count; the other
    schemes are predicted in the plan of their own.

    Raises:
        Unsuitable: The scheme cannot step this lattice.
    """
    rows, columns, size, layer = work.rows, work.columns, work.size, work.layer
    if scheme == "one_step":
        whole = choice.get("launches") == 1
        moved = BOR.bytes_per_step(size) if whole else BOR.split_bytes(size)
        need = Need(
            memory_bytes=moved + _FILLED * BOR.coefficients * size,
            instructions=2 * _ISSUED,
            wait=(1 if whole else 2) * WAITS["launch"] / (work.cells * work.batch),
        )
        return need, "one launch a step" if whole else "two launches a step"
    ends = ((0, layer, columns), (rows - layer, rows, columns)) if layer else ()
    if scheme == "trapezoidal":
        tiles = trapezoidal.plan(replace(work, axial=ends))
        height, width = tiles.cluster * tiles.march.height, tiles.march.wide + tiles.march.radial_columns
        useful = work.cells / (tiles.tiles * tiles.segments)
        need = tile_need(machine, height, width, tiles.depth, useful=useful, blocks=tiles.cluster, size=size)
        busy = min(1.0, work.batch * tiles.tiles * tiles.segments * tiles.cluster / machine.multiprocessors)
        return replace(need, busy=busy), f"tiles of {height} x {tiles.march.wide} in registers, depth {tiles.depth}"
    if scheme == "wavefront":
        front = wavefront.plan(work)
        need = rows_need(machine, columns, work.batch, levels=front.levels, cells=front.cells, size=size)
        return need, f"{front.levels} levels, {front.cells} cells a lane"
    if scheme == "resident":
        held = resident.plan(replace(work, axial=ends))
        room = held.cluster * held.march.height * (held.march.wide + held.march.radial_columns)
        return cluster_need(machine, work.cells, work.batch, held.cluster, room=room), f"clusters of {held.cluster}"
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


def planar_need(
    work: Workload[PlanarStencil], scheme: str, machine: Machine, choice: Mapping[str, Any]
) -> tuple[Need, str]:
    """Return what one useful planar cell-step needs, and the plan in words; `choice` has the plan's keywords.

    Raises:
        Unsuitable: The scheme cannot step this lattice on this machine.
    """
    cell = work.stencil
    if scheme == "one_step":
        read = sum(map(cell.equations.coefficients_read, range(cell.phases)))
        moved = cell.split_bytes(work.size) + read * work.size
        wait = cell.phases * WAITS["launch"] / (work.cells * work.batch)
        need = Need(memory_bytes=moved, instructions=_FROM_MEMORY[cell.name], wait=wait)
        return need, "one launch a step" if cell.phases == 1 else f"{cell.phases} launches a step"
    if scheme == "trapezoidal":
        plan = trapezoidal.plan_planar(work, **choice)
        shape = f"depth {plan.depth}, tiles up to {plan.kinds[0].height} x {plan.kinds[0].width}"
        return _tiles(work, plan, machine), shape
    if scheme == "skewed" and cell.name in _IN_REGISTERS:
        return _streams(work, skewed.plan_streamed(work, **choice), machine)
    if scheme == "skewed":
        windows = skewed.plan(work, **choice)
        return _windows(work, windows, machine), f"{windows.levels} levels, {windows.group} warps each"
    if scheme == "resident":
        held = resident.plan_planar(work, **choice)
        return _clusters(work, held.cluster, machine), f"clusters of {held.cluster}"
    raise Unsuitable(f"{scheme} has no kernel for {cell.name}")


def _tiles(work: Workload[PlanarStencil], plan: trapezoidal.PlanarTrapezoidalPlan, machine: Machine) -> Need:
    """Sum over the tiles what they read and write, and the cell-steps that they compute, in whole warps."""
    cell, size = work.stencil, work.size
    useful, reach = work.cells * plan.depth, (cell.low + cell.high) * plan.depth
    read = computed = issued = 0.0
    blocks = 0
    for kind in plan.kinds:
        numbers = cell.kept + cell.coefficients + (cell.memories if kind.layered else 0)
        blocks += len(kind.tiles)
        for _, _, height, width in kind.tiles:
            read += (height + reach) * (width + reach) * numbers
            steps = tile_work(cell.equations, (width, height), plan.depth, units=(32, 1)).formed
            computed += steps
            issued += steps * _IN_TILES[cell.name] * (_LAYERED if kind.layered else 1.0)
    again = computed / useful
    return Need(
        memory_bytes=(2 * cell.kept + cell.coefficients) * size / plan.depth,
        cache_bytes=(read / useful + cell.kept / plan.depth) * size,
        shared_bytes=_TOUCHED[cell.name] * size * again,
        instructions=issued / useful / _ISSUING,
        wait=cell.phases * WAITS["barrier"] * blocks * plan.depth / _BLOCKS / useful / machine.multiprocessors,
        busy=min(1.0, blocks * work.batch / (_BLOCKS * machine.multiprocessors)),
    )


def _streams(work: Workload[PlanarStencil], plan: skewed.StreamedPlan, machine: Machine) -> tuple[Need, str]:
    cell, size = work.stencil, work.size
    again = 32 * plan.cells / skewed.strip_columns(plan.levels, plan.cells)
    chunk = min(plan.chunk, work.rows)
    again *= (chunk + 2 * plan.levels) / chunk
    waves = plan.blocks * work.batch / (machine.multiprocessors * plan.blocks_wanted)
    need = Need(
        memory_bytes=2 * cell.kept * size / plan.levels,
        cache_bytes=cell.kept * size * (again + 1) / plan.levels,
        instructions=_IN_REGISTERS[cell.name] * again / _ISSUING,
        busy=waves / math.ceil(waves),
    )
    return need, f"{plan.levels} levels in registers, {chunk} rows a warp"


def _windows(work: Workload[PlanarStencil], plan: skewed.SkewedPlan, machine: Machine) -> Need:
    cell, processors = work.stencil, machine.multiprocessors
    waves = math.ceil(work.batch / processors)
    return Need(
        memory_bytes=(2 * cell.kept + cell.coefficients) * work.size / plan.levels,
        shared_bytes=_TOUCHED[cell.name] * work.size,
        instructions=_in_rows(work),
        wait=(cell.phases + 1) * WAITS["barrier"] / (plan.levels * work.columns) / processors,
        busy=work.batch / (processors * waves) * work.rows / (work.rows + 2 * plan.levels),
    )


def _clusters(work: Workload[PlanarStencil], cluster: int, machine: Machine) -> Need:
    cell, at_once = work.stencil, clusters_at_once(machine.multiprocessors, cluster)
    return Need(
        memory_bytes=0.0,
        shared_bytes=_TOUCHED[cell.name] * work.size,
        instructions=_in_rows(work),
        wait=cell.phases * WAITS["cluster"] / (work.cells / cluster) / machine.multiprocessors,
        busy=work.batch / math.ceil(work.batch / at_once) * cluster / machine.multiprocessors,
    )


def _in_rows(work: Workload[PlanarStencil]) -> float:
    """Return the instructions of a cell-step where rows are on chip, with the layers' share of the lattice."""
    cell, edge = work.stencil, 2 * work.layer
    inside = max(0, work.rows - edge) * max(0, work.columns - edge) / work.cells if cell.memories else 1.0
    return _IN_ROWS[cell.name] * (inside + _LAYERED * (1 - inside)) / _ISSUING
