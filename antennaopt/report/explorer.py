"""All antennas of a run in the report: data of an interactive plot, and correlation of genes with fitness."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from antennaopt.report.patterns import middle_cut
from antennaopt.report.record import RunRecord
from antennaopt.terminal import visible

MOST_NUMBERS = 400_000
"""Rows times columns in the page, about 3 MB; of more antennas the best half and an even share of the others stay."""
MOST_COLUMNS = 60
FIRST = 3
"""Columns before those of the objectives."""
MOST_PATTERNS = 40
"""Antennas with their pattern, the best ones."""
MOST_OF_FRONT = 120
"""Antennas of a front with their pattern."""
DIGITS = 5  # significant
COMMANDS = "antennaopt simulate . --individual ID\nantennaopt export . --individual ID --step antenna.step"
DEEPEST_DB = 60.0


def explorer_data(record: RunRecord) -> tuple[str, int] | None:
    """Return the data of the plot, and how many antennas are left out of it; None without an antenna that is ok.

    The data is JSON that may stand in a script element.

    Keys: `columns`, their names; `rows`, a list a column; `across` and `up`, the columns to begin with; `individuals`;
    `front`, places of those that are on the front; `commands`, which solve and export the antenna ID, from inside the
    run folder; `patterns` by individual with `e` and `h`, dBi at `theta_deg`, at `frequency`; `left_out`, the number of
    antennas that are not in it.
    """
    ok = record.ok
    if ok.empty:
        return None
    names = _columns(record)
    most = max(MOST_NUMBERS // len(names), 1)
    kept = ok.assign(number=np.arange(1, len(ok) + 1))
    if len(kept) > most:
        ranked = kept.sort_values("fitness", kind="stable")
        best, others = ranked.iloc[: most // 2], ranked.iloc[most // 2 :]
        step = math.ceil(len(others) / (most - most // 2))
        on_front = kept.index[kept["individual"].isin(_front(record))]
        kept = kept.loc[sorted({*best.index, *others.index[::step], *on_front})]
    theta, frequency, patterns = _patterns(record)
    data = {
        "columns": names,
        "rows": [[_short(value) for value in kept[name]] for name in names],
        "across": names[FIRST] if record.front is not None else "number",
        "up": names[FIRST + 1] if record.front is not None else "fitness",
        "front": np.flatnonzero(kept["individual"].isin(_front(record))).tolist(),
        "commands": COMMANDS,
        "individuals": [visible(str(one)) for one in kept["individual"]],
        "theta_deg": theta,
        "frequency": frequency,
        "patterns": patterns,
        "left_out": len(ok) - len(kept),
    }
    # Text of a script element ends at "</"; nothing in it is markup otherwise.
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"), data["left_out"]


def _front(record: RunRecord) -> list[str]:
    """Return the individuals of the front; none of a run that searched for none."""
    return [] if record.front is None else [str(one) for one in record.front["individual"]]


def influence(record: RunRecord) -> list[tuple[str, float, str]]:
    """Return each gene, its rank correlation with the fitness over all antennas that are ok, and what to do for better.

    Strongest first; a gene that did not vary is left out. It is no derivative: a search looks closer where it is good.
    """
    ok = record.ok
    found = []
    for gene in record.folder.columns.genes:
        values = ok[gene.column]
        if len(ok) < 3 or values.nunique() < 2 or ok["fitness"].nunique() < 2:
            continue
        rank = float(values.rank().corr(ok["fitness"].rank()))
        found.append((gene.name, rank, "smaller" if rank > 0 else "larger"))
    return sorted(found, key=lambda one: -abs(one[1]))


def _columns(record: RunRecord) -> list[str]:
    """Return the columns to show: number, generation, fitness, genes, figures of merit with some number."""
    genes = [gene.column for gene in record.folder.columns.genes]
    skipped = ("s11_re_", "s11_im_")
    figures = [
        name
        for name in record.ok.columns
        if name.endswith("mhz") and not name.startswith(skipped) and record.ok[name].notna().any()
    ]
    goals = record.folder.columns.shortfall_columns if record.front is not None else ()
    return ["number", "generation", "fitness", *goals, *genes, *figures][:MOST_COLUMNS]


def _patterns(record: RunRecord) -> tuple[list[float], str, dict[str, dict[str, list[float]]]]:
    """Return angles, frequency and the patterns of the best different antennas, at the middle frequency.

    Of a run that searched for a front they are those of the front, spread evenly where it is larger.
    """
    best = record.ok.sort_values("fitness", kind="stable").drop_duplicates("fitness").head(MOST_PATTERNS)
    if record.front is not None:
        count = len(record.front)
        places = np.unique(np.linspace(0, count - 1, min(count, MOST_OF_FRONT)).round().astype(int))
        best = record.front.iloc[places]
    theta: list[float] = []
    frequency, found = "", {}
    individuals = [str(one) for one in best["individual"]]
    for individual, cuts in zip(individuals, record.cuts_of(individuals), strict=True):
        if not cuts:
            continue
        cut = middle_cut(cuts)
        theta = [_short(one) for one in cut.theta_deg]
        frequency = f"{cut.frequency_hz / 1e9:.6g} GHz"
        found[visible(individual)] = {"e": _levels(cut.e_plane_dbi), "h": _levels(cut.h_plane_dbi)}
    return theta, frequency, found


def _levels(values: Sequence[float]) -> list[float]:
    levels = np.asarray(values, dtype=float)
    return np.round(np.maximum(levels, levels.max() - DEEPEST_DB), 2).tolist()


def _short(value: Any) -> Any:
    """Return a number with few digits; None for what is none."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{float(value):.{DIGITS}g}")
    return int(short) if short.is_integer() else short
