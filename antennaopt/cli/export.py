"""`antennaopt export`: data of an antenna of a run, or a script for another solver; and the files of `simulate`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.options import check_writable, completed_from, quiet_option, warn, write_out
from antennaopt.errors import ConfigurationError
from antennaopt.terminal import drawn, visible

if TYPE_CHECKING:
    from antennaopt.run.stores import Individual

FORMATS = ("meep",)


@click.command(short_help="Write geometry and data of an antenna.")
@click.argument("source", metavar="RUN|ANTENNA.toml", type=click.Path(path_type=Path))
@click.option("--individual", metavar="ID", help="Of a run: its id, g0003-s012, or best.  [default: best]")
@click.option("--toml", type=click.Path(path_type=Path), metavar="FILE", help="Antenna file for `antennaopt simulate`.")
@click.option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Figures of merit and patterns.")
@click.option("--touchstone", type=click.Path(path_type=Path), metavar="FILE", help="S11 (.s1p).")
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    help="Script that solves it with another program: meep.",
    shell_complete=completed_from(FORMATS),
)
@click.option("--out", metavar="FILE", help="Where the script of --format goes.  [default: stdout]")
@quiet_option
def export(
    source: Path,
    individual: str | None,
    toml: Path | None,
    csv: Path | None,
    touchstone: Path | None,
    format_: str | None,
    out: str | None,
    quiet: bool,
) -> None:
    """Write geometry and data of any antenna of a run, or of an antenna file; prints the files.

    \b
    Examples:
      antennaopt export results/quickstart/RUN --toml best.toml --csv best.csv --touchstone best.s1p
      antennaopt export antenna.toml --format meep --out antenna_meep.py
    """  # noqa: D301 - \b is click's
    _check_wishes(toml, csv, touchstone, format_, out)
    script = out or "-"
    check_writable(toml, script, *written_for(csv=csv, touchstone=touchstone), inputs=[source])
    written: list[Path] = []
    if source.is_file() or source.suffix == ".toml":
        _refuse_for_file(source, individual, toml, csv, touchstone)
        write_out(script, _script_of_file(source))
        written += [Path(script)] if script != "-" else []
    else:
        written += _of_run(source, individual or "best", toml, csv, touchstone, script if format_ else None)
    if not quiet:
        for path in written:
            click.echo(str(path), err=format_ is not None and script == "-")


def _check_wishes(
    toml: Path | None, csv: Path | None, touchstone: Path | None, format_: str | None, out: str | None
) -> None:
    if toml is None and csv is None and touchstone is None and format_ is None:
        raise ConfigurationError("nothing to export; name at least one of --toml, --csv, --touchstone, --format")
    if format_ is not None and format_ not in FORMATS:
        raise ConfigurationError(f"--format {format_} is not known; use one of {', '.join(FORMATS)}")
    if out is not None and format_ is None:
        raise ConfigurationError(f"--out {out} goes with --format; name the format, for example --format meep")


def _refuse_for_file(
    source: Path, individual: str | None, toml: Path | None, csv: Path | None, touchstone: Path | None
) -> None:
    """An antenna file has no results yet, and is no run."""
    if individual is not None:
        raise ConfigurationError(f"--individual {individual} goes with a run folder, and {source} is none")
    for option, file in (("--toml", toml), ("--csv", csv), ("--touchstone", touchstone)):
        if file is not None:
            advice = "it is one already" if option == "--toml" else f"use `antennaopt simulate {source} {option}`"
            raise ConfigurationError(f"{option} exports an antenna of a run, and {source} is a file; {advice}")


def _of_run(
    run: Path, individual: str, toml: Path | None, csv: Path | None, touchstone: Path | None, script: str | None
) -> list[Path]:
    from antennaopt.run.stores import recall

    known = recall(run, individual)
    warn(known.damage)
    if known.outcome["status"] != "ok" and (csv is not None or touchstone is not None):
        raise ConfigurationError(
            f"{known.individual} is {known.outcome['status']} and has no results; export it with --toml only"
        )
    title = f"{known.experiment.title or known.experiment.name}: {known.individual}"
    written: list[Path] = []
    if toml is not None:
        written.append(_write_antenna(toml, known, title))
    radius = known.design["feed.inner_radius"]
    written += _data_files(csv, touchstone, known.outcome, title=title, feed_radius=radius)
    if script is not None:
        from antennaopt.report.meep import meep_script

        _refuse_infeasible(known.experiment.family, known.design)
        write_out(script, meep_script(known.experiment.family, known.design, known.plan, title=title))
        written += [Path(script)] if script != "-" else []
    return written


def _script_of_file(source: Path) -> str:
    from antennaopt.experiment import load_antenna
    from antennaopt.report.meep import meep_script
    from antennaopt.solve.plan import plan

    experiment = load_antenna(source)
    design = experiment.design()
    _refuse_infeasible(experiment.family, design)
    chosen = plan(experiment.family, design, design, experiment.solver.settings)
    title = experiment.title or experiment.name
    return meep_script(experiment.family, design, chosen.to_dict(), title=title)


def _refuse_infeasible(family: str, design: dict[str, float]) -> None:
    from antennaopt.families import FAMILIES, stack

    reason = FAMILIES[family].refusal(stack([design]))[0]
    if reason is not None:
        raise ConfigurationError(f"the antenna cannot be built: {reason}")


def _write_antenna(path: Path, known: Individual, title: str) -> Path:
    from antennaopt.run import antenna_toml

    text = antenna_toml(
        title=title,
        family=known.experiment.family,
        design=known.design,
        solver=known.experiment.solver.settings.to_dict(),
        comment=f"Individual {known.individual} of run {known.run_id}, fitness {known.fitness:.6g}.",
    )
    write_out(str(path), text)
    return path


_PATH = click.Path(path_type=Path)
_OPTIONS = (
    click.option("--plot", type=_PATH, metavar="FILE", help="Draw geometry, field, phase, patterns and S11."),
    click.option("--plot-frequency", metavar="FREQUENCY", help="Of the field in --plot; else the design frequency."),
    click.option("--animate", type=_PATH, metavar="FILE", help="Film the pulse on its way (.mp4, .gif)."),
    click.option("--fields", type=_PATH, metavar="FILE", help="Write E with coordinates (.npz, .nc)."),
    click.option("--csv", type=_PATH, metavar="FILE", help="Write figures of merit and patterns."),
    click.option("--touchstone", type=_PATH, metavar="FILE", help="Write S11 (.s1p)."),
)


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name files; the command gets them as keyword arguments for `Outputs`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """What is to be written.

    Attributes:
        plot: Figure.
        plot_frequency: Of the field in it, as given.
        animate: Film.
        fields: Field data.
        csv: Tables.
        touchstone: S11.
    """

    plot: Path | None = None
    plot_frequency: str | None = None
    animate: Path | None = None
    fields: Path | None = None
    csv: Path | None = None
    touchstone: Path | None = None

    @property
    def need_fields(self) -> bool:
        """Whether the field, or S11 across the band, has to be recorded."""
        return any(path is not None for path in (self.plot, self.fields, self.touchstone))

    @property
    def need_film(self) -> bool:
        """Whether the field over time has to be recorded."""
        return self.animate is not None

    def check(self, json_file: str | None, source: Path) -> None:
        """Make sure that everything can be written.

        Args:
            json_file: Another output.
            source: What the command reads.

        Raises:
            ConfigurationError: A name's ending is not known, two are one file or the source's, or ffmpeg is missing.
            StorageError: A folder cannot be written.
        """
        files = (json_file, self.plot, self.animate, self.fields)
        check_writable(*files, *written_for(csv=self.csv, touchstone=self.touchstone), inputs=[source])
        if self.plot is not None:
            from antennaopt.report.canvas import KINDS

            _check_ending("--plot", self.plot, KINDS)
        if self.fields is not None:
            from antennaopt.report.field_data import KINDS

            _check_ending("--fields", self.fields, KINDS)
        if self.animate is not None:
            from antennaopt.report.film import KINDS, check_video

            _check_ending("--animate", self.animate, KINDS)
            check_video(self.animate)
        if self.plot_frequency is not None and self.plot is None:
            raise ConfigurationError("--plot-frequency goes with --plot; name the figure's file")

    def frequency(self, solved: list[float]) -> float | None:
        """Return the frequency that the figure is to show, Hz, or None for the design's.

        Args:
            solved: What the antenna is solved at, Hz.

        Raises:
            ConfigurationError: It is no frequency or not solved.
        """
        from antennaopt.quantities import FREQUENCY, QuantityError, format_frequency, parse_quantity

        if self.plot_frequency is None:
            return None
        try:
            asked = parse_quantity(self.plot_frequency, FREQUENCY)
        except QuantityError as error:
            raise ConfigurationError(f'--plot-frequency "{self.plot_frequency}" {error}') from None
        nearest = min(solved, key=lambda one: abs(one - asked))
        if abs(nearest - asked) > 1e-6 * asked:
            known = ", ".join(format_frequency(one) for one in solved)
            raise ConfigurationError(
                f'--plot-frequency "{self.plot_frequency}" is not solved; use one of solver.frequencies: {known}'
            )
        return nearest

    def write(
        self,
        outcome: Mapping[str, Any],
        *,
        title: str,
        feed_radius: float,
        frequency: float | None = None,
        quiet: bool = False,
    ) -> None:
        """Write all of it, with a line for each file on stderr.

        Args:
            outcome: Of `evaluate`, with what was needed.
            title: Of figure, film and Touchstone.
            feed_radius: Inside the feed, m.
            frequency: That the figure is to show, Hz.
            quiet: Whether to print nothing.

        Raises:
            StorageError: Something could not be written.
        """
        for path in self._written(outcome, title, feed_radius, frequency, quiet):
            if not quiet:
                print(f"wrote {path}", file=sys.stderr)

    def _written(
        self, outcome: Mapping[str, Any], title: str, feed_radius: float, frequency: float | None, quiet: bool
    ) -> Iterator[Path]:
        yield from _data_files(self.csv, self.touchstone, outcome, title=title, feed_radius=feed_radius)
        if self.fields is not None:
            from antennaopt.report.field_data import write_field_map

            yield write_field_map(self.fields, outcome)
        if self.plot is not None:
            from antennaopt.report import plot_simulation

            yield plot_simulation(self.plot, outcome, title=title, frequency=frequency)
        if self.animate is not None:
            from antennaopt.report import write_film

            with _drawing(self.animate, quiet=quiet) as watch:
                yield write_film(self.animate, outcome["film"], title=title, watch=watch)


def _data_files(
    csv: Path | None, touchstone: Path | None, outcome: Mapping[str, Any], *, title: str, feed_radius: float
) -> Iterator[Path]:
    """Write the files of `--csv` and `--touchstone`, and yield them."""
    if csv is not None:
        from antennaopt.report.data_files import write_csv

        yield from write_csv(csv, outcome)
    if touchstone is not None:
        from antennaopt.report.data_files import write_touchstone

        yield write_touchstone(touchstone, outcome, title=title, feed_radius=feed_radius)


def written_for(*, csv: Path | None, touchstone: Path | None) -> list[Path]:
    """Return the files that are written for `--csv` and `--touchstone`.

    Raises:
        StorageError: What was given cannot be written.
    """
    files: list[Path] = []
    for given in (csv, touchstone):
        check_writable(given)
    if csv is not None:
        from antennaopt.report.data_files import patterns_file

        files += [csv, patterns_file(csv)]
    if touchstone is not None:
        from antennaopt.report.data_files import touchstone_file

        files.append(touchstone_file(touchstone))
    return files


def _check_ending(option: str, path: Path, kinds: tuple[str, ...]) -> None:
    if path.suffix.removeprefix(".").lower() not in kinds:
        known = ", ".join(f".{one}" for one in kinds)
        raise ConfigurationError(f"{option} {path} has no known ending; use one of {known}")


@contextlib.contextmanager
def _drawing(path: Path, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show on a terminal how many frames are drawn."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(file=drawn(sys.stderr)), transient=True) as bar:
        task = bar.add_task(escape(visible(f"drawing {path}")), total=None)

        def watch(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield watch
