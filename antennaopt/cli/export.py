"""`antennaopt export`: data of an antenna of a run, without solving it again."""

from __future__ import annotations

from pathlib import Path

import click

from antennaopt.cli.individuals import Individual, recall
from antennaopt.cli.options import check_writable, quiet_option, write_out
from antennaopt.errors import ConfigurationError


@click.command(short_help="Write geometry and data of an antenna of a run.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--individual", metavar="ID", default="best", show_default=True, help="Its id, g0003-s012, or best.")
@click.option("--toml", type=click.Path(path_type=Path), metavar="FILE", help="Antenna file for `antennaopt simulate`.")
@click.option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Figures of merit and patterns.")
@click.option("--touchstone", type=click.Path(path_type=Path), metavar="FILE", help="S11 (.s1p).")
@quiet_option
def export(
    run: Path, individual: str, toml: Path | None, csv: Path | None, touchstone: Path | None, quiet: bool
) -> None:
    """Write geometry and data of any antenna of a run; prints the files.

    \b
    Example:
      antennaopt export results/quickstart/RUN --toml best.toml --csv best.csv --touchstone best.s1p
    """  # noqa: D301 - \b is click's
    if toml is None and csv is None and touchstone is None:
        raise ConfigurationError("nothing to export; name at least one of --toml, --csv, --touchstone")
    check_writable(toml, csv, touchstone)
    known = recall(run, individual)
    if known.outcome["status"] != "ok" and (csv is not None or touchstone is not None):
        raise ConfigurationError(
            f"{known.individual} is {known.outcome['status']} and has no results; export it with --toml only"
        )
    title = f"{known.experiment.title or known.experiment.name}: {known.individual}"
    written: list[Path] = []
    if toml is not None:
        written.append(_write_antenna(toml, known, title))
    if csv is not None:
        from antennaopt.exports import write_csv

        written += write_csv(csv, known.outcome)
    if touchstone is not None:
        from antennaopt.exports import write_touchstone

        radius = known.design["feed.inner_radius"]
        written.append(write_touchstone(touchstone, known.outcome, title=title, feed_radius=radius))
    if not quiet:
        for path in written:
            click.echo(str(path))


def _write_antenna(path: Path, known: Individual, title: str) -> Path:
    from antennaopt.study import antenna_toml

    text = antenna_toml(
        title=title,
        family=known.experiment.family,
        design=known.design,
        solver=known.experiment.resolved()["solver"],
        comment=f"Individual {known.individual} of run {known.run_id}, fitness {known.fitness:.6g}.",
    )
    write_out(str(path), text)
    return path
