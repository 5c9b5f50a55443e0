"""Made copies of a generation's individuals, as the rows of `samples/`; and the metrics of outcomes as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from antennaopt.sent import Sent
from antennaopt.solve.outcome import Outcome
from antennaopt.store.generations import files
from antennaopt.store.schema import PARTS_OF_S11, RunColumns

if TYPE_CHECKING:
    import pandas as pd

    from antennaopt.store.run_folder import RunFolder

FOLDER = "samples"
ACCOUNT = ("seconds", "steps", "worker", "device", "attempt", "stepping_seconds")


@dataclass(frozen=True, kw_only=True)
class MadeCopy:
    """A made copy of an individual, solved.

    Attributes:
        sample: Its number, from 1; the same number is the same deviation for all individuals of a run.
        design: What was solved, SI, by dotted name.
        outcome: What came of it, without patterns.
        shortfalls: As those of a row.
        fitness: Of its outcome.
        met: Whether it meets all goals; None where the farm could not solve it.
    """

    sample: int
    design: Mapping[str, float]
    outcome: Outcome
    shortfalls: Sequence[float]
    fitness: float
    met: bool | None

    @property
    def counts(self) -> bool:
        """Whether it says anything of the individual: the farm solved it."""
        return self.met is not None


def share_met(samples: Sequence[MadeCopy]) -> float | None:
    """Return the share of made copies that meet all goals, of those that count; None without any."""
    judged = [one.met for one in samples if one.counts]
    return sum(map(bool, judged)) / len(judged) if judged else None


def write_made(folder: RunFolder, generation: int, made: Mapping[str, Sequence[MadeCopy]]) -> None:
    """Write the made copies of a generation in one step; nothing in a run without samples.

    Args:
        folder: Open for writing.
        generation: Which.
        made: By individual.
    """
    if not folder.columns.sampled:
        return
    (folder.path / FOLDER).mkdir(exist_ok=True)
    folder.write_columns(FOLDER, generation, _table(folder, generation, made))


def _table(folder: RunFolder, generation: int, made: Mapping[str, Sequence[MadeCopy]]) -> dict[str, Sequence[Any]]:
    columns = folder.columns
    listed = [(name, one) for name in sorted(made) for one in sorted(made[name], key=lambda one: one.sample)]
    copies = [one for _, one in listed]
    outcomes = [one.outcome for one in copies]
    table: dict[str, Sequence[Any]] = {
        "run": [folder.run_id] * len(listed),
        "generation": [generation] * len(listed),
        "individual": [name for name, _ in listed],
        "sample": [one.sample for one in copies],
        "met": [one.met for one in copies],
        "status": [one.status for one in outcomes],
        "error": [one.error for one in outcomes],
    }
    for gene in columns.sampled:
        table[gene.column] = [float(one.design[gene.name]) * gene.scale for one in copies]
    table |= metric_values(columns, outcomes)
    table["decay_db"] = [one.decay_db for one in outcomes]
    none = [None] * len(columns.objectives)
    for place, name in enumerate(columns.shortfall_columns):
        table[name] = columns.levels(place, [(one.shortfalls or none)[place] for one in copies])
    table["fitness"] = [float(one.fitness) for one in copies]
    table |= {name: [getattr(one, name) for one in outcomes] for name in ACCOUNT}
    table["origin"] = [one.origin or "solved" for one in outcomes]
    return table


def made_rows(folder: RunFolder, generation: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a generation's made copies; none where none were written."""
    table = folder.table_of(FOLDER, generation)
    yield from () if table is None else table.to_pylist()


def made_table(folder: RunFolder, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the made copies of all generations in order; empty in a run without samples.

    Args:
        folder: The run.
        columns: Some of them; all when None. `cached` may be one: no copy is.
    """
    paths = files(folder.path / FOLDER) if folder.columns.sampled else []
    tables = folder.readable(paths, lambda path: folder.whole_table(FOLDER, path))
    table = pa.concat_tables(tables or [folder.columns.samples_schema().empty_table()]).replace_schema_metadata(None)
    if columns is not None and "cached" in columns:
        table = table.append_column("cached", pa.array([False] * table.num_rows, pa.bool_()))
    return table if columns is None else table.select(list(columns))


def load_made(run: Path) -> pd.DataFrame:
    """Return the made copies of all generations as one table, in order; empty in a run without samples."""
    from antennaopt.store.run_folder import RunFolder

    return made_table(RunFolder.open(run, whole=False)).to_pandas()


def sample_key(individual: str, sample: int) -> str:
    """Return the key under which a made copy is solved: `g0003-s012-p005`."""
    return f"{individual}-p{sample:03d}"


def of_sample_key(key: str) -> tuple[str, int] | None:
    """Return individual and number of a made copy's key; None for any other key."""
    individual, mark, number = key.rpartition("-p")
    return (individual, int(number)) if mark and number.isdigit() else None


def metric_values(columns: RunColumns, outcomes: Sequence[Outcome]) -> dict[str, Sequence[Any]]:
    """Return the metrics' columns; an outcome may have its frequencies in another order, or others."""
    places = _all_places(columns.frequencies, outcomes)
    merits: list[Mapping[str, Any]] = []
    elsewhere = [(row, at) for row, at in enumerate(places) if at is not None]
    sent = [] if elsewhere else batches_of(outcomes)
    table: dict[str, Sequence[Any]] = {}
    for metric, names in columns.metric_columns.items():
        if sent and all(metric in one.metrics for one, _, _ in sent):
            numbers = np.empty((len(outcomes), len(names)))
            for one, at, there in sent:
                numbers[at] = one.metrics[metric][there]
            table.update(zip(names, list[Any](numbers.T.copy()), strict=True))
            continue
        if sent and all(metric in one.absent for one, _, _ in sent):
            table |= dict.fromkeys(names, [None] * len(outcomes))
            continue
        absent: list[Any] = [None] * len(names)
        if metric in PARTS_OF_S11:
            part = PARTS_OF_S11.index(metric)
            reflected = [(one.s11, at, there) for one, at, there in sent if one.s11 is not None]
            if sent and len(reflected) == len(sent):
                numbers = np.empty((len(outcomes), len(names)))
                for s11, at, there in reflected:
                    numbers[at] = s11[there, :, part]
                table.update(zip(names, list[Any](numbers.T.copy()), strict=True))
                continue
            rows = [[pair[part] for pair in one.s11] if one.s11 else absent for one in outcomes]
        else:
            merits = merits or [outcome.merits if outcome.figures else outcome.metrics for outcome in outcomes]
            rows = [one.get(metric) or absent for one in merits]
        for row, at in elsewhere:
            if rows[row] is not absent:
                rows[row] = [None if place is None else rows[row][place] for place in at]
        table |= zip(names, zip(*rows, strict=True), strict=True) if rows else dict.fromkeys(names, ())
    return table


def batches_of(outcomes: Sequence[Outcome]) -> list[tuple[Sent, list[int], list[int]]]:
    """Return the messages that outcomes came in, each with the rows of its outcomes and their places in it.

    Returns:
        Nothing where one came in no message.
    """
    batches: dict[int, tuple[Sent, list[int], list[int]]] = {}
    for row, one in enumerate(outcomes):
        sent, place = getattr(one, "sent", (None, 0))
        if sent is None:
            return []
        _, rows, places = batches.setdefault(id(sent), (sent, [], []))
        rows.append(row)
        places.append(place)
    return list(batches.values())


def _all_places(wanted: Sequence[float], outcomes: Sequence[Outcome]) -> list[list[int | None] | None]:
    """Return `_places` of each outcome; those of a batch share one list of frequencies."""
    known: dict[int, list[int | None] | None] = {}
    for one in outcomes:
        if id(one.frequency_hz) not in known:
            known[id(one.frequency_hz)] = _places(wanted, one.frequency_hz or ())
    return [known[id(one.frequency_hz)] for one in outcomes]


def _places(wanted: Sequence[float], given: Sequence[float]) -> list[int | None] | None:
    """Return where each wanted frequency stands among the given ones; None where they are the same."""
    if tuple(given) == tuple(wanted):
        return None
    at = {float(hz): place for place, hz in enumerate(given)}
    return [at.get(hz) for hz in wanted]
