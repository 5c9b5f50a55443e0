"""From a candidate and its outcome to one flat row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from antennaopt.certificate import certify, reason
from antennaopt.results.schema import PARTS_OF_S11, RunColumns


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
        outcome: As `evaluate` returned it and the farm annotated it; metrics may be missing when it is not `ok`.
        shortfalls: dB, one an objective, or empty when there are none to give.
        fitness: What is minimised.
        cached: The outcome was taken over from an equal design and not solved again.

    Returns:
        Plain values. What a failed evaluation does not have is None; an undefined metric (a beamwidth that does not
        exist) is None too.
    """
    row: dict[str, Any] = {
        "run": run,
        "generation": int(candidate.generation),
        "slot": int(candidate.slot),
        "individual": candidate.individual,
        "parents": list(candidate.parents),
        "operator": candidate.operator,
        "status": outcome["status"],
        "error": outcome.get("error"),
        "genome": [float(value) for value in candidate.genome],
    }
    row |= {gene.column: float(design[gene.name]) * gene.scale for gene in columns.genes}
    row |= _metrics(columns, outcome)
    row["decay_db"] = _number(outcome.get("decay_db"))
    if columns.certificate:
        row |= certificate_cells(certify(outcome) if outcome["status"] == "ok" else None)
    given = list(shortfalls) or [None] * len(columns.objectives)
    row |= {name: _number(value) for name, value in zip(columns.shortfall_columns, given, strict=True)}
    row |= {
        "fitness": float(fitness),
        "cached": bool(cached),
        "seconds": _number(outcome.get("seconds")),
        "steps": outcome.get("steps"),
        "worker": outcome.get("worker"),
        "device": outcome.get("device"),
        "attempt": outcome.get("attempt"),
    }
    return row


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


def _metrics(columns: RunColumns, outcome: Mapping[str, Any]) -> dict[str, float | None]:
    cells: dict[str, float | None] = {}
    same = tuple(outcome.get("frequency_hz") or ()) == columns.frequencies
    for metric, names in columns.metric_columns.items():
        values = _per_frequency(metric, outcome)
        if not values:
            cells |= dict.fromkeys(names)
        elif same and len(values) == len(names):
            cells |= zip(names, map(_number, values), strict=True)
        else:
            by_frequency = dict(zip(map(float, outcome["frequency_hz"]), values, strict=True))
            cells |= {name: _number(by_frequency.get(hz)) for name, hz in zip(names, columns.frequencies, strict=True)}
    return cells


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
