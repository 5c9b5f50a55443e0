"""`antennaopt tiles`: the tile-size model."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from antennaopt.cli.options import check_writable, write_out
from antennaopt.cli.tables import aligned

REGIONS = ("pml", "non_pml", "dft", "jacobi")
NAMES = {1: "2-D tiles", 4: "time skewing", 5: "redundant computation"}


@click.command(short_help="Best tile per scheme for an amount of shared memory.")
@click.option(
    "--region",
    "chosen",
    metavar="NAME",
    type=click.Choice(REGIONS),
    multiple=True,
    help=f"What the cells are: {', '.join(REGIONS)}; may be repeated.  [default: all]",
)
@click.option(
    "--shared-floats",
    metavar="N",
    type=int,
    default=16304,
    show_default=True,
    help="Memory that a tile may fill, in floats of 4 bytes: 4076 GTX-280, 16304 GTX-580, 58112 H200.",
)
@click.option(
    "--frequencies",
    metavar="N",
    type=int,
    default=5,
    show_default=True,
    help="Of the running DFT; its cells keep 24 floats a frequency.",
)
@click.option(
    "--formulas",
    type=click.Choice(["printed", "tabulated"]),
    default="printed",
    show_default=True,
    help="The formulas that Barigou (2011) prints, or those that give his table to the last digit.",
)
@click.option(
    "--json",
    "json_file",
    metavar="[FILE]",
    is_flag=False,
    flag_value="-",
    help="Write the data as JSON; without a file, or with -, to stdout.",
)
def tiles(chosen: tuple[str, ...], shared_floats: int, frequencies: int, formulas: str, json_file: str | None) -> None:
    """Show the best tile of each approach: most work per float that goes through memory.

    A tile is HEIGHT x WIDTH cells stepped DEPTH times between two trips through memory. Approach 1 steps once a trip
    (`one_step`), 4 leans its tiles in time (`skewed`), 5 computes their rims twice (`trapezoidal`). RATIO is floats
    computed over floats read and written; a deeper tile has a better one but needs more on-chip memory. The model is
    that of Barigou, Acceleration of real-life stencil codes on GPUs (2011), section 4.3.

    \b
    Regions, with floats a cell:
      pml      absorbing layer: 18 variables, 44 coefficients
      non_pml  inside: 6 variables, 20 coefficients
      dft      with a running DFT: 6 + 24 a frequency, 20 coefficients
      jacobi   five-point sum: 1 variable, none

    \b
    Examples:
      antennaopt tiles --shared-floats 4076
      antennaopt tiles --region pml --region non_pml --shared-floats 58112
      antennaopt tiles --region jacobi --shared-floats 16304 --json
    """  # noqa: D301 - \b is click's
    check_writable(json_file)
    from fdtd.tiling.traffic import APPROACHES, best_tile, regions

    table = regions(frequencies, formulas)
    rows: list[dict[str, Any]] = []
    for name in chosen or REGIONS:
        for approach in APPROACHES:
            found = asdict(best_tile(approach, table[name], shared_floats, formulas))
            rows.append({"region": name, **found, "shared_floats": shared_floats, "formulas": formulas})
    if json_file is not None:
        write_out(json_file, json.dumps(rows, indent=1) + "\n")
    if json_file != "-":
        click.echo(_table(rows))


def _table(rows: list[dict[str, Any]]) -> str:
    """One line a region and approach."""
    lines = [["region", "approach", "", "ratio", "height", "width", "depth", "floats used"]]
    for row in rows:
        counts = [str(row[name]) for name in ("height", "width", "depth", "memory")]
        lines.append([row["region"], str(row["approach"]), NAMES[row["approach"]], f"{row['ratio']:.3f}", *counts])
    return aligned(lines)
