"""The report's tables of results: headline, bands, the ten best, failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from antennaopt.families.making import same_fault
from antennaopt.metrics import Metric, Place, reported_in
from antennaopt.quantities import frequency_span, general, gigahertz, number, signed
from antennaopt.report.goals import (
    bounds_line,
    constraint_text,
    frequencies_text,
    goals_line,
    metrics_of,
    place_text,
    reach_line,
    target_text,
    value_text,
    verdict_text,
)
from antennaopt.report.record import Row, RunRecord
from antennaopt.search.objectives import Objective
from antennaopt.solve.certificate import account, checks_of
from antennaopt.store.schema import GeneColumn

MOST_BEST = 10
MOST_BESIDE = 9
"""Frequencies whose columns fit next to each other on the page."""
MOST_FAILURES = 12
MOST_REASON = 240


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells as text, ready to be printed.

    Attributes:
        header: One a column.
        rows: Each as long as the header.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class HeadlineRow:
    """One figure of merit, now and in the first generation.

    Attributes:
        title: What it is, and over which frequencies.
        goal: In words, empty when there is none.
        before: Best of the first generation, `-` when nothing was `ok`.
        best: Best of the run.
        change: Best less before.
        verdict: `met`, `missed by 0.42 dB`, or empty.
        met: Whether the goal is met; None without one.
    """

    title: str
    goal: str
    before: str
    best: str
    change: str
    verdict: str
    met: bool | None


def headline(record: RunRecord) -> list[HeadlineRow]:
    """Return the headline's rows: always directivity, S11, side lobes; the goals' metrics; fitness last."""
    best, before = record.best, record.first_best
    if best is None:
        return []
    goals: list[tuple[Metric, Objective | None]] = []
    always = _headline_metrics(record)
    for metric in always:
        goals += [(metric, goal) for goal in record.goals if goal.name == metric.key] or [(metric, None)]
    goals += [(goal.about, goal) for goal in record.goals if goal.about not in always]
    rows = [_headline_row(record, metric, goal, best, before) for metric, goal in goals]
    if record.front is not None:
        return rows
    old = before["fitness"] if before is not None else None
    change = signed(best["fitness"] - old, 3) if old is not None else "–"
    rows.append(
        HeadlineRow(
            title="Fitness (below 0: all goals are met, by the secondary aim)"
            if any(goal.secondary for goal in record.goals)
            else "Fitness (weighted sum of what is missed, dB)",
            goal="as low as possible",
            before="–" if old is None else number(old, 3),
            best=number(best["fitness"], 3),
            change=change,
            verdict="",
            met=None,
        )
    )
    return rows


def _headline_metrics(record: RunRecord) -> list[Metric]:
    """Return the metrics that are shown whatever the goals."""
    return reported_in(Place.HEADLINE, record.folder.columns.metrics)


def _headline_row(
    record: RunRecord, label: Metric, goal: Objective | None, best: Row, before: Row | None
) -> HeadlineRow:
    frequencies = goal.frequencies if goal else ()
    which = _worst_word(label, goal)
    values = [None if row is None else _worst_value(record, row, label, goal) for row in (best, before)]
    change = "–" if None in values else label.difference(values[0] - values[1])  # type: ignore[operator]
    standing = record.standing(goal) if goal else None
    text = label.text(values[0])
    if standing is not None:
        several = len(frequencies or record.frequencies) > 1
        text = value_text(standing) + (f" at {place_text(standing)}" if several and place_text(standing) else "")
    return HeadlineRow(
        title=(constraint_text(goal) if goal else "") + _headline_title(record, label, frequencies, which),
        goal=target_text(goal) if goal else "",
        before="–" if before is None else label.text(values[1]),
        best=text,
        change=change,
        verdict=verdict_text(standing) if standing else "",
        met=standing.met if standing and not standing.aim else None,
    )


def _worst_word(metric: Metric, goal: Objective | None) -> str:
    """Return which value over the frequencies is the worst: of a goal with two bounds that where it is met least."""
    if goal is None:
        return "lowest" if metric.larger_is_better else "highest"
    if goal.at_least is not None and goal.at_most is not None:
        return "worst"
    return "lowest" if goal.at_least is not None or goal.aim == "largest" else "highest"


def _worst_value(record: RunRecord, row: Row, metric: Metric, goal: Objective | None) -> float | None:
    which = _worst_word(metric, goal)
    if goal is not None and which == "worst":
        return goal.standing(metrics_of(record.folder.columns, row)).value
    return worst(record, row, metric.key, goal.frequencies if goal else (), more=which == "lowest")


def _worst_of_all(record: RunRecord, row: Row, metric: Metric, goal: Objective | None) -> float | None:
    """Return the worst value for a goal over all frequencies, whichever of them are the goal's."""
    return _worst_value(record, row, metric, goal and replace(goal, frequencies=()))


def _headline_title(record: RunRecord, metric: Metric, frequencies: Sequence[float], which: str) -> str:
    wanted = frequencies or record.frequencies
    if len(wanted) == 1:
        return f"{metric.title} at {gigahertz(wanted[0])}"
    where = frequencies_text(frequencies) or frequency_span(wanted)
    return f"{metric.title}, {which} over {where}"


def worst(record: RunRecord, row: Row, metric: str, frequencies: Sequence[float] = (), *, more: bool) -> float | None:
    """Return a row's worst value of a metric over frequencies, None where it is defined at none."""
    values = [value for value in record.metric(row, metric, frequencies) if value is not None]
    if not values:
        return None
    return min(values) if more else max(values)


def verdict(record: RunRecord) -> str:
    """Return one sentence on whether the best antenna meets the goals, or by how much it misses them."""
    return goals_line(record.findings.goals) if record.findings else "No antenna of this run could be evaluated."


def remarks(record: RunRecord) -> list[str]:
    """Return what is worth a line each: genes at a bound, goals that no antenna came near."""
    if record.findings is None:
        return []
    lines = bounds_line(record.findings.at_bounds), reach_line(record.findings.out_of_reach)
    return [line for line in lines if line]


def band_tables(record: RunRecord, row: Row) -> list[Table]:
    """Return one antenna's figures of merit, a row a metric and a column a frequency, `MOST_BESIDE` to a table."""
    rows = []
    for metric in record.folder.columns.merits:
        rows.append([metric.heading, *map(metric.bare, record.metric(row, metric.key))])
    header = ["", *(gigahertz(hz) for hz in record.frequencies)]
    return [
        Table(
            header=[header[0], *header[first : first + MOST_BESIDE]],
            rows=[[line[0], *line[first : first + MOST_BESIDE]] for line in rows],
        )
        for first in range(1, len(header), MOST_BESIDE)
    ]


def certificate_account(record: RunRecord) -> str:
    """Name the winner with its verdict, and why no better antenna won, in one line; empty without certificates."""
    if not record.certificates:
        return ""
    return account(record.certificates, record.certificate_mode, experiment=record.resolved)


def certificate_table(record: RunRecord) -> Table:
    """Return the checks of the best antenna's certificate; no rows without one."""
    certificate = record.certificates.get(str(record.best["individual"]), {}) if record.best is not None else {}
    rows = [
        [
            name.replace("_", " "),
            str(check["what"]),
            "unknown" if check["figure"] is None else general(check["figure"], 4),
            general(check["limit"], 4),
            _PASSED[check["passed"]],
        ]
        for name, check in checks_of(certificate).items()
    ]
    return Table(header=["check", "figure", "value", "at most", "passed"], rows=rows)


_PASSED = {True: "yes", False: "no", None: "not measured"}


def ten_best(record: RunRecord) -> Table:
    """Return the ten best different antennas with their worst values over the band and their genes."""
    genes = record.folder.columns.genes
    columns = [gene.column for gene in genes]
    ordered = record.ok.sort_values(["fitness", "generation", "slot"], kind="stable")
    if columns:
        ordered = ordered.drop_duplicates(subset=columns)
    shown = [*_headline_metrics(record), *(goal.about for goal in record.goals)]
    metrics = list({metric.key: metric for metric in shown}.values())
    goals = {goal.name: goal for goal in reversed(record.goals)}
    heads = [metric.heading for metric in metrics]
    rows = []
    for rank, row in enumerate(ordered.head(MOST_BEST).to_dict("records"), start=1):
        rows.append(
            [
                str(rank),
                row["individual"],
                number(row["fitness"], 3),
                *(metric.bare(_worst_of_all(record, row, metric, goals.get(metric.key))) for metric in metrics),
                *(gene_text(gene, row) for gene in genes),
                str(row["operator"] or ""),
                *_verdicts(record, row["individual"]),
            ]
        )
    gene_heads = [gene_title(gene) for gene in genes]
    last = ["certificate"] if record.certificates else []
    return Table(header=["", "individual", "fitness", *heads, *gene_heads, "made by", *last], rows=rows)


def _verdicts(record: RunRecord, individual: str) -> list[str]:
    if not record.certificates:
        return []
    return [str(record.certificates.get(individual, {}).get("verdict", "–"))]


def gene_table(record: RunRecord) -> Table:
    """Return every gene's value in the first generation's best antenna and in the best of all."""
    rows = [
        [gene_title(gene), *("–" if row is None else gene_text(gene, row) for row in (record.first_best, record.best))]
        for gene in record.folder.columns.genes
    ]
    return Table(header=["gene", "best of the first generation", "best antenna"], rows=rows)


def gene_title(gene: GeneColumn) -> str:
    """Write a gene's name with its unit: `lens.radii.0 (mm)`."""
    return f"{gene.name} (mm)" if gene.dimension == "length" else gene.name


def gene_text(gene: GeneColumn, row: Row) -> str:
    """Write a gene's value: lengths to the micrometre."""
    value = float(row[gene.column])
    return number(value, 3) if gene.dimension == "length" else general(value, 5)


def status_counts(record: RunRecord) -> Table:
    """Return how many evaluations ended in which way, `ok` first."""
    counts = record.frame["status"].value_counts()
    names = sorted(counts.index, key=lambda name: (name != "ok", -int(counts[name]), name))
    total = len(record.frame)
    rows = [[name, str(int(counts[name])), f"{100.0 * int(counts[name]) / total:.1f} %"] for name in names]
    return Table(header=["status", "evaluations", "share"], rows=rows)


def failures(record: RunRecord) -> Table:
    """Return the different reasons of failed evaluations, the commonest first, with one example of each."""
    failed = record.frame[record.frame["status"] != "ok"]
    reasons: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in failed.to_dict("records"):
        text = reason(row["error"])
        reasons.setdefault((row["status"], same_fault(text)), []).append((text, row["individual"]))
    ordered = sorted(reasons.items(), key=lambda entry: -len(entry[1]))
    rows = [[status, found[0][0], str(len(found)), found[0][1]] for (status, _), found in ordered[:MOST_FAILURES]]
    return Table(header=["status", "reason", "times", "for example"], rows=rows)


def reason(error: Any) -> str:
    """Return the line of an error's text that has its reason: the last of a traceback, the first of anything else."""
    text = error.strip() if isinstance(error, str) else ""
    if not text:
        return "no reason given"
    line = text.splitlines()[-1 if text.startswith("Traceback") else 0]
    return line if len(line) <= MOST_REASON else line[: MOST_REASON - 1] + "…"
