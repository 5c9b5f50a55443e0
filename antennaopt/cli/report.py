"""`antennaopt report`: the HTML report of a run."""

from __future__ import annotations

from pathlib import Path

import click

from antennaopt.cli.options import check_folder, quiet_option, warn
from antennaopt.store.folders import check_run_folder


@click.command(short_help="Write a run's HTML report.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@quiet_option
def report(run: Path, quiet: bool) -> None:
    """Write a run's report, one self-contained HTML file, from its folder's files; prints its path.

    The run may still be going on.

    \b
    Example:
      antennaopt report results/quickstart/RUN
    """  # noqa: D301 - \b is click's
    check_run_folder(run)
    check_folder(run)
    from antennaopt.report import write_report
    from antennaopt.report.record import read_run
    from antennaopt.store import damage_lines

    record = read_run(run)
    path = write_report(record)
    warn(damage_lines(record.folder))
    if not quiet:
        click.echo(str(path))
