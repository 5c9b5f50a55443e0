"""How much of a run's time its devices stepped fields: from the rows and the log alone."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import pyarrow.compute as pc

from antennaopt.events import read_events
from antennaopt.results.generations import column_names, files
from antennaopt.results.store import RunFolder

COLUMNS = ("generation", "worker", "cached", "origin", "stepping_seconds")


@dataclass(frozen=True, kw_only=True)
class Stepping:
    """What the devices, or cores, of a run did.

    Attributes:
        seconds: Of stepping, summed over the rows that were solved. Where a device takes two batches at a time their
            stepping may overlap, and then counts twice.
        wall_seconds: Of all generations, each from breeding to the last outcome; of all sessions.
        workers: That solved any.
        beside: By generation, its wall time less what its busiest worker stepped, s: what no stepping hides.
    """

    seconds: float
    wall_seconds: float
    workers: int
    beside: Mapping[int, float]

    @property
    def share(self) -> float:
        """Of the workers' time, at most 1."""
        available = self.wall_seconds * self.workers
        return min(self.seconds / available, 1.0) if available > 0.0 else 0.0


def stepping_of(folder: RunFolder) -> Stepping | None:
    """Return how much a run's workers stepped; None of a run whose rows do not say, or before its first generation."""
    paths = files(folder.evals_folder) if folder.columns.origin else []
    if not paths or not column_names(paths[0]).issuperset(COLUMNS):
        return None
    walls = _generation_seconds(folder)
    rows = folder.all_rows(COLUMNS)
    solved = rows.filter(
        pc.and_(  # type: ignore[attr-defined]
            pc.and_(pc.invert(rows["cached"]), pc.equal(rows["origin"], "solved")),  # type: ignore[attr-defined]
            pc.greater(pc.fill_null(rows["stepping_seconds"], 0.0), 0.0),  # type: ignore[attr-defined]
        )
    )
    if not solved.num_rows or not walls:
        return None
    by_worker = solved.group_by(["generation", "worker"]).aggregate([("stepping_seconds", "sum")])
    busiest = by_worker.group_by("generation").aggregate([("stepping_seconds_sum", "max")])
    stepped = {row["generation"]: row["stepping_seconds_sum_max"] for row in busiest.to_pylist()}
    return Stepping(
        seconds=pc.sum(solved["stepping_seconds"]).as_py(),  # type: ignore[attr-defined]
        wall_seconds=sum(walls.values()),
        workers=len(solved["worker"].unique()),
        beside={generation: wall - stepped.get(generation, 0.0) for generation, wall in sorted(walls.items())},
    )


def _generation_seconds(folder: RunFolder) -> dict[int, float]:
    """Wall time of each generation, by the run's log; one that was done again after a crash counts once."""
    found: dict[int, float] = {}
    for event in read_events(folder.path):
        if event.get("event") == "generation":
            with suppress(ValueError, TypeError, KeyError, OverflowError):  # damaged
                found[int(event["generation"])] = float(event["seconds"])
    return found
