"""Evaluate designs: the only interface between the optimiser and the solver."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from antennaopt.families import Family, kind, stack
from antennaopt.metrics import METRICS, Quantities
from antennaopt.sent import Sent
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
from fdtd.axisymmetric.simulation import Hooks, Keep, Solution, Solutions, solve
from fdtd.backends import BACKENDS
from fdtd.errors import Unsuitable
from fdtd.farfield import AT_ONCE, Beams, decibels, directivity

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
        found, sent = _found(solver, solutions)
        for index, values in enumerate(found):
            if fields and "s11" in values:
                values["field"] = field_of(solver.layout, scene, index, solutions[index])
                values["sweep"] = _sweep(solutions[index])
            if snapshots is not None and index == snapshots.antenna and "s11" in values:
                values["film"] = film_of(solver.layout, scene, solutions[index], snapshots)
        seconds = time.perf_counter() - start
        spans = {"seconds": seconds / len(places), "stepping_seconds": spent.get("step", 0.0) / max(len(found), 1)}
        made = [Outcome.made(values | spans) for values in found]
        if sent is not None:
            _let_know(made, sent)
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


def _sound(layout: Layout, solutions: Solutions) -> list[bool]:
    """Say for which antennas `_status` is "ok" without a look at each."""
    columns = ("finite", "energy", "residual", "s11", "through_contour", "accepted")
    finite, energy, residual, s11, through, accepted = (solutions.columns[name] for name in columns)
    rests = ~(energy == 1.0) & ~(residual >= _enough(layout)) if layout.decay else True
    radiates = ~((through <= 0) | (accepted <= 0)).any(axis=1)
    measured = np.array([None not in one for one in solutions.modes]) if solutions.modes else True
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
        if solution.steps < layout.settled and not layout.decay:  # of `solver.steps`
            return "infeasible", (
                f"nothing is radiated after {solution.steps} steps: raise solver.steps to more than {layout.settled}"
            )
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


def _found(plan: SolverPlan, solutions: Solutions) -> tuple[list[dict[str, Any]], Sent | None]:
    """Return what outcomes of antennas hold, with figures of merit where anything came to the port; and these at once.

    The second is None where nothing came to any port. Antennas of which something came are there in their order.
    """
    if not solutions:
        return [], None
    layout = plan.layout
    shared = {"cells": layout.grid.cells, "frequency_hz": list(layout.frequencies)}
    steps: list[int] = solutions.columns["steps"].tolist()
    finite = [bool(one.all()) for one in np.isfinite(solutions.columns["s11"])]
    found: list[dict[str, Any]] = []
    for place, sound in enumerate(_sound(layout, solutions)):
        status, error = ("ok", None) if sound else _status(layout, solutions[place])
        found.append({"status": status, "error": error, "steps": steps[place], **shared})
    measured = [
        place for place, one in enumerate(found) if one["status"] not in ("diverged", "infeasible") and finite[place]
    ]
    if not measured:
        return found, None
    sent, figures = _figures(plan, solutions.part(measured))
    for place, more in zip(measured, figures, strict=True):
        found[place] |= more
    return found, sent


def _let_know(made: Sequence[Outcome], sent: Sent) -> None:
    """Let outcomes with figures of merit know the batch in which they stand in this order."""
    for place, one in enumerate(one for one in made if one.s11 is not None):
        object.__setattr__(one, "sent", (sent, place))


def _figures(plan: SolverPlan, solutions: Solutions) -> tuple[Sent, list[dict[str, Any]]]:
    """Return the figures of merit of a batch: its numbers, and of each antenna what an outcome holds of them."""
    layout, batch, theta_deg = plan.layout, len(solutions), plan.layout.theta_deg
    shape = (batch, len(layout.frequencies), len(theta_deg))
    cuts, planes = np.empty((2, *shape), dtype=complex), np.empty((2, *shape), dtype=np.complex64)
    metrics = {key: np.empty(shape[:2]) for key in METRICS}
    columns = {**solutions.columns, "returned": np.broadcast_to(_returned(solutions), shape[:2])}
    # One by one: what complex arrays are divided by rounds differently in other shapes.
    columns["turn"] = np.stack([one / np.abs(one) for one in columns["incident"]])
    if solutions.patterns is None or plan.looks_back:
        for first in range(0, batch, AT_ONCE):
            some = slice(first, first + AT_ONCE)
            own = {name: column[some] for name, column in columns.items()}
            for key, values in _cuts_and_metrics(plan, theta_deg, own, cuts[:, some]).items():
                metrics[key][some] = values
    else:
        metrics |= _metrics_of_beams(theta_deg, columns, Beams.of(solutions.patterns))
        for first in range(0, batch, AT_ONCE):
            some = slice(first, first + AT_ONCE)
            a, b, power, turn = (columns[name][some] for name in ("e_plane", "h_plane", "radiated", "turn"))
            normalised(a, b, power, turn, out=(cuts[0, some], cuts[1, some]))
    with np.errstate(invalid="ignore", over="ignore"):
        planes[...] = cuts
    s11 = np.stack([np.real(columns["s11"]), np.imag(columns["s11"])], axis=-1)
    undefined = {key: np.isnan(values) for key, values in metrics.items() if METRICS[key].absent}
    sent = Sent(
        frequency_hz=list(layout.frequencies),
        theta_deg=theta_deg.astype(np.float32),
        planes=(planes[0], planes[1]),
        metrics={key: values for key, values in metrics.items() if key not in undefined or not undefined[key].any()},
        absent=frozenset(key for key, where in undefined.items() if where.all()),
        s11=s11,
    )
    figures = {"s11": s11.tolist(), "decay_db": decibels(columns["residual"]).tolist()}
    plain = {key: METRICS[key].plain(values) for key, values in metrics.items()}
    return sent, [
        {
            **{key: values[place] for key, values in figures.items()},
            "metrics": {key: values[place] for key, values in plain.items()},
            "theta_deg": theta_deg,
            "e_plane": cuts[0, place],
            "h_plane": cuts[1, place],
            **({"modes": modes_at(solutions.modes[place], len(layout.frequencies))} if solutions.modes else {}),
        }
        for place in range(batch)
    ]


def _cuts_and_metrics(
    plan: SolverPlan, theta_deg: np.ndarray, columns: Mapping[str, np.ndarray], cuts: np.ndarray
) -> dict[str, np.ndarray]:
    """Return metrics of some antennas by key, (antennas, F), and write their cuts, (2, antennas, F, T)."""
    a, b = columns["e_plane"], columns["h_plane"]
    e_plane, h_plane, power = directivity(a, b)
    if plan.looks_back:
        a, b = from_behind(a, b)
        e_plane, h_plane = (np.ascontiguousarray(one[..., ::-1]) for one in (e_plane, h_plane))
    normalised(a, b, power, columns["turn"], out=(cuts[0], cuts[1]))
    data = _quantities(
        columns, theta_deg=theta_deg, e_plane_dbi=decibels(e_plane), h_plane_dbi=decibels(h_plane), a=a, b=b
    )
    with np.errstate(invalid="ignore"):  # a trial of a few steps ends before anything has left
        return {metric.key: metric.compute(data) for metric in METRICS.values()}


_OF_BEAMS = {
    "directivity_dbi": "boresight_dbi",
    "max_directivity_dbi": "largest_dbi",
    "hpbw_e_deg": "width_e_deg",
    "hpbw_h_deg": "width_h_deg",
    "sidelobe_db": "lobe_db",
    "front_to_back_db": "front_to_back_db",
    "crosspol_db": "cross_db",
}
"""Metrics that are figures of patterns, and their names in `fdtd.farfield.Beams`."""


def _metrics_of_beams(theta_deg: np.ndarray, columns: Mapping[str, np.ndarray], beams: Beams) -> dict[str, np.ndarray]:
    """Return metrics by key, (antennas, F), with what a device computed of patterns."""
    boresight = beams.boresight_dbi[..., None]
    data = _quantities(columns, theta_deg=theta_deg[:1], e_plane_dbi=boresight, h_plane_dbi=boresight)
    found = {key: getattr(beams, name) for key, name in _OF_BEAMS.items()}
    with np.errstate(invalid="ignore"):
        return found | {key: metric.compute(data) for key, metric in METRICS.items() if key not in found}


def _quantities(columns: Mapping[str, np.ndarray], **of_patterns: Any) -> Quantities:
    """Return what metrics are computed from."""
    own = ("radiated", "dissipated", "accepted", "through_contour", "returned")
    return Quantities(
        reflected=np.abs(columns["s11"]) ** 2,
        efficiency=columns["radiated"] / columns["accepted"],
        **{key: columns[key] for key in own},
        **of_patterns,
    )


def _returned(solutions: Solutions) -> np.ndarray:
    """Return the part of the incident power that comes back in all modes, (batch, F); NaN where S11 says it."""
    if not solutions.modes or not any(plane is not None and plane.z == PORT_PLANE for plane in solutions.modes[0]):
        return np.array(np.nan)
    columns = solutions.columns
    return np.stack(
        [1 - own / np.abs(one) ** 2 for own, one in zip(columns["accepted"], columns["incident"], strict=True)]
    )


def _sweep(solution: Solution) -> dict[str, Any]:
    """S11 across the band as plain numbers."""
    return {
        "frequency_hz": solution.sweep_frequency.tolist(),
        "s11": [[float(value.real), float(value.imag)] for value in solution.sweep_s11],
    }
