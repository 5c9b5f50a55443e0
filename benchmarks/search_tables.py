"""Write the tables and the picture of docs/searches.md from the stored searches of the six frozen problems.

python benchmarks/search_tables.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from performance_tables import between
from stored_rows import ROWS, Row, read
from validation_tables import table

from antennaopt.bench.running_time import SHOWN_GAPS, grouped, holm, panels, rank_sum, summary
from antennaopt.bench.suite import COMPARED, POLISHED, frozen
from antennaopt.experiment import load_experiment
from antennaopt.report.bench_search import plot_suite

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "searches.md"
PICTURE = DOCS / "images" / "search_suite.png"
STORED = ROWS / "h200" / "search_suite.jsonl"
OF_STEPS = ROWS / "h100" / "search_suite.jsonl"
"""Searches of the problem with whole numbers and choices, by what `auto` takes for it and by `ga`, on one device."""

CHOICES = COMPARED[:3]
"""What `auto` is compared with."""

MANY_GENES = 20
WINS_GOAL = 9  # of 11 seeds, against `ga`
LEVEL = 0.05


@lru_cache
def searches() -> tuple[Row, ...]:
    """Return the stored searches."""
    return tuple(json.loads(line) for line in STORED.read_text("utf-8").splitlines())


def ends(rows: Sequence[Row]) -> dict[str, dict[str, list[float]]]:
    """Return the final fitness by problem, algorithm and seed."""
    return {
        problem: {name: [row["best_fitness"] for row in mine] for name, mine in groups.items()}
        for problem, groups in grouped(rows).items()
    }


def fitness_table() -> str:
    """Return medians and quartiles of the final fitness; the best median is bold."""
    found = {(row["problem"], row["algorithm"]): row for row in summary(searches())}
    lines = []
    for problem, groups in ends(searches()).items():
        about = found[problem, next(iter(groups))]
        best = min(groups, key=lambda name: found[problem, name]["median"])
        each = [_median(found.get((problem, name)), bold=name == best) for name in COMPARED]
        lines.append([f"`{problem}`", str(about["genes"]), f"{about['evaluations']:,}", *each])
    return table(["problem", "genes", "antennas", *(f"`{name}`" for name in COMPARED)], lines)


def _median(row: Row | None, *, bold: bool) -> str:
    if row is None:
        return ""
    low, high = row["quartiles"]
    shown = f"{row['median']:.2f}"
    return f"{f'**{shown}**' if bold else shown} ({low:.2f} to {high:.2f})"


def running_time_table() -> str:
    """Return expected running times, one column a target and algorithm."""
    found = {(row["problem"], row["algorithm"]): row["expected_running_time"] for row in summary(searches())}
    lines = []
    for problem in ends(searches()):
        for place, gap in enumerate(SHOWN_GAPS):
            times = [found.get((problem, name)) for name in COMPARED]
            lines.append([
                f"`{problem}`" if not place else "", f"{gap:.0%}".replace("%", " %"),
                *("" if one is None else "never" if one[place] is None else f"{one[place]:,.0f}" for one in times),
            ])  # fmt: skip
    return table(["problem", "left", *(f"`{name}`" for name in COMPARED)], lines)


def chosen(problem: str) -> str:
    """Return what `auto` takes for a problem."""
    found = load_experiment(frozen(problem), ["evolution.algorithm=auto", "evolution.generations=60"]).evolution
    return found.algorithm + (POLISHED if found.polish else "")


def judged() -> dict[str, dict[str, list[float]]]:
    """Return the ends by which `auto` is judged."""
    later = [json.loads(line) for line in OF_STEPS.read_text("utf-8").splitlines()]
    return {**ends(searches()), **ends(later)}


def auto_table() -> str:
    """Return how `auto` stands against the best of its choices: rank sums, and seeds in which it beats `ga`."""
    lines, p_values = [], []
    for problem, groups in judged().items():
        mine = chosen(problem)
        medians = {name: float(np.median(groups[name])) for name in (*CHOICES, mine) if name in groups}
        best = min(medians, key=medians.__getitem__)
        p_values.append(1.0 if best == mine else rank_sum(groups[mine], groups[best]))
        wins = sum(one < other for one, other in zip(groups[mine], groups["ga"], strict=True))
        genes = next(row["genes"] for row in searches() if row["problem"] == problem)
        goal = "" if genes < MANY_GENES else f", goal {WINS_GOAL}: " + ("met" if wins >= WINS_GOAL else "missed")
        against = "the same search" if mine == "ga" else f"{wins} of {len(groups[mine])}"
        lines.append([f"`{problem}`", str(genes), f"`{mine}`", f"`{best}`", against + goal])
    for line, alone, corrected in zip(lines, p_values, holm(p_values), strict=True):
        verdict = "itself" if line[2] == line[3] else "worse" if corrected < LEVEL else "not significantly worse"
        shown = [""] * 2 if line[2] == line[3] else [f"{alone:.2g}", f"{corrected:.2g}"]
        line[4:4] = [*shown, verdict]
    head = ["problem", "genes", "`auto` takes", "best median", "p", "Holm", "`auto` is", "seeds better than `ga`"]
    return table(head, lines)


def front_table() -> str:
    """Return the hypervolumes of searches for the front of a problem whose front is known."""
    stored = read("cpu/exhaustive_front")
    lines = []
    for name, volumes in stored["hypervolumes"].items():
        shares = np.array(volumes) / stored["exhaustive"]
        lines.append([name, *(f"{100 * share:.2f} %" for share in (np.median(shares), shares.min(), shares.max()))])
    return table([f"share of {stored['exhaustive']:.2f} mm dB", "median", "least", "largest"], lines)


BLOCKS: dict[str, Callable[[], str]] = {
    "final fitness": fitness_table,
    "expected running time": running_time_table,
    "auto": auto_table,
    "known front": front_table,
}


def write() -> None:
    """Write all tables and the picture."""
    for name, make in BLOCKS.items():
        PAGE.write_text(between(PAGE.read_text("utf-8"), name, make()), "utf-8")
    plot_suite(PICTURE, panels(searches()))


if __name__ == "__main__":
    write()
