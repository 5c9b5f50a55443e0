"""What a run came to, as text: its account, and the best antenna beside the best of the random first generation."""

from __future__ import annotations

import shlex
import shutil
import textwrap
from typing import TYPE_CHECKING

from antennaopt.cli.tables import aligned, cell

if TYPE_CHECKING:
    from antennaopt.report.goals import Findings
    from antennaopt.run import Finalist, RunSummary


def report_lines(summary: RunSummary) -> list[str]:
    """Return a finished run's account, for people.

    Args:
        summary: From `study.run`.
    """
    from antennaopt.store import rate_text

    share = f"{summary.solver_fraction:.0%} of the workers' time was solving"
    if summary.stepping_fraction is not None:
        share += f", {summary.stepping_fraction:.0%} stepping"
    if summary.cell_steps_per_s:
        share += f" at {rate_text(summary.cell_steps_per_s)} a worker"
    generations = f"{summary.generations} generation{'' if summary.generations == 1 else 's'}"
    lines = [f"stopped: {summary.reason}", f"{generations}, {antennas_line(summary)}; {share}"]
    lines += outcome_lines(summary)
    if summary.cache_dropped:
        lines.append(f"evaluation cache: {summary.cache_dropped} damaged entries dropped, their antennas solved again")
    if summary.report is not None:
        lines.append(f"report: {summary.report}")
    return lines


def outcome_lines(summary: RunSummary) -> list[str]:
    """Return what a run came to: the best antenna beside the first one, the goals, the certificate."""
    from antennaopt.search import ALL_GOALS_MET

    lines: list[str] = []
    if summary.best is not None:
        lines += ["", comparison(summary.best, summary.first_best, drawn=summary.first_drawn)]
        lines += worse_lines(summary.best, summary.first_best)
        lines.append("")
    if summary.findings is not None and summary.findings.goals:
        lines += [*findings_lines(summary.findings), ""]
    lines += certificate_lines(summary)
    if summary.reason == ALL_GOALS_MET and summary.findings and not all(one.met for one in summary.findings.goals):
        lines.append(filled("The search ended with an antenna that meets all goals, but is not trusted. To go on:"))
        lines.append(f"  antennaopt resume {shlex.quote(str(summary.folder))} --set evolution.stop.goals=false")
    return lines


def antennas_line(summary: RunSummary) -> str:
    """Say how many antennas a run solved and how many outcomes came from elsewhere: in all sessions, as the time is."""
    from antennaopt.report.goals import reused_words

    solved = summary.evaluations - sum(summary.origins.values())
    counts = ", ".join(f"{count} {status}" for status, count in summary.counts.items())
    text = f"{summary.evaluations} antennas solved ({counts})"
    if summary.origins:
        text = f"{summary.evaluations} antennas ({counts}): {solved} solved, {reused_words(summary.origins)};"
    return f"{text} in {summary.wall_seconds:.1f} s"


def findings_lines(findings: Findings) -> list[str]:
    """Return the goals as a table, and a line for each of the remarks on genes and goals."""
    from antennaopt.report.goals import bounds_line, goals_line, goals_table, reach_line

    rows = goals_table(findings.goals)
    lines = [goals_line(findings.goals), aligned(rows, left=(0, 1, 4)) if findings.goals else ""]
    lines += [bounds_line(findings.at_bounds), reach_line(findings.out_of_reach)]
    return [plain(line) if "\n" in line else filled(plain(line)) for line in lines if line]


def plain(text: str) -> str:
    """Return text of the report in the letters of every terminal."""
    return text.replace("\N{MINUS SIGN}", "-").replace("\N{DEGREE SIGN}", "deg")


def filled(text: str) -> str:
    """Return a sentence broken between words where the terminal is narrower; whole where there is no terminal."""
    return textwrap.fill(text, shutil.get_terminal_size((len(text) + 1, 24)).columns, break_on_hyphens=False)


def worse_lines(best: Finalist, first: Finalist | None) -> list[str]:
    """Say which figures of the table are worse in the best antenna than in the first one, and why that may be."""
    if first is None:
        return []
    from antennaopt.metrics import Place, reported_in

    worse = []
    for metric in reported_in(Place.SUMMARY):
        old, new = (metric.worst(one.outcome.get(metric.key) or ()) for one in (first, best))
        sign = -1.0 if metric.larger_is_better else 1.0
        if new is not None and (old is None or round(sign * (new - old), metric.decimals) > 0.0):
            change = f"{cell(old, metric.decimals)} to {cell(new, metric.decimals)} {metric.unit}".rstrip()
            worse.append(f"{metric.label} ({change})")
    lines = []
    if worse:
        lines.append(
            f"Worse than in the first: {', '.join(worse)}. The search lowers fitness, the weighted sum of what all "
            "goals miss; a single figure may get worse."
        )
    if best.fitness > first.fitness:
        lines.append("Fitness is worse than in the first: the certificate says why that one was not taken.")
    return [filled(line) for line in lines]


def certificate_lines(summary: RunSummary) -> list[str]:
    """Return what the certificates say, one line, or nothing when there are none."""
    return [filled(f"certificate: {summary.certificate}")] if summary.certificate else []


def comparison(best: Finalist, first: Finalist | None, *, drawn: bool = True) -> str:
    """Return the table of the best antenna beside the best of the first generation; worst value over the frequencies.

    Args:
        best: Best of the run.
        first: Best of the first generation, or None.
        drawn: Whether that was drawn at random; all of a fork's first generation may be planted.
    """
    from antennaopt.metrics import Place, reported_in

    columns = [("best of the run", best)]
    if first is not None:
        columns.insert(0, ("best of the random first" if drawn else "best of the first", first))
    rows = [["", *(name for name, _ in columns)], ["individual", *(one.individual for _, one in columns)]]
    for metric in reported_in(Place.SUMMARY):
        values = (metric.worst(one.outcome.get(metric.key) or ()) for _, one in columns)
        rows.append([metric.heading, *(cell(value, metric.decimals) for value in values)])
    rows.append(["fitness (0 is all goals met)", *(f"{one.fitness:.4g}" for _, one in columns)])
    return aligned(rows, wrap=True)
