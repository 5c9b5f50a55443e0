"""`antennaopt resume`: go on where a run stopped."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from antennaopt.cli.options import (
    asked_cache,
    backend_option,
    cache_options,
    cluster_changes,
    cluster_options,
    quiet_option,
    set_option,
)
from antennaopt.errors import ConfigurationError
from antennaopt.solve.device import chosen_backend
from antennaopt.store.folders import check_run_folder


@click.command(short_help="Go on with a run where it stopped.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@cluster_options
@cache_options
@backend_option(None)
@click.option("--fork", is_flag=True, help="Start a new run from this one's population; anything may be changed.")
@click.option("--repair", is_flag=True, help="First solve again what damaged files of rows and patterns held.")
@click.option("--out", metavar="FOLDER", help="Where the folder of a fork goes; default beside the old one's.")
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
    fork: bool,
    repair: bool,
    out: str | None,
    overrides: tuple[str, ...],
    quiet: bool,
) -> None:
    """Go on with a run exactly where its last checkpoint is; the last line of stdout is the run folder.

    Budget and cluster may be changed; what decides the numbers may not. With --fork it may: a new run begins with the
    old one's population, says what differs, and the old run stays as it is. Antennas whose cells, lattice and solver
    are still the same come from the evaluation cache; the others are solved.

    A damaged or missing file under evals/ or patterns/ is refused by name. With --repair its generations are solved
    again: the search is replayed from its seed on the rows that are whole, so that rows and patterns come out as they
    were, to the bit. If versions, processor or device are not those of the run, a line says that this is not claimed.
    Before anything is written it is checked that the whole rows and the checkpoint follow from what was solved. A run
    that is finished can be repaired too.

    \b
    Examples:
      antennaopt resume results/quickstart/RUN
      antennaopt resume results/quickstart/RUN --set evolution.generations=40
      antennaopt resume results/quickstart/RUN --repair
      antennaopt resume results/quickstart/RUN --fork --set solver.cells_per_wavelength=20
    """  # noqa: D301 - \b is click's
    check_run_folder(run)
    changes = (*overrides, *cluster_changes(tls))
    evaluations = asked_cache(cache, no_cache)
    if fork and repair:
        raise ConfigurationError("--fork and --repair exclude each other; repair the run first, then fork it")
    if fork:
        from antennaopt.cli.run import evolve
        from antennaopt.run import fork_of

        new = fork_of(run, changes)
        evolve(
            new.experiment,
            source=new.source,
            overrides=new.overrides,
            out=out or new.root,
            scheduler=scheduler,
            insecure=insecure,
            backend=backend or new.backend,
            cache=evaluations,
            quiet=quiet,
            ancestry=new.ancestry,
        )
        return
    if out is not None:
        raise ConfigurationError("--out says where a fork goes; add --fork, or leave it out: a run stays where it is")
    name = None if backend is None else chosen_backend(backend, remote=scheduler is not None, quiet=quiet)
    from antennaopt.cli.summaries import report_lines
    from antennaopt.run import for_terminal
    from antennaopt.run import resume as go_on

    progress = for_terminal(quiet=quiet)
    summary = go_on(
        run,
        overrides=changes,
        scheduler=scheduler,
        insecure=insecure,
        backend=name,
        progress=progress,
        cache=evaluations,
        repair=repair,
    )
    if not quiet:
        print("\n".join(report_lines(summary)), file=sys.stderr)
    click.echo(str(summary.folder))
