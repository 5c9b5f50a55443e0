"""`antennaopt simulate`: solve one antenna of a file or a run, with progress."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.geometry import Antenna
from antennaopt.cli.options import (
    backend_option,
    json_option,
    naming,
    quiet_option,
    set_option,
    warn,
    warnings_as_lines,
    write_json,
)
from antennaopt.cli.outputs import Outputs, file_options
from antennaopt.errors import ConfigurationError, TooManyFailuresError
from antennaopt.quantities import duration
from antennaopt.solve.device import check_backend, chosen_backend
from antennaopt.terminal import drawn

if TYPE_CHECKING:
    from antennaopt.figures import Figure
    from antennaopt.solve.simulate import Simulated, Subject


@click.command(short_help="Solve one antenna of a file or a run.")
@click.argument("source", metavar="ANTENNA.toml|RUN", type=click.Path(path_type=Path))
@click.option("--individual", metavar="ID", help="Antenna of a run: id as in the rows, e.g. g0003-s012, or best.")
@json_option
@click.option(
    "--cells-per-wavelength",
    type=float,
    metavar="N",
    help="Cells per wavelength in the densest medium at the highest frequency.",
)
@click.option("--cell", metavar="LENGTH", help='Cell size, used exactly as given, e.g. "0.2 mm".')
@click.option("--extrapolate", is_flag=True, help="Solve on two meshes and extrapolate to cell size zero.")
@click.option(
    "--figure",
    "figures",
    multiple=True,
    metavar="METRIC[, KEY=VALUE]...",
    help='Further figure of merit to print, e.g. "crosspol_db, theta=20 deg"; may be repeated.',
)
@backend_option(None)
@click.option(
    "--devices",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="CUDA devices that share the lattice of an antenna in three dimensions.",
)
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
    figures: tuple[str, ...],
    backend: str | None,
    devices: int,
    overrides: tuple[str, ...],
    quiet: bool,
    **files: Any,
) -> None:
    """Solve one antenna and print its figures of merit.

    \b
    Examples:
      antennaopt simulate antenna.toml
      antennaopt simulate antenna.toml --cell "0.15 mm" --plot antenna.png --json -
      antennaopt simulate antenna.toml --cell "0.3 mm" --extrapolate
      antennaopt simulate antenna.toml --animate antenna.mp4 --fields antenna.npz
      antennaopt simulate antenna.toml --dxf antenna.dxf --stl antenna.stl
      antennaopt simulate antenna.toml --cut antenna.cut --ffs antenna.ffs
      antennaopt simulate antenna.toml --figure "crosspol_db, theta=20 deg" --figure "phase_centre_mm"
      antennaopt simulate results/quickstart/RUN --individual g0003-s012
      antennaopt simulate patch.toml --cell "0.1 mm" --backend cuda --devices 4
    """  # noqa: D301 - \b is click's
    from antennaopt.solve.extrapolate import order_warnings, ordered_as
    from antennaopt.solve.simulate import simulate as solve_one

    if backend is not None:
        check_backend(backend)
    outputs = Outputs.of(files)
    outputs.check(json_file, source)
    if source.is_dir():
        subject = _of_run(source, individual, cells_per_wavelength, cell, overrides)
    else:
        subject = _of_file(source, individual, cells_per_wavelength, cell, overrides)
    subject = replace(subject, asked=_asked(figures, subject.experiment.of_cuts))
    antenna = _antenna(source, subject)
    outputs.check_geometry(antenna, json_file, source)
    if not quiet:
        warn(subject.experiment.warnings)
    asked = backend or subject.backend or "auto"
    name = "cpu" if asked == "auto" and outputs.need_film else chosen_backend(asked)  # devices take no film
    frequency = outputs.frequency(list(subject.experiment.solver.frequencies))
    if extrapolate and not quiet and subject.experiment.kind.spatial is None:
        warn(order_warnings(ordered_as(subject.experiment.kind)))
    with warnings_as_lines(quiet=quiet), naming(source):
        simulated = solve_one(
            subject,
            backend=name,
            extrapolate=extrapolate,
            fields=outputs.need_fields,
            film=outputs.need_film,
            sphere=bool(outputs.far_field.files),
            devices=devices,
            working=partial(working, quiet=quiet),
        )
    outcome, result = simulated.outcome, simulated.to_dict()
    write_json(json_file, result, allow_nan=False)
    _refuse_failed(outcome)
    if not quiet:
        _show(simulated, result, to_stderr=json_file == "-")
    outputs.write(outcome, antenna, plan=simulated.plan, title=simulated.title, frequency=frequency, quiet=quiet)


def _asked(texts: tuple[str, ...], polarisation: str) -> tuple[Figure, ...]:
    from antennaopt.experiment import figure_written

    found = [figure_written(text, polarisation) for text in texts]
    return tuple(one for one in found if one is not None)


def _of_file(
    source: Path, individual: str | None, per_wavelength: float | None, cell: str | None, overrides: tuple[str, ...]
) -> Subject:
    from antennaopt.experiment import load_antenna
    from antennaopt.solve.simulate import Subject, cell_size

    if individual is not None:
        raise ConfigurationError(f"--individual {individual} goes with a run folder, and {source} is none")
    cell_size(per_wavelength, cell)
    changes = list(overrides)
    changes += [f"solver.cells_per_wavelength={per_wavelength}"] if per_wavelength is not None else []
    changes += [f'solver.cell="{cell}"'] if cell is not None else []
    experiment = load_antenna(source, changes)
    return Subject(experiment=experiment, design=experiment.design())


def _of_run(
    source: Path, individual: str | None, per_wavelength: float | None, cell: str | None, overrides: tuple[str, ...]
) -> Subject:
    from antennaopt.run.stores import recall
    from antennaopt.solve.simulate import Subject, with_cell

    if individual is None:
        raise ConfigurationError(f"{source} is a run folder; say which antenna with --individual g0003-s012, or best")
    if overrides:
        raise ConfigurationError(
            "--set does not go with an antenna of a run; export it with `antennaopt export --toml`"
        )
    known = recall(source, individual, patterns=False)
    warn(known.damage)
    experiment = with_cell(known.experiment, per_wavelength, cell)
    about = {"run": known.run_id, "individual": known.individual}
    plan = known.plan if per_wavelength is None and cell is None else None
    settings = known.settings if plan is not None else None
    if known.coarse and plan is not None:
        click.echo(f"{known.individual} was {known.coarse}, and is solved so again", err=True)
    return Subject(
        experiment=experiment,
        design=known.design,
        plan=plan,
        settings=settings,
        backend=known.backend,
        about=about,
    )


def _antenna(source: Path, subject: Subject) -> Antenna:
    experiment, about = subject.experiment, subject.about
    origin = f"Individual {about['individual']} of run {about['run']}." if about else f"Written from {source.name}."
    title = experiment.title or experiment.name
    return Antenna(experiment=experiment, design=subject.design, title=title, comment=origin, settings=subject.settings)


def _refuse_failed(outcome: Mapping[str, Any]) -> None:
    status, reason = outcome["status"], outcome.get("error") or "no reason given"
    if status == "infeasible":
        raise ConfigurationError(f"the antenna cannot be built: {reason}")
    if status == "undecayed" and "directivity_dbi" in outcome:
        warn([f"undecayed: {reason}; the numbers are not to be trusted"])
    elif status != "ok":
        raise TooManyFailuresError(f"the antenna was not solved: {status}, {reason}")


def _show(simulated: Simulated, result: Mapping[str, Any], *, to_stderr: bool) -> None:
    from antennaopt.cli.tables import aligned, plain, results_table
    from antennaopt.report.goals import goals_table
    from antennaopt.solve.certificate import ONE_MESH, doubts, verdict_shown
    from antennaopt.solve.lattices import lattice_text
    from antennaopt.solve.port import port_line

    outcome = simulated.outcome
    click.echo(results_table(outcome, simulated.subject.figures), err=to_stderr)
    if simulated.standings:
        click.echo("\n" + plain(aligned(goals_table(simulated.standings), left=(0, 1, 4))) + "\n", err=to_stderr)
    if line := _sense_line(simulated):
        click.echo(line, err=to_stderr)
    seconds = outcome.get("seconds") or 0.0
    verdict = verdict_shown(result["certificate"]["verdict"], mesh_checked=simulated.meshes is not None)
    several = f" on {simulated.devices} devices" if simulated.devices > 1 else ""
    click.echo(
        f"{lattice_text(simulated.plan)}, {outcome.get('steps')} steps, {seconds:.2f} s, "
        f"backend {result['backend']}{several}; {outcome['status']}, {verdict}",
        err=to_stderr,
    )
    if "port" in result:
        click.echo(port_line(result["port"], outcome["frequency_hz"]), err=to_stderr)
    if simulated.meshes is not None:
        click.echo(simulated.meshes.line(), err=to_stderr)
    elif outcome.ok:
        click.echo(ONE_MESH, err=to_stderr)
    warn(doubts(result["certificate"]))


def _sense_line(simulated: Simulated) -> str:
    """Return what the figures of an antenna in space of circular polarisation are of; empty of any other."""
    from antennaopt.figures import LINEAR

    experiment = simulated.subject.experiment
    if experiment.polarisation == LINEAR or experiment.kind.spatial is None:
        return ""
    return (
        f"directivities, gains and cuts are of {experiment.polarisation.upper()}; E plane is phi = 0, H plane phi = 90 "
        "degrees"
    )


LINE_EVERY_S = 10.0
"""Seconds between two lines where there is no terminal."""

Watch = Callable[[int, float], None]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Where a solution is.

    Attributes:
        steps: Taken so far.
        total: Expected at its end.
        seconds_left: Until then at this pace; None before a pace is known.
        at_most: Whether `total` is the step limit: the energy has not begun to fall.
    """

    steps: int
    total: int
    seconds_left: float | None
    at_most: bool

    @property
    def share(self) -> float:
        """Part that is done, 0 to 1."""
        return min(self.steps / max(self.total, 1), 1.0)

    def left(self) -> str:
        """Write the time left: `about 12 s left`; empty before a pace is known."""
        if self.seconds_left is None:
            return ""
        if self.seconds_left < 1.0:
            return "less than 1 s left"
        return f"{'at most' if self.at_most else 'about'} {duration(self.seconds_left)} left"


class Pace:
    """Expects when a solution ends: the energy falls evenly in dB from its peak, and the step limit stands."""

    def __init__(self, plan: Mapping[str, Any], clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a solution.

        Args:
            plan: As `SolverPlan.to_dict` wrote it.
            clock: Seconds.
        """
        layout = plan.get("layout", plan)
        self._most, self._decay, self._settled = int(plan["max_steps"]), layout["decay"], int(layout["settled"])
        self._clock = clock
        self._peak = 0
        self._first: tuple[int, float] | None = None

    def at(self, steps: int, energy: float) -> Estimate:
        """Return where the solution is.

        Args:
            steps: Taken so far.
            energy: Over its largest value so far.
        """
        now = self._clock()
        self._first = self._first or (steps, now)
        falling = bool(self._decay) and 0.0 < energy < 1.0
        total = self._most
        if falling:
            ends = self._peak + (steps - self._peak) * math.log(self._decay) / math.log(energy)
            total = min(max(math.ceil(ends), self._settled, steps), self._most)
        else:
            self._peak = steps
        began, then = self._first
        left = (total - steps) * (now - then) / (steps - began) if steps > began else None
        return Estimate(steps=steps, total=total, seconds_left=left, at_most=bool(self._decay) and not falling)


@contextlib.contextmanager
def working(text: str, plan: Mapping[str, Any], *, quiet: bool) -> Iterator[Watch | None]:
    """Show how far a solution is, on stderr; yield what the solver calls at each look at the energy.

    Args:
        text: What is solved.
        plan: On which grid.
        quiet: Whether to show nothing.
    """
    if quiet:
        yield None
    elif not sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
        yield lines(Pace(plan))
    else:
        with _bar(text, plan) as watch:
            yield watch


def lines(pace: Pace, clock: Callable[[], float] = time.monotonic) -> Watch:
    """Return what prints a line on stderr every `LINE_EVERY_S` seconds."""
    printed = clock()

    def watch(steps: int, energy: float) -> None:
        nonlocal printed
        estimate, now = pace.at(steps, energy), clock()
        if now - printed < LINE_EVERY_S:
            return
        printed = now
        word = "at most" if estimate.at_most else "about"
        parts = [f"{estimate.share:.0%}", f"{steps} of {word} {estimate.total} steps", estimate.left()]
        print("  ".join(part for part in parts if part), file=sys.stderr, flush=True)

    return watch


@contextlib.contextmanager
def _bar(text: str, plan: Mapping[str, Any]) -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    pace = Pace(plan)
    columns = (BarColumn(20), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    console = Console(file=drawn(sys.stderr), highlight=False)
    console.print(text, markup=False)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def watch(steps: int, energy: float) -> None:
            estimate = pace.at(steps, energy)
            bar.update(task, completed=max(estimate.share, bar.tasks[0].completed), description=estimate.left())

        yield watch
