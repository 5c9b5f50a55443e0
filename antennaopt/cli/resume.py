"""`antennaopt resume`: go on where a run stopped."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from antennaopt.cli.options import (
    asked_cache,
    backend_option,
    cache_options,
    check_run_folder,
    chosen_backend,
    cluster_changes,
    cluster_options,
    quiet_option,
    set_option,
)


@click.command(short_help="Go on with a run where it stopped.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@cluster_options
@cache_options
@backend_option(None)
@set_option
@quiet_option
def resume(
    run: Path,
    scheduler: str | None,
    tls: str | None,
    insecure: bool,
    cache: str | None,
    no_cache: bool,
    backend: str | None,
    overrides: tuple[str, ...],
    quiet: bool,
) -> None:
    """Go on with a run exactly where its last checkpoint is; the last line of stdout is the run folder.

    Budget and cluster may be changed; what decides the numbers may not.

    \b
    Examples:
      antennaopt resume results/quickstart/RUN
      antennaopt resume results/quickstart/RUN --set evolution.generations=40
    """  # noqa: D301 - \b is click's
    check_run_folder(run)
    name = None if backend is None else chosen_backend(backend, remote=scheduler is not None, quiet=quiet)
    from antennaopt.cli.summaries import report_lines
    from antennaopt.study import for_terminal
    from antennaopt.study import resume as go_on

    progress = for_terminal(quiet=quiet)
    summary = go_on(
        run,
        overrides=(*overrides, *cluster_changes(tls)),
        scheduler=scheduler,
        insecure=insecure,
        backend=name,
        progress=progress,
        cache=asked_cache(cache, no_cache),
    )
    if not quiet:
        print("\n".join(report_lines(summary)), file=sys.stderr)
    click.echo(str(summary.folder))
