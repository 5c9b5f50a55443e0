"""Rows of a bench: written, printed as a table, read again to be drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.options import check_plot, given_options, write_out
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError
from antennaopt.reading import read_regular

_WATCH = "antennaopt.bench.runner"
measured_option = click.option(
    "--measured",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Time nothing: draw rows that --json wrote.",
)


def draw_measured(
    context: click.Context,
    measured: Path,
    plot: Path | None,
    draw: Callable[[Path, list[Mapping[str, Any]]], object],
    entries: Mapping[str, Any],
) -> None:
    """Draw stored rows in place of timing.

    Args:
        context: Of the command: no other option goes with it.
        measured: A file that a bench's --json wrote, or one under `results/benchmarks`.
        plot: The figure.
        draw: Draws it.
        entries: That each row must have, with their types.

    Raises:
        ConfigurationError: Other options are given, or the file holds no such rows.
        StorageError: The figure cannot be written.
    """
    others = sorted(given_options(context) - {"--measured", "--plot", "--quiet"})
    if others:
        raise ConfigurationError(f"{others[0]} says nothing to --measured, which times nothing; leave one of them out")
    if plot is None:
        raise ConfigurationError("--measured draws stored rows; give --plot FILE too")
    check_plot(plot, inputs=[measured])
    rows = _stored_rows(measured, entries)
    try:
        draw(plot, rows)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise ConfigurationError(f"--measured {measured}: a row is not one of this bench ({error})") from error


def _stored_rows(file: Path, entries: Mapping[str, Any]) -> list[Mapping[str, Any]]:
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
    """Look at the load of this machine from now on, for the rows that the command stores."""
    from antennaopt.bench.runner import Watch

    context.meta[_WATCH] = Watch()


def with_source(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add commit, machine and load to rows (see `Watch.about`); what a row says itself stays."""
    about = click.get_current_context().meta[_WATCH].about()
    return [{**about, **row} for row in rows]


def finish(rows: Sequence[Mapping[str, Any]], json_file: str | None, *, quiet: bool) -> None:
    """Write the rows as JSON where asked for, with commit, machine and load; print them as a table otherwise."""
    if json_file is not None:
        write_out(json_file, json.dumps(with_source(rows), indent=1, allow_nan=False) + "\n")
    if json_file == "-" or quiet or not rows:
        return
    flat = [dict(_flat(row)) for row in rows]
    click.echo(aligned([[name, *(one.get(name, "") for one in flat)] for name in flat[0]], header=False))


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
