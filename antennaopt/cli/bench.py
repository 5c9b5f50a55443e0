"""`antennaopt bench`: throughput and search quality, on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.bench_farm import farm
from antennaopt.cli.bench_search import search
from antennaopt.cli.options import (
    backend_option,
    check_writable,
    chosen_backend,
    json_option,
    quiet_option,
    set_option,
    write_out,
)
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError

REFERENCE = Path("experiments") / "reference_lens.toml"


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
        return
    if not matrix:
        raise click.exceptions.NoArgsIsHelpError(context)
    check_writable(json_file)
    from antennaopt.bench.matrix import matrix_table, support_matrix

    rows = support_matrix()
    if json_file is not None:
        write_out(json_file, json.dumps(rows, indent=1) + "\n")
    if json_file != "-":
        table, reasons = matrix_table(rows)
        click.echo("\n".join([aligned(table), "", *reasons]))


bench.add_command(farm)


@bench.command(short_help="Time the update kernels.")
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
@json_option
@quiet_option
def kernels(
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
    json_file: str | None,
    quiet: bool,
) -> None:
    """Time the update kernels: cell-steps a second with absorbing layers, source, port and recording on.

    On the CPU the axisymmetric lens on one core, 150 x 250 cells unless --grid says otherwise. On a CUDA device every
    scheme of every stencil: populations of 264, 112 and 1 lenses of 256 x 320 cells, planar fields, five-point sums of
    8192 x 8192; --stencil, --scheme, --grid and --batch choose other work. Each scheme is timed whole and with parts
    left out (WITHOUT): absorbing layers, records, media, all three (the update only), and arithmetic too (memory only).

    A row has the median rate, SPREAD (half of the range over the median), the ratio to one_step of the same run, and
    the fraction of what the device could compute (ARITHMETIC: operations of the bare update) and move (MEMORY: bytes
    that the scheme must move). Schemes that cannot step a stencil are named on stderr with the reason.

    \b
    Examples:
      antennaopt bench kernels --grid 150x250 --batch 4 --json kernels.json
      antennaopt bench kernels --backend cuda --json kernels.json
      antennaopt bench kernels --backend cuda --stencil bor --scheme wavefront --grid 256x320 --batch 264
      antennaopt bench kernels --backend cuda --stencil bor --without axial --without axial,media --json parts.json
    """  # noqa: D301 - \b is click's
    name = chosen_backend(backend)
    shapes = [grid_shape(text) for text in grids]
    check_writable(json_file)
    if name != "cpu" and levels is not None:
        raise ConfigurationError("--levels is of skewed on the CPU; use --backend cpu")
    if name == "cuda":
        _kernels_on_device(
            stencils, schemes, shapes, batches, json_file, ablations=not no_ablations, quiet=quiet,
            left_out=[tuple(parts.split(",")) for parts in left_out], steps=steps, precision=precision, repeat=repeat,
        )  # fmt: skip
        return
    if set(stencils) - {"bor"} or schemes or no_ablations or left_out:
        raise ConfigurationError(
            "--stencil, --scheme, --without and --no-ablations choose kernels of a CUDA device; use --backend cuda, or "
            "`antennaopt bench sweep` for planar stencils on the CPU"
        )
    from antennaopt.bench.kernels import LEVELS, bench_kernels

    rows: list[dict[str, Any]] = []
    for shape in shapes or [(150, 250)]:
        for batch in batches or (1,):
            rows += bench_kernels(
                backend=name, grid=shape, steps=steps, batch=batch, precision=precision, repeat=repeat,
                levels=levels or LEVELS,
            )  # fmt: skip
    finish(rows, json_file, quiet=quiet)


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
) -> None:
    """Time cases one after the other; what is done is written at once, so that a run cut short keeps it."""
    from antennaopt.bench.on_device import STANDARD, STENCILS, Case, bench_on_device
    from fdtd.tiling.pairs import SCHEMES

    for names, known, option in ((stencils, tuple(STENCILS), "--stencil"), (schemes, SCHEMES, "--scheme")):
        for name in names:
            if name not in known:
                raise ConfigurationError(f"{option} {name} is not known; use one of {', '.join(known)}")
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
            write_out(str(json_file), json.dumps(rows, indent=1, allow_nan=False) + "\n")
    if json_file == "-":
        write_out("-", json.dumps(rows, indent=1, allow_nan=False) + "\n")
    elif not quiet:
        click.echo(_device_table(rows))


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
    check_writable(json_file)
    from antennaopt.config import load_antenna

    experiment = load_antenna(file or reference_lens(), overrides)
    from antennaopt.bench.evaluate import bench_evaluate

    finish(bench_evaluate(experiment, backend=name, batch=batch, repeat=repeat), json_file, quiet=quiet)


@bench.command(short_help="Throughput against problem size.")
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
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw it (.png, .svg, .pdf).")
@json_option
@quiet_option
def sweep(
    backend: str,
    stencils: tuple[str, ...],
    sizes: tuple[int, ...],
    largest: int,
    precision: str,
    repeat: int,
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
    """  # noqa: D301 - \b is click's
    name = chosen_backend("cpu" if backend == "auto" else backend)  # of one core
    check_writable(json_file, plot)
    if plot is not None:
        from antennaopt.reports.throughput import check_kind

        check_kind(plot)
    from antennaopt.bench.sweep import STENCILS, bench_sweep, sizes_up_to
    from antennaopt.cli.machine import check_memory_of_cells

    for stencil in stencils:
        if stencil not in STENCILS:
            raise ConfigurationError(f"--stencil {stencil} is not known; use one of {', '.join(STENCILS)}")
    wanted = sorted(set(sizes)) or sizes_up_to(largest)
    check_memory_of_cells(max(wanted))
    rows = bench_sweep(
        stencils=stencils or STENCILS,
        sizes=wanted,
        backend=name,
        precision=precision,
        repeat=repeat,
        told=None if quiet else lambda line: click.echo(line, err=True),
    )
    if plot is not None:
        from antennaopt.reports.throughput import plot_throughput

        plot_throughput(plot, rows)
    if json_file is not None:
        write_out(json_file, json.dumps(rows, indent=1, allow_nan=False) + "\n")
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


def grid_shape(text: str) -> tuple[int, int]:
    """Read `150x250` as (nr, nz).

    Raises:
        ConfigurationError: It is not of that form.
    """
    found = re.fullmatch(r"\s*(\d{1,6})\s*[xX]\s*(\d{1,6})\s*", text)
    if found is None or min(int(found[1]), int(found[2])) < 1:
        raise ConfigurationError(f"--grid {text} is not of the form NRxNZ; write for example --grid 150x250")
    return int(found[1]), int(found[2])


def reference_lens() -> Path:
    """Return the bench's antenna file: the current directory's, else the one beside the package.

    Raises:
        ConfigurationError: There is neither.
    """
    beside = Path(__file__).resolve().parents[2] / REFERENCE
    for file in (REFERENCE, beside):
        if file.is_file():
            return file
    raise ConfigurationError(f"{REFERENCE} is neither here nor at {beside}; name an antenna file")


def finish(rows: Sequence[Mapping[str, Any]], json_file: str | None, *, quiet: bool) -> None:
    """Write the rows as JSON where asked for, and print them as a table otherwise."""
    if json_file is not None:
        write_out(json_file, json.dumps(list(rows), indent=1, allow_nan=False) + "\n")
    if json_file == "-" or quiet or not rows:
        return
    flat = [dict(_flat(row)) for row in rows]
    click.echo(aligned([[name, *(one.get(name, "") for one in flat)] for name in flat[0]], header=False))


def _flat(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a row's entries as text, those of tables in it one by one."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{below}", text) for below, text in _flat(value))
        elif isinstance(value, (list, tuple)):
            yield name, " x ".join(str(one) for one in value)
        elif name == "cell_steps_per_s":
            yield name, f"{value / 1e6:.0f} M"
        else:
            yield name, f"{value:.4g}" if isinstance(value, float) else str(value)
