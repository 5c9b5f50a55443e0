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

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fdtd.errors import ConfigError, Unsuitable
from fdtd.schemes import Workload
from fdtd.schemes.machine import Machine
from fdtd.schemes.needs import Need, bor_need, planar_need
from fdtd.stencils import COUPLED_TEZ, STENCILS, Stencil

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


def check_pair(stencil: str, scheme: str) -> None:
    """Refuse what cannot work whatever the lattice and the device.

    Raises:
        ConfigError: There is no scheme of that name.
        Unsuitable: The pair cannot work.
    """
    if scheme not in SCHEMES:
        raise ConfigError(f"scheme = {scheme!r} is unknown (allowed: {', '.join(SCHEMES)})")
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
    return Workload(
        stencil=stencil, rows=rows, columns=columns, size=size, limits=machine.limits, batch=batch, layer=layer
    )


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
class Candidate:
    """A scheme and the keywords of its plan.

    Attributes:
        scheme: Its name.
        choice: Keywords of its plan.
        predicted: Cell-steps a second by the model.
    """

    scheme: str
    choice: dict[str, Any] = field(default_factory=dict)
    predicted: float = 0.0


def best_few(work: Workload[Any], machine: Machine, *, count: int = 6, of_each: int = 3) -> tuple[Candidate, ...]:
    """Return the plans of a planar stencil that the model predicts to be fastest, best first.

    Args:
        work: What is stepped.
        machine: Device.
        count: At most this many.
        of_each: At most this many of one scheme: the model orders plans of one scheme better than schemes.
    """
    found = []
    for scheme, choice in _plans(work.stencil.name):
        try:
            made = predict(work, scheme, machine, choice)
        except Unsuitable:
            continue
        found.append(Candidate(scheme=scheme, choice=choice, predicted=made.rate))
    found.sort(key=lambda candidate: -candidate.predicted)
    taken: list[Candidate] = []
    for candidate in found:
        if sum(one.scheme == candidate.scheme for one in taken) < of_each:
            taken.append(candidate)
    return tuple(taken[:count])


def _plans(stencil: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "one_step", {}
    for depth, warps in itertools.product((1, 2, 3, 4, 5, 6, 8, 10, 12), (16, 8)):
        yield "trapezoidal", {"depth": depth, "warps": warps}
    for cluster in (1, 2, 4, 8, 16):
        yield "resident", {"cluster": cluster}
    if stencil == "jacobi5":
        for levels, burst in itertools.product((4, 6, 8, 12), (2, 4)):
            yield "skewed", {"levels": levels, "burst": burst}
    else:
        for levels in (2, 4, 6, 8, 12, 16):
            yield "skewed", {"levels": levels}
