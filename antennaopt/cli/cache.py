"""`antennaopt cache`: show or prune the evaluation cache."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.options import check_writable, json_option, quiet_option, write_json
from antennaopt.errors import ConfigurationError, StorageError


@click.command(short_help="Show or prune the evaluation cache.")
@click.option("--prune", is_flag=True, help="Remove entries by --older-than, --max-size or both; the oldest first.")
@click.option("--older-than", metavar="TIME", help="With --prune: entries not used for this time, e.g. 30d.")
@click.option("--max-size", metavar="SIZE", help="With --prune: largest size afterwards, e.g. 1GB.")
@click.option("--clear", is_flag=True, help="Remove all entries.")
@click.option("--cache", "folder", metavar="FOLDER", help="Folder of the cache; default: the user's.")
@json_option
@quiet_option
def cache(
    prune: bool,
    older_than: str | None,
    max_size: str | None,
    clear: bool,
    folder: str | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Show the entries of the evaluation cache by solver version, or prune it.

    `run` and `resume` solve no antenna twice. The key of an entry is a digest of the antenna's rasterised cells, the
    lattice, the solver's settings and source, backend, precision, compiler, package versions, and processor or device.
    Only designs with the same cells share an entry. The cache does not change the result of a run, to the bit; the
    column `origin` of its rows marks antennas that were not solved. --no-cache, or cluster.cache = false in the file,
    turns the cache off. ANTENNAOPT_CACHE names another folder; ANTENNAOPT_CACHE=off turns the cache off.

    The cache holds at most 1 GB, some 200,000 antennas; the entries used longest ago are removed first, and so
    those of earlier solver versions. All runs of a user share the cache, also at the same time. A run drops damaged
    entries and entries that no solver can have returned, counts them, and solves their antennas again.

    \b
    Examples:
      antennaopt cache
      antennaopt cache --prune --older-than 30d --max-size 1GB
      antennaopt cache --clear
    """  # noqa: D301 - \b is click's
    age, size = _asked("--older-than", older_than), _asked("--max-size", max_size)
    if prune and clear:
        raise ConfigurationError("--prune and --clear exclude each other; leave one out")
    if prune and age is None and size is None:
        raise ConfigurationError(
            "--prune needs --older-than TIME, --max-size SIZE, or both; --clear removes everything"
        )
    if not prune and (age is not None or size is not None):
        raise ConfigurationError("--older-than and --max-size say what --prune removes; add --prune")
    check_writable(json_file)
    state = _carry_out(folder, prune=prune, clear=clear, age=age, size=size)
    write_json(json_file, state)
    if json_file != "-" and not quiet:
        click.echo("\n".join(_lines(state)))


def _asked(option: str, text: str | None) -> float | None:
    """Read a time or a size.

    Raises:
        ConfigurationError: It is none, or negative.
    """
    from antennaopt.quantities import SIZE, TIME, QuantityError, parse_quantity

    if text is None:
        return None
    try:
        value = parse_quantity(text, TIME if option == "--older-than" else SIZE)
    except QuantityError as error:
        raise ConfigurationError(f"{option} {text!r} {error}") from None
    if value < 0.0:
        raise ConfigurationError(f"{option} {text!r} is negative; write a positive one")
    return value


def _carry_out(
    folder: str | None, *, prune: bool, clear: bool, age: float | None, size: float | None
) -> dict[str, Any]:
    """Carry out the command and return what the cache holds, JSON-able.

    Raises:
        ConfigurationError: The cache is off.
        StorageError: There is one and it cannot be used.
    """
    from antennaopt.solve.arithmetic import solver_version
    from antennaopt.store.cache import FILE, FOLDER_VARIABLE, MOST_BYTES, EvaluationCache, usual_folder

    place = usual_folder(folder)
    if place is None:
        raise ConfigurationError(f"the evaluation cache is off ({FOLDER_VARIABLE}=off); name one with --cache FOLDER")
    about: dict[str, Any] = {"path": str(place / FILE), "max_bytes": MOST_BYTES, "removed": 0}
    if not (place / FILE).exists():
        return about | {"bytes": 0, "entries": 0, "dropped": 0, "solvers": []}
    with EvaluationCache(Path(place)) as opened:
        if opened.fault:
            raise StorageError(f"{opened.path} cannot be used: {opened.fault}")
        if clear:
            about["removed"] = opened.clear()
        elif prune:
            about["removed"] = opened.prune(older_than_s=age, most_bytes=None if size is None else int(size))
        solvers = opened.totals()
        return about | {
            "bytes": opened.size,
            "entries": sum(one["entries"] for one in solvers),
            "dropped": opened.dropped,
            "solvers": [one | {"current": one["solver"] == solver_version()} for one in solvers],
        }


def _lines(state: dict[str, Any]) -> list[str]:
    from antennaopt.cli.tables import aligned
    from antennaopt.quantities import SIZE, format_quantity

    size, most = (format_quantity(state[name], SIZE, digits=3) for name in ("bytes", "max_bytes"))
    lines = [f"{state['path']}: {state['entries']} antennas, {size} of at most {most}"]
    if state["removed"]:
        lines.insert(0, f"removed {state['removed']} antennas")
    if state["dropped"]:
        lines.append(f"dropped {state['dropped']} damaged entries so far")
    if state["solvers"]:
        rows = [["solver", "antennas", "size", "last used"]]
        for one in state["solvers"]:
            name = one["solver"] + (" (this one)" if one["current"] else "")
            size = format_quantity(one["bytes"], SIZE, digits=3)
            rows.append([name, str(one["entries"]), size, _day(one["last_used"])])
        lines += ["", aligned(rows)]
    return lines


def _day(moment: float | None) -> str:
    try:
        day = datetime.fromtimestamp(moment or 0.0, UTC)
    except (ValueError, OverflowError, OSError):  # damaged
        return "unknown"
    return f"{day:%Y-%m-%d %H:%M} UTC" if time.time() - day.timestamp() < 86_400.0 else f"{day:%Y-%m-%d}"
