"""Runner of the benchmarks: store, draw and print their rows, or draw stored rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.options import check_plot, given_options, json_option, plot_option, quiet_option, write_json
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError
from antennaopt.machine import read_regular

_WATCH = "antennaopt.bench.runner"
measured_option = click.option(
    "--measured",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Draw rows of an earlier --json; time nothing.",
)

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Figure of a bench, by names, so that Matplotlib is imported only where something is drawn.

    Attributes:
        module: Of `antennaopt.report`.
        function: Draws rows into a file.
        entries: What each row must have, with its type; empty where stored rows are not drawn.
    """

    module: str
    function: str
    entries: str = ""

    def named(self, name: str) -> Any:
        """Return what the module holds under a name."""
        return getattr(import_module(f"antennaopt.report.{self.module}"), name)


@dataclass(frozen=True, kw_only=True)
class Sink:
    """Where the rows of a bench go.

    Attributes:
        json_file: Gets them as JSON; `-` is stdout.
        plot: File of the figure.
        figure: What draws it.
        quiet: Whether nothing is printed.
    """

    json_file: str | None
    plot: Path | None
    figure: Figure | None
    quiet: bool

    @property
    def told(self) -> Callable[[str], None] | None:
        """Prints a line on stderr while the bench goes on; None when quiet."""
        return None if self.quiet else partial(click.echo, err=True)

    def finish(self, rows: Sequence[Row], table: Callable[[Sequence[Row]], str] | None = None) -> None:
        """Store the rows with commit, machine and load, draw them, and print them as a table.

        Args:
            rows: All of them.
            table: Writes them for a terminal; None for an entry a line.
        """
        self.store(with_source(rows))
        self.draw(rows)
        if rows:
            self.show(lambda: (table or _entries)(rows))

    def store(self, data: Any) -> None:
        """Write data as JSON to the file of `--json`."""
        write_json(self.json_file, data, allow_nan=False)

    def draw(self, rows: Sequence[Row]) -> None:
        """Draw rows into the file of `--plot`."""
        if self.plot is not None and self.figure is not None:
            self.figure.named(self.figure.function)(self.plot, rows)

    def show(self, text: Callable[[], str]) -> None:
        """Print text on stdout, unless JSON goes there, or nothing is to be printed."""
        if self.json_file != "-" and not self.quiet:
            click.echo(text())


def bench_options(figure: Figure | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add `--json` and `--quiet`, with a figure of stored rows `--measured` and `--plot` too; they become a `Sink`.

    Args:
        figure: Of the bench's rows; None where it has none.
    """
    drawn = (measured_option, plot_option) if figure is not None and figure.entries else ()

    def added(bench: Callable[..., None]) -> Callable[..., None]:
        @wraps(bench)
        def command(
            *,
            json_file: str | None,
            quiet: bool,
            plot: Path | None = None,
            measured: Path | None = None,
            **options: Any,
        ) -> None:
            if measured is not None and figure is not None:
                _draw_measured(measured, plot, figure)
                return
            check_plot(plot, json_file, inputs=[options.get("file")])
            bench(Sink(json_file=json_file, plot=plot, figure=figure, quiet=quiet), **options)

        for option in (quiet_option, json_option, *reversed(drawn)):
            command = option(command)
        return command

    return added


def _draw_measured(measured: Path, plot: Path | None, figure: Figure) -> None:
    """Draw stored rows in place of timing.

    Raises:
        ConfigurationError: Other options are given, or the file holds no such rows.
        StorageError: The figure cannot be written.
    """
    others = sorted(given_options(click.get_current_context()) - {"--measured", "--plot", "--quiet"})
    if others:
        raise ConfigurationError(f"{others[0]} says nothing to --measured, which times nothing; leave one of them out")
    if plot is None:
        raise ConfigurationError("--measured draws stored rows; give --plot FILE too")
    check_plot(plot, inputs=[measured])
    rows = _stored_rows(measured, figure.named(figure.entries))
    try:
        figure.named(figure.function)(plot, rows)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise ConfigurationError(f"--measured {measured}: a row is not one of this bench ({error})") from error


def _stored_rows(file: Path, entries: Mapping[str, Any]) -> list[Row]:
    try:
        data = json.loads(read_regular(file))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"--measured {file} cannot be read: {error}") from None
    rows = data.get("rows") if isinstance(data, dict) else data
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ConfigurationError(f"--measured {file} holds no rows; give a file that --json wrote")
    for name, kind in entries.items():
        if not all(isinstance(row.get(name), kind) for row in rows):
            raise ConfigurationError(f"--measured {file}: a row has no such entry {name}; give a file of this bench")
    return rows


def watch(context: click.Context) -> None:
    """Measure the load of this machine from now on, for the rows that the command stores."""
    from antennaopt.bench.runner import Watch

    context.meta[_WATCH] = Watch()


def with_source(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add commit, machine and load to rows (see `Watch.about`); entries that a row has already stay."""
    about = click.get_current_context().meta[_WATCH].about()
    return [{**about, **row} for row in rows]


def _entries(rows: Sequence[Row]) -> str:
    """Write rows as columns, an entry a line."""
    flat = [dict(_flat(row)) for row in rows]
    return aligned([[name, *(one.get(name, "") for one in flat)] for name in flat[0]], header=False)


def _flat(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a row's entries as text, those of tables in it one by one."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{below}", text) for below, text in _flat(value))
        elif isinstance(value, (list, tuple)):
            yield name, " x ".join(str(one) for one in value)
        elif name == "cell_steps_per_s":
            yield name, f"{value / 1e6:.0f} M"
        else:
            yield name, f"{value:.4g}" if isinstance(value, float) else str(value)
