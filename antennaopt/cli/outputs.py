"""Files that `simulate` writes beside its table: pictures, films, data; checked before anything is solved."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.options import check_writable
from antennaopt.errors import ConfigurationError
from antennaopt.terminal import drawn, visible

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
            from antennaopt.report.simulation import KINDS

            _check_ending("--plot", self.plot, KINDS)
        if self.fields is not None:
            from antennaopt.report.exports.field_map import KINDS

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
        """Write all of it and say so on stderr.

        Args:
            outcome: Of `evaluate`, with what was needed.
            title: Of figure, film and Touchstone.
            feed_radius: Inside the feed, m.
            frequency: That the figure is to show, Hz.
            quiet: Say nothing.

        Raises:
            StorageError: Something could not be written.
        """
        for path in self._written(outcome, title, feed_radius, frequency, quiet):
            if not quiet:
                print(f"wrote {path}", file=sys.stderr)

    def _written(
        self, outcome: Mapping[str, Any], title: str, feed_radius: float, frequency: float | None, quiet: bool
    ) -> Iterator[Path]:
        if self.csv is not None:
            from antennaopt.report.exports import write_csv

            yield from write_csv(self.csv, outcome)
        if self.touchstone is not None:
            from antennaopt.report.exports import write_touchstone

            yield write_touchstone(self.touchstone, outcome, title=title, feed_radius=feed_radius)
        if self.fields is not None:
            from antennaopt.report.exports import write_field_map

            yield write_field_map(self.fields, outcome)
        if self.plot is not None:
            from antennaopt.report import plot_simulation

            yield plot_simulation(self.plot, outcome, title=title, frequency=frequency)
        if self.animate is not None:
            from antennaopt.report import write_film

            with _drawing(self.animate, quiet=quiet) as watch:
                yield write_film(self.animate, outcome["film"], title=title, watch=watch)


def written_for(*, csv: Path | None, touchstone: Path | None) -> list[Path]:
    """Return the files that are written for `--csv` and `--touchstone`.

    Raises:
        StorageError: What was given cannot be written.
    """
    files: list[Path] = []
    for given in (csv, touchstone):
        check_writable(given)
    if csv is not None:
        from antennaopt.report.exports.tables import patterns_file

        files += [csv, patterns_file(csv)]
    if touchstone is not None:
        from antennaopt.report.exports.tables import touchstone_file

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
