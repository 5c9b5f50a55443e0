"""`antennaopt bench kernels`: the update kernels, whole and in part."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.measured import draw_measured, finish, measured_option, with_source
from antennaopt.cli.options import (
    backend_option,
    check_plot,
    json_option,
    plot_option,
    quiet_option,
    write_out,
)
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError
from antennaopt.solve.device import chosen_backend


@click.command(short_help="Time the update kernels.")
@click.pass_context
@backend_option()
@click.option(
    "--stencil",
    "stencils",
    metavar="NAME",
    multiple=True,
    help="On a device: bor, tmz, tez or jacobi5; may be repeated.  [default: all]",
)
@click.option(
    "--scheme", "schemes", metavar="NAME", multiple=True, help="On a device: one of its schemes; may be repeated."
)
@click.option("--grid", "grids", metavar="NRxNZ", multiple=True, help="Cells, layers included; may be repeated.")
@click.option("--steps", type=click.IntRange(min=1), help="Time steps of one timing.")
@click.option(
    "--batch",
    "batches",
    type=click.IntRange(min=1),
    metavar="N",
    multiple=True,
    help="Problems solved together; may be repeated.",
)
@click.option("--precision", type=click.Choice(["float32", "float64"]), default="float32", show_default=True)
@click.option(
    "--repeat", type=click.IntRange(min=1), default=5, show_default=True, help="Timings, of which the median."
)
@click.option(
    "--levels",
    type=click.IntRange(min=1),
    metavar="N",
    help="On the CPU: time levels of skewed, up to --steps.  [default: 16]",
)
@click.option("--no-ablations", is_flag=True, help="On a device: only whole kernels, none with parts left out.")
@click.option(
    "--without",
    "left_out",
    metavar="PART,...",
    multiple=True,
    help="On a device: leave out these parts (layers, radial, axial, record, media, coupling) in place of the usual "
    "ones; may be repeated.",
)
@measured_option
@plot_option
@json_option
@quiet_option
def kernels(
    context: click.Context,
    backend: str,
    stencils: tuple[str, ...],
    schemes: tuple[str, ...],
    grids: tuple[str, ...],
    steps: int | None,
    batches: tuple[int, ...],
    precision: str,
    repeat: int,
    levels: int | None,
    no_ablations: bool,
    left_out: tuple[str, ...],
    measured: Path | None,
    plot: Path | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Time the update kernels: cell-steps a second with absorbing layers, source, port and recording on.

    On the CPU the axisymmetric lens on one core, 150 x 250 cells unless --grid says otherwise. On a CUDA device every
    scheme of every stencil: populations of 264, 112 and 1 lenses of 256 x 320 cells, planar fields, five-point sums of
    8192 x 8192; --stencil, --scheme, --grid and --batch choose other work. Each scheme is timed whole and with parts
    left out (WITHOUT): absorbing layers, records, media, all three (the update only), and arithmetic too (memory only).

    A row has the median rate, SPREAD (half of the range over the median), the ratio to the faster form of one_step in
    the same run, and the fraction of what the device could compute (ARITHMETIC: operations of the bare update) and move
    (MEMORY: bytes that the scheme must move). A study steps slower than its kernel: `antennaopt status` has its rate.
    Schemes that cannot step a stencil are named on stderr with the reason. --plot draws of each stencil the case with
    the most cells.

    \b
    Examples:
      antennaopt bench kernels --grid 150x250 --batch 4 --json kernels.json
      antennaopt bench kernels --backend cuda --json kernels.json
      antennaopt bench kernels --backend cuda --stencil bor --scheme wavefront --grid 256x320 --batch 264
      antennaopt bench kernels --backend cuda --stencil bor --without axial --without axial,media --json parts.json
      antennaopt bench kernels --measured results/benchmarks/h200/kernels.json --plot kernels.png
    """  # noqa: D301 - \b is click's
    if measured is not None:
        from antennaopt.report.bench_kernels import KERNEL_ROW, plot_kernels

        draw_measured(context, measured, plot, plot_kernels, KERNEL_ROW)
        return
    check_plot(plot, json_file)
    _check_names(stencils, schemes)
    name = chosen_backend(backend)
    shapes = [grid_shape(text) for text in grids]
    if name != "cpu" and levels is not None:
        raise ConfigurationError("--levels is of skewed on the CPU; use --backend cpu")
    if name == "cuda":
        rows = _kernels_on_device(
            stencils, schemes, shapes, batches, json_file, ablations=not no_ablations, quiet=quiet,
            left_out=[tuple(parts.split(",")) for parts in left_out], steps=steps, precision=precision, repeat=repeat,
        )  # fmt: skip
        _draw(plot, rows)
        return
    if set(stencils) - {"bor"} or schemes or no_ablations or left_out:
        raise ConfigurationError(
            "--stencil, --scheme, --without and --no-ablations choose kernels of a CUDA device; use --backend cuda, or "
            "`antennaopt bench sweep` for planar stencils on the CPU"
        )
    from antennaopt.bench.kernels import LEVELS, bench_kernels

    rows = []
    for shape in shapes or [(150, 250)]:
        for batch in batches or (1,):
            rows += bench_kernels(
                backend=name, grid=shape, steps=steps, batch=batch, precision=precision, repeat=repeat,
                levels=levels or LEVELS,
            )  # fmt: skip
    finish(rows, json_file, quiet=quiet)
    _draw(plot, rows)


def _draw(plot: Path | None, rows: Sequence[Mapping[str, Any]]) -> None:
    if plot is not None:
        from antennaopt.report.bench_kernels import plot_kernels

        plot_kernels(plot, rows)


def _check_names(stencils: Sequence[str], schemes: Sequence[str]) -> None:
    """Refuse names that no device knows, before one is asked for."""
    if not stencils and not schemes:
        return
    from antennaopt.bench.on_device import STENCILS
    from fdtd.schemes.rates import SCHEMES

    for names, known, option in ((stencils, tuple(STENCILS), "--stencil"), (schemes, SCHEMES, "--scheme")):
        for name in names:
            if name not in known:
                raise ConfigurationError(f"{option} {name} is not known; use one of {', '.join(known)}")


def _kernels_on_device(
    stencils: Sequence[str],
    schemes: Sequence[str],
    shapes: Sequence[tuple[int, int]],
    batches: Sequence[int],
    json_file: str | None,
    *,
    ablations: bool,
    quiet: bool,
    **settings: Any,
) -> list[dict[str, Any]]:
    """Time cases one after the other; what is done is written at once, so that a run cut short keeps it."""
    from antennaopt.bench.on_device import STANDARD, Case, bench_on_device

    cases = [case for case in STANDARD if not stencils or case.stencil in stencils]
    if shapes or batches:
        cases = list(dict.fromkeys(
            Case(stencil=case.stencil, shape=shape, batch=batch)
            for case in cases
            for shape in shapes or (case.shape,)
            for batch in batches or (case.batch,)
        ))  # fmt: skip
    rows: list[dict[str, Any]] = []
    told = None if quiet else partial(click.echo, err=True)
    for case in cases:
        rows += bench_on_device([case], schemes=schemes, ablations=ablations, told=told, **settings)
        if json_file not in (None, "-"):
            write_out(str(json_file), json.dumps(with_source(rows), indent=1, allow_nan=False) + "\n")
    if json_file == "-":
        write_out("-", json.dumps(with_source(rows), indent=1, allow_nan=False) + "\n")
    elif not quiet:
        click.echo(_device_table(rows))
    return rows


def _device_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line a variant."""

    def percent(value: float | None) -> str:
        return "-" if value is None else f"{value:.1%}"

    lines = [
        ["stencil", "scheme", "choice", "without", "cells", "batch", "G/s", "spread", "ratio", "arithmetic", "memory"]
    ]
    for row in rows:
        ratio = row["ratio_to_one_step"]
        lines.append([
            row["stencil"], row["scheme"], ", ".join(f"{key} {value}" for key, value in row["choice"].items()) or "-",
            ", ".join(row["without"]) or "-", " x ".join(map(str, row["shape"])), str(row["batch"]),
            f"{row['cell_steps_per_s'] / 1e9:.1f}", percent(row["spread"]),
            "-" if ratio is None else f"{ratio:.2f}", percent(row["fraction_of_arithmetic"]),
            percent(row["fraction_of_memory"]),
        ])  # fmt: skip
    return aligned(lines)


def grid_shape(text: str) -> tuple[int, int]:
    """Read `150x250` as (nr, nz).

    Raises:
        ConfigurationError: It is not of that form.
    """
    found = re.fullmatch(r"\s*(\d{1,6})\s*[xX]\s*(\d{1,6})\s*", text)
    if found is None or min(int(found[1]), int(found[2])) < 1:
        raise ConfigurationError(f"--grid {text} is not of the form NRxNZ; write for example --grid 150x250")
    return int(found[1]), int(found[2])
