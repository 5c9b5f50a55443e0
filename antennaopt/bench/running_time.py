"""Statistics of stored searches: expected running times, shares of targets reached, significance of differences.

References:
    Hansen, Auger, Ros, Mersmann, Tusar, Brockhoff, COCO: a platform for comparing continuous optimizers in a black-box
    setting, Optim. Methods Softw. 36 (2021) 114: targets, expected running time, ECDF.
    Holm, A simple sequentially rejective multiple test procedure, Scand. J. Stat. 6 (1979) 65.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from antennaopt.bench.suite import NAMES

Row = Mapping[str, Any]

ENDS = {
    "dual_mode_horn": (22.1, 14.4),
    "quickstart": (6.99, 2.35),
    "ka_band_lens": (11.7, 4.50),
    "spline_horn": (32.5, 1.47),
    "corrugated_horn": (11.8, 1.63),
    "shaped_lens": (11.1, 3.75),
}
"""Of each problem: the usual best of a random first generation, and the best fitness found; targets lie between.

Medians after 32 evaluations and least values of results/benchmarks/h200/search_suite.jsonl."""

GAPS = tuple(10.0 ** (-2.0 * place / 40) for place in range(41))
"""Targets: shares of the way from the best known fitness to the usual first one that are left, 1 to 0.01."""

FIRST = 32
"""Evaluations of a random first generation."""

SHOWN_GAPS = (0.3, 0.1, 0.03)
"""Targets of tables."""


def ends_of(problem: str, rows: Iterable[Row]) -> tuple[float, float]:
    """Return the usual first fitness and the best: of a frozen problem `ENDS`, of another those of its rows."""
    if problem in ENDS:
        return ENDS[problem]
    mine = [row for row in rows if row["problem"] == problem]
    first = float(np.median([min(best_at(row, FIRST), row["history"][0][1]) for row in mine]))
    return first, min(row["best_fitness"] for row in mine)


def targets(ends: tuple[float, float], gaps: Sequence[float] = GAPS) -> np.ndarray:
    """Return the fitness of a problem's targets, one a gap, between its `ends_of`."""
    first, best = ends
    return best + np.asarray(gaps) * (first - best)


def hit(row: Row, target: float) -> int | None:
    """Return after how many evaluations a search reached a target; None if it did not."""
    return next((int(count) for count, best in row["history"] if best <= target), None)


def expected_running_time(rows: Iterable[Row], target: float) -> float:
    """Return the evaluations of all searches, until the target where it was reached, over those that reached it.

    Infinite when none did.
    """
    spent = reached = 0
    for row in rows:
        count = hit(row, target)
        spent += row["solved"] if count is None else count
        reached += count is not None
    return spent / reached if reached else math.inf


def shares(
    rows: Iterable[Row], ends: Mapping[str, tuple[float, float]], *, by_gene: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ECDF of running times.

    Args:
        rows: Of one algorithm.
        ends: Of each problem.
        by_gene: Whether evaluations are divided by the number of genes.

    Returns:
        Evaluations, ascending, and the share of all pairs of search and target that is reached by then.
    """
    times = [(hit(row, target), row["genes"]) for row in rows for target in targets(ends[row["problem"]])]
    reached = np.sort([count / (genes if by_gene else 1) for count, genes in times if count is not None])
    return reached, np.arange(1, len(reached) + 1) / max(len(times), 1)


def best_at(row: Row, evaluations: int) -> float:
    """Return the best fitness after a number of evaluations; infinite before the first `ok` antenna."""
    return min((best for count, best in row["history"] if count <= evaluations), default=math.inf)


def panels(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the ECDFs of each problem, and of all together where there are several, as curves to draw.

    Returns:
        `title`, `most` (evaluations of a search, over the number of genes in the last panel), `axis`, and `curves`: by
        name of the algorithm, numbers of evaluations and shares reached.
    """
    found, ends = [], {problem: ends_of(problem, rows) for problem in grouped(rows)}
    for problem, groups in grouped(rows).items():
        genes = next(iter(groups.values()))[0]["genes"]
        found.append({
            "title": f"{problem}, {genes} genes",
            "axis": "evaluations",
            "most": max(row["evaluations"] for mine in groups.values() for row in mine),
            "curves": {name: shares(mine, ends) for name, mine in groups.items()},
        })  # fmt: skip
    if len(found) > 1:
        everywhere = set.intersection(*(set(groups) for groups in grouped(rows).values()))
        names = [name for name in found[0]["curves"] if name in everywhere]
        together = {name: shares([row for row in rows if label(row) == name], ends, by_gene=True) for name in names}
        most = max(row["evaluations"] / row["genes"] for row in rows)
        found.append({"title": "all problems", "axis": "evaluations a gene", "most": most, "curves": together})
    return found


def rank_sum(some: Sequence[float], others: Sequence[float]) -> float:
    """Return the two-sided p of Wilcoxon's rank-sum test; exact where there are no ties."""
    from scipy.stats import mannwhitneyu

    if len(set(some) | set(others)) == 1:
        return 1.0
    ties = len(set(some) | set(others)) < len(some) + len(others)
    found = mannwhitneyu(some, others, alternative="two-sided", method="asymptotic" if ties else "exact")
    return float(found.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for their number: below 5 % all together are wrong with 5 % at most."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, least = [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        least = max(least, min((len(p_values) - place) * p_values[index], 1.0))
        corrected[index] = least
    return corrected


def label(row: Row) -> str:
    """Name the algorithm of a row, with what `--set` changed."""
    return " ".join([row["algorithm"], *(one.removeprefix("evolution.") for one in row["overrides"])])


def grouped(rows: Iterable[Row]) -> dict[str, dict[str, list[Row]]]:
    """Return rows by problem and name of the algorithm, each in the order of seeds."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in sorted(rows, key=lambda one: (NAMES.index(one["algorithm"]), one["overrides"], one["seed"])):
        found.setdefault(row["problem"], {}).setdefault(label(row), []).append(row)
    return {name: found[name] for name in sorted(found, key=lambda one: (one not in ENDS, [*ENDS, one].index(one)))}


def summary(rows: Sequence[Row], against: str = "ga") -> list[dict[str, Any]]:
    """Sum searches up, one row a problem and algorithm.

    Args:
        rows: Of one budget a problem.
        against: Algorithm that the others are compared with.

    Returns:
        `problem`, `genes`, `algorithm`, `searches`, `evaluations`, best, quartiles and median of the final fitness,
        `expected_running_time` to `SHOWN_GAPS` (None where no search came there), `wins` (seeds with a better end than
        `against`), and `p`, of the rank sums against it, Holm's correction over the problems.
    """
    found = [
        _summed(name, mine, ends_of(mine[0]["problem"], rows))
        for groups in grouped(rows).values()
        for name, mine in groups.items()
    ]
    for name in {row["algorithm"] for row in found}:
        mine = [row for row in found if row["algorithm"] == name != against]
        compared = [row for row in mine if _finals(rows, row["problem"], against)]
        p_values = [rank_sum(_finals(rows, row["problem"], name), _finals(rows, row["problem"], against))
                    for row in compared]  # fmt: skip
        for row, p in zip(compared, holm(p_values), strict=True):
            row["p"] = p
            row["wins"] = _wins(rows, row["problem"], name, against)
    return found


def _finals(rows: Sequence[Row], problem: str, name: str) -> list[float]:
    return [row["best_fitness"] for row in rows if row["problem"] == problem and label(row) == name]


def _wins(rows: Sequence[Row], problem: str, name: str, against: str) -> int:
    ends = {(label(row), row["seed"]): row["best_fitness"] for row in rows if row["problem"] == problem}
    return sum(end < ends.get((against, seed), -math.inf) for (mine, seed), end in ends.items() if mine == name)


def _summed(name: str, mine: Sequence[Row], ends: tuple[float, float]) -> dict[str, Any]:
    best, low, middle, high = np.quantile([row["best_fitness"] for row in mine], (0.0, 0.25, 0.5, 0.75)).tolist()
    times = [expected_running_time(mine, target) for target in targets(ends, SHOWN_GAPS)]
    return {
        "problem": mine[0]["problem"],
        "genes": mine[0]["genes"],
        "algorithm": name,
        "searches": len(mine),
        "evaluations": mine[0]["evaluations"],
        "best": best,
        "quartiles": [low, high],
        "median": middle,
        "expected_running_time": [None if math.isinf(one) else one for one in times],
        "wins": None,
        "p": None,
    }
