"""`antennaopt tiles --tune` for antennas in three dimensions, and its parts in common with other stencils."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from antennaopt.cli.tables import aligned
from antennaopt.errors import ClusterError, ConfigurationError

IN_SPACE = "yee3d"
"""Stencil of which schemes are timed, not predicted."""


def tuned_in_space(tune: bool, grid: str | None, batch: int) -> list[dict[str, Any]]:
    """Return the fastest scheme of antennas in space, and what was timed (see `antennaopt.bench.tuning`).

    Raises:
        ConfigurationError: Rates of schemes in space are not predicted, or the lattice is none.
        ClusterError: There is no CUDA device here.
    """
    if not tune:
        raise ConfigurationError(f"--stencil {IN_SPACE} has no model of its rates; add --tune, which times its schemes")
    found = re.fullmatch(r"\s*(\d{1,4})\s*[xX]\s*(\d{1,4})\s*[xX]\s*(\d{1,4})\s*", grid or "")
    if found is None:
        what = "--tune of yee3d needs --grid" if grid is None else f"--grid {grid} is not of the form NxMxK"
        raise ConfigurationError(f"{what}; write for example --grid 64x64x32")
    x, y, z = map(int, found.groups())
    check_device("--tune", "`antennaopt stencils yee3d` to list its schemes")
    from antennaopt.bench.tuning import tune_space

    return tune_space((x, y, z), batch)


def timed_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the winner, then one line a candidate where they were timed."""
    best, *timed = rows
    lines = [aligned([[name, words_of(value)] for name, value in best.items()], header=False)]
    if timed:
        table = [["scheme", "choice", "measured"]]
        for row in timed:
            measured = words_of(row["cell_steps_per_s"]) if "cell_steps_per_s" in row else row["unsuitable"]
            table.append([row["scheme"], words_of(row["choice"]), measured])
        lines.append(aligned(table))
    return "\n\n".join(lines)


def check_device(option: str, instead: str) -> None:
    """Check that there is a CUDA device before anything of its backend is imported.

    Raises:
        ClusterError: There is none, or what it needs is missing; the message has the remedy.
    """
    from fdtd.backends.cuda.present import devices
    from fdtd.errors import DeviceError

    try:
        devices()
    except DeviceError as error:
        raise ClusterError(f"{option}: {str(error).replace('--backend cpu', instead)}") from None


def words_of(value: Any) -> str:
    """Return one entry of a tuned row as text."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {entry}" for key, entry in value.items()) or "-"
    if isinstance(value, list):
        return " x ".join(map(str, value))
    return f"{value / 1e9:.0f} G/s" if isinstance(value, float) else str(value)
