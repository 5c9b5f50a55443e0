"""Estimate the cost of a run from its plan and a timed antenna: `antennaopt run --dry-run`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.quantities import duration
from antennaopt.run.planning import (
    Evaluate,
    coarser_plans_for,
    design_lines,
    first_designs,
    halved_plan,
    levels_of,
    most_evaluations,
    plan_for,
    refusals_of,
    standard_evaluate,
)
from antennaopt.search import HALL_OF_FAME_SIZE, decode
from antennaopt.solve.device import usable_cores
from antennaopt.solve.lattices import cell_count, lattice_text, shape_of
from antennaopt.solve.options import SolveOptions
from antennaopt.store.levels import level_lines, measured_lines

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

CALIBRATION_STEPS = (200, 1200)
"""Two lengths, to separate the time of stepping from the other time of an antenna."""


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """Cost of a run.

    Attributes:
        plan: Of an antenna, from `plan_for`; most antennas stop before its `max_steps`, by their energy.
        evaluations: Antennas solved at most.
        finer: Plan of the antennas that are solved once more at the end; None when there are none.
        certified: Number of those, at most.
        workers: Cores or devices, each of which solves by itself.
        cell_steps_per_s: Measured on one worker: one antenna on a core, a wave of them on a device; with devices and
            cores, of a device.
        levels: Of a search on several lattices: plan, evaluations at most and seconds at most of each.
        measured: Plans of the coarser lattices that are compared at the start, of `fidelity = "auto"`.
        designs: From `design_lines`.
        kinds: With devices and cores: of each backend its number of workers and what one of them does a second.
        seconds: Of the whole run at `max_steps`; an upper estimate.
    """

    plan: Mapping[str, Any]
    evaluations: int
    finer: Mapping[str, Any] | None
    certified: int
    workers: int
    cell_steps_per_s: float
    seconds: float
    kinds: dict[str, tuple[int, float]] = field(default_factory=dict)
    levels: Sequence[tuple[Mapping[str, Any], int, float]] = ()
    measured: Sequence[Mapping[str, Any]] = ()
    designs: Sequence[str] = ()

    def lines(self) -> list[str]:
        """Return the estimate as lines of text."""
        plan = self.plan
        return [
            f"{grid_lines(plan)[0]}, absorbing layers included",
            f"time step    {plan['time_step'] * 1e12:.4g} ps, at most {plan['max_steps']} steps an antenna",
            grid_lines(plan)[1],
            f"evaluations  at most {self.evaluations}, {self.workers} at a time",
            *level_lines([one for one, _, _ in self.levels], [count for _, count, _ in self.levels], self._times()),
            *measured_lines(self.measured),
            *self.designs,
            *self._certificate_lines(),
            *self._speed_lines(),
            f"time         at most {duration(self.seconds)}; "
            "antennas whose energy has left stop earlier, usually by a factor of 2 or more",
        ]

    def _times(self) -> list[str]:
        return [f", at most {duration(seconds)}" for _, _, seconds in self.levels]

    def _speed_lines(self) -> list[str]:
        if not self.kinds:
            return [f"speed        {self.cell_steps_per_s / 1e6:.0f} M cell-steps/s on one worker (measured)"]
        return [
            f"speed        {rate / 1e6:.0f} M cell-steps/s on one worker of backend {backend} (measured), of {count}"
            for backend, (count, rate) in self.kinds.items()
        ]

    def _certificate_lines(self) -> list[str]:
        if self.finer is None:
            return []
        return [f"certificate  at most {self.certified} antennas once more, on {lattice_text(self.finer)}"]


def grid_lines(plan: Mapping[str, Any]) -> tuple[str, str]:
    """Return a plan's grid and memory as lines of text."""
    axes = "r x z" if len(shape_of(plan)) == 2 else "x, y, z"
    return (
        f"grid         {lattice_text(plan).replace('cells', f'cells ({axes})')}",
        f"memory       {plan['memory_bytes'] / 2**20:.1f} MiB an antenna",
    )


def estimate(
    experiment: Experiment,
    *,
    backend: str = "cpu",
    workers: int | None = None,
    evaluate: Evaluate | None = None,
) -> DryRun:
    """Plan a run and time one antenna for a few hundred steps, without starting anything else.

    Args:
        experiment: From `load_experiment`.
        backend: What solves.
        workers: Antennas solved at a time; when None as the experiment has it, else one per core of this machine.
        evaluate: Solves a batch; tests put a cheap one here.

    Raises:
        ConfigurationError: The experiment has no gene, or no design of its ranges can be solved.
    """
    solve = evaluate or standard_evaluate(experiment.family)
    plan = plan_for(experiment)
    genes = experiment.genes
    middle = experiment.design(decode(genes, [0.5] * len(genes)))
    buildable, refusals = first_designs(experiment)
    if refusal := refusals_of(experiment, [middle])[0]:
        if not buildable:
            raise ConfigurationError(
                f"neither the middle of all ranges nor one of the first designs can be built: {refusal}; "
                "change the ranges"
            )
        middle = buildable[0]
    timed = []
    for name, batch, count in _kinds(plan, backend, ClusterSettings.of(experiment.cluster)):
        step, rest = _calibrate(solve, experiment.family, [middle] * batch, plan, name)
        timed.append(_Timed(backend=name, workers=workers or count, step=step, rest=rest))
    evaluations = most_evaluations(experiment, plan)
    finer = halved_plan(experiment, plan) if experiment.certificate.mode != "off" else None
    certified = min(HALL_OF_FAME_SIZE, evaluations) if finer else 0
    cells = cell_count(plan)
    levels = [
        (one, count, _seconds(timed, count, one["max_steps"], growth=cell_count(one) / cells))
        for one, count in levels_of(experiment, plan)
    ]
    seconds = sum(each for _, _, each in levels) or _seconds(timed, evaluations, plan["max_steps"])
    if finer:
        seconds += _seconds(timed, certified, finer["max_steps"], growth=cell_count(finer) / cells)
    return DryRun(
        plan=plan,
        evaluations=evaluations,
        finer=finer,
        certified=certified,
        workers=sum(one.workers for one in timed),
        cell_steps_per_s=cells / timed[0].step,
        seconds=seconds,
        levels=levels,
        designs=design_lines(buildable, refusals),
        measured=coarser_plans_for(experiment, plan) if experiment.fidelity and experiment.fidelity.is_measured else (),
        kinds={one.backend: (one.workers, cells / one.step) for one in timed} if len(timed) > 1 else {},
    )


@dataclass(frozen=True, kw_only=True)
class _Timed:
    """Workers of one backend: their number, and the seconds of one antenna per step and apart from stepping."""

    backend: str
    workers: int
    step: float
    rest: float

    def each(self, steps: int, growth: float = 1.0) -> float:
        """Return the seconds of an antenna; `growth` is of its cells."""
        return self.step * growth * steps + self.rest


def _seconds(timed: Sequence[_Timed], antennas: int, steps: int, growth: float = 1.0) -> float:
    """Return the seconds that all workers take for a number of antennas; the slowest one may have the last."""
    if len(timed) == 1:
        return math.ceil(antennas / timed[0].workers) * timed[0].each(steps, growth)
    each = [one.each(steps, growth) for one in timed]
    return antennas / sum(one.workers / seconds for one, seconds in zip(timed, each, strict=True)) + max(each)


def _calibrate(
    solve: Callable[..., Sequence[Mapping[str, Any]]],
    family: str,
    designs: list[dict[str, float]],
    plan: Mapping[str, Any],
    backend: str,
) -> tuple[float, float]:
    """Return the seconds of one antenna of a batch, per step and apart from stepping; the first call compiles."""
    timed = []
    for limit in (CALIBRATION_STEPS[0], *CALIBRATION_STEPS):
        outcome = solve(family, designs, plan, backend=backend, options=SolveOptions(max_steps=limit))[0]
        if not outcome.get("steps") or not outcome.get("seconds"):
            raise ConfigurationError(
                f"a design of these ranges cannot be solved: {outcome['status']}, {outcome.get('error')}; change the "
                "ranges"
            )
        timed.append((outcome["steps"], outcome["seconds"]))
    (few, short), (many, long) = timed[1:]
    if many <= few or long <= short:
        return long / many, 0.0
    each = (long - short) / (many - few)
    return each, max(short - few * each, 0.0)


def _kinds(plan: Mapping[str, Any], backend: str, settings: ClusterSettings) -> list[tuple[str, int, int]]:
    """Return for each backend of the workers: its name, antennas that are timed together, and the number of workers.

    Raises:
        ClusterError: This machine has fewer devices than workers.
        DeviceError: It has none.
    """
    backends = [name for name in ("cuda", "cpu") if settings.of_backend(name) != 0] if settings.mixed else [backend]
    found = []
    for name in backends:
        wanted = settings.of_backend(name)
        if name == "cuda":
            from antennaopt.solve.device import capacity, enough_devices

            devices, takes = len(enough_devices(wanted)), capacity(plan)
            found.append((name, min(takes["wave"], takes["antennas"]), devices))
        else:
            found.append((name, 1, wanted or usable_cores()))
    return found
