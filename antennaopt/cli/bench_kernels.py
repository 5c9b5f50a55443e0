"""`antennaopt bench kernels`, `sweep` and `devices`: time the update kernels, whole, in part, and by problem size."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from antennaopt.cli.bench_runner import Figure, Sink, bench_options, with_source
from antennaopt.cli.options import backend_option, warnings_as_lines
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError
from antennaopt.solve.device import check_devices, chosen_backend

KERNELS = Figure(module="bench_kernels", function="plot_kernels", entries="KERNEL_ROW")
SWEEP = Figure(module="bench_kernels", function="plot_throughput", entries="SWEEP_ROW")
SWEEP_BYTES_PER_CELL = 640
"""Fields, coefficients and the float64 media that they are made from, about."""

CUBE_BYTES_PER_CELL = 96
"""Yee's lattice in double precision: six components, six coefficients."""

LARGEST_CUBE = 256
"""Side of the largest cube of a sweep, without --size."""

precision_option = click.option(
    "--precision", type=click.Choice(["float32", "float64"]), default="float32", show_default=True
)
repeat_option = click.option(
    "--repeat", type=click.IntRange(min=1), default=5, show_default=True, help="Number of timings; the median counts."
)


@click.command(short_help="Time the update kernels.")
@backend_option()
@click.option(
    "--stencil",
    "stencils",
    metavar="NAME",
    multiple=True,
    help="On a device: bor, tmz, tez or jacobi5; may be repeated.  [default: all]",
)
@click.option(
    "--scheme", "schemes", metavar="NAME", multiple=True, help="On a device: scheme to time; may be repeated."
)
@click.option("--grid", "grids", metavar="NRxNZ", multiple=True, help="Cells with absorbing layers; may be repeated.")
@click.option("--steps", type=click.IntRange(min=1), help="Time steps per timing.")
@click.option(
    "--batch",
    "batches",
    type=click.IntRange(min=1),
    metavar="N",
    multiple=True,
    help="Problems per batch; may be repeated.",
)
@precision_option
@repeat_option
@click.option(
    "--levels",
    type=click.IntRange(min=1),
    metavar="N",
    help="On the CPU: time levels of `skewed`, at most --steps.  [default: 16]",
)
@click.option("--no-ablations", is_flag=True, help="On a device: time whole kernels only.")
@click.option(
    "--without",
    "left_out",
    metavar="PART,...",
    multiple=True,
    help="On a device: parts to leave out (layers, radial, axial, record, media, coupling) in place of the default; "
    "may be repeated.",
)
@bench_options(KERNELS)
def kernels(
    out: Sink,
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
) -> None:
    """Time the update kernels in cell-steps per second, with absorbing layers, source, port and records.

    The CPU times an axisymmetric lens of 150 x 250 cells on one core; --grid sets another size. A CUDA device times
    every scheme of every stencil: batches of 264, 112 and 1 lenses of 256 x 320 cells, planar fields, and five-point
    sums of 8192 x 8192. --stencil, --scheme, --grid and --batch select other cases. Each scheme is timed whole and with
    parts left out (column WITHOUT): absorbing layers, records, media, all three (update only), and also without
    arithmetic (memory only).

    Each row has the median rate and the ratio to the faster form of one_step in the same run. SPREAD is half of the
    range over the median. ARITHMETIC is the operations of the bare update over the peak rate of the device. MEMORY is
    the bytes that the scheme must move over the memory rate. A study steps more slowly than its
    kernel; `antennaopt status` shows the rate of a study. Schemes that cannot step a stencil are listed on stderr with
    the reason. --plot shows the case with the most cells of each stencil.

    \b
    Examples:
      antennaopt bench kernels --grid 150x250 --batch 4 --json kernels.json
      antennaopt bench kernels --backend cuda --json kernels.json
      antennaopt bench kernels --backend cuda --stencil bor --scheme wavefront --grid 256x320 --batch 264
      antennaopt bench kernels --backend cuda --stencil bor --without axial --without axial,media --json parts.json
      antennaopt bench kernels --measured results/benchmarks/h200/kernels.json --plot kernels.png
    """  # noqa: D301 - \b is click's
    _check_names(stencils, schemes)
    name = chosen_backend(backend)
    shapes = [grid_shape(text) for text in grids]
    if name != "cpu" and levels is not None:
        raise ConfigurationError("--levels is of skewed on the CPU; use --backend cpu")
    if name == "cuda":
        parts = [] if no_ablations else [tuple(some.split(",")) for some in left_out] or None
        _kernels_on_device(
            out, stencils, shapes, batches, schemes=schemes, left_out=parts, steps=steps, precision=precision,
            repeat=repeat,
        )  # fmt: skip
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
    out.finish(rows)


def _check_names(stencils: Sequence[str], schemes: Sequence[str]) -> None:
    """Refuse names that no device knows, before a device is looked for."""
    if not stencils and not schemes:
        return
    from antennaopt.bench.on_device import STENCILS
    from fdtd.schemes.rates import SCHEMES

    for names, known, option in ((stencils, tuple(STENCILS), "--stencil"), (schemes, SCHEMES, "--scheme")):
        for name in names:
            if name not in known:
                raise ConfigurationError(f"{option} {name} is not known; use one of {', '.join(known)}")


def _kernels_on_device(
    out: Sink, stencils: Sequence[str], shapes: Sequence[tuple[int, int]], batches: Sequence[int], **settings: Any
) -> None:
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
    for case in cases:
        rows += bench_on_device([case], told=out.told, **settings)
        if out.json_file != "-":
            out.store(with_source(rows))
    out.finish(rows, _device_table)


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


@click.command(short_help="Time problems of growing size.")
@backend_option()
@click.option(
    "--stencil",
    "stencils",
    metavar="NAME",
    multiple=True,
    help="tmz, tez, bor (default: these three), yee3d, heat7 or heat19; may be repeated.",
)
@click.option(
    "--size", "sizes", type=click.IntRange(min=64), metavar="N", multiple=True, help="Cells per side; may be repeated."
)
@click.option(
    "--largest",
    type=click.IntRange(min=64),
    default=2048,
    show_default=True,
    metavar="N",
    help="Largest side without --size.",
)
@click.option(
    "--layers",
    type=click.IntRange(min=2),
    metavar="N",
    help="With --stencil yee3d on one core: absorbing layers of N cells on all faces, in place of metal.",
)
@precision_option
@repeat_option
@bench_options(SWEEP)
def sweep(
    out: Sink,
    backend: str,
    stencils: tuple[str, ...],
    sizes: tuple[int, ...],
    largest: int,
    layers: int | None,
    precision: str,
    repeat: int,
) -> None:
    """Time problems of growing size, planar TM_z and TE_z and axisymmetric, in million cells per second.

    The default is one core. --backend cuda times every scheme that can step a problem of the size. In three dimensions
    a size is the side of a cube, at most 256 without --size: a closed cavity on Yee's lattice (yee3d) or the heat
    equation. Times of cubes on a core are processor time.

    \b
    Examples:
      antennaopt bench sweep --json sweep.json --plot sweep.png
      antennaopt bench sweep --stencil yee3d --plot cavity.png
      antennaopt bench sweep --stencil yee3d --size 128 --layers 10
      antennaopt bench sweep --backend cuda --stencil tmz --largest 4096 --json -
      antennaopt bench sweep --measured results/benchmarks/h200/sweep.json --plot sweep.png
    """  # noqa: D301 - \b is click's
    name = chosen_backend("cpu" if backend == "auto" else backend)  # of one core
    from antennaopt.bench.kernels import SWEPT, bench_sweep, sizes_up_to
    from fdtd.stencils import SPATIAL

    known = (*SWEPT, *SPATIAL)
    for stencil in stencils:
        if stencil not in known:
            raise ConfigurationError(f"--stencil {stencil} is not known; use one of {', '.join(known)}")
    if layers and (set(stencils) != {"yee3d"} or name != "cpu"):
        raise ConfigurationError(
            "--layers is of yee3d on one core; add --stencil yee3d, or use `antennaopt bench devices` on devices"
        )
    sides: dict[str, list[int]] = {}
    for stencil in stencils or SWEPT:
        most = min(largest, LARGEST_CUBE) if stencil in SPATIAL else largest
        sides[stencil] = sorted(set(sizes)) or sizes_up_to(most)
        check_memory_of_cells(max(sides[stencil]), axes=3 if stencil in SPATIAL else 2)
    rows: list[dict[str, Any]] = []
    for stencil, wanted in sides.items():
        rows += bench_sweep(
            stencils=(stencil,),
            sizes=wanted,
            backend=name,
            precision=precision,
            repeat=repeat,
            layers=layers or 0,
            told=out.told,
        )
    out.finish(rows, _sweep_table)


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


@click.command(short_help="Time one large 3-D lattice on several CUDA devices.")
@click.option(
    "--devices",
    "counts",
    type=click.IntRange(min=1),
    metavar="N",
    multiple=True,
    help="Devices that share the lattice; may be repeated.  [default: all available powers of two]",
)
@click.option(
    "--size",
    "sizes",
    type=click.IntRange(min=32),
    metavar="N",
    multiple=True,
    default=(256, 512),
    show_default=True,
    help="Cells per side with absorbing layers; may be repeated.",
)
@click.option("--steps", type=click.IntRange(min=1), help="Time steps per timing.")
@precision_option
@repeat_option
@bench_options()
def devices(
    out: Sink, counts: tuple[int, ...], sizes: tuple[int, ...], steps: int | None, precision: str, repeat: int
) -> None:
    """Time a cube of Yee's lattice on 1, 2, 4 CUDA devices of this machine; each device steps a slab.

    All faces have absorbing layers of 10 cells. A source is on, a port sums at every step, the Huygens box is sampled
    every 50 steps and the energy every 200. One device is timed in two forms: launch by launch, as batches are stepped,
    and from graphs, as several devices are. RATIO TO ONE DEVICE refers to the faster form. SAME BITS is yes if fields,
    sums, energy and samples equal those of the first form.

    \b
    Examples:
      antennaopt bench devices --devices 1 --devices 2 --devices 4 --json devices.json
      antennaopt bench devices --size 384
    """  # noqa: D301 - \b is click's
    from antennaopt.bench.devices import bench_devices
    from fdtd.backends.cuda import present
    from fdtd.errors import DeviceError

    try:
        there = len(present.devices())
    except DeviceError as problem:
        what, _, _ = str(problem).partition(";")
        raise DeviceError(f"bench devices needs a machine with CUDA devices, and {what}") from problem
    asked = counts or tuple(count for count in (1, 2, 4, 8) if count <= there)
    check_devices(max(asked))
    with warnings_as_lines():
        rows = bench_devices(asked, sizes, precision=precision, repeat=repeat, steps=steps, told=out.told)
    out.finish(rows, _devices_table)


def _devices_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line a lattice and number of devices."""
    lines = [["cells", "devices", "planes of each", "G/s", "spread", "ratio to one device", "same bits"]]
    for row in rows:
        lines.append([
            " x ".join(map(str, row["shape"])), str(row["devices"] or "1, launch by launch"),
            ", ".join(map(str, row["planes"])), f"{row['cell_steps_per_s'] / 1e9:.1f}", f"{row['spread']:.1%}",
            f"{row['ratio_to_one_device']:.2f}", "yes" if row["same_bits"] else "no",
        ])  # fmt: skip
    return aligned(lines)


def check_memory_of_cells(side: int, axes: int = 2) -> None:
    """Refuse a domain of a sweep that cannot be held in memory.

    Args:
        side: Cells along a side.
        axes: 2 for a square, 3 for a cube.

    Raises:
        ConfigurationError: It takes more than the machine has.
    """
    from antennaopt.solve.capacity import memory_bytes, size_text

    there = memory_bytes()
    needs = side**axes * (SWEEP_BYTES_PER_CELL if axes == 2 else CUBE_BYTES_PER_CELL)
    if there is not None and needs > there:
        largest = int(side * (there / needs) ** (1 / axes))
        raise ConfigurationError(
            f"--size {side} needs {size_text(needs)} (this machine has {size_text(there)}); use at most {largest}"
        )
