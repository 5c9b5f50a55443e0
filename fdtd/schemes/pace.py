"""Rates of the axisymmetric schemes on whole populations, from their plans: the choice between them goes by these.

A multiprocessor, or a cluster of them, is busy with an antenna or a tile for a time that hardly depends on the lattice:
a row of the wavefront, a step of a block that holds its rows, a step of a tile. The rest is geometry: columns that
lanes hold in vain, rows that tiles step twice, antennas that are stepped at a time. The times are those of one H200
(results/benchmarks/h200/schemes.json); on other devices their proportions count.
"""

from __future__ import annotations

from fdtd.schemes.machine import Limits, clusters_at_once
from fdtd.schemes.one_step.plan import OneStepPlan, WholeStepPlan
from fdtd.schemes.resident.plan import ResidentPlan
from fdtd.schemes.trapezoidal.plan import TrapezoidalPlan
from fdtd.schemes.wavefront.plan import WavefrontPlan

Plan = OneStepPlan | WholeStepPlan | WavefrontPlan | TrapezoidalPlan | ResidentPlan
"""Plan of any axisymmetric scheme."""

_PIECE = 16  # bytes of a component in a lane: lanes hold one, two or three
_ROW_SECONDS = (1.5e-6, 1.4e-6, 2.3e-6)  # of a wavefront, by pieces a lane
# Of a cluster of up to eight blocks, and of more (two lattices; few of their blocks hold layers), by warps of a block.
_STEP_SECONDS = {8: (3.0e-6, 2.0e-6), 12: (2.6e-6, 2.6e-6)}
_TILE_SECONDS = (6.5e-6, 3.2e-6)  # of a step of a tile, its way from and to memory included, by pieces a lane
_ONE_STEP = 1.6e10  # cell-steps a second on the smallest lattice (39 G on 256 x 320): an order, no forecast


def at_once(plan: Plan, limits: Limits) -> int:
    """Antennas that a device steps at a time; 1 where any number keeps it busy."""
    if isinstance(plan, ResidentPlan):
        return clusters_at_once(limits.multiprocessors, plan.cluster)
    return limits.multiprocessors if isinstance(plan, WavefrontPlan) else 1


def pace(plan: Plan, nr: int, nz: int, size: int, limits: Limits) -> float:
    """Cell-steps a second of a large batch, everything on; of `one_step` only what it has at least.

    Args:
        plan: Of the scheme.
        nr: Columns of the lattice.
        nz: Rows.
        size: Bytes of a number; eight take twice the time of four.
        limits: Of the device.
    """
    width = size / 4
    if isinstance(plan, WavefrontPlan):
        row = _ROW_SECONDS[plan.cells * size // _PIECE - 1]
        return at_once(plan, limits) * plan.levels * nr * nz / (nz + 1) / row / width
    if isinstance(plan, ResidentPlan):
        step = _STEP_SECONDS[8 if plan.march.threads <= 256 else 12][plan.cluster > 8]
        return at_once(plan, limits) * nr * nz / step / width
    if isinstance(plan, TrapezoidalPlan):
        tiles = clusters_at_once(limits.multiprocessors, plan.cluster)
        step = _TILE_SECONDS[plan.march.cells * size // _PIECE - 1]
        return tiles * nr * nz / plan.tiles / step / width
    return _ONE_STEP / width
