"""`antennaopt bench search`: algorithms against each other, with the same budget."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.measured import finish, with_source
from antennaopt.cli.options import (
    backend_option,
    check_plot,
    json_option,
    quiet_option,
    scheduler_option,
    set_option,
    write_out,
)
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError
from antennaopt.solve.device import chosen_backend


@click.command(short_help="Algorithms against each other, with the same budget.")
@click.argument("file", metavar="[EXPERIMENT.toml]", required=False, type=click.Path(path_type=Path))
@click.option("--seeds", type=click.IntRange(min=1), default=10, show_default=True, help="Searches of each algorithm.")
@click.option(
    "--workers",
    "workers",
    type=click.IntRange(min=1),
    metavar="N",
    multiple=True,
    help="The generational search against the steady state, with so many workers on a clock of their own; "
    "may be repeated.",
)
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="With --workers: draw it (.png, .svg, .pdf)."
)
@backend_option()
@scheduler_option
@set_option
@json_option
@quiet_option
def search(
    file: Path | None,
    seeds: int,
    workers: tuple[int, ...],
    plot: Path | None,
    backend: str,
    scheduler: str | None,
    overrides: tuple[str, ...],
    json_file: str | None,
    quiet: bool,
) -> None:
    """Let the genetic algorithm compete with random search, with the same budget and over several seeds.

    With --workers it competes with the search without generations instead: how much of their time so many workers
    solve, and what is found. Every antenna is solved here, and takes as long as its steps on a clock of its own, so
    that the figures are the same on every machine; sending and storing cost nothing on that clock.

    \b
    Examples:
      antennaopt bench search --seeds 10 --json search.json
      antennaopt bench search --workers 2 --workers 8 --workers 24 --json waiting.json --plot waiting.png
    """  # noqa: D301 - \b is click's
    if workers and scheduler is not None:
        raise ConfigurationError("--workers and --scheduler exclude each other: the workers of --workers are made up")
    if plot is not None and not workers:
        raise ConfigurationError("--plot draws what --workers measures; add --workers N")
    name = chosen_backend(backend, remote=scheduler is not None, quiet=quiet)
    check_plot(plot, json_file, inputs=[file])
    from antennaopt.cli.run import quickstart
    from antennaopt.experiment import load_experiment

    experiment = load_experiment(file or quickstart(), overrides)
    from antennaopt.bench.search import bench_search, bench_waiting
    from antennaopt.run import for_terminal

    progress = for_terminal(quiet=quiet)
    numbers = tuple(range(1, seeds + 1))
    if workers:
        rows = bench_waiting(experiment, workers=workers, seeds=numbers, backend=name, progress=progress)
        progress.close()
        _finish(rows, json_file, plot, quiet=quiet)
        return
    rows = bench_search(experiment, seeds=numbers, backend=name, scheduler=scheduler, progress=progress)
    progress.close()
    finish(rows, json_file, quiet=quiet)


def _finish(rows: Sequence[Mapping[str, Any]], json_file: str | None, plot: Path | None, *, quiet: bool) -> None:
    from antennaopt.bench.search import waiting_summary

    summary = waiting_summary(rows)
    if json_file is not None:
        data = {"summary": summary, "searches": with_source(rows)}
        write_out(json_file, json.dumps(data, indent=1, allow_nan=False) + "\n")
    if plot is not None:
        from antennaopt.report.bench_farm import plot_waiting

        plot_waiting(plot, rows)
    if json_file == "-" or quiet:
        return
    table = [["workers", "algorithm", "best fitness", "its quartiles", "wins", "solving", "time (antennas)"]]
    steps = max(row["steps"] * row["workers"] * row["utilisation"] / row["evaluations"] for row in summary)
    for row in summary:
        low, high = row["best_fitness_quartiles"]
        table.append([
            str(row["workers"]), row["algorithm"], f"{row['best_fitness_median']:.3f}", f"{low:.3f} to {high:.3f}",
            f"{row['wins']} of {row['searches']}", f"{row['utilisation']:.1%}", f"{row['steps'] / steps:.1f}",
        ])  # fmt: skip
    click.echo(aligned(table))
