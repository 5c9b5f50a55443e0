"""Radiation patterns as Parquet tables: one row an individual and frequency, cuts as lists, dBi."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antennaopt.store.generations import damaged

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
