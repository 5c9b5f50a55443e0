"""Write candidates and outcomes to Parquet: flat rows and radiation patterns, a generation at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from antennaopt.solve.cuts import CUTS, LEVELS, OLDER, amplitudes, directivity_dbi, joined
from antennaopt.solve.outcome import Outcome
from antennaopt.store.certified import certificate_columns
from antennaopt.store.generations import damaged
from antennaopt.store.made import MadeCopy, batches_of, metric_values, share_met
from antennaopt.store.schema import (
    CUT_COLUMNS,
    LEVEL,
    MODES,
    OLDER_CUT_COLUMNS,
    OUTLINE,
    VIOLATION,
    RunColumns,
    cut_columns,
    patterns_schema,
)

if TYPE_CHECKING:
    import pandas as pd


def pattern_table(run: str, outcomes: Mapping[str, Outcome], schema: pa.Schema) -> pa.Table:
    """Return the patterns of the outcomes that have one, in order of individual and frequency.

    Args:
        run: The run folder's name.
        outcomes: By individual; cuts as lists or arrays, (frequencies, angles).
        schema: Of `patterns_schema`.
    """
    columns = cut_columns(schema)
    names = sorted(name for name, one in outcomes.items() if one.ok and one.theta_deg is not None)
    if columns == CUT_COLUMNS:
        names = [name for name in names if outcomes[name].e_plane is not None]
    chosen = [outcomes[name] for name in names]
    found = _sent_cuts(chosen) if columns == CUT_COLUMNS else None
    frequencies, lengths, whole = found or _cuts(names, chosen, CUTS[1:] if columns == CUT_COLUMNS else LEVELS)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int32)]).astype(np.int32))
    if columns == CUT_COLUMNS and not found:
        whole = [whole[0], *(part for one in whole[1:] for part in (np.real(one), np.imag(one)))]
    individuals = [name for name, one in zip(names, chosen, strict=True) for _ in one.frequency_hz or ()]
    arrays = [
        pa.array([run] * len(individuals), pa.string()),
        pa.array(individuals, pa.string()),
        pa.array(frequencies, pa.float64()),
        *(pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(one, dtype=np.float32))) for one in whole),
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


Columns = tuple[Sequence[float], np.ndarray, list[np.ndarray]]
"""Frequency of each row, Hz; its number of angles; angles of all rows one after the other, and what belongs to them."""


def _sent_cuts(outcomes: Sequence[Outcome]) -> Columns | None:
    """Return the cuts of outcomes as they came, a batch at a time, real and imaginary parts apart.

    Returns:
        None where one did not come in a batch, or batches have other angles or frequencies.
    """
    batches = batches_of(outcomes)
    if not batches:
        return None
    (first, _, _), *others = batches
    theta, hz = first.theta_deg, list(first.frequency_hz)
    if any(list(one.frequency_hz) != hz or not np.array_equal(one.theta_deg, theta) for one, _, _ in others):
        return None
    shape = len(outcomes), len(hz), len(theta)
    if any(plane.shape[1:] != shape[1:] for one, _, _ in batches for plane in one.planes):
        return None
    parts = [np.empty(shape, dtype=np.float32) for _ in range(4)]
    order = sorted(range(len(hz)), key=hz.__getitem__)
    for sent, rows, places in batches:
        for plane, (real, imaginary) in zip(sent.planes, (parts[:2], parts[2:]), strict=True):
            cuts = plane[places][:, order] if len(hz) > 1 else plane[places]
            real[rows], imaginary[rows] = np.real(cuts), np.imag(cuts)
    count = len(outcomes) * len(hz)
    lengths = np.full(count, len(theta), dtype=np.int32)
    return sorted(hz) * len(outcomes), lengths, [np.tile(theta, count), *(one.ravel() for one in parts)]


def _cuts(names: Sequence[str], outcomes: Sequence[Outcome], labels: Sequence[str]) -> Columns:
    """Return the cuts of outcomes in order of frequency, amplitudes or levels by their labels.

    Raises:
        ValueError: A cut has not one value an angle and frequency.
    """
    frequencies: list[float] = []
    angles: list[np.ndarray] = []
    planes: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for name, outcome in zip(names, outcomes, strict=True):
        hz = outcome.frequency_hz or ()
        theta = np.asarray(outcome.theta_deg, dtype=np.float32)
        order = sorted(range(len(hz)), key=hz.__getitem__)
        frequencies += sorted(hz)
        angles += [theta] * len(hz)
        for plane, found in zip(labels, planes, strict=True):
            cuts = _plane(outcome, plane)
            if cuts.shape != (len(hz), len(theta)):
                raise ValueError(f"{plane} of {name} has shape {cuts.shape}, not {(len(hz), len(theta))}")
            found.append(cuts[order].ravel())
    lengths = np.fromiter(map(len, angles), np.int32, len(angles))
    whole = [np.concatenate(one) if one else np.empty(0, dtype=np.float32) for one in (angles, *planes)]
    return frequencies, lengths, whole


def _plane(outcome: Outcome, label: str) -> np.ndarray:
    """Return a plane, (frequencies, angles): amplitudes, or levels where these are stored."""
    values = getattr(outcome, label)
    return np.asarray(values, dtype=np.float32) if label in LEVELS else amplitudes(values)


def pattern_frame(table: pa.Table | None) -> pd.DataFrame:
    """Return patterns with one row a frequency and angle.

    Args:
        table: Of one individual; None for no pattern.

    Returns:
        Columns `frequency_hz`, `theta_deg`, `e_plane_dbi`, `h_plane_dbi`; where amplitudes are stored, `e_plane` and
        `h_plane` too, complex.
    """
    found: pa.Table = patterns_schema().empty_table() if table is None else table
    lists = cut_columns(found.schema)
    names = ["frequency_hz", *lists]
    frame = _unrolled(found, lists)
    if frame is None:
        frame = found.select(names).to_pandas().explode(list(lists), ignore_index=True)
        frame = frame.astype(dict.fromkeys(names, "float64"))
    if lists != CUT_COLUMNS:
        return frame
    planes = {name: joined(frame[f"{name[0]}_re"], frame[f"{name[0]}_im"]) for name in CUTS[1:]}
    levels = {name: directivity_dbi(planes[plane]) for name, plane in zip(LEVELS, CUTS[1:], strict=True)}
    return frame[["frequency_hz", "theta_deg"]].assign(**levels, **planes)


def _unrolled(table: pa.Table, lists: Sequence[str]) -> pd.DataFrame | None:
    """Return what pandas' `explode` does, in a tenth of the time; None of lists that are missing, empty or uneven."""
    import pandas as pd

    columns = {name: table[name].combine_chunks() for name in lists}
    lengths = [column.value_lengths() for column in columns.values()]
    if not table.num_rows or any(one.null_count or not one.equals(lengths[0]) for one in lengths):
        return None
    counts = lengths[0].to_numpy()
    if not counts.all():
        return None
    values = {name: column.flatten().to_numpy(zero_copy_only=False) for name, column in columns.items()}
    frequencies = np.repeat(table["frequency_hz"].to_numpy(), counts)
    return pd.DataFrame({name: np.asarray(one, float) for name, one in {"frequency_hz": frequencies, **values}.items()})


def pattern_part(table: pa.Table | None, frequencies: Sequence[float]) -> dict[str, Any]:
    """Return what an outcome holds of an individual's pattern, by key; empty when it has none.

    Args:
        table: Of the individual alone; None for no pattern.
        frequencies: Hz, in the order of the outcome.
    """
    if table is None or not table.num_rows:
        return {}
    rows = {row["frequency_hz"]: row for row in table.to_pylist()}
    cuts = {
        name: np.array([rows[hz][name] for hz in frequencies], dtype=np.float32) for name in cut_columns(table.schema)
    }
    theta = cuts.pop("theta_deg")[0]
    if OLDER_CUT_COLUMNS[1] in cuts:
        return {"theta_deg": theta, OLDER: list(cuts.values())}
    return {"theta_deg": theta} | {name: joined(cuts[f"{name[0]}_re"], cuts[f"{name[0]}_im"]) for name in CUTS[1:]}


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
    import pyarrow.compute as pc

    if len(tables) == 1:
        return tables[0]
    joined = pa.concat_tables(tables)
    keys = [("individual", "ascending"), ("frequency_hz", "ascending")]
    return joined.take(pc.sort_indices(joined, sort_keys=keys))  # type: ignore[attr-defined]


def whole_cuts(table: pa.Table, path: Path, frequencies: Sequence[float]) -> pa.Table:
    """Return patterns of a run's frequencies whose cuts have a value for each of their angles.

    Args:
        table: A row an individual and frequency.
        path: Of its file.
        frequencies: Of the run, Hz.

    Raises:
        ResumeRefusedError: They are of other frequencies, or a cut has not; the file is named.
    """
    import pyarrow.compute as pc

    if table.num_rows and set(table["frequency_hz"].unique().to_pylist()) != set(frequencies):
        problem = ValueError("it has other frequencies than the run")
        raise damaged(path, problem) from problem

    angles, *levels = (pc.list_value_length(table[name]) for name in cut_columns(table.schema))  # type: ignore[attr-defined]
    if not all(angles.equals(one) for one in levels):
        problem = ValueError("a cut has not as many values as angles")
        raise damaged(path, problem) from problem
    return table


@dataclass(frozen=True, kw_only=True)
class Row:
    """One evaluation, as it is stored.

    Attributes:
        individual: Id, `g0003-s012`.
        generation: From 0.
        slot: Place in the generation.
        genome: Genes, each in [0, 1].
        parents: Ids, none in the first generation.
        operator: What made it.
        birth: In a steady state, the number in order of birth.
        bred_after: In a steady state, how many individuals were complete when it was bred.
        values: At least the genes' values, SI, by dotted name.
        outcome: What came of it; metrics may be missing when it is not `ok`.
        shortfalls: dB, one an objective and constraint, or empty when there are none; of an aim the number that is
            minimised.
        violation: Of all constraints; None without any, or where the outcome is not `ok`.
        fitness: What is minimised.
        cached: The outcome is copied from an equal design of this run.
        level: Of the cells, 0 the coarsest; 0 in a run with one level.
        nominal_fitness: Of the design itself, in a search with samples; else None.
        samples: Its made copies.
    """

    individual: str
    generation: int
    slot: int
    genome: Sequence[float]
    parents: Sequence[str] = ()
    operator: str = ""
    birth: int | None = None
    bred_after: int | None = None
    values: Mapping[str, float]
    outcome: Outcome
    shortfalls: Sequence[float]
    fitness: float
    cached: bool = False
    violation: float | None = None
    level: int = 0
    nominal_fitness: float | None = None
    samples: Sequence[MadeCopy] = ()


def table_of(columns: RunColumns, run: str, rows: Sequence[Row]) -> dict[str, Sequence[Any]]:
    """Return rows as the columns of `RunColumns.evals_schema`.

    Args:
        columns: The run's columns.
        run: The run folder's name.
        rows: In order of slots.

    Returns:
        Plain values. What a failed evaluation does not have is None; an undefined metric (a beamwidth that does not
        exist) is None too, and NaN stays NaN, so that the file tells the two apart.
    """
    outcomes = [one.outcome for one in rows]
    table: dict[str, Sequence[Any]] = {
        "run": [run] * len(rows),
        "generation": [int(one.generation) for one in rows],
        "slot": [int(one.slot) for one in rows],
        "individual": [one.individual for one in rows],
        "parents": [list(one.parents) for one in rows],
        "operator": [one.operator for one in rows],
        "status": [outcome.status for outcome in outcomes],
        "error": [outcome.error for outcome in outcomes],
        "genome": [list(map(float, one.genome)) for one in rows],
    }
    for gene in columns.genes:
        name, scale = gene.name, gene.scale
        table[gene.column] = [float(one.values[name]) * scale for one in rows]
    table |= metric_values(columns, outcomes)
    table["decay_db"] = [outcome.decay_db for outcome in outcomes]
    if columns.certificate:
        radii = [one.values.get("feed.inner_radius", columns.feed_radius) for one in rows]
        fillings = [one.values.get("feed.permittivity", columns.feed_permittivity) for one in rows]
        table |= certificate_columns(outcomes, radii, fillings)
    none = [None] * len(columns.objectives)
    for place, name in enumerate(columns.shortfall_columns):
        table[name] = columns.levels(place, [(one.shortfalls or none)[place] for one in rows])
    if columns.constraints:
        table[VIOLATION] = [one.violation for one in rows]
    table["fitness"] = [float(one.fitness) for one in rows]
    table["cached"] = [bool(one.cached) for one in rows]
    for name in ("seconds", "steps", "worker", "device", "attempt"):
        table[name] = [getattr(outcome, name) for outcome in outcomes]
    if columns.origin:
        table["origin"] = ["twin" if one.cached else one.outcome.origin or "solved" for one in rows]
        table["birth"] = [one.birth for one in rows]
        table["bred_after"] = [one.bred_after for one in rows]
        table["stepping_seconds"] = [outcome.stepping_seconds for outcome in outcomes]
    if columns.outline:
        table[OUTLINE] = [columns.outline] * len(rows)
    if columns.modes:
        table[MODES] = [_waves(outcome) for outcome in outcomes]
    if columns.fidelity:
        table[LEVEL] = [one.level for one in rows]
    if columns.sampled:
        table["samples"] = [len(one.samples) for one in rows]
        table["sample_yield"] = [share_met(one.samples) for one in rows]
        table["nominal_fitness"] = [one.nominal_fitness for one in rows]
    return table


def _waves(outcome: Outcome) -> list[dict[str, Any]] | None:
    """Return an outcome's `modes` as a row has them; None without any."""
    if outcome.modes is None:
        return None
    return [
        {
            "frequency_hz": hz, "plane_m": wave["plane"], "name": wave["name"], "direction": wave["direction"],
            "s_re": wave["s"][0], "s_im": wave["s"][1],
        }
        for hz, waves in zip(outcome.frequency_hz or (), outcome.modes, strict=True)
        for wave in waves
    ]  # fmt: skip


def modes_of_row(waves: Sequence[Mapping[str, Any]] | None, frequencies: Sequence[float]) -> list[Any] | None:
    """Undo `_waves`: a list a frequency; None where a row has none.

    Args:
        waves: The row's column `modes`.
        frequencies: Hz, in the order of the outcome.
    """
    if waves is None:
        return None
    found: dict[float, list[dict[str, Any]]] = {hz: [] for hz in frequencies}
    for one in waves:
        entry = {"plane": one["plane_m"], "name": one["name"], "direction": one["direction"]}
        found[one["frequency_hz"]].append({**entry, "s": [one["s_re"], one["s_im"]]})
    return list(found.values())
