"""Read a run folder: rows and patterns as tables, and certificates."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from antennaopt.solve.certificate import checks_of, crowned
from antennaopt.store.certified import certificate_cells
from antennaopt.store.damage import damage_lines
from antennaopt.store.generations import by_generation, files, generation_of, read_columns
from antennaopt.store.rows import pattern_frame
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import CERTIFICATE, LEVEL

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
        Columns `frequency_hz`, `theta_deg`, `e_plane_dbi`, `h_plane_dbi`, and the complex amplitudes `e_plane` and
        `h_plane`, which runs of schema version 4 and earlier do not have; empty when it has no pattern.
    """
    folder = _opened(run)
    table = folder.pattern_of(individual)
    _warn([run], [folder])
    return pattern_frame(table)


def _opened(run: RunFolder | Path | str) -> RunFolder:
    return run if isinstance(run, RunFolder) else RunFolder.open(run, whole=False)


def _warn(runs: Sequence[RunFolder | Path | str], folders: Sequence[RunFolder]) -> None:
    """Warn of what was left out of runs that were opened here; a folder that was given lists them in `left_out`."""
    for run, folder in zip(runs, folders, strict=True):
        for line in () if isinstance(run, RunFolder) else damage_lines(folder):
            warnings.warn(line, UserWarning, stacklevel=3)


CERTIFICATES = "best/certificates.json"

Certificates = dict[str, dict[str, Any]]
"""By individual, the best by fitness first."""


def read_certificates(folder: RunFolder) -> Certificates:
    """Return the certificates of a run; empty when there are none, or the file is damaged."""
    try:
        found = json.loads((folder.path / CERTIFICATES).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(one, dict) and checks_of(one) for one in found.values()):
        return {}
    return found


def write_certificates(folder: RunFolder, certificates: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the certificates of a run, in the order given.

    Raises:
        StorageError: Disk full, no permission.
    """
    folder.write_text(CERTIFICATES, json.dumps(certificates, indent=1, allow_nan=False) + "\n")


def mark_rows(folder: RunFolder, certificates: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the verdicts of certified antennas into their rows, and into those of their duplicates with the same genes.

    A generation's file that holds one is replaced in one step; its other columns, and all other rows, stay as they
    are. Rows of a run that was begun without these columns stay without.

    Args:
        folder: Open for writing.
        certificates: By individual.

    Raises:
        StorageError: Disk full, no permission; every file is whole, the old one or the new.
    """
    if not folder.columns.certificate:
        return

    level = [LEVEL] if folder.columns.fidelity else []
    names = [*(gene.column for gene in folder.columns.genes), *level]
    cells: dict[tuple[float, ...], dict[str, Any]] = {}
    for number in {generation_of(name) for name in certificates}:
        for row in folder.read_generation(number, certificates.keys()):
            cells[tuple(row[name] for name in names)] = certificate_cells(certificates[row["individual"]])
    for path in files(folder.evals_folder):
        if not _places(read_columns(path, [*names, "status"]), names, cells):
            continue
        for number, table in by_generation(path, folder.whole_table("evals", path)):
            found = _places(table, names, cells)
            if not found:
                continue
            columns = {name: table[name].combine_chunks() for name in table.column_names}
            marked = {}
            for name, kind in CERTIFICATE:
                values = columns[name].to_pylist()
                for place, cell in found.items():
                    values[place] = cell[name]
                marked[name] = pa.array(values, kind)
            if any(not marked[name].equals(columns[name]) for name in marked):
                folder.write_columns("evals", number, columns | marked)


def _places(
    table: pa.Table, names: Sequence[str], cells: Mapping[tuple[float, ...], dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    """Return the rows that have a certified antenna's genes and are `ok`, each with its cells."""
    designs = zip(*(table[name].to_pylist() for name in names), strict=True)
    each = zip(designs, table["status"].to_pylist(), strict=True)
    return {place: cells[design] for place, (design, status) in enumerate(each) if status == "ok" and design in cells}


def certified(folder: RunFolder, best: str) -> Certificates:
    """Return the certificates that count: none when the mode is `off`, or when another antenna has become the best.

    Args:
        folder: The run.
        best: Its best individual by fitness.
    """
    if certificate_mode(folder) == "off":
        return {}
    found = read_certificates(folder)
    return found if next(iter(found), None) == best else {}


def crowned_best(folder: RunFolder, best: str) -> str:
    """Return the winner: the best by fitness, unless the certificates say otherwise."""
    return crowned(certified(folder, best), certificate_mode(folder)) or best


def certificate_mode(folder: RunFolder) -> str:
    """Return the mode that the run was made with, `off` when it names none."""
    return str((folder.resolved.get("certificate") or {}).get("mode", "off"))
