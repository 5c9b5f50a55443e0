"""`antennaopt bench`: throughput and search quality, on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.bench_farm import farm
from antennaopt.cli.bench_kernels import kernels
from antennaopt.cli.bench_search import search
from antennaopt.cli.measured import draw_measured, finish, measured_option, watch, with_source
from antennaopt.cli.options import (
    backend_option,
    check_plot,
    check_writable,
    json_option,
    plot_option,
    quiet_option,
    set_option,
    write_out,
)
from antennaopt.cli.run import example
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError
from antennaopt.solve.device import chosen_backend

REFERENCE = "reference_lens.toml"
SWEEP_BYTES_PER_CELL = 640
"""Fields, coefficients and the float64 media that they are made from, about."""


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
    if json_file is not None:
        write_out(json_file, json.dumps(rows, indent=1) + "\n")
    if json_file != "-":
        table, reasons = matrix_table(rows)
        click.echo("\n".join([aligned(table), "", *reasons]))


bench.add_command(farm)
bench.add_command(kernels)
bench.add_command(search)


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
@json_option
@quiet_option
def evaluate(
    file: Path | None,
    backend: str,
    batch: int | None,
    repeat: int,
    overrides: tuple[str, ...],
    json_file: str | None,
    quiet: bool,
) -> None:
    """Time whole evaluations, from design to figures of merit, by stage."""
    name = chosen_backend(backend, quiet=quiet)
    check_writable(json_file, inputs=[file])
    from antennaopt.experiment import load_antenna

    experiment = load_antenna(file or example(REFERENCE), overrides)
    from antennaopt.bench.evaluate import bench_evaluate

    finish(bench_evaluate(experiment, backend=name, batch=batch, repeat=repeat), json_file, quiet=quiet)


@bench.command(short_help="Throughput against problem size.")
@click.pass_context
@backend_option()
@click.option(
    "--stencil", "stencils", metavar="NAME", multiple=True, help="tmz, tez or bor; may be repeated. Default: all."
)
@click.option("--size", "sizes", type=click.IntRange(min=64), metavar="N", multiple=True, help="Side; may be repeated.")
@click.option(
    "--largest", type=click.IntRange(min=64), default=2048, show_default=True, metavar="N", help="Side, without --size."
)
@click.option("--precision", type=click.Choice(["float32", "float64"]), default="float32", show_default=True)
@click.option(
    "--repeat", type=click.IntRange(min=1), default=5, show_default=True, help="Timings, of which the median."
)
@measured_option
@plot_option
@json_option
@quiet_option
def sweep(
    context: click.Context,
    backend: str,
    stencils: tuple[str, ...],
    sizes: tuple[int, ...],
    largest: int,
    precision: str,
    repeat: int,
    measured: Path | None,
    plot: Path | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Time problems of growing size: million cells a second, planar TM_z and TE_z, and axisymmetric.

    On one core unless --backend says cuda; there every scheme that can step a problem of that size.

    \b
    Examples:
      antennaopt bench sweep --json sweep.json --plot sweep.png
      antennaopt bench sweep --backend cuda --stencil tmz --largest 4096 --json -
      antennaopt bench sweep --measured results/benchmarks/h200/sweep.json --plot sweep.png
    """  # noqa: D301 - \b is click's
    if measured is not None:
        from antennaopt.report.bench_kernels import SWEEP_ROW, plot_throughput

        draw_measured(context, measured, plot, plot_throughput, SWEEP_ROW)
        return
    check_plot(plot, json_file)
    name = chosen_backend("cpu" if backend == "auto" else backend)  # of one core
    from antennaopt.bench.kernels import SWEPT, bench_sweep, sizes_up_to

    for stencil in stencils:
        if stencil not in SWEPT:
            raise ConfigurationError(f"--stencil {stencil} is not known; use one of {', '.join(SWEPT)}")
    wanted = sorted(set(sizes)) or sizes_up_to(largest)
    check_memory_of_cells(max(wanted))
    rows = bench_sweep(
        stencils=stencils or SWEPT,
        sizes=wanted,
        backend=name,
        precision=precision,
        repeat=repeat,
        told=None if quiet else lambda line: click.echo(line, err=True),
    )
    if json_file is not None:
        write_out(json_file, json.dumps(with_source(rows), indent=1, allow_nan=False) + "\n")
    if plot is not None:
        from antennaopt.report.bench_kernels import plot_throughput

        plot_throughput(plot, rows)
    if json_file != "-" and not quiet:
        click.echo(_sweep_table(rows))


def _sweep_table(rows: Sequence[Mapping[str, Any]]) -> str:
    header = ["stencil", "scheme", "cells", "steps", "million cells/s", "spread"]
    lines = [
        [
            row["stencil"],
            row["scheme"],
            " x ".join(str(one) for one in row["shape"]),
            str(row["steps"]),
            f"{row['million_cells_per_s']:.0f}",
            f"{row['spread']:.1%}",
        ]
        for row in rows
    ]
    return aligned([header, *lines])


def check_memory_of_cells(side: int) -> None:
    """Refuse a square domain of a sweep that cannot be held in memory.

    Args:
        side: Cells along a side.

    Raises:
        ConfigurationError: It takes more than the machine has.
    """
    from antennaopt.solve.capacity import memory_bytes, size_text

    there = memory_bytes()
    if there is not None and side**2 * SWEEP_BYTES_PER_CELL > there:
        largest = int((there / SWEEP_BYTES_PER_CELL) ** 0.5)
        raise ConfigurationError(
            f"--size {side} needs {size_text(side**2 * SWEEP_BYTES_PER_CELL)} (this machine has {size_text(there)}); "
            f"use at most {largest}"
        )
