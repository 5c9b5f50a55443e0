"""Reading runs with pandas: all rows of one or several runs, and the patterns of an individual."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from antennaopt.store.damage import damage_lines
from antennaopt.store.run_folder import RunFolder, generation_of

if TYPE_CHECKING:
    import pandas as pd


def load(*runs: RunFolder | Path | str) -> pd.DataFrame:
    """Return every evaluation of the runs as one table, in order of run, generation and slot.

    Args:
        runs: Run folders or their paths; of a path, damaged files are left out, with a `UserWarning` each. Their genes,
            frequencies and objectives may differ: the table has the columns of all of them, empty where a run does not
            have one. The column `run` tells them apart.
    """
    folders = [_opened(run) for run in runs]
    if not folders:
        raise ValueError("load() needs at least one run")
    tables = [folder.all_rows() for folder in folders]
    _warn(runs, folders)
    return pa.concat_tables(tables, promote_options="default").to_pandas()


def pattern(run: RunFolder | Path | str, individual: str) -> pd.DataFrame:
    """Return an individual's radiation patterns, one row a frequency and angle.

    Args:
        run: Run folder or its path.
        individual: Id as in the column `individual`, `g0003-s012`.

    Returns:
        Columns `frequency_hz`, `theta_deg`, `e_plane_dbi`, `h_plane_dbi`; empty when it has no pattern.
    """
    folder = _opened(run)
    table = folder.pattern_table(generation_of(individual))
    _warn([run], [folder])
    columns = ["frequency_hz", "theta_deg", "e_plane_dbi", "h_plane_dbi"]
    if table is None:
        cut = pa.list_(pa.float32())
        kinds = [pa.float64(), cut, cut, cut]
        rows = pa.schema(list(zip(columns, kinds, strict=True))).empty_table()
    else:
        rows = table.filter(pc.equal(table["individual"], individual)).select(columns)  # type: ignore[attr-defined]
    frame = rows.to_pandas().explode(columns[1:], ignore_index=True)
    return frame.astype(dict.fromkeys(columns, "float64"))


def _opened(run: RunFolder | Path | str) -> RunFolder:
    return run if isinstance(run, RunFolder) else RunFolder.open(run, whole=False)


def _warn(runs: Sequence[RunFolder | Path | str], folders: Sequence[RunFolder]) -> None:
    """Warn of what was left out of runs that were opened here; a folder that was given lists them in `left_out`."""
    for run, folder in zip(runs, folders, strict=True):
        for line in () if isinstance(run, RunFolder) else damage_lines(folder):
            warnings.warn(line, UserWarning, stacklevel=3)
