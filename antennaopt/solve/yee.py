"""Designs in, outcomes out, for antennas that are solved in three dimensions on Yee's lattice."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from antennaopt.families import Family, kind, stack
from antennaopt.families.spatial import Board
from antennaopt.solve.arithmetic import arithmetic
from antennaopt.solve.certificate import left_over
from antennaopt.solve.cuts import pairs
from antennaopt.solve.options import PLAIN, SolveOptions
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.recognition import KNOWN
from antennaopt.solve.yee_figures import SolvedBoard, figures_of
from antennaopt.solve.yee_plan import YeePlan, grid_of, misfit, scene_of
from fdtd.errors import ConfigError, Unsuitable
from fdtd.yee import Solution, Stepper, solve

BACKENDS = ("cpu", "reference")
SWEEP_POINTS = 101
STEP_DEG = 2.0
"""Of the cuts, which run from -180 to 180 degrees."""


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
    """Solve antennas one after the other; an outcome does not depend on the others, to the bit.

    Args:
        family: Antenna family.
        designs: Full designs, SI, by dotted name.
        plan: As `YeePlan.to_dict` wrote it.
        backend: `cpu`, or `reference`.
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
    asked = _Asked(backend=backend, sweep=fields, options=options, known=recognised)
    outcomes = []
    for design, refusal in zip(designs, refusals, strict=True):
        start = time.perf_counter()
        outcome = _refused(refusal, given) if refusal else _one(known, design, given, asked)
        outcomes.append(outcome.changed(seconds=time.perf_counter() - start))
    return outcomes


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


def _one(family: Family, design: Mapping[str, float], plan: YeePlan, asked: _Asked) -> Outcome:
    """Solve one antenna that can be built, unless its cells are too coarse, or it is known."""
    assert family.spatial is not None  # noqa: S101 - such a family has another solver
    board, known, options = family.spatial.board(design), asked.known, asked.options
    fault = misfit(plan, board)
    if fault is not None:
        return _refused(fault, plan)
    identity = None if known is None else known.identity(board)
    if known is not None and identity is not None and known.has(identity):
        return Outcome(status=KNOWN, stepping_seconds=0.0, identity=identity, origin="cells")
    scene = scene_of(board, plan.design_frequency)
    try:
        grid = grid_of(plan, scene)
    except ConfigError as error:
        return _refused(str(error), plan)
    began = time.perf_counter()
    theta = np.linspace(-180.0, 180.0, round(360.0 / STEP_DEG) + 1)
    solution = solve(
        scene,
        grid,
        plan.frequencies,
        decay_db=-plan.decay_db,
        max_steps=plan.max_steps,
        theta_deg=theta,
        stepper=Stepper(backend=asked.backend, precision=plan.precision),
        progress=_look(options),
    )
    stepping = time.perf_counter() - began
    if options.stages is not None:
        options.stages["step"] = options.stages.get("step", 0.0) + stepping
    made = _outcome(plan, solution).changed(stepping_seconds=stepping, cells=int(grid.cells))
    if asked.sweep and made.s11 is not None:
        made = made.changed(sweep=_sweep(plan, solution))
    return made if identity is None else made.changed(identity=identity)


def _look(options: SolveOptions) -> Callable[[int, float], None] | None:
    """Return what the solver calls at every look: it has the energy in dB, the caller as a ratio."""
    watch = options.watch
    return None if watch is None else lambda steps, decay_db: watch(steps, 10 ** (decay_db / 10))


def _sweep(plan: YeePlan, solution: Solution) -> dict[str, Any]:
    """Return S11 across the band as plain numbers."""
    frequencies = np.linspace(min(plan.frequencies), max(plan.frequencies), SWEEP_POINTS)
    found = solution.reflection(frequencies)
    return {"frequency_hz": frequencies.tolist(), "s11": [[float(one.real), float(one.imag)] for one in found]}


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
