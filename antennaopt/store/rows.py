"""From candidates and their outcomes to Parquet: flat rows, and radiation patterns, a generation at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antennaopt.solve.certificate import certify, reason
from antennaopt.store.generations import damaged
from antennaopt.store.schema import CERTIFICATE, PARTS_OF_S11, RunColumns

CUTS = ("theta_deg", "e_plane_dbi", "h_plane_dbi")


def pattern_table(run: str, outcomes: Mapping[str, Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return the patterns of the outcomes that have one, in order of individual and frequency.

    Args:
        run: The run folder's name.
        outcomes: As `evaluate` returns them, by individual; cuts as lists or arrays, (frequencies, angles).
        schema: Of `patterns_schema`.
    """
    names = sorted(name for name, one in outcomes.items() if one["status"] == "ok" and "e_plane_dbi" in one)
    individuals: list[str] = []
    frequencies: list[float] = []
    angles: list[int] = []
    values: dict[str, list[np.ndarray]] = {name: [] for name in CUTS}
    for name in names:
        outcome = outcomes[name]
        hz = outcome["frequency_hz"]
        order = sorted(range(len(hz)), key=hz.__getitem__)
        theta = np.asarray(outcome["theta_deg"], dtype=np.float32)
        individuals += [name] * len(hz)
        frequencies += [float(hz[place]) for place in order]
        angles += [len(theta)] * len(hz)
        values["theta_deg"] += [theta] * len(hz)
        for plane in CUTS[1:]:
            cuts = np.asarray(outcome[plane], dtype=np.float32)
            if cuts.shape != (len(hz), len(theta)):
                raise ValueError(f"{plane} of {name} has shape {cuts.shape}, not {(len(hz), len(theta))}")
            values[plane].append((cuts if order == list(range(len(hz))) else cuts[order]).ravel())
    offsets = pa.array(np.concatenate([[0], np.cumsum(angles, dtype=np.int32)]).astype(np.int32))
    columns = [
        pa.array([run] * len(individuals), pa.string()),
        pa.array(individuals, pa.string()),
        pa.array(frequencies, pa.float64()),
        *(pa.ListArray.from_arrays(offsets, pa.array(_joined(values[name]))) for name in CUTS),
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def under_other_names(table: pa.Table, names: Sequence[tuple[str, str]], schema: pa.Schema) -> pa.Table:
    """Return copies of individuals' patterns for their duplicates.

    Args:
        table: Patterns, in order of frequency for each individual.
        names: Pairs of a duplicate and the individual in the table whose pattern is its own too.
        schema: Of `patterns_schema`.
    """
    place_of: dict[str, list[int]] = {}
    for place, individual in enumerate(table["individual"].to_pylist()):
        place_of.setdefault(individual, []).append(place)
    places = [(duplicate, place) for duplicate, individual in names for place in place_of.get(individual, ())]
    taken = table.take(pa.array([place for _, place in places], pa.int64()))
    at = taken.schema.get_field_index("individual")
    named = taken.set_column(at, "individual", pa.array([duplicate for duplicate, _ in places], pa.string()))
    return named.replace_schema_metadata(schema.metadata)


def in_order(tables: Sequence[pa.Table]) -> pa.Table:
    """Join tables and put their rows in order of individual and frequency."""
    if len(tables) == 1:
        return tables[0]
    joined = pa.concat_tables(tables)
    keys = [("individual", "ascending"), ("frequency_hz", "ascending")]
    return joined.take(pc.sort_indices(joined, sort_keys=keys))  # type: ignore[attr-defined]


def whole_cuts(table: pa.Table, path: Path) -> pa.Table:
    """Return patterns whose cuts have a value for each of their angles.

    Raises:
        ResumeRefusedError: One has not; the file is named.
    """
    angles, *levels = (pc.list_value_length(table[name]) for name in CUTS)  # type: ignore[attr-defined]
    if not all(angles.equals(one) for one in levels):
        problem = ValueError("a cut has not as many values as angles")
        raise damaged(path, problem) from problem
    return table


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.float32)


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
