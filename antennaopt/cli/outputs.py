"""Output files of `simulate`; `export` writes those of results too."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.far_field import FarFieldFiles, far_field_options
from antennaopt.cli.geometry import Antenna, GeometryFiles, geometry_options, refuse_of_revolution
from antennaopt.cli.options import check_writable, options_of
from antennaopt.cli.scripts import ScriptFiles, script_options
from antennaopt.errors import ConfigurationError
from antennaopt.terminal import drawn, visible, with_article

_PATH = click.Path(path_type=Path)
_results = options_of(
    click.option("--plot", type=_PATH, metavar="FILE", help="Draw geometry, field, phase, patterns and S11."),
    click.option(
        "--plot-frequency", metavar="FREQUENCY", help="Frequency of the field in --plot; default: the design frequency."
    ),
    click.option("--animate", type=_PATH, metavar="FILE", help="Write a film of the pulse (.mp4, .gif)."),
    click.option("--fields", type=_PATH, metavar="FILE", help="Write the electric field with coordinates (.npz, .nc)."),
    click.option("--csv", type=_PATH, metavar="FILE", help="Write figures of merit and patterns."),
    click.option("--touchstone", type=_PATH, metavar="FILE", help="Write S11 (.s1p)."),
)


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name files; the command gets them as keyword arguments for `Outputs`."""
    return _results(far_field_options(geometry_options(script_options(command))))


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
        geometry: The antenna itself.
        far_field: Its far field for other programs.
        scripts: That solve it with other programs.
    """

    plot: Path | None = None
    plot_frequency: str | None = None
    animate: Path | None = None
    fields: Path | None = None
    csv: Path | None = None
    touchstone: Path | None = None
    geometry: GeometryFiles = field(default_factory=GeometryFiles)
    far_field: FarFieldFiles = field(default_factory=FarFieldFiles)
    scripts: ScriptFiles = field(default_factory=ScriptFiles)

    @classmethod
    def of(cls, files: Mapping[str, Any]) -> Outputs:
        """Return what the options of `file_options` name."""
        parts: dict[str, Any] = {
            "geometry": GeometryFiles.of(files),
            "far_field": FarFieldFiles.of(files),
            "scripts": ScriptFiles.of(files),
        }
        elsewhere = {*vars(parts["geometry"]), *FarFieldFiles.names(), *ScriptFiles.names()}
        return cls(**{name: path for name, path in files.items() if name not in elsewhere}, **parts)

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
        self.far_field.check()
        check_writable(*self._of_results(json_file), *self.geometry.named(), inputs=[source])
        if self.scripts.on_stdout:
            raise ConfigurationError("a script on stdout goes with `antennaopt export`; name a file for it")
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

    def check_geometry(self, antenna: Antenna, json_file: str | None, source: Path) -> None:
        """Make sure that the antenna can be drawn, and that the files of its bodies can be written; see `check`."""
        of_revolution = {
            "fields": self.fields, "animate": self.animate, "sph": self.far_field.files.get("sph"), **self.scripts.files
        }  # fmt: skip
        refuse_of_revolution(antenna, of_revolution)
        if self.plot_frequency is not None and antenna.experiment.kind.spatial is not None:
            family = antenna.experiment.family
            raise ConfigurationError(
                f"--plot-frequency is of the field map, which {with_article(family)} has none of; leave it out"
            )
        check_writable(*self._of_results(json_file), *self.geometry.written_for(antenna), inputs=[source])
        check_endings(self.csv, self.touchstone)

    def _of_results(self, json_file: str | None) -> list[Path | str | None]:
        results = (json_file, self.plot, self.animate, self.fields, *written_for(self.csv, self.touchstone))
        return [*results, *self.far_field.named(), *self.scripts.named()]

    def frequency(self, solved: list[float]) -> float | None:
        """Return the frequency that the figure is to show, Hz, or None for the design's; check those of other files.

        Args:
            solved: What the antenna is solved at, Hz.

        Raises:
            ConfigurationError: One is no frequency or not solved, or a file cannot hold them all.
        """
        from antennaopt.quantities import FREQUENCY, QuantityError, format_frequency, parse_quantity

        self.far_field.check_frequencies(solved)
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
        antenna: Antenna,
        *,
        plan: Mapping[str, Any],
        title: str,
        frequency: float | None = None,
        quiet: bool = False,
    ) -> None:
        """Write all of it, with a line for each file on stderr.

        Args:
            outcome: Of `evaluate`, with what was needed.
            antenna: What was solved.
            plan: Its lattice.
            title: Of figure, film and Touchstone.
            frequency: That the figure is to show, Hz.
            quiet: Whether to print nothing.

        Raises:
            StorageError: Something could not be written.
        """
        results = self._written(outcome, title, antenna, frequency, quiet)
        far = self.far_field.write(outcome, title=title, polarisation=antenna.experiment.polarisation)
        yielded = (results, far, self.geometry.write(antenna), self.scripts.write(antenna, plan))
        for path in chain.from_iterable(yielded):
            if not quiet:
                print(f"wrote {path}", file=sys.stderr)

    def _written(
        self,
        outcome: Mapping[str, Any],
        title: str,
        antenna: Antenna,
        frequency: float | None,
        quiet: bool,
    ) -> Iterator[Path]:
        experiment = antenna.experiment
        yield from data_files(self.csv, self.touchstone, outcome, title=title, design=antenna.design)
        if self.fields is not None:
            from antennaopt.report.field_data import write_field_map

            yield write_field_map(self.fields, outcome)
        if self.plot is not None:
            from antennaopt.report.simulation import plot_simulation

            yield plot_simulation(
                self.plot,
                outcome,
                title=title,
                frequency=frequency,
                goals=experiment.goals,
                polarisation=experiment.polarisation,
                board=experiment.kind.board(antenna.design),
            )
        if self.animate is not None:
            from antennaopt.report.film import write_film

            with _drawing(self.animate, quiet=quiet) as watch:
                yield write_film(self.animate, outcome["film"], title=title, watch=watch)


def data_files(
    csv: Path | None, touchstone: Path | None, outcome: Mapping[str, Any], *, title: str, design: Mapping[str, float]
) -> Iterator[Path]:
    """Write the files of `--csv` and `--touchstone`, and yield them."""
    if csv is not None:
        from antennaopt.report.data_files import write_csv

        yield from write_csv(csv, outcome)
    if touchstone is not None:
        from antennaopt.report.data_files import reference_of, write_touchstone

        yield write_touchstone(touchstone, outcome, title=title, **reference_of(design))


def written_for(csv: Path | None, touchstone: Path | None) -> list[Path]:
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


def check_endings(csv: Path | None, touchstone: Path | None) -> None:
    """Refuse the files of `--csv` and `--touchstone` that have another ending; one without gets it, or needs none.

    Raises:
        ConfigurationError: One line.
    """
    for option, given, kind in (("--csv", csv, "csv"), ("--touchstone", touchstone, "s1p")):
        if given is not None and given.suffix:
            _check_ending(option, given, (kind,))


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
