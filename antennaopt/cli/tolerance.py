"""`antennaopt tolerance`: the share of made antennas that meet all goals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from antennaopt.cli.options import (
    asked_cache,
    backend_option,
    cache_options,
    check_folder,
    check_writable,
    cluster_options,
    json_option,
    quiet_option,
    write_json,
)
from antennaopt.solve.device import chosen_backend
from antennaopt.store.files import check_run_folder

if TYPE_CHECKING:
    from antennaopt.run.tolerance import YieldStudy


@click.command(short_help="Compute the yield of an antenna of a run.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--individual", metavar="ID", default="best", show_default=True, help="Id as in the rows, or best.")
@click.option(
    "--samples", type=click.IntRange(1, 1_000_000), default=1000, show_default=True, help="Number of made antennas."
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of the deviations; default: the run's.")
@click.option(
    "--of",
    multiple=True,
    metavar="NAME=SIGMA[, uniform][, correlated]",
    help="Tolerance, in place of the run's [tolerance.of]; may be repeated.",
)
@cluster_options
@cache_options
@backend_option(None)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Local worker processes; default: as the run.")
@json_option
@quiet_option
def tolerance(
    run: Path,
    individual: str,
    samples: int,
    seed: int | None,
    of: tuple[str, ...],
    scheduler: str | None,
    tls: str | None,
    insecure: bool,
    cache: str | None,
    no_cache: bool,
    backend: str | None,
    workers: int | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Compute the yield of a design: the share of made antennas that meet all goals.

    Made antennas differ from the design at random, within [tolerance] of the run's file or --of. The yield has Wilson's
    95 % interval. Rows, a drawing and data go into tolerance/ of the run folder. After an interruption the same command
    continues; solved antennas come from the evaluation cache.

    \b
    Examples:
      antennaopt tolerance results/quickstart/RUN --of "lens.radii=0.02 mm, correlated"
      antennaopt tolerance results/quickstart/RUN --individual g0003-s012 --samples 2000 --json yield.json
    """  # noqa: D301 - \b is click's
    from antennaopt.experiment.tolerance import spreads_written
    from antennaopt.run.progress import for_terminal
    from antennaopt.run.tolerance import Request
    from antennaopt.run.tolerance import tolerance as compute

    check_writable(json_file, inputs=[run])
    check_run_folder(run)
    check_folder(run)
    given = {"tls": None if tls is None else str(Path(tls).expanduser().absolute()), "workers": workers}
    cluster = {key: value for key, value in given.items() if value is not None}
    remote = scheduler is not None
    name = None if backend is None else chosen_backend(backend, remote=remote, quiet=quiet)
    study = compute(
        run,
        Request(
            individual=individual,
            samples=samples,
            seed=seed,
            of=spreads_written(of) if of else None,
            cluster=cluster,
        ),
        scheduler=scheduler,
        insecure=insecure,
        backend=name,
        cache=asked_cache(cache, no_cache),
        progress=for_terminal(quiet=quiet),
    )
    write_json(json_file, study.to_dict(), allow_nan=False)
    if json_file != "-":
        click.echo("\n".join(study_lines(study)))


def study_lines(study: YieldStudy) -> list[str]:
    """Return what the command prints."""
    from antennaopt.cli.tables import aligned, plain
    from antennaopt.report.goals import reused_words
    from antennaopt.report.tolerance import influence_rows, spread_rows

    share, data = study.account.share, study.to_dict()
    lines = [
        f"yield {share.text()}, Wilson): {share.met} of {share.judged} made antennas meet all goals".replace("),", ","),
        "",
        plain(aligned(spread_rows(data), left=(0, 1), wrap=True)),
        "",
        plain(aligned(influence_rows(data), wrap=True)),
        "",
    ]
    if study.account.origins:
        lines.append(f"not solved again: {reused_words(study.account.origins)}")
    failed = {name: count for name, count in study.account.statuses.items() if name != "ok"}
    if failed:
        listed = ", ".join(f"{count} {name}" for name, count in failed.items())
        lines.append(f"not ok: {listed}; those that cannot be built or solved miss their goals")
    if study.account.not_judged:
        lines.append(f"{study.account.not_judged} could not be judged: the farm did not solve them; run it again")
    return [*lines, f"rows {study.file}", f"drawing {study.plot}"]
