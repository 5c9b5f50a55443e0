"""Stepping time and rate of the workers of a run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from antennaopt.store.files import read_events
from antennaopt.store.generations import column_names, files
from antennaopt.store.levels import cell_steps
from antennaopt.store.made import made_table
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import LEVEL

COLUMNS = ("generation", "worker", "cached", "origin", "stepping_seconds", "steps")


@dataclass(frozen=True, kw_only=True)
class Stepping:
    """What the devices, or cores, of a run did.

    Attributes:
        seconds: Of stepping, summed over the rows that were solved. Where a device steps two batches at a time, each
            is charged half of it.
        wall_seconds: Of all generations, each from breeding to the last outcome; of all sessions.
        workers: That solved any.
        beside: By generation, s: its wall time less what its busiest worker stepped.
        cell_steps: Cells of the lattice times the steps of each antenna until it stopped, summed over the same rows;
            None where the manifest does not give the lattice.
    """

    seconds: float
    wall_seconds: float
    workers: int
    beside: Mapping[int, float]
    cell_steps: int | None = None

    @property
    def share(self) -> float:
        """Of the workers' time, at most 1."""
        available = self.wall_seconds * self.workers
        return min(self.seconds / available, 1.0) if available > 0.0 else 0.0

    @property
    def cell_steps_per_s(self) -> float | None:
        """Mean rate of one worker while it steps.

        Lower than that of `bench kernels`, which steps equal antennas from first to last step.
        """
        return None if self.cell_steps is None else self.cell_steps / self.seconds

    def __str__(self) -> str:
        return stepping_text(self.share, self.cell_steps_per_s)


def stepping_of(folder: RunFolder) -> Stepping | None:
    """Return how much a run's workers stepped; None of a run whose rows do not say, or before its first generation."""
    import pyarrow.compute as pc

    paths = files(folder.evals_folder) if folder.columns.origin else []
    names = folder.readable(paths[:1], column_names)
    if not paths or not all(one.issuperset(COLUMNS) for one in names):
        return None
    walls = _generation_seconds(folder)
    rows = folder.all_rows([*COLUMNS, *([LEVEL] if folder.columns.fidelity else [])])
    if folder.columns.sampled:  # never with levels
        rows = pa.concat_tables([rows, made_table(folder, COLUMNS)])
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
        cell_steps=cell_steps(folder, solved),
    )


def stepping_text(share: float, cell_steps_per_s: float | None) -> str:
    """Write a share of the workers' time and the rate meanwhile in one phrase."""
    rate = f", {rate_text(cell_steps_per_s)} a worker" if cell_steps_per_s else ""
    return f"{share:.0%} of the workers' time{rate}"


def rate_text(cell_steps_per_s: float) -> str:
    """Write a rate as people compare it: 61.5 G cell-steps/s, 647 M cell-steps/s."""
    scale, prefix = (1e9, "G") if cell_steps_per_s >= 1e9 else (1e6, "M")
    return f"{cell_steps_per_s / scale:.3g} {prefix} cell-steps/s"


def _generation_seconds(folder: RunFolder) -> dict[int, float]:
    """Wall time of each generation, by the run's log; one that was done again after a crash counts once."""
    found: dict[int, float] = {}
    for event in read_events(folder.path, progress=False):
        if event.get("event") == "generation":
            with suppress(ValueError, TypeError, KeyError, OverflowError):  # damaged
                found[int(event["generation"])] = float(event["seconds"])
    return found
