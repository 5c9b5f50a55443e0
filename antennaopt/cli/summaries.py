"""What a run came to, as text: its account, and the best antenna beside the best of the random first generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from antennaopt.cli.tables import METRIC_LABELS, aligned, cell

if TYPE_CHECKING:
    from antennaopt.study import Finalist, RunSummary

COMPARED = ("directivity_dbi", "s11_db", "sidelobe_db", "front_to_back_db")
LARGEST_IS_WORST = ("s11_db", "sidelobe_db", "crosspol_db")


def report_lines(summary: RunSummary) -> list[str]:
    """Return a finished run's account, for people.

    Args:
        summary: From `study.run`.
    """
    counts = ", ".join(f"{count} {status}" for status, count in summary.counts.items())
    lines = [
        f"stopped: {summary.reason}",
        f"{summary.generations} generations, {summary.evaluations} antennas solved ({counts}) in "
        f"{summary.wall_seconds:.1f} s; {summary.solver_fraction:.0%} of the workers' time was solving"
        + (f", {summary.stepping_fraction:.0%} stepping" if summary.stepping_fraction is not None else ""),
    ]
    if summary.reused:
        lines.append(f"not solved again: {reused_words(summary.reused)}")
    if summary.best is not None:
        lines += ["", comparison(summary.best, summary.first_best, drawn=summary.first_drawn), ""]
    lines += certificate_lines(summary)
    if summary.report is not None:
        lines.append(f"report: {summary.report}")
    return lines


def reused_words(reused: Mapping[str, int]) -> str:
    """Say where outcomes came from that were not solved; empty when there are none."""
    words = {"cache": "from the evaluation cache", "cells": "with the cells of another"}
    return ", ".join(f"{count} {words.get(origin, origin)}" for origin, count in reused.items())


def certificate_lines(summary: RunSummary) -> list[str]:
    """Return what the certificates say, one line, or nothing when there are none."""
    return [f"certificate: {summary.certificate}"] if summary.certificate else []


def comparison(best: Finalist, first: Finalist | None, *, drawn: bool = True) -> str:
    """Return the table of the best antenna beside the best of the first generation; worst value over the frequencies.

    Args:
        best: Best of the run.
        first: Best of the first generation, or None.
        drawn: Whether that was drawn at random; all of a fork's first generation may be planted.
    """
    columns = [("best of the run", best)]
    if first is not None:
        columns.insert(0, ("best of the random first" if drawn else "best of the first", first))
    rows = [["", *(name for name, _ in columns)], ["individual", *(one.individual for _, one in columns)]]
    for metric in COMPARED:
        label, unit, decimals = METRIC_LABELS[metric]
        rows.append([f"{label} ({unit})", *(cell(worst(one.outcome, metric), decimals) for _, one in columns)])
    rows.append(["fitness (0 is all goals met)", *(f"{one.fitness:.4g}" for _, one in columns)])
    return aligned(rows)


def worst(outcome: Mapping[str, Any], metric: str) -> float | None:
    """Return a metric's worst value over the frequencies, None where it is defined at none."""
    values: Sequence[float] = [value for value in outcome.get(metric) or () if value is not None]
    if not values:
        return None
    return max(values) if metric in LARGEST_IS_WORST else min(values)
