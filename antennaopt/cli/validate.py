"""`antennaopt validate`: check a file without solving anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.options import naming, set_option, warn
from antennaopt.solve.device import usable_cores
from antennaopt.terminal import one_line

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment


@click.command(short_help="Check a file without solving anything.")
@click.argument("file", metavar="FILE.toml", type=click.Path(path_type=Path))
@set_option
def validate(file: Path, overrides: tuple[str, ...]) -> None:
    """Check an experiment or antenna file and print its contents.

    \b
    Example:
      antennaopt validate experiments/quickstart.toml
    """  # noqa: D301 - \b is click's
    from antennaopt.experiment import load_file

    experiment = load_file(file, overrides)
    with naming(file):
        lines = describe(experiment)
    warn(experiment.warnings)
    click.echo("\n".join(lines))


def describe(experiment: Experiment) -> list[str]:
    """Return what a file holds, one line each.

    Args:
        experiment: From `load_file`.

    Raises:
        ConfigError: No grid can be laid out for it.
        ConfigurationError: Its grid takes more memory than this machine has.
    """
    from antennaopt.run.planning import coarser_plans_for, design_lines, first_designs, levels_of
    from antennaopt.solve.lattices import lattice_text
    from antennaopt.solve.plan import lowest_in_feed
    from antennaopt.solve.solvers import planner_of
    from antennaopt.store.levels import level_lines, measured_lines

    genes, solver, evolution = experiment.genes, experiment.solver, experiment.evolution
    lines = [
        f"title        {one_line(experiment.title) or '(none)'}",
        f"family       {experiment.family}, {len(experiment.bounds()[0])} parameters",
        f"frequencies  {_frequencies(solver.frequencies)}",
    ]
    destination = experiment.cluster.destination()
    lines += [f"cluster      {one_line(destination)}"] if destination else []
    lines += [f"gene         {gene.name}: {_range(gene)}" for gene in genes]
    lines += [f"{'constraint   ' if one.constraint else 'objective    '}{_goal(one)}" for one in experiment.goals]
    lines += [f"tolerance    {line}" for line in tolerance_lines(experiment)]
    lines += [f"limits       {', '.join(experiment.limits.lines())}"] if experiment.limits else []
    lower, upper = experiment.reach() if genes else experiment.bounds()
    settings = experiment.solver.settings
    chosen = planner_of(experiment.kind)(experiment.kind, lower, upper, settings.in_a_search() if genes else settings)
    grid = chosen.to_dict()
    lines.append(
        f"grid         {lattice_text(grid)}, "
        f"at most {grid['max_steps']} steps, {grid['memory_bytes'] / 2**20:.1f} MiB an antenna"
    )
    if experiment.antenna.bodies:
        lines.append(
            f"port         bodies inside the feed must end at z >= {lowest_in_feed(chosen.layout) * 1e3:.4g} mm"
        )
    if not genes:
        from antennaopt.cli.geometry import refuse_infeasible
        from antennaopt.solve.capacity import check_memory

        refuse_infeasible(experiment.kind, lower)
        check_memory(grid)
        return [*lines, "ready for    antennaopt simulate"]
    finer = check_run_memory(experiment, grid)
    if finer is not None:
        lines.append(
            f"certificate  {lattice_text(finer)} for the ten best, {finer['memory_bytes'] / 2**20:.1f} MiB an antenna"
        )
    if not experiment.objectives:
        return [*lines, "not ready    antennaopt run needs an [[objective]]"]
    levels = levels_of(experiment, grid)
    most = sum(count for _, count in levels) or evolution.settings.most_evaluations
    chosen = f" (auto: {evolution.chosen})" if evolution.chosen else ""
    search = f"{evolution.algorithm}{chosen}, population {evolution.population}, {evolution.generations} generations"
    lines.append(f"search       {search}, at most {most} antennas")
    lines += level_lines([one for one, _ in levels], [count for _, count in levels])
    if experiment.fidelity is not None and experiment.fidelity.is_measured:
        lines += measured_lines(coarser_plans_for(experiment, grid))
    buildable, refusals = first_designs(experiment)
    lines += design_lines(buildable, refusals)
    if not buildable:
        return [*lines, "not ready    antennaopt run needs ranges with designs that can be built"]
    return [*lines, "ready for    antennaopt run"]


def tolerance_lines(experiment: Experiment) -> list[str]:
    """Return each tolerance of an experiment as a line: `lens.radii (6): normal, sigma 0.02 mm, up to 0.06 mm`."""
    from antennaopt.families import parameter_of
    from antennaopt.quantities import format_length

    lines = []
    for one in experiment.tolerance.of if experiment.tolerance else ():
        parameter = parameter_of(one.entries[0])
        show = format_length if parameter is not None and parameter.dimension == "length" else "{:.6g}".format
        many = f" ({len(one.entries)}, {'one for all' if one.correlated else 'each its own'})"
        lines.append(
            f"{one.name}{many if one.entries != (one.name,) else ''}: {one.kind}, sigma {show(one.sigma)}, "
            f"up to {show(one.reach)}"
        )
    if experiment.tolerance is not None and experiment.tolerance.samples:
        one = experiment.tolerance
        aim = one.aim if one.quantile is None else f"{one.quantile:g} quantile"
        lines.append(
            f"aim: {aim} of at most {one.samples} samples of a candidate; {one.final_samples} fresh ones of the best"
        )
    return lines


def _range(gene: Any) -> str:
    from antennaopt.families import parameter_of
    from antennaopt.quantities import format_length

    parameter = parameter_of(gene.name)
    words = parameter.choices if parameter else ()
    show = (
        format_length if gene.dimension == "length" else (lambda value: words[round(value)] if words else f"{value:g}")
    )
    if gene.kind == "choice":
        return "one of " + ", ".join(show(value) for value in gene.choices)
    return f"{show(gene.low)} to {show(gene.high)}" + (", whole numbers" if gene.kind == "integer" else "")


def _goal(objective: Any) -> str:
    bounds = ((objective.at_least, "at least"), (objective.at_most, "at most"))
    goal = " and ".join(f"{word} {level:g}" for level, word in bounds if level is not None)
    if objective.figure is not None and objective.figure.mask is not None:
        goal = "within the mask"
    if objective.aim is not None:
        goal = f"{objective.aim}, once all goals are met" if objective.secondary else objective.aim
    where = f" at {_frequencies(objective.frequencies)}" if objective.frequencies else ""
    weight = "" if objective.constraint or objective.aim else f", weight {objective.weight:g}"
    return f"{objective.name} {goal}{where}{weight}"


def _frequencies(frequencies: Sequence[float]) -> str:
    from antennaopt.quantities import format_frequency

    more = f" and {len(frequencies) - 8} more" if len(frequencies) > 8 else ""
    return ", ".join(format_frequency(hz) for hz in frequencies[:8]) + more


def check_run_memory(
    experiment: Experiment, plan: Mapping[str, Any], *, local: bool = True, backend: str = "cpu"
) -> dict[str, Any] | None:
    """Refuse a run whose grid, or the finer one of its certificates, cannot be held in memory.

    Args:
        experiment: From `load_experiment`.
        plan: What its antennas share.
        local: Whether this machine's own workers solve; of others, one antenna must fit here.
        backend: What solves; with "cuda" it is the device's memory that counts.

    Returns:
        The certificates' plan; None when certificates are off.

    Raises:
        ConfigurationError: One takes more than the machine has.
        DeviceError: One takes more than the device has, or there is none.
        Unsuitable: The device cannot step them.
    """
    from antennaopt.run.planning import halved_plan
    from antennaopt.solve.capacity import check_device, check_memory

    local = local and experiment.cluster.kind == "local"
    finer = None if experiment.certificate.mode == "off" else halved_plan(experiment, plan)
    if backend == "cuda":
        for one in (plan, finer):
            if one is not None and local:
                check_device(one)
        return finer
    workers = experiment.cluster.workers
    at_a_time = 1 if not local else workers if isinstance(workers, int) else usable_cores()
    check_memory(plan, at_a_time)
    if finer is not None:
        check_memory(finer, at_a_time, what="the certificate's", instead=' or certificate.mode = "off"')
    return finer
