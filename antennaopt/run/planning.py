"""From an experiment to its search and its solver plan, and what its run will cost: `antennaopt run --dry-run`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from antennaopt.errors import ConfigurationError
from antennaopt.families import stack
from antennaopt.families.narrow import edge_cell, too_narrow
from antennaopt.families.walls import too_thin
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.quantities import duration
from antennaopt.search import HALL_OF_FAME_SIZE, Search, decode, new_search
from antennaopt.search.objectives import Ranking
from antennaopt.settings import Ladder, SolverSettings
from antennaopt.solve.device import usable_cores
from antennaopt.solve.figures import planned, with_figures
from antennaopt.solve.lattices import cell_count, lattice_text, shape_of
from antennaopt.solve.options import PLAIN, SolveOptions
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.solvers import evaluator_of, halving_planner_of, planner_of
from antennaopt.store.levels import level_lines, measured_lines

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment


class Evaluate(Protocol):
    """Solves a batch: the only crossing from the optimiser to the solver."""

    def __call__(
        self,
        family: str,
        designs: list[dict[str, float]],
        plan: dict[str, Any],
        *,
        backend: str,
        fields: bool = False,
        options: SolveOptions = PLAIN,
    ) -> Sequence[Mapping[str, Any]]:
        """Return one outcome a design."""
        ...


def standard_evaluate(family: str) -> Evaluate:
    """Return the evaluation by FDTD of a family's solver; imported late, since it loads the solver."""
    return evaluator_of(family)


def halved_plan(experiment: Experiment, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Plan the same antennas with exactly half the cell of a plan, full tensors at surfaces and the full pulse.

    Steps that were asked for are doubled.

    Args:
        experiment: Whose plan it is.
        plan: From `plan_for`.
    """
    given = experiment.solver.settings
    steps = {name: 2 * count for name, count in given.step_counts().items()}
    finer = replace(given.with_cell(plan["cell"] / 2).as_solved_alone(), **steps)
    return plan_for(experiment, finer, losses=True, halving=plan)


def plan_for(
    experiment: Experiment,
    solver: SolverSettings | None = None,
    *,
    losses: bool = False,
    halving: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Plan the grid that holds every antenna within the genes' ranges, with room for tolerances.

    Args:
        experiment: From `load_experiment`.
        solver: In place of its own settings.
        losses: Whether the power lost in dielectrics is measured: a search does without it.
        halving: The plan whose cell these settings halve; None where they halve none.

    Returns:
        The plan as JSON-able data.

    Raises:
        ConfigurationError: There is no gene, or the ranges allow no grid.
    """
    if not experiment.genes:
        raise ConfigurationError(
            "the experiment has no gene: every parameter is a number; give at least one a range, "
            'as in radius = { min = "8 mm", max = "20 mm" }, or use `antennaopt simulate`'
        )
    lower, upper = experiment.reach()
    settings = solver or experiment.solver.settings
    planner = planner_of(experiment.kind) if halving is None else halving_planner_of(experiment.kind, halving)
    table = planner(experiment.kind, lower, upper, settings.in_a_search()).to_dict()
    return table if losses else {**table, "losses": False}


def coarser_plans_for(
    experiment: Experiment, plan: Mapping[str, Any], given: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the plans of the levels below the finest, the coarsest first; of `auto` those of all candidates.

    Args:
        experiment: From `load_experiment`.
        plan: Of the finest level.
        given: The same where it was not planned here: then the others differ from it in the cell alone.
    """
    from antennaopt.experiment.fidelity import coarser_settings

    found = coarser_settings(experiment)
    if given is not None:
        return [{**plan, "cell": one.cell or plan["cell"] * 2.0} for one in found]
    return [planned(plan_for(experiment, one), experiment.figures) for one in found]


def ladder_of(experiment: Experiment, cells: Sequence[float]) -> Ladder | None:
    """Return how a search goes from coarse cells to fine ones; None where there is one level.

    Args:
        experiment: From `load_experiment`.
        cells: Of each level, m, the coarsest first.
    """
    given = experiment.fidelity
    if given is None or len(cells) < 2:
        return None
    return Ladder(cells=tuple(cells), promote=given.promote, finish=given.finish, refit=given.refit)


def search_of(
    experiment: Experiment, genomes: Sequence[Sequence[float | None]] = (), cells: Sequence[float] = ()
) -> Search:
    """Return an experiment's search, before its first generation.

    Args:
        experiment: From `load_experiment`.
        genomes: What the first generation begins with; a gene that is None is drawn.
        cells: Of several levels, m, the coarsest first.
    """
    return new_search(
        experiment.evolution.settings,
        experiment.genes,
        experiment.seed,
        order=Ranking.of(experiment.goals),
        planted=experiment.evolution.start,
        genomes=genomes,
        ladder=ladder_of(experiment, cells),
    )


def first_designs(experiment: Experiment) -> tuple[list[dict[str, float]], list[str]]:
    """Return those of the first `DRAWN` designs of the search that can be built, and why others cannot.

    Args:
        experiment: From `load_experiment`, with genes and objectives.
    """
    designs = [experiment.design(decode(experiment.genes, one.genome)) for one in search_of(experiment).ask(DRAWN)]
    refusals = _refusals(experiment, designs)
    return [one for one, why in zip(designs, refusals, strict=True) if why is None], [why for why in refusals if why]


def _refusals(experiment: Experiment, designs: Sequence[Mapping[str, float]]) -> list[str | None]:
    """Say of each design why it cannot be built, or why its cells are too coarse for it; None where neither is so."""
    from antennaopt.experiment.checks import fitted_cell

    family = experiment.kind
    found = list(family.refusal(stack(designs)))
    reach, settings = experiment.reach(), experiment.solver.settings  # all antennas of a run share the cell
    cell = fitted_cell(experiment, reach[1]) if family.spatial is None else edge_cell(family, *reach, settings)
    for place, design in enumerate(designs):
        if found[place] is not None:
            continue
        if family.spatial is None:
            thin = next(too_thin(family.of(design), design, design, cell), None)
            found[place] = thin and thin.refusal()
        else:
            short = next(too_narrow(family, design, design, cell), None)
            found[place] = short and f"antenna.{short.refusal()}"
    return found


def figuring(experiment: Experiment) -> Callable[[Outcome, Mapping[str, float]], Outcome]:
    """Return what adds the figures that an experiment's objectives ask for to the outcome of gene values."""
    figures, family = experiment.figures, experiment.kind

    def figured(outcome: Outcome, values: Mapping[str, float]) -> Outcome:
        return with_figures([outcome], [experiment.design(values)], figures, family)[0] if figures else outcome

    return figured


DRAWN = 64
"""Designs that are drawn to see whether any can be built."""
CALIBRATION_STEPS = (200, 1200)
"""Two lengths, so that what an antenna costs beside stepping does not count as stepping."""


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

    def lines(self) -> list[str]:
        """Return the estimate as lines for people."""
        plan = self.plan
        return [
            f"{grid_lines(plan)[0]}, absorbing layers included",
            f"time step    {plan['time_step'] * 1e12:.4g} ps, at most {plan['max_steps']} steps an antenna",
            grid_lines(plan)[1],
            f"evaluations  at most {self.evaluations}, {self.workers} at a time",
            *level_lines([one for one, _, _ in self.levels], [count for _, count, _ in self.levels], self._times()),
            *measured_lines(self.measured),
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
    """Return a plan's grid and memory as lines for people."""
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
        workers: Antennas solved at a time; None asks the experiment and then counts this machine's cores.
        evaluate: Solves a batch; tests put a cheap one here.

    Raises:
        ConfigurationError: The experiment has no gene, or no design of its ranges can be solved.
    """
    solve = evaluate or standard_evaluate(experiment.family)
    plan = plan_for(experiment)
    genes = experiment.genes
    middle = experiment.design(decode(genes, [0.5] * len(genes)))
    if refusal := _refusals(experiment, [middle])[0]:
        buildable, _ = first_designs(experiment)
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
        measured=coarser_plans_for(experiment, plan) if experiment.fidelity and experiment.fidelity.is_measured else (),
        kinds={one.backend: (one.workers, cells / one.step) for one in timed} if len(timed) > 1 else {},
    )


def levels_of(experiment: Experiment, plan: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], int]]:
    """Return plan and antennas, at most, of each level that a file lists; empty for one level, and for `auto`.

    Args:
        experiment: From `load_experiment`.
        plan: Of the finest.
    """
    if experiment.fidelity is None or experiment.fidelity.is_measured:
        return []
    plans = [*coarser_plans_for(experiment, plan), plan]
    ladder = ladder_of(experiment, [one["cell"] for one in plans])
    counts = ladder.budget(experiment.evolution.settings) if ladder else []
    return list(zip(plans, counts, strict=True))


def most_evaluations(experiment: Experiment, plan: Mapping[str, Any]) -> int:
    """Return the evaluations of a search, at most: of all levels that its file lists."""
    return sum(count for _, count in levels_of(experiment, plan)) or experiment.evolution.settings.most_evaluations


@dataclass(frozen=True, kw_only=True)
class _Timed:
    """Workers of one backend: how many, and seconds a step and beside stepping of one antenna on one of them."""

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
    """Return seconds a step and seconds beside stepping of one of a batch; the first call compiles the kernels."""
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
