"""From candidates and their outcomes to flat rows: all of a generation at a time, column by column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from antennaopt.solve.certificate import certify, reason
from antennaopt.store.schema import CERTIFICATE, PARTS_OF_S11, RunColumns


class CandidateLike(Protocol):
    """What a row needs to know of a candidate."""

    @property
    def individual(self) -> str:
        """Id, `g0003-s012`."""
        ...

    @property
    def generation(self) -> int:
        """From 0."""
        ...

    @property
    def slot(self) -> int:
        """Place in the generation."""
        ...

    @property
    def genome(self) -> Sequence[float]:
        """Genes, each in [0, 1]."""
        ...

    @property
    def parents(self) -> Sequence[str]:
        """Ids, none in the first generation."""
        ...

    @property
    def operator(self) -> str:
        """What made it."""
        ...


class EvaluationLike(Protocol):
    """What rows need to know of an evaluation; the study's `Evaluation` has it."""

    @property
    def candidate(self) -> CandidateLike:
        """Who was evaluated."""
        ...

    @property
    def values(self) -> Mapping[str, float]:
        """At least the genes' values, SI, by dotted name."""
        ...

    @property
    def outcome(self) -> Mapping[str, Any]:
        """As `evaluate` returned it and the farm annotated it; metrics may be missing when it is not `ok`."""
        ...

    @property
    def shortfalls(self) -> Sequence[float]:
        """dB, one an objective, or empty when there are none to give."""
        ...

    @property
    def fitness(self) -> float:
        """What is minimised."""
        ...

    @property
    def cached(self) -> bool:
        """The outcome was taken over from an equal design and not solved again."""
        ...


@dataclass(frozen=True, kw_only=True)
class _Given:
    candidate: CandidateLike
    values: Mapping[str, float]
    outcome: Mapping[str, Any]
    shortfalls: Sequence[float]
    fitness: float
    cached: bool


def make_row(
    columns: RunColumns,
    *,
    run: str,
    candidate: CandidateLike,
    design: Mapping[str, float],
    outcome: Mapping[str, Any],
    shortfalls: Sequence[float],
    fitness: float,
    cached: bool = False,
) -> dict[str, Any]:
    """Flatten one evaluation into a row with exactly the columns of `RunColumns.evals_schema`.

    Args:
        columns: The run's columns.
        run: The run folder's name.
        candidate: Who was evaluated.
        design: At least the genes' values, SI, by dotted name.
        outcome: See `EvaluationLike`.
        shortfalls: dB, one an objective, or empty when there are none to give.
        fitness: What is minimised.
        cached: The outcome was taken over from an equal design and not solved again.
    """
    one = _Given(
        candidate=candidate, values=design, outcome=outcome, shortfalls=shortfalls, fitness=fitness, cached=cached
    )
    return {name: values[0] for name, values in evals_columns(columns, run, [one]).items()}


def evals_columns(columns: RunColumns, run: str, evaluations: Sequence[EvaluationLike]) -> dict[str, list[Any]]:
    """Flatten evaluations into the columns of `RunColumns.evals_schema`, one entry an evaluation.

    Args:
        columns: The run's columns.
        run: The run folder's name.
        evaluations: In order of slots.

    Returns:
        Plain values. What a failed evaluation does not have is None; an undefined metric (a beamwidth that does not
        exist) is None too, and NaN stays NaN, so that the file says which of the two it was.
    """
    candidates = [one.candidate for one in evaluations]
    outcomes = [one.outcome for one in evaluations]
    table: dict[str, list[Any]] = {
        "run": [run] * len(evaluations),
        "generation": [int(one.generation) for one in candidates],
        "slot": [int(one.slot) for one in candidates],
        "individual": [one.individual for one in candidates],
        "parents": [list(one.parents) for one in candidates],
        "operator": [one.operator for one in candidates],
        "status": [outcome["status"] for outcome in outcomes],
        "error": [outcome.get("error") for outcome in outcomes],
        "genome": [[float(value) for value in one.genome] for one in candidates],
    }
    for gene in columns.genes:
        table[gene.column] = [float(one.values[gene.name]) * gene.scale for one in evaluations]
    table |= _metrics(columns, outcomes)
    table["decay_db"] = [outcome.get("decay_db") for outcome in outcomes]
    if columns.certificate:
        radius = columns.feed_radius
        cells = [
            certificate_cells(certify(one, feed_radius=radius) if one["status"] == "ok" else None) for one in outcomes
        ]
        table |= {name: [cell[name] for cell in cells] for name, _ in CERTIFICATE}
    none = [None] * len(columns.objectives)
    for place, name in enumerate(columns.shortfall_columns):
        table[name] = [(one.shortfalls or none)[place] for one in evaluations]
    table["fitness"] = [float(one.fitness) for one in evaluations]
    table["cached"] = [bool(one.cached) for one in evaluations]
    for name in ("seconds", "steps", "worker", "device", "attempt"):
        table[name] = [outcome.get(name) for outcome in outcomes]
    if columns.origin:
        table["origin"] = ["twin" if one.cached else one.outcome.get("origin") or "solved" for one in evaluations]
        for name in ("birth", "bred_after"):
            table[name] = [getattr(one, name, None) for one in candidates]
        table["stepping_seconds"] = [outcome.get("stepping_seconds") for outcome in outcomes]
    return table


def certificate_cells(certificate: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a row's columns of the certificate; all None without one.

    Args:
        certificate: As `certify` makes it, with its mesh rows or without.
    """
    given = certificate or {}
    figures = {name: (given.get(name) or {}).get("figure") for name in ("mesh_directivity", "mesh_s11")}
    return {
        "certificate": given.get("verdict"),
        "certificate_reason": reason(given) if given else None,
        "mesh_directivity_db": _number(figures["mesh_directivity"]),
        "mesh_s11": _number(figures["mesh_s11"]),
    }


def _metrics(columns: RunColumns, outcomes: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the metrics' columns; an outcome may have its frequencies in another order, or others."""
    places = [_places(columns.frequencies, outcome.get("frequency_hz") or ()) for outcome in outcomes]
    table: dict[str, list[Any]] = {}
    for metric, names in columns.metric_columns.items():
        absent: list[Any] = [None] * len(names)
        rows = []
        for outcome, at in zip(outcomes, places, strict=True):
            values = _per_frequency(metric, outcome) or absent
            if at is not None and values is not absent:
                values = [None if place is None else values[place] for place in at]
            rows.append(values)
        for place, name in enumerate(names):
            table[name] = [values[place] for values in rows]
    return table


def _places(wanted: Sequence[float], given: Sequence[float]) -> list[int | None] | None:
    """Return where each wanted frequency stands among the given ones; None where they are the same."""
    if tuple(given) == tuple(wanted):
        return None
    at = {float(hz): place for place, hz in enumerate(given)}
    return [at.get(hz) for hz in wanted]


def _per_frequency(metric: str, outcome: Mapping[str, Any]) -> Sequence[Any]:
    """Return a metric's values, one a frequency of the outcome; empty when the outcome does not have it."""
    if metric in PARTS_OF_S11:
        part = PARTS_OF_S11.index(metric)
        return [pair[part] for pair in outcome.get("s11") or ()]
    return outcome.get(metric) or ()


def _number(value: Any) -> float | None:
    """Return a float, or None for what is not there; NaN stays NaN so that the file says which of the two it was."""
    if value is None:
        return None
    number = float(value)
    return math.nan if math.isnan(number) else number
