"""Prepare a worker's device for a study in a thread, before its first batch and while others are solved.

Nothing depends on it but time: what it does not come to, a batch does.
"""

from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from threading import Thread
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What a worker prepares for.

    Attributes:
        family: Antenna family.
        designs: Two antennas that fit the plan, the widest for choice; one where one will be solved alone.
        plan: As `SolverPlan.to_dict` wrote it.
        known: Whether antennas will be recognised by their cells.
        fields: Whether their fields will be kept.
        first: Whether batches wait for what they would compile themselves.
    """

    family: str
    designs: Sequence[Mapping[str, float]]
    plan: Mapping[str, Any]
    known: bool = False
    fields: bool = False
    first: bool = False


_WAITING: queue.SimpleQueue[Rehearsal] = queue.SimpleQueue()


def begin(rehearsals: Sequence[Rehearsal]) -> None:
    """Prepare this process's device, for one plan after the other, in a thread; does not wait."""
    for one in rehearsals:
        _WAITING.put(one)
    _thread()


@lru_cache(maxsize=1)
def _thread() -> Thread:
    """Return this process's thread, which keeps the process no longer alive."""
    thread = Thread(target=_work, name="rehearsal", daemon=True)
    thread.start()
    return thread


def _work() -> None:
    while True:
        one = _WAITING.get()
        with suppress(Exception):  # a batch meets it again, and says so
            rehearse(one)


def rehearse(one: Rehearsal) -> None:
    """Prepare this process's device for antennas of a plan; see `begin`.

    Raises:
        Exception: As `antennaopt.solve.evaluate.evaluate`.
    """
    from antennaopt.families import kind
    from antennaopt.solve.evaluate import SWEEP_POINTS, scene_of
    from antennaopt.solve.plan import SolverPlan
    from antennaopt.solve.recognition import Recognition
    from fdtd.axisymmetric.rehearsal import rehearse as prepare
    from fdtd.axisymmetric.simulation import Keep

    solver = SolverPlan.from_dict(one.plan)
    drawn = kind(one.family, solver.bodies, solver.making).of(one.designs[0])
    prepare(
        solver.layout,
        scene_of(solver, drawn, one.designs),
        backend="cuda",
        precision=solver.precision,
        keep=Keep(fields=one.fields, sweep=SWEEP_POINTS if one.fields else 0, losses=solver.losses, modes=solver.modes),
        choose=Recognition(b"", solver, "cuda").choose if one.known else None,
        first=one.first,
    )
