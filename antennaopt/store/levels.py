"""Rows of a run on several lattices: fitness is compared within a level only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from antennaopt.quantities import format_level
from antennaopt.solve.lattices import lattice_text
from antennaopt.store.schema import LEVEL

if TYPE_CHECKING:
    import pyarrow as pa

    from antennaopt.store.run_folder import RunFolder


def finest_rows(folder: RunFolder, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the `ok` rows on the finest cells that any `ok` row has; all `ok` rows of a run with one level.

    Args:
        folder: The run.
        names: Columns, `status` among them; the level is added where there is one.
    """
    levels = [LEVEL] if folder.columns.fidelity else []
    rows = [row for row in folder.all_rows([*names, *levels]).to_pylist() if row["status"] == "ok"]
    if not levels or not rows:
        return rows
    finest = max(row[LEVEL] for row in rows)
    return [row for row in rows if row[LEVEL] == finest]


def plan_of_row(manifest: Mapping[str, Any], row: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan that a row was solved with.

    Args:
        manifest: Of the run.
        row: Of an individual.
        plan: Of the finest level.
    """
    coarser = coarser_plans(manifest)
    level = row.get(LEVEL)
    return dict(plan if level is None or level >= len(coarser) else coarser[level])


def coarse_text(manifest: Mapping[str, Any], row: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """Return where a row below the finest level was solved, for people; empty for one of the finest.

    The text is `solved on level 1/2 (cells of 0.6 mm), not on the finest (cells of 0.3 mm)`.

    Args:
        manifest: Of the run.
        row: Of an individual.
        plan: Of the finest level.
    """
    plans, level = [*coarser_plans(manifest), plan], row.get(LEVEL)
    if level is None or level >= len(plans) - 1:
        return ""
    each = [format_level(one["cell"], stop) for one, stop in zip(plans, stops_of(plans), strict=True)]
    return f"solved on level {level + 1}/{len(plans)} (cells of {each[level]}), not on the finest (cells of {each[-1]})"


def coarser_plans(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the plans of the levels below the finest, the coarsest first; empty for a run with one level."""
    table = manifest.get("fidelity")
    return list(table.get("plans") or ()) if isinstance(table, Mapping) else []


def level_accounts(folder: RunFolder) -> list[dict[str, Any]]:
    """Return what each level took, the coarsest first; empty for a run with one level.

    Returns:
        `cell`, m; `antennas`, copies of duplicates left out; `seconds` that solving them took, summed over the workers;
        `stop_db`, energy over its peak at the stop, dB, where levels differ in it.
    """
    plans = [*coarser_plans(folder.manifest), folder.manifest.get("plan") or {}]
    if not folder.columns.fidelity:
        return []
    stops = stops_of(plans)
    found: list[dict[str, Any]] = [
        {"cell": float(plan["cell"]), "antennas": 0, "seconds": 0.0, **({} if stop is None else {"stop_db": stop})}
        for plan, stop in zip(plans, stops, strict=True)
    ]
    for row in folder.all_rows([LEVEL, "cached", "seconds"]).to_pylist():
        if not row["cached"]:
            found[row[LEVEL]]["antennas"] += 1
            found[row[LEVEL]]["seconds"] += row["seconds"] or 0.0
    return found


def account_lines(accounts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what each level took as lines for people."""
    total = sum(one["seconds"] for one in accounts) or 1.0
    return [
        f"level {place + 1}/{len(accounts)}  cells of {format_level(one['cell'], one.get('stop_db'))}: "
        f"{one['antennas']} antenna{'' if one['antennas'] == 1 else 's'}, "
        f"{one['seconds']:.4g} s of solving ({one['seconds'] / total:.0%})"
        for place, one in enumerate(accounts)
    ]


def level_lines(plans: Sequence[Mapping[str, Any]], counts: Sequence[int], more: Sequence[str] = ()) -> list[str]:
    """Return the levels of a search as lines for people.

    Args:
        plans: One a level, the coarsest first.
        counts: Antennas of each, at most.
        more: Ends of the lines.
    """
    ends = more or [""] * len(plans)
    each = zip(plans, counts, ends, stops_of(plans), strict=True)
    return [
        f"level {place}/{len(plans)}    {format_level(lattice_text(one), stop)}: at most {count} antennas{end}"
        for place, (one, count, end, stop) in enumerate(each, start=1)
    ]


def stops_of(plans: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Return the energy over its peak at which each level stops, dB; None for each where all stop at the same."""
    left = [(one.get("layout") or one).get("decay") for one in plans]
    stops = [10 * math.log10(one) if one else None for one in left]
    return stops if len(set(stops)) > 1 else [None] * len(plans)


def measured_lines(plans: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what `fidelity = "auto"` compares at the start of a run; nothing without it."""
    cells = ", ".join(f"{one['cell'] * 1e3:.4g} mm" for one in plans)
    return [f"fidelity     auto: chosen at the start of the run among cells of {cells}"] if plans else []


def cell_steps(folder: RunFolder, rows: pa.Table) -> int | None:
    """Return the cells of the lattice times the steps of each row, summed; None where a lattice is not known.

    Args:
        folder: The run.
        rows: With `steps`, and with the level where there is one.
    """
    plans = [*coarser_plans(folder.manifest), folder.manifest.get("plan")]
    cells = [one.get("nr", 0) * one.get("nz", 0) if isinstance(one, Mapping) else 0 for one in plans]
    if not all(isinstance(one, int) and one > 0 for one in cells):
        return None
    levels = rows[LEVEL].to_pylist() if folder.columns.fidelity else [-1] * rows.num_rows
    return sum(cells[level] * (steps or 0) for level, steps in zip(levels, rows["steps"].to_pylist(), strict=True))
