"""Text for a terminal: aligned tables, and the results of a run."""

from __future__ import annotations

import math
import shlex
import shutil
import textwrap
from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from antennaopt.quantities import format_length
from antennaopt.terminal import one_line, plain

if TYPE_CHECKING:
    from antennaopt.figures import Figure
    from antennaopt.report.goals import Findings
    from antennaopt.run.summary import Finalist, RunSummary

WIDTH = 80
"""Columns of a terminal whose width is not known."""


def aligned(
    rows: Sequence[Sequence[str]], *, header: bool = True, left: Collection[int] = (0,), wrap: bool = False
) -> str:
    """Return rows as text.

    Args:
        rows: Cells; all rows equally long.
        header: Whether a line goes under the first row.
        left: Columns that are aligned to the left; the others are to the right.
        wrap: Whether columns for which the terminal is too narrow go below, in blocks that repeat the first column.
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    blocks = [list(range(len(widths)))]
    if wrap:
        blocks = _blocks(widths, shutil.get_terminal_size((WIDTH, 24)).columns)
    return "\n\n".join(_block(rows, columns, widths, header=header, left=left) for columns in blocks)


def _blocks(widths: Sequence[int], most: int) -> list[list[int]]:
    """Return which columns stand next to each other; each block begins with the first."""
    blocks, used = [[0]], widths[0]
    for column, width in enumerate(widths[1:], start=1):
        if used + 2 + width > most and len(blocks[-1]) > 1:
            blocks.append([0])
            used = widths[0]
        blocks[-1].append(column)
        used += 2 + width
    return blocks


def _block(
    rows: Sequence[Sequence[str]], columns: Sequence[int], widths: Sequence[int], *, header: bool, left: Collection[int]
) -> str:
    lines = []
    for row in rows:
        cells = [row[at].ljust(widths[at]) if at in left else row[at].rjust(widths[at]) for at in columns]
        lines.append("  ".join(cells).rstrip())
    if header:
        lines.insert(1, "-" * (sum(widths[at] for at in columns) + 2 * (len(columns) - 1)))
    return "\n".join(lines)


def results_table(outcome: Mapping[str, Any], figures: Sequence[Figure] = ()) -> str:
    """Return an outcome's figures of merit, one column a frequency.

    Args:
        outcome: As `evaluate` returns it.
        figures: That were asked for in addition to the metrics.
    """
    from antennaopt.metrics import Place, reported_in

    rows = [["", *(f"{hz / 1e9:g} GHz" for hz in outcome["frequency_hz"])]]
    for metric in (*reported_in(Place.EVERYWHERE, outcome), *(one.about for one in figures if one.name in outcome)):
        rows.append([metric.heading, *(cell(value, metric.decimals) for value in outcome[metric.key])])
    return aligned(rows + _mode_rows(outcome.get("modes") or ()), wrap=True)


def _mode_rows(modes: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[str]]:
    """Return the level of each wave over the incident one, dB, one column a frequency; S11 has a row of its own."""
    from antennaopt.solve.modes import REFLECTED

    levels: dict[str, dict[int, float]] = {}
    for column, waves in enumerate(modes):
        for one in waves:
            port = one["direction"] == REFLECTED
            if not (port and one["name"] == "TE11"):
                where = "" if port else f" at {format_length(one['plane'])}"
                size = max(math.hypot(*one["s"]), 1e-6)
                levels.setdefault(f"{one['name']} {one['direction']}{where} (dB)", {})[column] = 20 * math.log10(size)
    return [[name, *(cell(found.get(at), 2) for at in range(len(modes)))] for name, found in levels.items()]


def cell(value: float | None, decimals: int, absent: str = "none") -> str:
    """Write a number for a terminal, or what stands in its place where it is not defined."""
    return absent if value is None else f"{value:.{decimals}f}"


def report_lines(summary: RunSummary) -> list[str]:
    """Return the lines that end a run.

    Args:
        summary: From `antennaopt.run.run`.
    """
    from antennaopt.store.levels import account_lines
    from antennaopt.store.stepping import rate_text

    share = "nothing was solved"
    if summary.solver_fraction > 0:
        share = f"{summary.solver_fraction:.0%} of the workers' time was solving"
        if summary.stepping_fraction is not None:
            share += f", {summary.stepping_fraction:.0%} stepping"
        if summary.cell_steps_per_s:
            share += f" at {rate_text(summary.cell_steps_per_s)} a worker"
    generations = f"{summary.generations} generation{'' if summary.generations == 1 else 's'}"
    lines = [f"stopped: {summary.reason}", f"{generations}, {antennas_line(summary)}; {share}"]
    lines += account_lines(summary.levels)
    lines += outcome_lines(summary)
    if summary.cache_dropped:
        lines.append(f"evaluation cache: {summary.cache_dropped} damaged entries dropped, their antennas solved again")
    if summary.report is not None:
        lines.append(f"report: {summary.report}")
    return lines


def seeds_lines(summaries: Mapping[int, RunSummary], seeds: int) -> list[str]:
    """Return what runs with several seeds came to: a line each, the spread of fitness, and the best of all.

    Searches for a front are compared by their hypervolumes up to one point.

    Args:
        summaries: Of finished runs, by seed.
        seeds: How many there were to be.
    """
    if any(one.front for one in summaries.values()):
        return _fronts_of_seeds(summaries, seeds)
    sampled = any(one.yields for one in summaries.values())
    yields = ["yield"] if sampled else []
    rows = [["seed", "fitness", "goals met", *yields, "antennas", "seconds", "best antenna", "certificate"]]
    for seed, one in summaries.items():
        best, goals = one.best, [goal for goal in one.findings.goals if not goal.aim] if one.findings else ()
        rows.append(
            [
                str(seed),
                f"{best.fitness:.4g}" if best else "none",
                f"{sum(goal.met for goal in goals)} of {len(goals)}" if goals else "-",
                *([_yield_of_best(one)] if sampled else []),
                str(one.evaluations),
                f"{one.wall_seconds:.1f}",
                best.individual if best else "-",
                str(one.certificates.get(best.individual, {}).get("verdict", "-")) if best else "-",
            ]
        )
    ranked = sorted((one.best.fitness, seed) for seed, one in summaries.items() if one.best)
    left = tuple(len(yields) + at for at in (5, 6))
    return ["", aligned(rows, left=left), *_spread_lines("fitness", ranked, summaries, seeds)]


def _yield_of_best(summary: RunSummary) -> str:
    """Return the yield of a run's best antenna by fresh samples, with its interval."""
    found = [one["yield"] for one in summary.yields if summary.best and one["individual"] == summary.best.individual]
    return str(found[0]["text"]) if found else "-"


def _fronts_of_seeds(summaries: Mapping[int, RunSummary], seeds: int) -> list[str]:
    """Return the same of searches for a front."""
    from antennaopt.search.fronts import on_one_scale

    fronts = {seed: one.front for seed, one in summaries.items() if one.front}
    volumes = dict(zip(fronts, on_one_scale(list(fronts.values())), strict=True))
    rows = [["seed", "hypervolume", "on the front", "antennas", "seconds"]]
    for seed, one in summaries.items():
        front = [f"{volumes[seed]:.5g}", str(fronts[seed].antennas)] if seed in fronts else ["none", "0"]
        rows.append([str(seed), *front, str(one.evaluations), f"{one.wall_seconds:.1f}"])
    ranked = sorted(((volume, seed) for seed, volume in volumes.items()), key=lambda one: (-one[0], one[1]))
    lines = ["", aligned(rows), *_spread_lines("hypervolume", ranked, summaries, seeds)]
    return [*lines, filled("hypervolumes are up to the worst reference point of all seeds in each objective")]


def _spread_lines(
    what: str, ranked: Sequence[tuple[float, int]], summaries: Mapping[int, RunSummary], seeds: int
) -> list[str]:
    """Return the spread of numbers over the seeds, and where the best is; `ranked` has the best first."""
    lines = []
    if len(summaries) < seeds:
        lines.append(f"{seeds - len(summaries)} of {seeds} seeds have not been finished")
    if ranked:
        found = [number for number, _ in ranked]
        folder = shlex.quote(str(summaries[ranked[0][1]].folder))
        if len(found) == 1:
            lines.append(f"{what} of seed {ranked[0][1]}: {found[0]:.4g}, {folder}")
            return lines
        lines.append(
            f"{what} of {len(found)} seeds: median {median(found):.4g}, {min(found):.4g} to {max(found):.4g}; best: "
            f"seed {ranked[0][1]}, {folder}"
        )
        lines.append("antennaopt compare puts the folders next to each other, with a plot of their convergence")
    return lines


def outcome_lines(summary: RunSummary) -> list[str]:
    """Return the results of a run: the best antenna next to the first one, the goals, the certificate."""
    from antennaopt.run.yields import yield_lines
    from antennaopt.search import ALL_GOALS_MET

    lines: list[str] = []
    if summary.best is not None:
        weighted = summary.front is None
        lines += ["", comparison(summary.best, summary.first_best, drawn=summary.first_drawn, weighted=weighted)]
        violated = [one for one in summary.findings.goals if one.constraint and not one.met] if summary.findings else []
        lines += (
            worse_lines(summary.best, summary.first_best, violates=bool(violated)) if weighted else front_lines(summary)
        )
        lines.append("")
    if summary.findings is not None and summary.findings.goals:
        lines += [*findings_lines(summary.findings), ""]
    lines += [*map(filled, yield_lines(summary.yields)), *([""] if summary.yields else [])]
    lines += certificate_lines(summary)
    if summary.reason == ALL_GOALS_MET and summary.findings and not all(one.met for one in summary.findings.goals):
        lines.append(filled("The search ended with an antenna that meets all goals, but is not trusted. To go on:"))
        lines.append(f"  antennaopt resume {shlex.quote(str(summary.folder))} --set evolution.stop.goals=false")
    return lines


def front_lines(summary: RunSummary) -> list[str]:
    """Return what a search for a front came to; nothing of another search."""
    if summary.front is None:
        return []
    front, count = summary.front, summary.front.antennas
    what = f"front: {count} antenna{'' if count == 1 else 's'}, hypervolume {front.hypervolume:.5g}; the table has one "
    what += "of them."
    goals = summary.findings.goals if summary.findings else ()
    if any(one.constraint and not one.met for one in goals):
        what += " No antenna meets all constraints: the front misses them by the least, and has no volume."
    elif front.hypervolume <= 0.0 and not all(one.met and not one.aim for one in goals):
        what += (
            " None of them is better than the reference point in every objective, so there is no volume; give a worse "
            "point in evolution.reference."
        )
    return [filled(what), f'their rows: antennaopt.open_run("{summary.folder}").front']


def antennas_line(summary: RunSummary) -> str:
    """Return how many antennas a run solved and how many outcomes it reused, in all of its sessions."""
    from antennaopt.report.goals import reused_words

    made = f", and {summary.samples} samples of them," if summary.samples else ""
    solved = summary.evaluations - sum(summary.origins.values())
    counts = ", ".join(f"{count} {status}" for status, count in summary.counts.items())
    copies = sum(summary.counts.values()) - summary.evaluations
    counts += f"; {copies} of them {'a copy' if copies == 1 else 'copies'}" if copies > 0 else ""
    text = f"{summary.evaluations} antennas solved ({counts}){made}"
    if summary.origins:
        reused = reused_words(summary.origins)
        text = f"{summary.evaluations} antennas ({counts}): {solved} solved, {reused}{made or ';'}"
    return f"{text} in {summary.wall_seconds:.1f} s"


def findings_lines(findings: Findings) -> list[str]:
    """Return the goals as a table, and a line for each of the remarks on genes and goals."""
    from antennaopt.report.goals import bounds_line, goals_line, goals_table, reach_line

    rows = goals_table(findings.goals)
    lines = [goals_line(findings.goals), aligned(rows, left=(0, 1, 4), wrap=True) if findings.goals else ""]
    lines += [bounds_line(findings.at_bounds), reach_line(findings.out_of_reach)]
    return [plain(line) if "\n" in line else filled(plain(line)) for line in lines if line]


def filled(text: str) -> str:
    """Return a sentence broken between words where the terminal is narrower; whole where there is no terminal."""
    return textwrap.fill(text, shutil.get_terminal_size((len(text) + 1, 24)).columns, break_on_hyphens=False)


def worse_lines(best: Finalist, first: Finalist | None, *, violates: bool = False) -> list[str]:
    """Name the figures that are worse in the best antenna than in the first one, and the reason.

    Args:
        best: Best of the run.
        first: Best of the first generation, or None.
        violates: Whether the best one misses a constraint.
    """
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
        lowered = "the weighted sum of what all goals miss"
        if violates:
            lowered = "which counts constraints alone until an antenna meets them all"
        elif best.fitness < 0.0:
            lowered = "which below 0 is that of the secondary aim, as all goals are met"
        lines.append(
            f"Worse than in the first: {', '.join(worse)}. The search lowers fitness, {lowered}; a single figure may "
            "get worse."
        )
    if best.fitness > first.fitness:
        lines.append("Fitness is worse than in the first: the certificate says why that one was not taken.")
    return [filled(line) for line in lines]


def certificate_lines(summary: RunSummary) -> list[str]:
    """Return the verdict of the certificates as one line; nothing when there are none."""
    return [filled(f"certificate: {summary.certificate}")] if summary.certificate else []


def comparison(best: Finalist, first: Finalist | None, *, drawn: bool = True, weighted: bool = True) -> str:
    """Return the table of the best antenna and the best of the first generation; worst value over the frequencies.

    Args:
        best: Best of the run.
        first: Best of the first generation, or None.
        drawn: Whether that was drawn at random; all of a fork's first generation may be planted.
        weighted: Whether the fitness, a weighted sum, is a row.
    """
    from antennaopt.metrics import Place, reported_in

    columns = [("best of the run", best)]
    if first is not None:
        columns.insert(0, ("best of the random first" if drawn else "best of the first", first))
    rows = [["", *(name for name, _ in columns)], ["individual", *(one.individual for _, one in columns)]]
    for metric in reported_in(Place.SUMMARY):
        values = (metric.worst(one.outcome.get(metric.key) or ()) for _, one in columns)
        rows.append([metric.heading, *(cell(value, metric.decimals) for value in values)])
    if weighted:
        met = "below 0 all goals are" if min(one.fitness for _, one in columns) < 0.0 else "0 is all goals"
        rows.append([f"fitness ({met} met)", *(f"{one.fitness:.4g}" for _, one in columns)])
    return aligned(rows, wrap=True)
