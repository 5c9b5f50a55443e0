"""Preparation of a worker's device for a study, in a thread, before its first batch comes and while others are solved.

Nothing depends on it but time: what it does not come to, a batch does.
"""

from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from typing import Any

_WAITING: queue.SimpleQueue[tuple[str, Mapping[str, float], Mapping[str, Any], bool, bool]] = queue.SimpleQueue()


def begin(
    family: str, design: Mapping[str, float], plans: Sequence[Mapping[str, Any]], known: bool, certificates: bool
) -> None:
    """Prepare this process's device for antennas of some plans, one plan after the other, in a thread; does not wait.

    Args:
        family: Antenna family.
        design: An antenna that fits the plans, the widest for choice.
        plans: As `SolverPlan.to_dict` wrote them.
        known: Whether antennas will be recognised by their cells.
        certificates: Whether fields will be kept, and batches go on meanwhile; else they wait for what they would
            compile themselves.
    """
    for plan in plans:
        _WAITING.put((family, design, plan, known, certificates))
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
            rehearse(*one)


def rehearse(
    family: str, design: Mapping[str, float], plan: Mapping[str, Any], known: bool, certificates: bool
) -> None:
    """Prepare this process's device for antennas of a plan; see `begin`.

    Raises:
        Exception: As `antennaopt.solve.evaluate.evaluate`.
    """
    from antennaopt.families import kind, stack
    from antennaopt.solve.evaluate import SWEEP_POINTS, scene_of
    from antennaopt.solve.plan import SolverPlan
    from antennaopt.solve.recognition import Recognition
    from fdtd.axisymmetric.rehearsal import rehearse as prepare
    from fdtd.axisymmetric.simulation import Keep

    solver = SolverPlan.from_dict(plan)
    drawn = kind(family, solver.bodies, solver.making).of(design)
    if drawn.refusal(stack([design]))[0] is not None:
        return
    fields = certificates
    prepare(
        solver.layout,
        scene_of(solver, drawn, [design]),
        backend="cuda",
        precision=solver.precision,
        keep=Keep(fields=fields, sweep=SWEEP_POINTS if fields else 0, losses=solver.losses, modes=solver.modes),
        choose=Recognition(b"", solver, "cuda").choose if known else None,
        first=not certificates,
    )
