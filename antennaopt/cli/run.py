"""`antennaopt run`: carry an experiment out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.host import check_run_memory
from antennaopt.cli.options import (
    asked_cache,
    backend_option,
    cache_options,
    check_folder,
    cluster_changes,
    cluster_options,
    quiet_option,
    set_option,
    warn,
)
from antennaopt.solve.device import check_backend, chosen_backend
from antennaopt.terminal import one_line

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment
    from antennaopt.run import Ancestry


@click.command(short_help="Evolve the antenna of an experiment file.")
@click.argument("file", metavar="EXPERIMENT.toml", type=click.Path(path_type=Path))
@click.option("--out", default="results", show_default=True, metavar="FOLDER", help="Where run folders go.")
@cluster_options
@cache_options
@backend_option()
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Local worker processes; default one a core.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="In place of the file's.")
@set_option
@click.option("--dry-run", is_flag=True, help="Check all; show grid, memory, evaluations and estimated time.")
@quiet_option
def run(
    file: Path,
    out: str,
    scheduler: str | None,
    tls: str | None,
    insecure: bool,
    cache: str | None,
    no_cache: bool,
    backend: str,
    workers: int | None,
    seed: int | None,
    overrides: tuple[str, ...],
    dry_run: bool,
    quiet: bool,
) -> None:
    """Evolve the antenna of an experiment file; the last line of stdout is the run folder.

    \b
    Examples:
      antennaopt run experiments/quickstart.toml
      antennaopt run experiments/ka_band_lens.toml --seed 3 --set evolution.population=48
      antennaopt run experiments/ka_band_lens.toml --scheduler tls://node1:8786 --tls farm-tls
    """  # noqa: D301 - \b is click's
    from antennaopt.experiment import load_experiment, read_source

    changes = [*overrides, *cluster_changes(tls)]
    changes += [f"seed={seed}"] if seed is not None else []
    changes += [f"cluster.workers={workers}"] if workers is not None else []
    check_backend(backend)
    evaluations = asked_cache(cache, no_cache)
    experiment = load_experiment(file, changes)
    evolve(
        experiment,
        source=read_source(file),
        overrides=changes,
        out=out,
        scheduler=scheduler,
        insecure=insecure,
        backend=backend,
        cache=evaluations,
        quiet=quiet,
        dry_run=dry_run,
    )


def evolve(
    experiment: Experiment,
    *,
    source: str,
    overrides: Sequence[str],
    out: str | Path,
    quiet: bool,
    dry_run: bool = False,
    ancestry: Ancestry | None = None,
    **options: Any,
) -> None:
    """Carry an experiment out in a new run folder and print that, or what it would cost.

    Args:
        experiment: From `load_experiment`.
        source: Text of its file.
        overrides: What was changed in it.
        out: Where run folders go.
        quiet: Whether to say nothing but the folder.
        dry_run: Whether to say the cost only.
        ancestry: Another run's population to begin with.
        options: `backend` as given, `auto` too; `scheduler`, `insecure`, `cache`: see `antennaopt.run.Means`.
    """
    scheduler = options["scheduler"]
    check_folder(Path(out) / experiment.name)
    remote = scheduler is not None or experiment.cluster.kind != "local"
    name = options["backend"] = chosen_backend(options["backend"], remote=remote, quiet=quiet)
    if not quiet:
        warn(experiment.warnings)
    from antennaopt.run import plan_for

    plan = plan_for(experiment)
    check_run_memory(experiment, plan, local=not remote, backend=name)
    if dry_run:
        destination = experiment.cluster.destination(scheduler)
        if destination:
            click.echo(f"cluster      {one_line(destination)}")
        click.echo("\n".join(_cost(experiment, plan, name, scheduler=scheduler, insecure=options["insecure"])))
        return
    from antennaopt.cli.summaries import report_lines
    from antennaopt.run import for_terminal
    from antennaopt.run import run as carry_out

    summary = carry_out(
        experiment,
        root=out,
        source=source,
        overrides=overrides,
        progress=for_terminal(quiet=quiet),
        plan=plan,
        ancestry=ancestry,
        **options,
    )
    if not quiet:
        print("\n".join(report_lines(summary)), file=sys.stderr)
    click.echo(str(summary.folder))


def _cost(
    experiment: Experiment, plan: Mapping[str, Any], backend: str, *, scheduler: str | None, insecure: bool
) -> list[str]:
    """Return what a run would cost on this machine; of workers elsewhere what is known here.

    Raises:
        ConfigurationError: A run would be refused for want of certificates.
    """
    from antennaopt.farm import ClusterSettings, description, security_for
    from antennaopt.run import estimate

    settings = ClusterSettings.of(experiment.cluster, scheduler=scheduler, insecure=insecure)
    if settings.kind == "local":
        return estimate(experiment, backend=backend).lines()
    lines = [
        f"grid         {plan['nr']} x {plan['nz']} cells (r x z) of {plan['cell'] * 1e3:.4g} mm",
        f"memory       {plan['memory_bytes'] / 2**20:.1f} MiB an antenna",
        f"evaluations  at most {experiment.evolution.settings.most_evaluations}",
    ]
    if settings.kind == "address":
        security_for(str(settings.address), settings.tls, insecure=insecure)
        unknown = "a dry run does not connect, so their number, their speed and the time are not known"
        return [*lines, f"workers      those of {settings.address}; {unknown}"]
    return [
        *lines,
        f"workers      {settings.least or settings.workers} to {settings.workers} of {settings.kind}; "
        "how fast they are is not known here",
        "",
        (description(settings, backend=backend) or "").rstrip(),
    ]
