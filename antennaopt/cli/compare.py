"""`antennaopt compare` and `report`: compare runs, and write the HTML report of a run, from their folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.options import check_folder, check_plot, json_option, plot_option, quiet_option, warn, write_json
from antennaopt.cli.tables import aligned, cell
from antennaopt.errors import ConfigurationError
from antennaopt.quantities import duration
from antennaopt.store.files import check_run_folder

FEWEST = 2


@click.command(short_help="Compare runs.")
@click.argument("runs", metavar="RUN RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@plot_option
@json_option
@quiet_option
def compare(runs: tuple[Path, ...], plot: Path | None, json_file: str | None, quiet: bool) -> None:
    """Compare runs side by side: cost, best antenna, and differences from the first run.

    Each metric is the worst over the frequencies. The runs need not be finished; their folders are not changed.

    \b
    Examples:
      antennaopt compare results/quickstart/FIRST results/quickstart/SECOND
      antennaopt compare results/quickstart/* --plot compared.png --json compared.json
    """  # noqa: D301 - \b is click's
    if len(runs) < FEWEST:
        raise ConfigurationError(f"compare takes two run folders or more, not {len(runs)}")
    check_plot(plot, json_file, inputs=runs)
    for run in runs:
        check_run_folder(run)
    from antennaopt.families import worded
    from antennaopt.report.convergence import compared, plot_comparison, same_rows
    from antennaopt.report.record import read_run
    from antennaopt.run.continuation import differences
    from antennaopt.store.damage import damage_lines

    records = [read_run(run) for run in runs]
    first, *others = records
    data = {
        "runs": [compared(record) for record in records],
        "differences": [
            {
                "run": record.folder.run_id,
                "from": first.folder.run_id,
                "experiment": list(differences(worded(first.resolved), worded(record.resolved), budget=True)),
                "same_rows": same_rows(first, record),
            }
            for record in others
        ],
    }
    write_json(json_file, data, allow_nan=False)
    if plot is not None:
        plot_comparison(plot, records)
    for record in records:
        warn(damage_lines(record.folder))
    if json_file != "-" and not quiet:
        click.echo("\n".join([_table(data["runs"]), "", *_differing(data["differences"])]))


def _table(runs: Sequence[Mapping[str, Any]]) -> str:
    from antennaopt.figures import Figure
    from antennaopt.metrics import Place, reported_in
    from antennaopt.solve.certificate import ONE_MESH, is_trusted, verdict_shown

    def row(title: str, *values: Any) -> list[str]:
        return [title, *("-" if value is None else str(value) for value in values)]

    shown = reported_in(Place.COMPARISON, {name for one in runs for name in one["metrics"]})
    figures = {given["name"]: Figure.of(given).about for one in runs for given in one["figures"]}
    rows = [
        row("", *(f"run {place}" for place, _ in enumerate(runs, start=1))),
        row("algorithm", *(one["algorithm"] for one in runs)),
        row("seed", *(one["seed"] for one in runs)),
        row("generations", *(f"{one['generations']} of {one['generations_planned']}" for one in runs)),
        row("antennas", *(one["evaluations"] for one in runs)),
        row("of them solved", *(one["evaluations"] - sum(one["reused"].values()) for one in runs)),
        row("time", *(one["wall_seconds"] and duration(one["wall_seconds"]) for one in runs)),
        row("best", *(one["best"] for one in runs)),
        *(
            row(
                metric.heading,
                *(
                    cell(metric.worst(one["metrics"][metric.key]), metric.decimals, metric.absent_text)
                    if metric.key in one["metrics"]
                    else None
                    for one in runs
                ),
            )
            for metric in (*shown, *figures.values())
        ),
        *([row("on the front", *(one["on_front"] for one in runs))] if any(one["on_front"] for one in runs) else []),
        row("fitness", *(None if one["on_front"] else _fitness(one["best_fitness"]) for one in runs)),
        row("certificate", *(verdict_shown(one["certificate"], mesh_checked=one["mesh_checked"]) for one in runs)),
    ]
    names = [f"run {place}: {one['path']}" for place, one in enumerate(runs, start=1)]
    unchecked = any(is_trusted({"verdict": one["certificate"]}) and not one["mesh_checked"] for one in runs)
    return "\n".join([*names, "", aligned(rows, wrap=True), *([ONE_MESH] if unchecked else [])])


def _fitness(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"


def _differing(others: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for place, one in enumerate(others, start=2):
        experiment = "; ".join(one["experiment"]) or "nothing that decides the numbers"
        rows = "the same to the bit" if one["same_rows"] else "not the same"
        lines.append(f"run {place} differs from run 1 in {experiment}; their rows are {rows}")
        if any(text.startswith("objectives") for text in one["experiment"]):
            lines.append(f"run {place} has other goals than run 1: their fitness cannot be compared")
    return lines


@click.command(short_help="Write a run's HTML report.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@quiet_option
def report(run: Path, quiet: bool) -> None:
    """Write the report of a run as one self-contained HTML file and print its path.

    The run need not be finished.

    \b
    Example:
      antennaopt report results/quickstart/RUN
    """  # noqa: D301 - \b is click's
    check_run_folder(run)
    check_folder(run)
    from antennaopt.report.page import write_report
    from antennaopt.report.record import read_run
    from antennaopt.store.damage import damage_lines

    record = read_run(run)
    path = write_report(record)
    warn(damage_lines(record.folder))
    if not quiet:
        click.echo(str(path))
