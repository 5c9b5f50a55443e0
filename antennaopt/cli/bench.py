"""`antennaopt bench`: throughput and search quality on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.bench_farm import farm
from antennaopt.cli.bench_kernels import devices, kernels, sweep
from antennaopt.cli.bench_runner import Sink, bench_options, watch
from antennaopt.cli.bench_search import search
from antennaopt.cli.options import backend_option, check_writable, json_option, set_option, write_json
from antennaopt.cli.run import begin_early, example, quickstart
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError
from antennaopt.farm import early
from antennaopt.solve.device import chosen_backend

REFERENCE = {"shaped_lens": "reference_lens.toml", "patch": "reference_patch.toml"}
"""Antennas that whole evaluations are timed with, by family."""


@click.group(short_help="Measure kernels, evaluations and the search.", invoke_without_command=True)
@click.option("--matrix", is_flag=True, help="Print which stencils, schemes and backends work together, with reasons.")
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


bench.add_command(devices)
bench.add_command(farm)
bench.add_command(kernels)
bench.add_command(search)
bench.add_command(sweep)


@bench.command(short_help="Time the stages of whole evaluations.")
@click.argument("file", metavar="[ANTENNA.toml]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--family",
    type=click.Choice(list(REFERENCE)),
    default="shaped_lens",
    show_default=True,
    help="Family of the reference antenna if there is no file; a patch takes 8,000 steps.",
)
@backend_option()
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    help="Antennas per batch of a process; default: 4 on a core, two waves on a device.",
)
@click.option(
    "--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Number of timings; the median counts."
)
@set_option
@bench_options()
def evaluate(
    out: Sink,
    file: Path | None,
    family: str,
    backend: str,
    batch: int | None,
    repeat: int,
    overrides: tuple[str, ...],
) -> None:
    """Time the stages of whole evaluations, from design to figures of merit."""
    name = chosen_backend(backend, quiet=out.quiet)
    from antennaopt.experiment import load_antenna

    experiment = load_antenna(file or example(REFERENCE[family]), overrides)
    from antennaopt.bench.evaluate import bench_evaluate

    out.finish(bench_evaluate(experiment, backend=name, batch=batch, repeat=repeat))


@bench.command(short_help="Split the wall time of a whole study.")
@click.argument("file", metavar="[EXPERIMENT.toml]", required=False, type=click.Path(path_type=Path))
@backend_option()
@set_option
@bench_options()
def study(out: Sink, file: Path | None, backend: str, overrides: tuple[str, ...]) -> None:
    """Run a study on this machine and split its wall time; the default is the quickstart.

    The evaluation cache is not used, and the run folder is removed. The driver is sampled every 5 ms; the workers
    record the stages of each batch. The search is counted from the second generation on.

    \b
    Examples:
      antennaopt bench study --json study.json
      antennaopt bench study experiments/ten_thousand.toml --backend cuda
    """  # noqa: D301 - \b is click's
    with early.early_workers(backend):
        name = chosen_backend(backend, quiet=out.quiet)
        row = _study(file or quickstart(), overrides, name, quiet=out.quiet)
    out.finish([row], _study_table)


def _study(file: Path, overrides: Sequence[str], backend: str, *, quiet: bool) -> dict[str, Any]:
    from antennaopt.experiment import load_experiment

    experiment = load_experiment(file, overrides)
    if experiment.cluster.kind != "local":
        raise ConfigurationError(
            f'cluster.kind = "{experiment.cluster.kind}": bench study splits the time of this '
            'machine only; add --set cluster.kind="local"'
        )
    if experiment.evolution.generations < 2:
        raise ConfigurationError("evolution.generations = 1 leaves no generation after the first; give at least 2")
    begin_early(experiment, backend)
    from antennaopt.bench.study import bench_study
    from antennaopt.run.progress import for_terminal

    return bench_study(experiment, backend=backend, progress=for_terminal(quiet=quiet))


def _study_table(rows: Sequence[Mapping[str, Any]]) -> str:
    (row,) = rows
    whole = sum(row["wall_seconds"].values())
    parts = [["wall time", "s", ""]]
    parts += [[name.replace("_", " "), f"{s:.2f}", f"{s / whole:.0%}"] for name, s in row["wall_seconds"].items()]
    driver = [["driver, in the search", ""], *([name, f"{share:.1%}"] for name, share in row["driver_share"].items())]
    workers = [["workers, in the search", ""]]
    workers += [[name, f"{share:.1%}"] for name, share in row["worker_share"].items()]
    stepped, kernel, rate = row["cell_steps_per_s"], row["kernel_cell_steps_per_s"], ""
    if stepped is not None:
        rate = f"\n{stepped / 1e6:.4g} M cell-steps/s of a worker while it steps"
    if stepped is not None and kernel is not None:
        share = stepped / kernel
        rate += f", {share:.0%} of the {kernel / 1e6:.4g} M of {row['kernel_scheme']} alone on this lattice"
    return "\n\n".join([
        aligned([*parts, ["whole command", f"{whole:.2f}", ""]]), aligned(driver), aligned(workers),
        f"{row['antennas_per_s']:.4g} antennas/s, {row['steps']:.0f} steps an antenna on "
        f"{' x '.join(map(str, row['shape']))} cells, {row['workers']} workers{rate}",
    ])  # fmt: skip
