"""From an experiment to its search, its solver plan and its first feasible designs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from antennaopt.errors import ConfigurationError
from antennaopt.families import stack
from antennaopt.families.narrow import edge_cell, too_narrow
from antennaopt.families.walls import too_thin
from antennaopt.search import Search, decode, new_search
from antennaopt.search.objectives import Ranking
from antennaopt.settings import Ladder, SolverSettings
from antennaopt.solve.figures import planned, with_figures
from antennaopt.solve.options import PLAIN, SolveOptions
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.solvers import evaluator_of, halving_planner_of, planner_of
from antennaopt.store.levels import stops_of

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

DRAWN = 64
"""Designs that are drawn to see whether any can be built."""


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

    Given steps are doubled.

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
    experiment: Experiment, plan: Mapping[str, Any], *, made_up: bool = False
) -> list[dict[str, Any]]:
    """Return the plans of the levels below the finest, the coarsest first; of `auto` those of all candidates.

    Args:
        experiment: From `load_experiment`.
        plan: Of the finest level.
        made_up: Whether that plan is no lattice, for an evaluation that knows none: the others then differ from it in
            `cell`, where the file gives coarser ones, and in `decay`, energy over its peak at the stop, where it gives
            `fidelity.decay_db`.
    """
    from antennaopt.experiment.fidelity import coarser_settings

    found = coarser_settings(experiment)
    if made_up:
        return [_made_up(experiment, plan, one) for one in found]
    return [planned(plan_for(experiment, one), experiment.figures, experiment.polarisation) for one in found]


def _made_up(experiment: Experiment, plan: Mapping[str, Any], settings: SolverSettings) -> dict[str, Any]:
    """Return a plan that is no lattice with the cell and the stop of a coarser level."""
    from antennaopt.experiment.checks import wavelength

    given, made = experiment.fidelity, dict(plan)
    if given is not None and (given.is_measured or given.cells is not None or given.cells_per_wavelength is not None):
        made["cell"] = settings.cell or wavelength(experiment) / (settings.cells_per_wavelength or 1.0)
    if given is None or given.decay_db is None:
        return made
    decay = 10 ** (-settings.in_a_search().stop_db / 10)
    layout = made.get("layout")
    return {**made, "layout": {**layout, "decay": decay}} if isinstance(layout, Mapping) else {**made, "decay": decay}


def ladder_of(experiment: Experiment, plans: Sequence[Mapping[str, Any]]) -> Ladder | None:
    """Return how a search goes from coarse cells to fine ones; None where there is one level.

    Args:
        experiment: From `load_experiment`.
        plans: Of each level, the coarsest first.
    """
    given = experiment.fidelity
    if given is None or len(plans) < 2:
        return None
    cells, stops = tuple(float(one["cell"]) for one in plans), tuple(stops_of(plans))
    return Ladder(cells=cells, stops=stops, promote=given.promote, finish=given.finish, refit=given.refit)


def levels_of(experiment: Experiment, plan: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], int]]:
    """Return plan and antennas, at most, of each level that a file lists; empty for one level, and for `auto`.

    Args:
        experiment: From `load_experiment`.
        plan: Of the finest.
    """
    if experiment.fidelity is None or experiment.fidelity.is_measured:
        return []
    plans = [*coarser_plans_for(experiment, plan), plan]
    ladder = ladder_of(experiment, plans)
    counts = ladder.budget(experiment.evolution.settings) if ladder else []
    return list(zip(plans, counts, strict=True))


def most_evaluations(experiment: Experiment, plan: Mapping[str, Any]) -> int:
    """Return the evaluations of a search, at most: of all levels that its file lists."""
    return sum(count for _, count in levels_of(experiment, plan)) or experiment.evolution.settings.most_evaluations


def search_of(
    experiment: Experiment, genomes: Sequence[Sequence[float | None]] = (), plans: Sequence[Mapping[str, Any]] = ()
) -> Search:
    """Return an experiment's search, before its first generation.

    Args:
        experiment: From `load_experiment`.
        genomes: What the first generation begins with; a gene that is None is drawn.
        plans: Of several levels, the coarsest first.
    """
    return new_search(
        experiment.evolution.settings,
        experiment.genes,
        experiment.seed,
        order=Ranking.of(experiment.goals),
        planted=experiment.evolution.start,
        genomes=genomes,
        ladder=ladder_of(experiment, plans),
    )


def first_designs(experiment: Experiment) -> tuple[list[dict[str, float]], list[str]]:
    """Return those of the first `DRAWN` designs of the search that can be built, and why others cannot.

    Args:
        experiment: From `load_experiment`, with genes and objectives.
    """
    designs = [experiment.design(decode(experiment.genes, one.genome)) for one in search_of(experiment).ask(DRAWN)]
    refusals = refusals_of(experiment, designs)
    return [one for one, why in zip(designs, refusals, strict=True) if why is None], [why for why in refusals if why]


def design_lines(buildable: Sequence[Mapping[str, float]], refusals: Sequence[str]) -> list[str]:
    """Return a line with the share of the first designs that can be built, and an example of the most frequent reason.

    Args:
        buildable: From `first_designs`.
        refusals: The same; no line without any.
    """
    if not refusals:
        return []
    causes = [re.sub(r"[\d.]+ ?[num]?m?\b", "", one) for one in refusals]  # without the lengths of each design
    (most, _), *_ = Counter(causes).most_common(1)
    why = refusals[causes.index(most)]
    return [
        f"designs      {len(buildable)} of the first {len(buildable) + len(refusals)} can be built; not where {why}"
    ]


def refusals_of(experiment: Experiment, designs: Sequence[Mapping[str, float]]) -> list[str | None]:
    """Say of each design why it cannot be built, or why its cells are too coarse for it; None where neither is so.

    Args:
        experiment: From `load_experiment`.
        designs: Of its family.
    """
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
