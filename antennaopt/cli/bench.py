"""`antennaopt bench`: throughput and search quality, on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.bench_farm import farm
from antennaopt.cli.bench_kernels import kernels, sweep
from antennaopt.cli.bench_runner import Figure, Sink, bench_options, watch, with_source
from antennaopt.cli.options import backend_option, check_writable, json_option, scheduler_option, set_option, write_json
from antennaopt.cli.run import example, quickstart
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError
from antennaopt.solve.device import chosen_backend

REFERENCE = "reference_lens.toml"
WAITING = Figure(module="bench_farm", function="plot_waiting")


@click.group(short_help="Measure kernels, evaluations and the search.", invoke_without_command=True)
@click.option("--matrix", is_flag=True, help="Print which stencil, scheme and backend work together, and why not.")
@json_option
@click.pass_context
def bench(context: click.Context, matrix: bool, json_file: str | None) -> None:
    """Measure this machine: kernels, whole evaluations, search quality.

    \b
    Examples:
      antennaopt bench --matrix
      antennaopt bench kernels --grid 150x250 --batch 4 --json kernels.json
      antennaopt bench search --seeds 10 --json search.json
      antennaopt bench sweep --json sweep.json --plot sweep.png
      antennaopt bench farm --plot farm.svg
      antennaopt bench study experiments/ka_band_lens.toml
    """  # noqa: D301 - \b is click's
    if context.invoked_subcommand is not None:
        if matrix or json_file is not None:
            raise click.UsageError(f"--matrix and its --json do not go with {context.invoked_subcommand}")
        watch(context)
        return
    if not matrix:
        raise click.exceptions.NoArgsIsHelpError(context)
    check_writable(json_file)
    from antennaopt.bench.support import matrix_table, support_matrix

    rows = support_matrix()
    write_json(json_file, rows)
    if json_file != "-":
        table, reasons = matrix_table(rows)
        click.echo("\n".join([aligned(table), "", *reasons]))


bench.add_command(farm)
bench.add_command(kernels)
bench.add_command(sweep)


@bench.command(short_help="Time whole evaluations, by stage.")
@click.argument("file", metavar="[ANTENNA.toml]", required=False, type=click.Path(path_type=Path))
@backend_option()
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    help="Antennas solved together; default 4 on a core, two a multiprocessor on a device.",
)
@click.option(
    "--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Timings, of which the median."
)
@set_option
@bench_options()
def evaluate(
    out: Sink, file: Path | None, backend: str, batch: int | None, repeat: int, overrides: tuple[str, ...]
) -> None:
    """Time whole evaluations, from design to figures of merit, by stage."""
    name = chosen_backend(backend, quiet=out.quiet)
    from antennaopt.experiment import load_antenna

    experiment = load_antenna(file or example(REFERENCE), overrides)
    from antennaopt.bench.evaluate import bench_evaluate

    out.finish(bench_evaluate(experiment, backend=name, batch=batch, repeat=repeat))


@bench.command(short_help="Algorithms against each other, with the same budget.")
@click.argument("file", metavar="[EXPERIMENT.toml]", required=False, type=click.Path(path_type=Path))
@click.option("--seeds", type=click.IntRange(min=1), default=10, show_default=True, help="Searches of each algorithm.")
@click.option(
    "--workers",
    "workers",
    type=click.IntRange(min=1),
    metavar="N",
    multiple=True,
    help="The generational search against the steady state, with N workers on a clock of their own; may be repeated.",
)
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="With --workers: draw it (.png, .svg, .pdf)."
)
@backend_option()
@scheduler_option
@set_option
@bench_options(WAITING)
def search(
    out: Sink,
    file: Path | None,
    seeds: int,
    workers: tuple[int, ...],
    backend: str,
    scheduler: str | None,
    overrides: tuple[str, ...],
) -> None:
    """Let the genetic algorithm compete with random search, with the same budget and over several seeds.

    With --workers it competes with the search without generations instead: how much of their time N workers
    solve, and what is found. Every antenna is solved here, and takes as long as its steps on a clock of its own, so
    that the figures are the same on every machine; sending and storing cost nothing on that clock.

    \b
    Examples:
      antennaopt bench search --seeds 10 --json search.json
      antennaopt bench search --workers 2 --workers 8 --workers 24 --json waiting.json --plot waiting.png
    """  # noqa: D301 - \b is click's
    if workers and scheduler is not None:
        raise ConfigurationError("--workers and --scheduler exclude each other: the workers of --workers are made up")
    if out.plot is not None and not workers:
        raise ConfigurationError("--plot draws what --workers measures; add --workers N")
    name = chosen_backend(backend, remote=scheduler is not None, quiet=out.quiet)
    from antennaopt.experiment import load_experiment

    experiment = load_experiment(file or quickstart(), overrides)
    from antennaopt.bench.search import bench_search, bench_waiting, waiting_summary
    from antennaopt.run.progress import for_terminal

    progress = for_terminal(quiet=out.quiet)
    numbers = tuple(range(1, seeds + 1))
    if workers:
        rows = bench_waiting(experiment, workers=workers, seeds=numbers, backend=name, progress=progress)
        progress.close()
        summary = waiting_summary(rows)
        out.store({"summary": summary, "searches": with_source(rows)})
        out.draw(rows)
        out.show(lambda: _waiting_table(summary))
        return
    rows = bench_search(experiment, seeds=numbers, backend=name, scheduler=scheduler, progress=progress)
    progress.close()
    out.finish(rows)


@bench.command(short_help="A whole study: where its wall time goes.")
@click.argument("file", metavar="[EXPERIMENT.toml]", required=False, type=click.Path(path_type=Path))
@backend_option()
@set_option
@bench_options()
def study(out: Sink, file: Path | None, backend: str, overrides: tuple[str, ...]) -> None:
    """Carry a study out on this machine, and split its wall time; the quickstart unless another is given.

    Nothing is taken from the evaluation cache, and the run folder is removed. The driver's share of the search is
    sampled every 5 ms; the workers note the stages of each batch. Generations from the second on count as the search.

    \b
    Examples:
      antennaopt bench study --json study.json
      antennaopt bench study experiments/ten_thousand.toml --backend cuda
    """  # noqa: D301 - \b is click's
    name = chosen_backend(backend, quiet=out.quiet)
    from antennaopt.experiment import load_experiment

    experiment = load_experiment(file or quickstart(), overrides)
    from antennaopt.bench.study import bench_study
    from antennaopt.run.progress import for_terminal

    if experiment.cluster.kind != "local":
        raise ConfigurationError(
            f'cluster.kind = "{experiment.cluster.kind}": bench study splits the time of this '
            'machine only; add --set cluster.kind="local"'
        )
    if experiment.evolution.generations < 2:
        raise ConfigurationError("evolution.generations = 1 leaves no generation after the first; give at least 2")
    out.finish([bench_study(experiment, backend=name, progress=for_terminal(quiet=out.quiet))], _study_table)


def _study_table(rows: Sequence[Mapping[str, Any]]) -> str:
    (row,) = rows
    whole = sum(row["wall_seconds"].values())
    parts = [["wall time", "s", ""]]
    parts += [[name.replace("_", " "), f"{s:.2f}", f"{s / whole:.0%}"] for name, s in row["wall_seconds"].items()]
    driver = [["driver, in the search", ""], *([name, f"{share:.1%}"] for name, share in row["driver_share"].items())]
    workers = [["workers, in the search", ""]]
    workers += [[name, f"{share:.1%}"] for name, share in row["worker_share"].items()]
    kernel = row["kernel_cell_steps_per_s"]
    rate = f"{row['cell_steps_per_s'] / 1e6:.4g} M cell-steps/s of a worker while it steps"
    if kernel is not None:
        share = row["cell_steps_per_s"] / kernel
        rate += f", {share:.0%} of the {kernel / 1e6:.4g} M of {row['kernel_scheme']} alone on this lattice"
    return "\n\n".join([
        aligned([*parts, ["whole command", f"{whole:.2f}", ""]]), aligned(driver), aligned(workers),
        f"{row['antennas_per_s']:.4g} antennas/s, {row['steps']:.0f} steps an antenna on {row['shape'][0]} x "
        f"{row['shape'][1]} cells, {row['workers']} workers\n{rate}",
    ])  # fmt: skip


def _waiting_table(summary: Sequence[Mapping[str, Any]]) -> str:
    table = [["workers", "algorithm", "best fitness", "its quartiles", "wins", "solving", "time (antennas)"]]
    steps = max(row["steps"] * row["workers"] * row["utilisation"] / row["evaluations"] for row in summary)
    for row in summary:
        low, high = row["best_fitness_quartiles"]
        table.append([
            str(row["workers"]), row["algorithm"], f"{row['best_fitness_median']:.3f}", f"{low:.3f} to {high:.3f}",
            f"{row['wins']} of {row['searches']}", f"{row['utilisation']:.1%}", f"{row['steps'] / steps:.1f}",
        ])  # fmt: skip
    return aligned(table)
