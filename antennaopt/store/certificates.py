"""Certificates of a run's best antennas: `best/certificates.json`, their rows, and the winner that they choose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from antennaopt.solve.certificate import checks_of, crowned
from antennaopt.store.generations import generation_of
from antennaopt.store.rows import certificate_cells
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import CERTIFICATE

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

    def genes(row: Mapping[str, Any]) -> tuple[float, ...]:
        return tuple(row[gene.column] for gene in folder.columns.genes)

    cells: dict[tuple[float, ...], dict[str, Any]] = {}
    for number in {generation_of(name) for name in certificates}:
        for row in folder.read_generation(number, certificates.keys()):
            cells[genes(row)] = certificate_cells(certificates[row["individual"]])
    for number, table in folder.generation_tables():
        designs = zip(*(table[gene.column].to_pylist() for gene in folder.columns.genes), strict=True)
        if not any(design in cells for design in designs):
            continue
        rows = table.to_pylist()
        marked = [row | cells.get(genes(row), {}) if row["status"] == "ok" else row for row in rows]
        if any(_verdict(one) != _verdict(row) for one, row in zip(marked, rows, strict=True)):
            folder.write_generation(number, marked)


def _verdict(row: Mapping[str, Any]) -> list[Any]:
    return [row[name] for name, _ in CERTIFICATE]


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
