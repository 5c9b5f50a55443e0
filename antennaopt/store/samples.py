"""Rows of the made antennas of a design, in a run folder: `tolerance/<individual>.parquet`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from antennaopt.solve.outcome import Outcome
from antennaopt.store.files import refuse_links, refuse_strangers, storing, write_atomically
from antennaopt.store.schema import PARTS_OF_S11, GeneColumn, RunColumns, file_metadata, plain_name

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "tolerance"
TYPES = {float: pa.float64(), int: pa.int64(), str: pa.string(), bool: pa.bool_()}
ACCOUNT = ("seconds", "steps", "worker", "origin")


def samples_folder(run: Path) -> Path:
    """Make the folder of a run's samples, if it is not there, and return it.

    Raises:
        ResumeRefusedError: It is a link, or leads out of the run folder.
        StorageError: It cannot be made.
    """
    refuse_links(run)
    refuse_strangers(run)
    path = run / FOLDER
    with storing(path):
        path.mkdir(exist_ok=True)
    return path


def sample_row(
    columns: RunColumns, parameters: Sequence[GeneColumn], design: Mapping[str, float], outcome: Outcome
) -> dict[str, Any]:
    """Return an antenna as a row: what was perturbed, its figures, and the account of its solution.

    Args:
        columns: Of the run.
        parameters: Perturbed entries of the design.
        design: Of the made antenna, SI.
        outcome: What came of it.
    """
    row: dict[str, Any] = {one.column: design[one.name] * one.scale for one in parameters}
    row |= {"status": outcome.status, "error": outcome.error}
    row |= {name: getattr(outcome, name) for name in ACCOUNT}
    return row | dict(_figures(columns, outcome))


def _figures(columns: RunColumns, outcome: Outcome) -> Iterator[tuple[str, float | None]]:
    parts: dict[str, Any] = dict(zip(PARTS_OF_S11, zip(*outcome.s11, strict=True), strict=True)) if outcome.s11 else {}
    for metric, names in columns.metric_columns.items():
        values = parts.get(metric) or outcome.metrics.get(metric) or (outcome.figures or {}).get(metric)
        yield from zip(names, values or [None] * len(names), strict=True)


def goal_columns(place: int, name: str) -> tuple[str, str]:
    """Return the columns of a goal: its value where it is worst, and its margin."""
    return f"value_{place}_{plain_name(name)}", f"margin_{place}_{plain_name(name)}"


def write_samples(path: Path, rows: Sequence[Mapping[str, Any]], *, config_hash: str) -> None:
    """Write rows in one step.

    Args:
        path: Target.
        rows: All with the same keys.
        config_hash: Of the run.

    Raises:
        StorageError: Disk full, no permission.
    """
    arrays = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        kinds = {type(one) for one in values if one is not None}
        kind = next((one for one in (str, bool, float, int) if one in kinds), float)
        arrays[name] = pa.array(values, TYPES[kind])
    table = pa.table(arrays).replace_schema_metadata(file_metadata(config_hash))
    write_atomically(path, lambda file: pq.write_table(table, file))


def read_samples(path: Path) -> pd.DataFrame:
    """Return the rows of a file, one an antenna; `sample` 0 is the design itself."""
    return pq.read_table(path).to_pandas()
