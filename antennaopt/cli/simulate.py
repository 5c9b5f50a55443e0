"""`antennaopt simulate`: one antenna, from a file or from a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.host import check_room
from antennaopt.cli.options import (
    backend_option,
    check_backend,
    chosen_backend,
    json_option,
    quiet_option,
    set_option,
    warn,
    write_out,
)
from antennaopt.cli.outputs import Outputs, file_options
from antennaopt.cli.working import working
from antennaopt.errors import ConfigurationError, TooManyFailuresError

if TYPE_CHECKING:
    from antennaopt.cli.extrapolation import Meshes
    from antennaopt.experiment import Experiment
    from antennaopt.solve.outcome import Outcome


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The antenna to solve.

    Attributes:
        experiment: Its settings.
        design: Every parameter, SI.
        plan: Grid and steps; the run's own for an antenna of a run, None to plan anew.
        backend: The run's own, or None.
        about: Further keys for the JSON object.
    """

    experiment: Experiment
    design: dict[str, float]
    plan: dict[str, Any] | None
    backend: str | None
    about: dict[str, Any]


@click.command(short_help="Solve one antenna, from a file or of a run.")
@click.argument("source", metavar="ANTENNA.toml|RUN", type=click.Path(path_type=Path))
@click.option("--individual", metavar="ID", help="Of a run: its id as in the rows, g0003-s012, or best.")
@json_option
@click.option("--cells-per-wavelength", type=float, metavar="N", help="In the densest medium, highest frequency.")
@click.option("--cell", metavar="LENGTH", help='Cell size, used exactly as given, e.g. "0.2 mm".')
@click.option("--extrapolate", is_flag=True, help="Solve on two meshes; results are for a cell that goes to zero.")
@backend_option(None)
@file_options
@set_option
@quiet_option
def simulate(
    source: Path,
    individual: str | None,
    json_file: str | None,
    cells_per_wavelength: float | None,
    cell: str | None,
    extrapolate: bool,
    backend: str | None,
    overrides: tuple[str, ...],
    quiet: bool,
    **files: Any,
) -> None:
    """Solve one antenna and print what came out.

    \b
    Examples:
      antennaopt simulate antenna.toml
      antennaopt simulate antenna.toml --cell "0.15 mm" --plot antenna.png --json -
      antennaopt simulate antenna.toml --cell "0.3 mm" --extrapolate
      antennaopt simulate antenna.toml --animate antenna.mp4 --fields antenna.npz
      antennaopt simulate results/quickstart/RUN --individual g0003-s012
    """  # noqa: D301 - \b is click's
    if backend is not None:
        check_backend(backend)
    outputs = Outputs(**files)
    outputs.check(json_file, source)
    if source.is_dir():
        subject = _of_run(source, individual, cells_per_wavelength, cell, overrides)
    else:
        subject = _of_file(source, individual, cells_per_wavelength, cell, overrides)
    if not quiet:
        warn(subject.experiment.warnings)
    name = _backend(backend or subject.backend or "auto", outputs)
    frequency = outputs.frequency(list(subject.experiment.solver.frequencies))
    meshes: Meshes | None = None
    if extrapolate:
        meshes = _extrapolate(subject, name, outputs, quiet=quiet)
        outcome, plan = meshes.outcome, meshes.solved[-1][0]
    else:
        plan = _plan(subject)
        outcome = _solve(subject, plan, name, outputs, quiet=quiet)
    result = as_object(outcome, subject, plan, name, meshes)
    if json_file is not None:
        write_out(json_file, json.dumps(result, indent=1, allow_nan=False) + "\n")
    _refuse_failed(outcome)
    if not quiet:
        _show(outcome, result, to_stderr=json_file == "-", meshes=meshes)
    title, radius = subject.experiment.title or subject.experiment.name, subject.design["feed.inner_radius"]
    title += f", {meshes.origin}" if meshes else ""
    outputs.write(outcome, title=title, feed_radius=radius, frequency=frequency, quiet=quiet)


def _backend(name: str, outputs: Outputs) -> str:
    """Choose what solves; devices take no film, so that `auto` leaves one to the CPU."""
    return "cpu" if name == "auto" and outputs.need_film else chosen_backend(name)


def _of_file(
    source: Path, individual: str | None, per_wavelength: float | None, cell: str | None, overrides: tuple[str, ...]
) -> Subject:
    from antennaopt.experiment import load_antenna

    if individual is not None:
        raise ConfigurationError(f"--individual {individual} goes with a run folder, and {source} is none")
    _cell_size(per_wavelength, cell)
    changes = list(overrides)
    changes += [f"solver.cells_per_wavelength={per_wavelength}"] if per_wavelength is not None else []
    changes += [f'solver.cell="{cell}"'] if cell is not None else []
    experiment = load_antenna(source, changes)
    return Subject(experiment=experiment, design=experiment.design(), plan=None, backend=None, about={})


def _of_run(
    source: Path, individual: str | None, per_wavelength: float | None, cell: str | None, overrides: tuple[str, ...]
) -> Subject:
    from antennaopt.cli.individuals import recall

    if individual is None:
        raise ConfigurationError(f"{source} is a run folder; say which antenna with --individual g0003-s012, or best")
    if overrides:
        raise ConfigurationError(
            "--set does not go with an antenna of a run; export it with `antennaopt export --toml`"
        )
    known = recall(source, individual, patterns=False)
    experiment = with_cell(known.experiment, per_wavelength, cell)
    about = {"run": known.run_id, "individual": known.individual}
    plan = known.plan if per_wavelength is None and cell is None else None
    return Subject(experiment=experiment, design=known.design, plan=plan, backend=known.backend, about=about)


def with_cell(experiment: Experiment, per_wavelength: float | None, cell: str | None) -> Any:
    """Return the experiment with another cell, checked anew.

    Raises:
        ConfigurationError: Both are given, or the cell is no length or too coarse.
    """
    size = _cell_size(per_wavelength, cell)
    if per_wavelength is None and cell is None:
        return experiment
    return experiment.changed(solver={"cell": size, "cells_per_wavelength": per_wavelength})


def _cell_size(per_wavelength: float | None, cell: str | None) -> float | None:
    """Read `--cell`, m; None when it is not given."""
    from antennaopt.quantities import LENGTH, QuantityError, parse_quantity

    if per_wavelength is not None and cell is not None:
        raise ConfigurationError("--cell and --cells-per-wavelength exclude each other; use one of them")
    try:
        return None if cell is None else parse_quantity(cell, LENGTH)
    except QuantityError as error:
        raise ConfigurationError(f'--cell "{cell}" {error}') from None


def _plan(subject: Subject) -> dict[str, Any]:
    from antennaopt.solve.plan import plan as make_plan

    if subject.plan is not None:
        return subject.plan
    experiment = subject.experiment
    return make_plan(experiment.family, subject.design, subject.design, experiment.solver.settings).to_dict()


def _solve(
    subject: Subject, plan: dict[str, Any], backend: str, outputs: Outputs, *, quiet: bool, mesh: str = ""
) -> Outcome:
    from antennaopt.solve.evaluate import evaluate

    check_room(plan, backend)
    family = subject.experiment.family
    cells = f"{plan['nr']} x {plan['nz']} cells of {plan['cell'] * 1e3:.4g} mm"
    with working(f"{mesh}solving {cells} with {backend}", plan, quiet=quiet) as watch:
        return evaluate(
            family,
            [subject.design],
            plan,
            backend=backend,
            fields=outputs.need_fields,
            film=outputs.need_film,
            watch=watch,
        )[0]


def _extrapolate(subject: Subject, backend: str, outputs: Outputs, *, quiet: bool) -> Meshes:
    """Solve on two meshes, both made for this antenna alone; one of a run begins with the run's cell."""
    from antennaopt.cli.extrapolation import order_warnings, plan_two_meshes, solve_on_two_meshes

    if not quiet:
        warn(order_warnings(subject.experiment.family))
    cell = None if subject.plan is None else subject.plan["cell"]
    plans = plan_two_meshes(subject.experiment, subject.design, cell)
    check_room(plans[1], backend)

    def solve(plan: dict[str, Any]) -> dict[str, Any]:
        wanted = outputs if plan is plans[1] else replace(outputs, animate=None)  # a film of the finer mesh alone
        return _solve(subject, plan, backend, wanted, quiet=quiet, mesh=f"mesh {1 + (plan is plans[1])} of 2: ")

    return solve_on_two_meshes(subject.experiment.family, plans, solve)


def as_object(
    outcome: Mapping[str, Any],
    subject: Subject,
    plan: Mapping[str, Any],
    backend: str,
    meshes: Meshes | None = None,
) -> dict[str, Any]:
    """Return what `--json` writes: `results`, one entry a frequency, and beside it the account of the solution.

    Args:
        outcome: As `evaluate` returns it.
        subject: What was solved.
        plan: On which grid; the finer of two.
        backend: By what.
        meshes: What an extrapolated outcome rests on.
    """
    from antennaopt.run import finite, result_object
    from antennaopt.solve.certificate import certify

    solved = {"frequency_hz": [], **outcome}
    radius = subject.design["feed.inner_radius"]
    data = result_object(solved, backend=backend, **subject.about)
    balance = [value for value in outcome.get("power_balance") or () if value is not None]
    data |= {
        "cells": outcome.get("cells") or plan["nr"] * plan["nz"],
        "grid": [plan["nr"], plan["nz"]],
        "cell": plan["cell"],
        "family": subject.experiment.family,
        "design": subject.design,
        "power_balance": max(balance, key=lambda value: abs(value - 1.0), default=None),
        **(meshes.about(backend, radius) if meshes else {"certificate": certify(outcome, feed_radius=radius)}),
    }
    return finite(data)


def _refuse_failed(outcome: Mapping[str, Any]) -> None:
    status, reason = outcome["status"], outcome.get("error") or "no reason given"
    if status == "infeasible":
        raise ConfigurationError(f"the antenna cannot be built: {reason}")
    if status == "undecayed" and "directivity_dbi" in outcome:
        warn([f"undecayed: {reason}; the numbers are not to be trusted"])
    elif status != "ok":
        raise TooManyFailuresError(f"the antenna was not solved: {status}, {reason}")


def _show(
    outcome: Mapping[str, Any], result: Mapping[str, Any], *, to_stderr: bool, meshes: Meshes | None = None
) -> None:
    from antennaopt.cli.tables import results_table
    from antennaopt.solve.certificate import doubts

    click.echo(results_table(outcome), err=to_stderr)
    seconds = outcome.get("seconds") or 0.0
    grid = " x ".join(str(one) for one in result["grid"])
    click.echo(
        f"{grid} cells of {result['cell'] * 1e3:.4g} mm, {outcome.get('steps')} steps, {seconds:.2f} s, "
        f"backend {result['backend']}; {outcome['status']}, {result['certificate']['verdict']}",
        err=to_stderr,
    )
    if meshes is not None:
        click.echo(meshes.line(), err=to_stderr)
    warn(doubts(result["certificate"]))
