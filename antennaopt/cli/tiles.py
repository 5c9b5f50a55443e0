"""`antennaopt tiles`: the tile-size model, and the predicted rate of each scheme on a modern device."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.options import bare_json_option, check_writable, given_options, write_json
from antennaopt.cli.tables import aligned
from antennaopt.cli.tiles_in_space import IN_SPACE, check_device, timed_table, tuned_in_space, words_of
from antennaopt.errors import ConfigurationError
from antennaopt.machine import read_regular

SWITCHES = ("--tune", "--measured", "--stencil")
"""What turns the command to another model; of several, the first decides."""

OWN = {
    "--region": (None,),
    "--shared-floats": (None,),
    "--frequencies": (None,),
    "--formulas": (None,),
    "--stencil": ("--tune", "--stencil"),
    "--grid": ("--tune", "--stencil"),
    "--batch": ("--tune", "--stencil"),
    "--device": ("--measured", "--stencil"),
    "--measured": ("--measured",),
}
"""Options that only some switches take; without a switch, None."""

REGIONS = ("pml", "non_pml", "dft", "jacobi")
NAMES = {1: "2-D tiles", 4: "time skewing", 5: "redundant computation"}


@click.command(short_help="Compute the best tile of each scheme.")
@click.pass_context
@click.option(
    "--region",
    "chosen",
    metavar="NAME",
    type=click.Choice(REGIONS),
    multiple=True,
    help=f"Region of the lattice: {', '.join(REGIONS)}; may be repeated.  [default: all]",
)
@click.option(
    "--shared-floats",
    metavar="N",
    type=int,
    default=16304,
    show_default=True,
    help="Memory for a tile, in floats of 4 bytes: 4076 GTX-280, 16304 GTX-580, 58112 H200.",
)
@click.option(
    "--frequencies",
    metavar="N",
    type=int,
    default=5,
    show_default=True,
    help="Frequencies of the running DFT; its cells keep 24 floats per frequency.",
)
@click.option(
    "--formulas",
    type=click.Choice(["printed", "tabulated"]),
    default="printed",
    show_default=True,
    help="Formulas as printed by Barigou (2011), or those that reproduce his table to the last digit.",
)
@click.option("--stencil", metavar="NAME", help="Predict rates of bor, tmz, tez or jacobi5; with --tune also yee3d.")
@click.option(
    "--grid",
    metavar="NxM",
    default="256x320",
    show_default=True,
    help="With --stencil: columns x rows; for yee3d NxMxK cells with absorbing layers.",
)
@click.option(
    "--batch",
    metavar="N",
    type=click.IntRange(min=1),
    default=264,
    show_default=True,
    help="With --stencil: problems per batch.",
)
@click.option(
    "--device",
    metavar="NAME",
    default="h200",
    show_default=True,
    help="With --stencil or --measured: h200, `this` (this machine's CUDA device), or a JSON file with its numbers.",
)
@click.option(
    "--tune",
    is_flag=True,
    help="With --stencil: time the best few plans once on the CUDA device of this machine; keep the fastest.",
)
@click.option(
    "--measured",
    "measured_files",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Compare with rows that `bench kernels --json` wrote; may be repeated.",
)
@click.option("--plot", "plot_file", metavar="FILE", help="With --measured: draw prediction against measurement.")
@bare_json_option
def tiles(
    context: click.Context,
    chosen: tuple[str, ...],
    shared_floats: int,
    frequencies: int,
    formulas: str,
    stencil: str | None,
    grid: str,
    batch: int,
    device: str,
    tune: bool,
    measured_files: tuple[Path, ...],
    plot_file: str | None,
    json_file: str | None,
) -> None:
    """Show the tile of each approach that does the most work per float moved through memory.

    A tile is HEIGHT x WIDTH cells, stepped DEPTH times per pass through memory. Approach 1 takes one step per pass
    (`one_step`), 4 skews its tiles in time (`skewed`), 5 computes the edges of its tiles twice (`trapezoidal`). RATIO
    is floats computed over floats read and written. A deeper tile has a larger ratio but needs more on-chip memory.
    Source: Barigou, Acceleration of real-life stencil codes on GPUs (2011), section 4.3.

    \b
    Regions, with floats a cell:
      pml      absorbing layer: 18 variables, 44 coefficients
      non_pml  inside: 6 variables, 20 coefficients
      dft      with a running DFT: 6 + 24 a frequency, 20 coefficients
      jacobi   five-point sum: 1 variable, none

    --stencil and --measured predict the rate of each scheme on a modern device, from its limits: registers, shared
    memory, cache, memory, issued instructions, waits.

    \b
    Examples:
      antennaopt tiles --shared-floats 4076
      antennaopt tiles --region pml --region non_pml --shared-floats 58112
      antennaopt tiles --region jacobi --shared-floats 16304 --json
      antennaopt tiles --stencil tmz --grid 256x320 --batch 264
      antennaopt tiles --stencil jacobi5 --grid 8192x8192 --batch 1 --tune
      antennaopt tiles --stencil yee3d --grid 64x64x32 --batch 256 --tune
      antennaopt tiles --measured results/benchmarks/h200/planar.json --plot rates.png
    """  # noqa: D301 - \b is click's
    _check_options(context)
    check_writable(json_file, plot_file, inputs=[*measured_files, device])
    if plot_file is not None and not measured_files:
        raise ConfigurationError("--plot draws prediction against measurement; give --measured FILE too")
    if tune and stencil is None:
        raise ConfigurationError("--tune needs --stencil; use for example --stencil jacobi5 --grid 8192x8192 --batch 1")
    if stencil == IN_SPACE and not measured_files:
        rows = tuned_in_space(tune, grid if "--grid" in given_options(context) else None, batch)
        lines = timed_table(rows)
    elif tune:
        from antennaopt.bench.kernels import tune as compete
        from antennaopt.cli.bench_kernels import grid_shape
        from fdtd.stencils import STENCILS

        shape = grid_shape(grid)
        if stencil in STENCILS:  # another is refused below
            check_device("--tune", "a prediction without it")
        rows = [compete(str(stencil), shape, batch)]
        lines = aligned([[name, words_of(value)] for name, value in rows[0].items()], header=False)
    elif measured_files:
        rows = _compared(_device(device), measured_files)
        lines = _comparison_table(rows)
    elif stencil is not None:
        rows = _predicted(_device(device), stencil, grid, batch)
        lines = _prediction_table(rows)
    else:
        rows = _best_tiles(chosen or REGIONS, shared_floats, frequencies, formulas)
        lines = _table(rows)
    if plot_file is not None:
        from antennaopt.report.bench_kernels import draw_rates

        draw_rates(rows, plot_file)
    write_json(json_file, rows)
    if json_file != "-":
        click.echo(lines)


def _check_options(context: click.Context) -> None:
    """Refuse options that would be ignored.

    Raises:
        ConfigurationError: One belongs to another model than the chosen one.
    """
    given = given_options(context)
    switch = next((option for option in SWITCHES if option in given), None)
    for option, switches in OWN.items():
        if option in given and switch not in switches:
            if switch is not None:
                raise ConfigurationError(f"{option} says nothing to {switch}; leave one of them out")
            able = " or ".join(one for one in reversed(switches) if one != "--tune")
            raise ConfigurationError(f"{option} needs {able}; add it")


def _best_tiles(names: Sequence[str], shared_floats: int, frequencies: int, formulas: str) -> list[dict[str, Any]]:
    """Return one row a region and approach."""
    from fdtd.schemes.traffic import APPROACHES, best_tile, regions

    table = regions(frequencies, formulas)
    rows: list[dict[str, Any]] = []
    for name in names:
        for approach in APPROACHES:
            found = asdict(best_tile(approach, table[name], shared_floats, formulas))
            rows.append({"region": name, **found, "shared_floats": shared_floats, "formulas": formulas})
    return rows


def _device(name: str) -> Any:
    """Return the machine that a name stands for.

    Raises:
        ConfigurationError: The file cannot be read.
        ClusterError: There is no CUDA device here.
    """
    from fdtd.schemes.machine import H200, Machine

    if name == "h200":
        return H200
    if name == "this":
        check_device("--device this", "--device h200")
        from fdtd.backends.cuda.device import describe

        return describe()
    try:
        data = json.loads(read_regular(name))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"--device {name} cannot be read ({error}); use h200, `this` or a file as {json.dumps(H200.to_dict())}"
        ) from None
    if not isinstance(data, dict):
        raise ConfigurationError(f"--device {name} holds no JSON object; write {json.dumps(H200.to_dict())}")
    return Machine.from_dict(data)


def _predicted(machine: Any, stencil: str, grid: str, batch: int) -> list[dict[str, Any]]:
    """Return one row a scheme: its rate, or why there is none."""
    from antennaopt.cli.bench_kernels import grid_shape
    from fdtd.errors import Unsuitable
    from fdtd.schemes.rates import SCHEMES, predict, workload

    columns, height = grid_shape(grid)
    work = workload(stencil, machine, rows=height, columns=columns, batch=batch)
    rows: list[dict[str, Any]] = []
    for scheme in SCHEMES:
        row: dict[str, Any] = {
            "stencil": stencil, "scheme": scheme, "device": machine.name, "shape": [columns, height], "batch": batch,
        }  # fmt: skip
        try:
            found = predict(work, scheme, machine)
        except Unsuitable as error:
            rows.append({**row, "predicted_cell_steps_per_s": None, "unsuitable": str(error)})
            continue
        rows.append({
            **row, "predicted_cell_steps_per_s": found.rate, "limit": found.limit, "plan": found.plan,
            **asdict(found.need),
        })  # fmt: skip
    able = sorted((row for row in rows if "limit" in row), key=lambda row: -row["predicted_cell_steps_per_s"])
    for row in rows:
        if "unsuitable" in row:
            row["unsuitable"] = _with_way_out(row["unsuitable"], [one["scheme"] for one in able])
    return rows


def _with_way_out(reason: str, able: Sequence[str]) -> str:
    """Return a reason whose advice is a scheme that works: its own, else the fastest of those that can."""
    what, _, advice = reason.partition("; use ")
    if not advice or any(scheme in advice for scheme in able):
        return reason
    return f"{what}; use {able[0]}" if able else what


def _compared(machine: Any, files: Sequence[Path]) -> list[dict[str, Any]]:
    """Return measured rows of single precision, with what was predicted for their stencil, scheme, shape and batch.

    Raises:
        ConfigurationError: A file holds no such rows.
    """
    from fdtd.errors import FdtdError
    from fdtd.schemes.rates import predict, workload

    rows: list[dict[str, Any]] = []
    for file in files:
        try:
            data = json.loads(read_regular(file))
            entries = data["rows"] if isinstance(data, dict) else data
            best: dict[tuple[Any, ...], float] = {}
            for entry in entries:
                if entry["dtype"] == "float32" and entry["backend"] == "cuda" and not entry.get("without"):
                    launches = (entry.get("choice") or {}).get("launches", 2)
                    key = (entry["stencil"], entry["scheme"], launches, *entry["shape"], entry["batch"])
                    best[key] = max(best.get(key, 0.0), float(entry["cell_steps_per_s"]))
        except (OSError, KeyError, TypeError, ValueError, RecursionError, AttributeError) as error:
            raise ConfigurationError(f"--measured {file} holds no rows of `bench kernels --json` ({error})") from None
        if not best:
            raise ConfigurationError(
                f"--measured {file} holds no float32 rows of a CUDA device, which alone are predicted; "
                "`antennaopt bench kernels --backend cuda --json FILE` makes them"
            )
        for (stencil, scheme, launches, columns, height, batch), rate in best.items():
            choice = {"launches": launches} if stencil == "bor" else {}
            try:
                work = workload(stencil, machine, rows=height, columns=columns, batch=batch)
                found = predict(work, scheme, machine, choice)
            except FdtdError:
                continue
            rows.append({
                "stencil": stencil, "scheme": scheme, "device": machine.name, "shape": [columns, height],
                "batch": batch, "predicted_cell_steps_per_s": found.rate, "cell_steps_per_s": rate,
                "limit": found.limit, "plan": found.plan, "choice": {"launches": 1} if launches == 1 else {},
            })  # fmt: skip
    return rows


def _prediction_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return one line a scheme, and the reasons of those that cannot work."""
    lines = [["scheme", "predicted", "limit", "plan"]]
    refused = []
    for row in rows:
        if row["predicted_cell_steps_per_s"] is None:
            refused.append(f"not here: {row['unsuitable']}")
        else:
            rate = f"{row['predicted_cell_steps_per_s'] / 1e9:.0f} G/s"
            lines.append([row["scheme"], rate, row["limit"], row["plan"]])
    return "\n".join([aligned(lines), *refused])


def _comparison_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return one line a measured row, best of each kind."""
    from antennaopt.report.bench_kernels import kernel_name

    lines = [["stencil", "scheme", "grid", "batch", "predicted", "measured", "quotient", "limit"]]
    for row in rows:
        predicted, measured = row["predicted_cell_steps_per_s"], row["cell_steps_per_s"]
        lines.append([
            row["stencil"], kernel_name(row), "x".join(map(str, row["shape"])), str(row["batch"]),
            f"{predicted / 1e9:.0f} G/s", f"{measured / 1e9:.0f} G/s", f"{measured / predicted:.2f}", row["limit"],
        ])  # fmt: skip
    return aligned(lines)


def _table(rows: list[dict[str, Any]]) -> str:
    """Return one line a region and approach."""
    lines = [["region", "approach", "", "ratio", "height", "width", "depth", "floats used"]]
    for row in rows:
        counts = [str(row[name]) for name in ("height", "width", "depth", "memory")]
        lines.append([row["region"], str(row["approach"]), NAMES[row["approach"]], f"{row['ratio']:.3f}", *counts])
    return aligned(lines)
