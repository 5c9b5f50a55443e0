"""`antennaopt run`, `resume` and `demo`: run an experiment, continue a run, or run the quickstart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.options import (
    asked_cache,
    backend_option,
    cache_options,
    check_folder,
    cluster_changes,
    cluster_options,
    naming,
    quiet_option,
    set_option,
    warn,
)
from antennaopt.cli.validate import check_run_memory
from antennaopt.errors import ConfigurationError
from antennaopt.farm import early
from antennaopt.solve.device import check_backend, chosen_backend, wait_for_driver
from antennaopt.store.files import check_run_folder
from antennaopt.terminal import one_line

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment
    from antennaopt.run.summary import RunSummary


@click.command(short_help="Evolve the antenna of an experiment file.")
@click.argument("file", metavar="EXPERIMENT.toml", type=click.Path(path_type=Path))
@click.option("--out", default="results", show_default=True, metavar="FOLDER", help="Parent of the run folders.")
@cluster_options
@cache_options
@backend_option()
@click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Local worker processes; default: one per core."
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed, in place of the file's.")
@click.option("--seeds", default=1, type=click.IntRange(min=1), metavar="N", help="Run N consecutive seeds.")
@set_option
@click.option("--dry-run", is_flag=True, help="Check everything; show grid, memory, evaluations and estimated time.")
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
    seeds: int,
    overrides: tuple[str, ...],
    dry_run: bool,
    quiet: bool,
) -> None:
    """Evolve the antenna of an experiment file; the last line of stdout is the run folder.

    --seeds N does N runs, one after another on the same workers, and prints N folders. A table then compares their best
    antennas and the spread of their fitness. Searches for a front are compared by hypervolume.

    \b
    Examples:
      antennaopt run experiments/quickstart.toml
      antennaopt run experiments/ka_band_lens.toml --seed 3 --set evolution.population=48
      antennaopt run experiments/quickstart.toml --seeds 5
      antennaopt run experiments/ka_band_lens.toml --scheduler tls://node1:8786 --tls farm-tls
    """  # noqa: D301 - \b is click's
    changes = [*overrides, *cluster_changes(tls)]
    changes += [f"seed={seed}"] if seed is not None else []
    changes += [f"cluster.workers={workers}"] if workers is not None else []
    check_backend(backend)
    evaluations = asked_cache(cache, no_cache)
    with early.early_workers(backend, here=scheduler is None and not dry_run):
        from antennaopt.experiment import load_experiment, read_source

        experiment = load_experiment(file, changes)
        with naming(file):
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
                seeds=seeds,
            )


def evolve(
    experiment: Experiment,
    *,
    source: str,
    overrides: Sequence[str],
    out: str | Path,
    quiet: bool,
    dry_run: bool = False,
    seeds: int = 1,
    **options: Any,
) -> None:
    """Carry an experiment out in a new run folder, one a seed, and print that, or what it would cost.

    Args:
        experiment: From `load_experiment`.
        source: Text of its file.
        overrides: What was changed in it.
        out: Where run folders go.
        quiet: Whether to print nothing but the folder.
        dry_run: Whether to print the cost only.
        seeds: How many runs; the first has the experiment's seed, each other the next one.
        options: `backend` as given, `auto` too; `scheduler`, `insecure`, `cache`: see `antennaopt.run.Means`;
            `ancestry`, another run's population to begin with.
    """
    scheduler = options["scheduler"]
    _check_seeds(experiment.seed, seeds)
    check_folder(Path(out) / experiment.name)
    remote = scheduler is not None or experiment.cluster.kind != "local"
    name = options["backend"] = chosen_backend(options["backend"], remote=remote, quiet=quiet)
    begin_early(experiment, name, remote=remote)
    if not quiet:
        warn(experiment.warnings)
    from antennaopt.run.planning import plan_for

    plan = plan_for(experiment)
    check_run_memory(experiment, plan, local=not remote, backend=name)
    if dry_run:
        destination = experiment.cluster.destination(scheduler)
        if destination:
            click.echo(f"cluster      {one_line(destination)}")
        click.echo("\n".join(_cost(experiment, plan, name, scheduler=scheduler, insecure=options["insecure"])))
        if seeds > 1:
            click.echo(f"seeds        {seeds}: {seeds} times the evaluations, certificates and time of one")
        return
    from antennaopt.run.progress import for_terminal
    from antennaopt.run.start import run as carry_out

    carry = partial(carry_out, root=out, source=source, plan=plan, **options)
    if seeds == 1:
        _conclude(carry(experiment, overrides=overrides, progress=for_terminal(quiet=quiet)), quiet=quiet)
    else:
        _evolve_seeds(experiment, seeds, overrides, carry, quiet=quiet)


def begin_early(experiment: Experiment, backend: str, *, remote: bool = False) -> None:
    """Start the worker processes of this machine, or end the one that was started before its file was read."""
    wait_for_driver()
    if remote or experiment.cluster.kind != "local":
        early.end_waiting()
    else:
        early.prepare(experiment.cluster.workers, backend=backend, in_space=experiment.kind.spatial is not None)


def _evolve_seeds(
    experiment: Experiment,
    seeds: int,
    overrides: Sequence[str],
    carry: Callable[..., RunSummary],
    *,
    quiet: bool,
) -> None:
    """Carry an experiment out with several seeds on one farm, print the folders, and compare the best antennas."""
    from antennaopt.cli.tables import seeds_lines
    from antennaopt.run.progress import for_terminal
    from antennaopt.run.start import shared_farm

    summaries: dict[int, RunSummary] = {}
    every = range(experiment.seed, experiment.seed + seeds)
    left = every
    try:
        with shared_farm() as farm:
            for seed in every:
                told = for_terminal(quiet=quiet)
                if not quiet:
                    print(f"seed {seed}, {len(summaries) + 1} of {seeds}", file=sys.stderr)
                one, changes = experiment.model_copy(update={"seed": seed}), [*overrides, f"seed={seed}"]
                try:
                    summaries[seed] = carry(one, overrides=changes, progress=told, farm=farm)
                finally:
                    if told.folder is not None:
                        left = left[1:]
                click.echo(str(summaries[seed].folder))
    finally:
        if not quiet and summaries:
            print("\n".join(seeds_lines(summaries, seeds)), file=sys.stderr)
        if 0 < len(left) < seeds:
            print(not_begun(left), file=sys.stderr)


def _check_seeds(first: int, seeds: int) -> None:
    """Refuse runs beyond the largest seed, which could not be resumed.

    Raises:
        ConfigurationError: The last seed is larger.
    """
    from antennaopt.experiment import LARGEST_SEED

    if first + seeds - 1 > LARGEST_SEED:
        raise ConfigurationError(
            f"--seeds {seeds} from seed {first} on ends at seed {first + seeds - 1} (must be <= {LARGEST_SEED}); "
            "lower one of the two"
        )


def not_begun(seeds: Sequence[int]) -> str:
    """Return a line that names the seeds that have not been begun, which follow each other, and how to run them."""
    one = len(seeds) == 1
    named = f"seed {seeds[0]} has" if one else f"seeds {seeds[0]} to {seeds[-1]} have"
    return (
        f"{named} not been begun; repeat the command with --seed {seeds[0]} --seeds {len(seeds)} to run "
        f"{'it' if one else 'them'}"
    )


def _conclude(summary: RunSummary, *, quiet: bool) -> None:
    """Print what came of a run, and its folder."""
    from antennaopt.cli.tables import report_lines

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
    from antennaopt.farm.clusters import ClusterSettings, description
    from antennaopt.farm.security import security_for
    from antennaopt.run.dry_run import estimate, grid_lines
    from antennaopt.run.planning import most_evaluations

    settings = ClusterSettings.of(experiment.cluster, scheduler=scheduler, insecure=insecure)
    if settings.kind == "local":
        return estimate(experiment, backend=backend).lines()
    lines = [
        *grid_lines(plan),
        f"evaluations  at most {most_evaluations(experiment, plan)}",
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


@click.command(short_help="Continue a run from its last checkpoint.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@cluster_options
@cache_options
@backend_option(None)
@click.option("--fork", is_flag=True, help="Start a new run from this run's population; any entry may change.")
@click.option("--repair", is_flag=True, help="First solve the antennas of damaged files of rows and patterns again.")
@click.option("--out", metavar="FOLDER", help="Parent of a fork's run folder; default: that of the old run.")
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
    """Continue a run exactly from its last checkpoint; the last line of stdout is the run folder.

    Budget and cluster may change; entries that decide the numbers may not. --fork allows them to change: it starts a
    new run from the old run's population and prints the differences. The old run is not changed. Antennas with the same
    cells, lattice and solver come from the evaluation cache; the others are solved.

    A damaged or missing file under evals/ or patterns/ stops the command with the file's name. --repair solves its
    generations again. It replays the search from its seed, using the undamaged rows, so rows and patterns are the same
    to the bit. With other versions, processor or device a line warns that bits may differ. Nothing is written unless
    the undamaged rows and the checkpoint follow from the solved antennas. A finished run can be repaired too.

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
        from antennaopt.run.continuation import fork_of

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
    from antennaopt.run.progress import for_terminal
    from antennaopt.run.start import resume as go_on

    summary = go_on(
        run,
        overrides=changes,
        scheduler=scheduler,
        insecure=insecure,
        backend=name,
        progress=for_terminal(quiet=quiet),
        cache=evaluations,
        repair=repair,
    )
    _conclude(summary, quiet=quiet)


EXAMPLES = "experiments"
"""Folder of the package; in a checkout a link to the one at the top."""


@click.command(short_help="Evolve the quickstart lens; print the improvement.")
@click.option("--out", default="results", show_default=True, metavar="FOLDER", help="Parent of the run folder.")
@backend_option()
@quiet_option
def demo(out: str, backend: str, quiet: bool) -> None:
    """Evolve the quickstart lens and print the improvement; takes a minute on two cores.

    \b
    Example:
      antennaopt demo
    """  # noqa: D301 - \b is click's
    with early.early_workers(backend):
        _evolve_quickstart(Path(out), chosen_backend(backend, quiet=quiet), quiet=quiet)


def _evolve_quickstart(out: Path, backend: str, *, quiet: bool) -> None:
    from antennaopt.experiment import load_experiment, read_source

    file = quickstart()
    experiment = load_experiment(file)
    check_folder(out / experiment.name)
    begin_early(experiment, backend)
    if not quiet:
        warn(experiment.warnings)
    from antennaopt.cli.tables import antennas_line, outcome_lines
    from antennaopt.run.progress import for_terminal
    from antennaopt.run.start import run as carry_out

    progress = for_terminal(quiet=quiet)
    progress.note(f"{one_line(experiment.title) or experiment.name} ({file})")
    source = read_source(file)
    summary = carry_out(experiment, root=out, source=source, backend=backend, progress=progress)
    for line in outcome_lines(summary)[1:]:
        click.echo(line)
    click.echo(antennas_line(summary))
    if summary.report is not None:
        click.echo(f"report: {summary.report.resolve()}")
    click.echo(str(summary.folder))


def quickstart() -> Path:
    """Return the quickstart experiment."""
    return example("quickstart.toml")


def example(name: str) -> Path:
    """Return a file of `experiments/`, which is installed with the package.

    Raises:
        ConfigurationError: It is not there.
    """
    file = Path(str(files("antennaopt").joinpath(EXAMPLES, name)))
    if not file.is_file():
        raise ConfigurationError(f"{file} does not exist; install antennaopt again, or name a file of your own")
    return file
