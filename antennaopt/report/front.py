"""The front of a run, from its rows: the non-dominated antennas."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.errors import ConfigurationError
from antennaopt.report.goals import goals_of
from antennaopt.search.fronts import ranks
from antennaopt.search.objectives import UNDEFINED_AIM, Ranking
from antennaopt.settings import ALGORITHMS

if TYPE_CHECKING:
    import pandas as pd

    from antennaopt.store.run_folder import RunFolder


def front_of(path: Path) -> pd.DataFrame:
    """Return the rows of a run's first front, from all of its rows, in order of the first objective.

    Args:
        path: The run folder; damaged files are left out, with a warning each.

    Raises:
        ConfigurationError: The run has fewer than two objectives.
        ResumeRefusedError: `resolved.json` is damaged.
    """
    from antennaopt.store import load
    from antennaopt.store.run_folder import RunFolder

    with RunFolder.open(path, whole=False) as folder:
        return front_rows(folder, load(path))


def is_front(resolved: Mapping[str, Any]) -> bool:
    """Whether a run searched for a front.

    Args:
        resolved: What `resolved.json` holds.
    """
    found = ALGORITHMS.get(str((resolved.get("evolution") or {}).get("algorithm")))
    return found is not None and found.front


def front_rows(folder: RunFolder, rows: pd.DataFrame) -> pd.DataFrame:
    """Return those of a run's rows that are on the first front, in order of the first objective; each design once.

    A row that meets all constraints comes before all that do not; where none does, the rows with the least violation
    are returned.

    Args:
        folder: The run.
        rows: Of its antennas.

    Raises:
        ConfigurationError: The run has fewer than two objectives.
        ResumeRefusedError: `resolved.json` is damaged.
    """
    order = Ranking.of(goals_of(folder.resolved))
    count = len(order.weights)
    if count < 2:
        raise ConfigurationError(f"{folder.path} has {count} objective, and a front needs two; see `best`")
    columns = list(folder.columns.shortfall_columns[:count])
    ok = (rows["status"] == "ok").to_numpy() & ~rows["cached"].to_numpy(dtype=bool)
    places = np.flatnonzero(ok)
    if not len(places):
        return rows.iloc[places]
    values = minimised(rows[columns].to_numpy(dtype=float)[places], order)
    fitness = rows["fitness"].to_numpy(dtype=float)[places]
    undefined = np.where((values >= UNDEFINED_AIM).any(axis=1), order.worst, 0.0)
    penalties = np.where(fitness <= order.worst, undefined, fitness)
    first = rows.iloc[places[ranks(values, penalties) == 0]]
    first = first.drop_duplicates([gene.column for gene in folder.columns.genes])
    return first.sort_values([*columns, "individual"], ignore_index=True)


def front_values(folder: RunFolder, front: pd.DataFrame) -> np.ndarray:
    """Return what the rows of a front minimise, (rows, objectives), without those that miss a constraint or a value.

    Args:
        folder: The run.
        front: From `front_of`.
    """
    order = Ranking.of(goals_of(folder.resolved))
    columns = list(folder.columns.shortfall_columns[: len(order.weights)])
    values = minimised(front[columns].to_numpy(dtype=float), order)
    counts = (front["fitness"].to_numpy(dtype=float) <= order.worst) & (values < UNDEFINED_AIM).all(axis=1)
    return values[counts]


def minimised(values: np.ndarray, order: Ranking) -> np.ndarray:
    """Return the columns of objectives as numbers to minimise, (rows, objectives); no value is the worst."""
    signs: Any = order.minimised([1.0] * values.shape[1])
    found = values * np.array(signs)
    return np.where(np.isnan(found), UNDEFINED_AIM, found)
