"""Rows of a bench: written, printed as a table, read again to be drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.options import check_writable, write_out
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError

plot_option = click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw it (.png, .svg, .pdf)."
)
measured_option = click.option(
    "--measured",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Time nothing: draw rows that --json wrote.",
)


def check_plot(plot: Path | None, measured: Path | None) -> None:
    """Refuse a figure that cannot be written, and rows that nobody asks to draw, before anything is timed.

    Raises:
        ConfigurationError: The ending is not known, or --measured is without --plot.
        StorageError: It cannot be written.
    """
    if plot is None:
        if measured is not None:
            raise ConfigurationError("--measured draws stored rows; give --plot FILE too")
        return
    check_writable(plot)
    from antennaopt.reports.throughput import check_kind

    check_kind(plot)


def stored_rows(file: Path, *entries: str) -> list[Mapping[str, Any]]:
    """Return the rows of a file that a bench's --json wrote, or of one under `results/benchmarks`.

    Args:
        file: Which.
        entries: That each of its rows must have.

    Raises:
        ConfigurationError: It holds none.
    """
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"--measured {file} cannot be read: {error}") from None
    rows = data.get("rows") if isinstance(data, dict) else data
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ConfigurationError(f"--measured {file} holds no rows; give a file that --json wrote")
    for name in entries:
        if any(name not in row for row in rows):
            raise ConfigurationError(f"--measured {file}: a row has no entry {name}; give a file of this bench")
    return rows


def finish(rows: Sequence[Mapping[str, Any]], json_file: str | None, *, quiet: bool) -> None:
    """Write the rows as JSON where asked for, and print them as a table otherwise."""
    if json_file is not None:
        write_out(json_file, json.dumps(list(rows), indent=1, allow_nan=False) + "\n")
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
