"""Evaluate designs that are solved in three dimensions on Yee's lattice."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from antennaopt.families import Family, kind, stack
from antennaopt.families.spatial import Board
from antennaopt.solve.arithmetic import arithmetic
from antennaopt.solve.certificate import left_over
from antennaopt.solve.cuts import pairs, sphere_angles
from antennaopt.solve.device import share_turns
from antennaopt.solve.options import PLAIN, SolveOptions
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.recognition import KNOWN
from antennaopt.solve.rings import texts_of
from antennaopt.solve.yee_figures import SolvedBoard, amplitudes_of, figures_of
from antennaopt.solve.yee_plan import YeePlan, laid_out, narrow_fault, port_fault
from fdtd.errors import ConfigError, Unsuitable
from fdtd.yee import Grid, Hooks, Scene, Solution, Stepper, solve_batch

BACKENDS = ("cpu", "cuda", "reference")
SWEEP_POINTS = 101
STEP_DEG = 2.0
"""Of the cuts, which run from -180 to 180 degrees."""
SPHERE_STEP_DEG = 1.0
"""In theta of the far field on the whole sphere."""

_PREPARING = threading.Lock()
"""Of a device's batches one is laid out and rasterised at a time: the first is stepped before others are ready."""


def evaluate(
    family: str,
    designs: Sequence[Mapping[str, float]],
    plan: Mapping[str, Any],
    *,
    backend: str = "cpu",
    fields: bool = False,
    film: bool = False,
    options: SolveOptions = PLAIN,
) -> list[Outcome]:
    """Solve antennas, on a device all together; an outcome does not depend on the others, to the bit.

    Args:
        family: Antenna family.
        designs: Full designs, SI, by dotted name.
        plan: As `YeePlan.to_dict` wrote it.
        backend: `cpu`, `cuda` or `reference`.
        fields: Add S11 across the band (`sweep`); no field map is recorded.
        film: Not supported.
        options: Step limit, known antennas, threads, and where to report.

    Returns:
        One outcome a design, in order.

    Raises:
        Unsuitable: Another backend, or a film.
    """
    if backend not in BACKENDS:
        raise Unsuitable(f"backend = {backend!r} does not solve in three dimensions (allowed: {', '.join(BACKENDS)})")
    if film:
        raise Unsuitable("no film is recorded in three dimensions")
    given, known = YeePlan.from_dict(plan).within(options.max_steps), kind(family).of(designs[0])
    refusals = known.refusal(stack(designs))
    recognised = None if fields or options.known is None else _Known(options.known, family, plan, backend)
    outcomes: list[Outcome | None] = []
    waiting: list[_Waiting] = []
    with ExitStack() as preparing:
        if backend == "cuda":
            share_turns()
            preparing.enter_context(_PREPARING)
        asked = _Asked(backend=backend, sweep=fields, options=options, known=recognised, prepared=preparing.close)
        for place, (design, refusal) in enumerate(zip(designs, refusals, strict=True)):
            start = time.perf_counter()
            found = _refused(refusal, given) if refusal else _ready(known, design, given, asked)
            seconds = time.perf_counter() - start
            if isinstance(found, Outcome):
                outcomes.append(found.changed(seconds=seconds))
                continue
            outcomes.append(None)
            waiting.append(replace(found, place=place, seconds=seconds))
            if backend != "cuda":  # a CPU holds one antenna at a time
                _solve(waiting, given, asked, outcomes)
        _solve(waiting, given, asked, outcomes)
    return [one for one in outcomes if one is not None]


def _refused(why: str | None, plan: YeePlan) -> Outcome:
    cells = int(np.prod(plan.shape))
    return Outcome(status="infeasible", error=why, stepping_seconds=0.0, steps=0, cells=cells)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a call of `evaluate` asks for, for each antenna."""

    backend: str
    sweep: bool
    options: SolveOptions
    known: _Known | None
    prepared: Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class _Waiting:
    """An antenna to solve: its scene and lattice, its place in the batch, and the seconds spent on it."""

    scene: Scene
    grid: Grid
    identity: dict[str, str] | None
    place: int = 0
    seconds: float = 0.0


def _ready(family: Family, design: Mapping[str, float], plan: YeePlan, asked: _Asked) -> Outcome | _Waiting:
    """Lay out one antenna that can be built, unless its cells are too coarse, or it is known."""
    assert family.spatial is not None  # noqa: S101 - such a family has another solver
    if (fault := narrow_fault(plan, family, design)) is not None:
        return _refused(fault, plan)
    board, known = family.spatial.board(design), asked.known
    if (fault := port_fault(plan, board)) is not None:
        return _refused(fault, plan)
    identity = None if known is None else known.identity(board)
    if known is not None and identity is not None and known.has(identity):
        return Outcome(status=KNOWN, stepping_seconds=0.0, identity=identity, origin="cells")
    try:
        scene, grid = laid_out(plan, board)
        return _Waiting(scene=scene, grid=grid, identity=identity)
    except ConfigError as error:
        return _refused(str(error), plan)


def _solve(waiting: list[_Waiting], plan: YeePlan, asked: _Asked, outcomes: list[Outcome | None]) -> None:
    """Solve what waits, together, and put the outcomes into their places; nothing waits afterwards."""
    if not waiting:
        return
    spent: dict[str, float] = {}
    start = time.perf_counter()
    solutions = solve_batch(
        [one.scene for one in waiting],
        [one.grid for one in waiting],
        plan.frequencies,
        decay_db=-plan.decay_db,
        max_steps=plan.max_steps,
        theta_deg=np.linspace(-180.0, 180.0, round(360.0 / STEP_DEG) + 1),
        stepper=Stepper(backend=asked.backend, precision=plan.precision, devices=asked.options.devices),
        hooks=Hooks(progress=_look(asked.options), stages=spent, rasterised=asked.prepared),
    )
    stepping = spent["step"] / len(waiting)
    for one, solution in zip(waiting, solutions, strict=True):
        made = _outcome(plan, solution).changed(stepping_seconds=stepping, cells=int(one.grid.cells))
        if asked.sweep and made.s11 is not None:
            made = made.changed(sweep=_sweep(plan, solution))
        if asked.options.sphere and made.s11 is not None:
            made = made.changed(sphere=_sphere(solution))
        if plan.rings and made.s11 is not None:
            made = made.changed(rings=texts_of(solution.rings(plan.polarisation), levels=plan.levels))
        outcomes[one.place] = made if one.identity is None else made.changed(identity=one.identity)
    seconds = (time.perf_counter() - start) / len(waiting)
    for one in waiting:
        found = outcomes[one.place]
        outcomes[one.place] = found and found.changed(seconds=one.seconds + seconds)
    if asked.options.stages is not None:
        spent["rasterise"] += sum(one.seconds for one in waiting)
        for name, value in spent.items():
            asked.options.stages[name] = asked.options.stages.get(name, 0.0) + value
    waiting.clear()


def _look(options: SolveOptions) -> Callable[[int, float], None] | None:
    """Return what the solver calls at every look: it has the energy in dB, the caller as a ratio."""
    watch = options.watch
    return None if watch is None else lambda steps, decay_db: watch(steps, 10 ** (decay_db / 10))


def _sweep(plan: YeePlan, solution: Solution) -> dict[str, Any]:
    """Return S11 across the band as plain numbers."""
    frequencies = np.linspace(min(plan.frequencies), max(plan.frequencies), SWEEP_POINTS)
    found = solution.reflection(frequencies)
    return {"frequency_hz": frequencies.tolist(), "s11": [[float(one.real), float(one.imag)] for one in found]}


def _sphere(solution: Solution) -> dict[str, Any]:
    """Return the far field on the whole sphere, see `Outcome.sphere`."""
    theta, phi = np.linspace(0.0, 180.0, round(180.0 / SPHERE_STEP_DEG) + 1), sphere_angles()
    once = phi[:-1]  # the last is the first
    field = solution.field_towards(np.tile(theta, len(once)), np.repeat(once, len(theta)))
    field = amplitudes_of(field, np.asarray(solution.radiated_power)).reshape(len(field), len(once), len(theta), 2)
    field = np.concatenate([field, field[:, :1]], axis=1)
    return {"theta_deg": theta, "phi_deg": phi, "e_theta": field[..., 0], "e_phi": field[..., 1]}


def _outcome(plan: YeePlan, solution: Solution) -> Outcome:
    """Return what a solution is as an outcome, with figures of merit where it is finite."""
    status, error = solution.status, None
    accepted, s11 = np.asarray(solution.accepted_power, dtype=float), np.asarray(solution.s11)
    if status == "undecayed":
        error = (
            f"energy at {solution.decay_db:.1f} dB of its peak after {solution.steps} steps: "
            f"{left_over(float(solution.decay_db))}; raise solver.max_steps"
        )
    elif status == "diverged" or not np.isfinite(s11).all():
        status, error = "diverged", f"the fields are not finite after {solution.steps} steps"
    elif (accepted <= 0).any() or (np.asarray(solution.radiated_power) <= 0).any():
        status, error = "infeasible", "nothing is radiated: the port takes no power in at a frequency; move it"
    about = {"status": status, "error": error, "steps": int(solution.steps), "frequency_hz": list(plan.frequencies)}
    if status in ("diverged", "infeasible"):
        return Outcome(**about)
    solved = SolvedBoard(
        s11=s11,
        accepted=accepted,
        radiated=np.asarray(solution.radiated_power, dtype=float),
        dissipated=np.asarray(solution.dissipated_power, dtype=float),
        through_box=np.asarray(solution.box_power, dtype=float),
        far_field=np.asarray(solution.far_field),
        theta_deg=np.asarray(solution.theta_deg, dtype=float),
        polarisation=plan.polarisation,
    )
    return Outcome(
        **about,
        decay_db=float(solution.decay_db),
        s11=pairs(s11),
        metrics=figures_of(solved),
        theta_deg=solved.theta_deg,
        e_plane=solved.e_plane,
        h_plane=solved.h_plane,
    )


class _Known:
    """Recognises antennas that need not be solved; see `antennaopt.solve.recognition`."""

    def __init__(self, known: bytes, family: str, plan: Mapping[str, Any], backend: str) -> None:
        self._known = frozenset(np.frombuffer(known, dtype="<u8").tolist())
        self._about = arithmetic(plan, backend).to_dict()
        self._family = family

    def identity(self, board: Board) -> dict[str, str]:
        """Return the digest of an antenna and of all else that decides its numbers."""
        text = json.dumps(asdict(board), sort_keys=True)
        digest = hashlib.sha256(bytes.fromhex(self._about["context"]) + text.encode()).digest()[:16]
        return {"digest": digest.hex(), **self._about}

    def has(self, identity: Mapping[str, str]) -> bool:
        """Say whether an antenna may be known."""
        return int.from_bytes(bytes.fromhex(identity["digest"])[:8], "little") in self._known
