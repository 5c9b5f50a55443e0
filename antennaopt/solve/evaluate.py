"""Designs in, outcomes out: the only crossing between the optimiser and the solver."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from antennaopt.families import Family, kind, stack
from antennaopt.metrics import METRICS, Quantities
from antennaopt.solve.certificate import DECAY_DB, left_over
from antennaopt.solve.cuts import from_behind, normalised
from antennaopt.solve.fields import field_of, film_of, frames_wanted
from antennaopt.solve.options import PLAIN, SolveOptions
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.plan import SolverPlan, misfits
from antennaopt.solve.planes import modes_at
from antennaopt.solve.recognition import Recognition
from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.modes import PORT_PLANE
from fdtd.axisymmetric.scene import Scene
from fdtd.axisymmetric.simulation import Hooks, Keep, Solution, solve
from fdtd.backends import BACKENDS
from fdtd.errors import Unsuitable
from fdtd.farfield import decibels, directivity

SWEEP_POINTS = 41
_AT_ONCE = 4  # antennas that a CPU rasterises and records together: bounds a worker's memory, whatever the batch


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
    """Solve a batch of antennas.

    An antenna's outcome does not depend on the others in its batch, to the bit.

    Args:
        family: Antenna family.
        designs: Full designs, SI, by dotted name.
        plan: As `SolverPlan.to_dict` wrote it.
        backend: One of `fdtd.backends.BACKENDS`; "cuda" solves the whole batch at once.
        fields: Add the electric field at the frequencies (`field`) and S11 across the band (`sweep`).
        film: Add the first antenna's field over time (`film`).
        options: Step limit, known cells, threads, and where to report. With `fields` or `film` all antennas are solved,
            known or not.

    Returns:
        One outcome a design, in order.

    Raises:
        Unsuitable: The backend is not there.
    """
    if backend not in BACKENDS:
        raise Unsuitable(f"backend = {backend!r} is unknown (allowed: {', '.join(BACKENDS)})")
    solver = SolverPlan.from_dict(plan).within(options.max_steps)
    drawn = kind(family, solver.bodies, solver.making).of(designs[0])
    refusals = drawn.refusal(stack(designs))
    buildable = [place for place, refusal in enumerate(refusals) if refusal is None]
    for place, found in zip(
        buildable, misfits(solver.layout, drawn, [designs[one] for one in buildable], solver.modes), strict=True
    ):
        refusals[place] = found
    cells = solver.layout.grid.cells
    outcomes = {
        place: Outcome(status="infeasible", error=refusal, seconds=0.0, stepping_seconds=0.0, steps=0, cells=cells)
        for place, refusal in enumerate(refusals)
        if refusal is not None
    }
    known = None if fields or film else options.known
    recognition = None if known is None else Recognition(known, solver, backend)
    sound = [place for place, refusal in enumerate(refusals) if refusal is None]
    together = len(sound) if backend == "cuda" else max(_AT_ONCE, options.threads)
    for first in range(0, len(sound), together or 1):
        places = sound[first : first + together]
        spent: dict[str, float] = {}
        snapshots = frames_wanted(solver.layout) if film and first == 0 else None
        start = time.perf_counter()
        scene = scene_of(solver, drawn, [designs[place] for place in places])
        solutions = solve(
            solver.layout,
            scene,
            backend=backend,
            precision=solver.precision,
            threads=options.threads,
            keep=Keep(
                fields=fields,
                sweep=SWEEP_POINTS if fields else 0,
                snapshots=snapshots,
                losses=solver.losses,
                modes=solver.modes,
            ),
            hooks=Hooks(stages=spent, watch=options.watch, choose=recognition and recognition.choose),
        )
        made = _outcomes(solver, solutions)
        for index, (outcome, solution) in enumerate(zip(made, solutions, strict=True)):
            if fields and outcome.s11 is not None:
                field = field_of(solver.layout, scene, index, solution)
                made[index] = outcome.changed(field=field, sweep=_sweep(solution))
            if snapshots is not None and index == snapshots.antenna and outcome.s11 is not None:
                made[index] = made[index].changed(film=film_of(solver.layout, scene, solution, snapshots))
        seconds = time.perf_counter() - start
        stepping = spent.get("step", 0.0) / max(len(made), 1)
        made = [one.changed(seconds=seconds / len(places), stepping_seconds=stepping) for one in made]
        if recognition is not None:
            made = recognition.spread(made, seconds, spent.get("rasterise", seconds))
        outcomes |= zip(places, made, strict=True)
        if options.stages is not None:
            for name, value in spent.items():
                options.stages[name] = options.stages.get(name, 0.0) + value
    return [outcomes[place] for place in range(len(designs))]


def scene_of(solver: SolverPlan, drawn: Family, designs: Sequence[Mapping[str, float]]) -> Scene:
    """Return the scene of a batch of designs that can be built."""
    scene = drawn.scene(stack(designs))
    if solver.layout.own_feeds and "feed.permittivity" in designs[0]:  # also where all of a batch have air
        scene = replace(scene, same_metal=False, embedded=True)
    return scene


def _sound(layout: Layout, solutions: Sequence[Solution]) -> list[bool]:
    """Say for which antennas `_status` is "ok" without a look at each."""
    columns = ("finite", "energy", "residual", "s11", "through_contour", "accepted")
    finite, energy, residual, s11, through, accepted = (
        np.array([getattr(one, name) for one in solutions]) for name in columns
    )
    rests = ~(energy == 1.0) & ~(residual >= _enough(layout)) if layout.decay else True
    radiates = ~((through <= 0) | (accepted <= 0)).any(axis=1)
    measured = np.array([None not in one.modes for one in solutions])
    return (finite & rests & np.isfinite(s11).all(axis=1) & radiates & measured).tolist()


def _status(layout: Layout, solution: Solution) -> tuple[str, str | None]:
    """Whether the fields came to rest."""
    if not solution.finite:
        return "diverged", f"the fields are not finite after {solution.steps} steps"
    if layout.decay and solution.energy == 1.0 and solution.steps >= layout.settled:
        return "diverged", f"the energy still grows after {solution.steps} steps"
    if layout.decay and solution.residual >= _enough(layout):
        return "undecayed", _left_over(layout, solution)
    if not np.isfinite(solution.s11).all():
        return "diverged", f"S11 is not finite after {solution.steps} steps"
    if (solution.through_contour <= 0).any() or (solution.accepted <= 0).any():
        return "infeasible", "nothing is radiated: on this mesh metal closes the aperture; refine the mesh or the shape"
    if None in solution.modes:
        return "infeasible", (
            "solver.report_modes: on this mesh a plane is in no guide section of 3 cells or more; refine the mesh or "
            "move the plane"
        )
    return "ok", None


def _enough(layout: Layout) -> float:
    """Energy over its peak that may be left at the step limit: what a certificate allows."""
    return max(layout.decay, 10 ** (DECAY_DB / 10))


def _left_over(layout: Layout, solution: Solution) -> str:
    """What stopping early means for the result, and how many steps would have done.

    The steps are those at which the energy would be gone had it fallen evenly since the pulse's end; it may fall more
    slowly later.
    """
    left = solution.residual
    in_db = 10 * float(np.log10(left))
    text = f"energy at {in_db:.1f} dB of its peak after {solution.steps} steps: {left_over(in_db)}"
    if left >= 1.0 or solution.steps <= layout.settled:
        return f"{text}; raise solver.max_steps to more than {layout.settled}"
    fallen = (solution.steps - layout.settled) * np.log(_enough(layout)) / np.log(left)
    return f"{text}; raise solver.max_steps to {layout.settled + round(fallen)} or more"


def _outcomes(plan: SolverPlan, solutions: Sequence[Solution]) -> list[Outcome]:
    """Outcomes of antennas, with figures of merit where anything came to the port."""
    if not solutions:
        return []
    layout = plan.layout
    shared = {"cells": layout.grid.cells, "frequency_hz": list(layout.frequencies)}
    found: list[dict[str, Any]] = []
    for solution, sound in zip(solutions, _sound(layout, solutions), strict=True):
        status, error = ("ok", None) if sound else _status(layout, solution)
        found.append({"status": status, "error": error, "steps": solution.steps, **shared})
    measured = [
        place
        for place, (one, solution) in enumerate(zip(found, solutions, strict=True))
        if one["status"] not in ("diverged", "infeasible") and np.isfinite(solution.s11).all()
    ]
    if measured:
        figures = _figures(plan, [solutions[place] for place in measured])
        for place, more in zip(measured, figures, strict=True):
            found[place] |= more
    return [Outcome.made(one) for one in found]


def _figures(plan: SolverPlan, solutions: Sequence[Solution]) -> list[dict[str, Any]]:
    """Return the figures of merit of a batch: of each antenna what an outcome holds of them."""

    def stacked(name: str) -> np.ndarray:
        return np.stack([getattr(solution, name) for solution in solutions])

    layout = plan.layout
    a, b, s11, radiated, accepted = (stacked(name) for name in ("e_plane", "h_plane", "s11", "radiated", "accepted"))
    e_plane, h_plane, power = directivity(a, b)
    if plan.looks_back:
        a, b = from_behind(a, b)
        e_plane, h_plane = (np.ascontiguousarray(one[..., ::-1]) for one in (e_plane, h_plane))
    cuts = normalised(a, b, power, np.stack([one.incident / np.abs(one.incident) for one in solutions]))
    found = Quantities(
        reflected=np.abs(s11) ** 2,
        theta_deg=layout.theta_deg,
        e_plane_dbi=decibels(e_plane),
        h_plane_dbi=decibels(h_plane),
        efficiency=radiated / accepted,
        a=a,
        b=b,
        radiated=radiated,
        dissipated=stacked("dissipated"),
        accepted=accepted,
        through_contour=stacked("through_contour"),
        returned=_returned(solutions),
    )
    with np.errstate(invalid="ignore"):  # a trial of a few steps ends before anything has left
        metrics = {metric.key: metric.plain(metric.compute(found)) for metric in METRICS.values()}
    figures = {
        "s11": np.stack([np.real(s11), np.imag(s11)], axis=-1).tolist(),
        "decay_db": decibels(np.array([solution.residual for solution in solutions])).tolist(),
        "e_plane": cuts[0],
        "h_plane": cuts[1],
    }
    return [
        {
            **{key: values[place] for key, values in figures.items()},
            "metrics": {key: values[place] for key, values in metrics.items()},
            "theta_deg": found.theta_deg,
            **({"modes": modes_at(one.modes, len(layout.frequencies))} if one.modes else {}),
        }
        for place, one in enumerate(solutions)
    ]


def _returned(solutions: Sequence[Solution]) -> np.ndarray:
    """Return the part of the incident power that comes back in all modes, (batch, F); NaN where S11 says it."""
    if not any(plane is not None and plane.z == PORT_PLANE for plane in solutions[0].modes):
        return np.array(np.nan)
    return np.stack([1 - one.accepted / np.abs(one.incident) ** 2 for one in solutions])


def _sweep(solution: Solution) -> dict[str, Any]:
    """S11 across the band as plain numbers."""
    return {
        "frequency_hz": solution.sweep_frequency.tolist(),
        "s11": [[float(value.real), float(value.imag)] for value in solution.sweep_s11],
    }
