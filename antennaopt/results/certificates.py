"""Certificates of a run's best antennas, as `best/certificates.json` holds them, and who is crowned by them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from antennaopt.certificate import checks_of, crowned
from antennaopt.results.store import RunFolder

CERTIFICATES = "best/certificates.json"

Certificates = dict[str, dict[str, Any]]
"""By individual, the best by fitness first."""


def read_certificates(folder: RunFolder) -> Certificates:
    """Return the certificates of a run; empty when there are none, or the file is damaged."""
    try:
        found = json.loads((folder.path / CERTIFICATES).read_bytes())
    except (OSError, ValueError):
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
    """Return who is crowned: the best by fitness, unless the certificates say otherwise."""
    return crowned(certified(folder, best), certificate_mode(folder)) or best


def certificate_mode(folder: RunFolder) -> str:
    """Return the mode that the run was made with, `off` when it names none."""
    return str((folder.resolved.get("certificate") or {}).get("mode", "off"))
