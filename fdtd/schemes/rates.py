"""Predicted cell-steps a second of each scheme, from what a useful cell-step needs of each part of the machine.

A cell-step of use needs bytes of device memory, bytes of the second-level cache, bytes of shared memory, and issued
instructions; work done twice counts as often as it is done. What a multiprocessor does (shared memory or instructions,
whichever takes longer) it does between waits: for barriers, and for transfers that no other block hides. So

    1 / rate = max(memory, cache, (max(shared, instructions) + waits) / busy),

each in seconds a useful cell-step, `busy` the part of the multiprocessors that has work. The largest term is the limit.
Instructions are counted, in machine code or by a device's counters, and waits come from prototypes: none of them is
fitted to a rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fdtd.errors import ConfigError
from fdtd.schemes.axisymmetric_need import bor_need
from fdtd.schemes.gpu import Machine
from fdtd.schemes.need import Need
from fdtd.schemes.pairs import SCHEMES, check_pair
from fdtd.schemes.planar_need import PLANAR, planar_need

__all__ = ["SCHEMES", "STENCILS", "Prediction", "predict"]

STENCILS = ("bor", *PLANAR)


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What one scheme should reach.

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


def predict(
    stencil: str,
    scheme: str,
    machine: Machine,
    *,
    rows: int,
    columns: int,
    batch: int = 1,
    layer: int = 10,
    size: int = 4,
    choice: Mapping[str, Any] | None = None,
) -> Prediction:
    """Predict one pair.

    Args:
        stencil: One of `STENCILS`.
        scheme: One of `SCHEMES`.
        machine: The device.
        rows: Of the lattice (nz of the axisymmetric one).
        columns: Of the lattice (nr).
        batch: Problems stepped together.
        layer: Absorbing layers, cells.
        size: Bytes of a number.
        choice: What the plan of a planar scheme is told, such as `depth`; of bor, the `launches` of one_step.

    Raises:
        ConfigError: No such stencil or scheme, or an empty lattice.
        Unsuitable: The pair cannot work on this machine or lattice.
    """
    if stencil not in STENCILS:
        raise ConfigError(f"stencil = {stencil!r} is unknown (allowed: {', '.join(STENCILS)})")
    check_pair(stencil, scheme)
    if min(rows, columns, batch) < 1:
        raise ConfigError(f"{batch} lattices of {rows} x {columns} cells have no cells (needs >= 1 of each)")
    if stencil == "bor":
        need, plan = bor_need(scheme, machine, rows, columns, batch, layer, size, choice or {})
    else:
        need, plan = planar_need(stencil, scheme, machine, rows, columns, batch, layer, size, choice or {})
    rate, limit = need.rate(machine, size)
    return Prediction(scheme=scheme, rate=rate, limit=limit, plan=plan, need=need)
