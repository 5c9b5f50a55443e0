"""A run on disk: Parquet rows, checkpoints, and how they are read again. PyArrow is used in here and nowhere else.

Everything is imported when it is first asked for, so that naming this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.store.certificates import (
        certificate_mode,
        certified,
        crowned_best,
        mark_rows,
        read_certificates,
        write_certificates,
    )
    from antennaopt.store.checkpoint import Checkpoint
    from antennaopt.store.generations import generation_of
    from antennaopt.store.manifest import provenance
    from antennaopt.store.reading import Stepping, damage_lines, load, pattern, rate_text, stepping_of, stepping_text
    from antennaopt.store.rows import Row
    from antennaopt.store.run_folder import RunFolder
    from antennaopt.store.schema import GeneColumn, RunColumns

_HOMES = {
    "Checkpoint": "checkpoint",
    "GeneColumn": "schema",
    "RunColumns": "schema",
    "Row": "rows",
    "RunFolder": "run_folder",
    "Stepping": "reading",
    "certificate_mode": "certificates",
    "certified": "certificates",
    "crowned_best": "certificates",
    "damage_lines": "reading",
    "generation_of": "generations",
    "load": "reading",
    "mark_rows": "certificates",
    "pattern": "reading",
    "provenance": "manifest",
    "read_certificates": "certificates",
    "rate_text": "reading",
    "stepping_of": "reading",
    "stepping_text": "reading",
    "write_certificates": "certificates",
}

__all__ = [
    "Checkpoint",
    "GeneColumn",
    "Row",
    "RunColumns",
    "RunFolder",
    "Stepping",
    "certificate_mode",
    "certified",
    "crowned_best",
    "damage_lines",
    "generation_of",
    "load",
    "mark_rows",
    "pattern",
    "provenance",
    "rate_text",
    "read_certificates",
    "stepping_of",
    "stepping_text",
    "write_certificates",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
