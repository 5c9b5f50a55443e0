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
    from antennaopt.store.damage import damage_lines
    from antennaopt.store.reading import load, pattern
    from antennaopt.store.rows import make_row
    from antennaopt.store.run_folder import RunFolder, generation_of
    from antennaopt.store.schema import GeneColumn, RunColumns
    from antennaopt.store.stepping import Stepping, rate_text, stepping_of, stepping_text
    from antennaopt.store.versions import provenance

_HOMES = {
    "Checkpoint": "checkpoint",
    "GeneColumn": "schema",
    "RunColumns": "schema",
    "RunFolder": "run_folder",
    "Stepping": "stepping",
    "certificate_mode": "certificates",
    "certified": "certificates",
    "crowned_best": "certificates",
    "damage_lines": "damage",
    "generation_of": "run_folder",
    "load": "reading",
    "make_row": "rows",
    "mark_rows": "certificates",
    "pattern": "reading",
    "provenance": "versions",
    "read_certificates": "certificates",
    "rate_text": "stepping",
    "stepping_of": "stepping",
    "stepping_text": "stepping",
    "write_certificates": "certificates",
}

__all__ = [
    "Checkpoint",
    "GeneColumn",
    "RunColumns",
    "RunFolder",
    "Stepping",
    "certificate_mode",
    "certified",
    "crowned_best",
    "damage_lines",
    "generation_of",
    "load",
    "make_row",
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
