"""`antennaopt stencils`: update equations, their cost per cell, and the schemes that step them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from antennaopt.cli.options import bare_json_option, check_writable, write_json
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError


@click.command(short_help="List update equations, their cost and schemes.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@bare_json_option
def stencils(names: tuple[str, ...], json_file: str | None) -> None:
    """List the stencils: the updates of one cell that solvers and benchmarks step.

    A stencil is a formula. It has components with their positions on the lattice, coefficients, and the update of each
    component in each phase of a step. Operation counts, halo and kernel text follow from the formula; only the kernels
    of bor are written by hand.

    \b
    operations   additions, multiplications and fused multiply-adds per cell and step, in air
    bytes        memory traffic of the fields per cell and step in float32, without coefficients: `fused` if each is
                 read and written once per step, `split` if each phase is its own launch
    halo         cells on each side that a step depends on, before + after; k steps need k times as many
    limit        largest stable step

    With names, it shows every component with its position in cells, the coefficients, and why schemes do not suit.

    \b
    Examples:
      antennaopt stencils
      antennaopt stencils yee3d heat19
      antennaopt stencils --json stencils.json
    """  # noqa: D301 - \b is click's
    check_writable(json_file)
    from antennaopt.bench.support import stencil_rows

    rows = stencil_rows()
    known = [row["stencil"] for row in rows]
    if json_file in known:
        raise ConfigurationError(
            f"--json {json_file} would write a file of that name; name stencils before the option "
            f"(antennaopt stencils {json_file} --json), or write --json ./{json_file}"
        )
    for name in names:
        if name not in known:
            raise ConfigurationError(f"stencil {name} is not known; use one of {', '.join(known)}")
    rows = [row for row in rows if not names or row["stencil"] in names]
    write_json(json_file, rows)
    if json_file != "-":
        click.echo("\n\n".join(map(_details, rows)) if names else _table(rows))


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [["stencil", "axes", "components", "operations", "fused", "split", "halo", "steps it", "limit"]]
    for row in rows:
        lines.append([
            row["stencil"], row["axes"], str(len(row["components"])), str(row["operations"]),
            f"{row['fused_bytes']} B", f"{row['split_bytes']} B", _halo(row), _schemes(row), row["limit"],
        ])  # fmt: skip
    return aligned(lines, left=(0, 1, 7, 8), wrap=True)


def _details(row: Mapping[str, Any]) -> str:
    counts = ", ".join(_counted(row[name], name.replace("_", "-")[:-1]) for name in _COUNTS if row[name])
    places = [
        f"{name} ({', '.join(f'{place:g}' for place in at)})" if at else name for name, at in row["components"].items()
    ]
    lines = [
        ["title", row["title"]],
        ["components", ", ".join(places)],
        ["coefficients", ", ".join(row["coefficients"]) or "none a cell"],
        ["operations", f"{row['operations']}" + (f": {counts}" if counts else "")],
        ["bytes, float32", f"{row['fused_bytes']} fused, {row['split_bytes']} in {_counted(row['phases'], 'launch')}"],
        ["halo of a step", _halo(row)],
        ["limit", row["limit"]],
        ["steps it", _schemes(row)],
        *(["not on a GPU", reason] for reason in row["unsuitable"].values()),
    ]
    return row["stencil"] + "\n" + "\n".join(f"  {name:<15} {text}" for name, text in lines)


def _schemes(row: Mapping[str, Any]) -> str:
    """Return the schemes, with the backend of those that have only one."""
    many = row["schemes"].items()
    return ", ".join(scheme if len(backends) > 1 else f"{scheme} ({backends[0]})" for scheme, backends in many)


_COUNTS = ("additions", "multiplications", "multiply_adds")


def _counted(count: int, what: str) -> str:
    """Return a number with its noun, which is in the plural unless the number is 1."""
    return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what.endswith('ch') else 's'}"


def _halo(row: Mapping[str, Any]) -> str:
    """Return the halo along each axis, once if all are alike."""
    sides = list(dict.fromkeys(f"{before}+{after}" for before, after in row["halo"].values()))
    return ", ".join(sides)
