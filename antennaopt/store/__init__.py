"""A run on disk: Parquet rows, checkpoints, and how they are read again. PyArrow is used in here and nowhere else.

Everything is imported when it is first used, so that naming this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.store.checkpoint import Checkpoint
    from antennaopt.store.generations import generation_of
    from antennaopt.store.manifest import provenance
    from antennaopt.store.reading import (
        Stepping,
        certificate_mode,
        certified,
        crowned_best,
        damage_lines,
        load,
        mark_rows,
        pattern,
        rate_text,
        read_certificates,
        stepping_of,
        stepping_text,
        write_certificates,
    )
    from antennaopt.store.rows import Row
    from antennaopt.store.run_folder import RunFolder
    from antennaopt.store.schema import GeneColumn, RunColumns

_HOMES = {
    "checkpoint": ("Checkpoint",),
    "generations": ("generation_of",),
    "manifest": ("provenance",),
    "reading": (
        *("certificate_mode", "certified", "crowned_best", "mark_rows", "read_certificates", "write_certificates"),
        *("Stepping", "damage_lines", "load", "pattern", "rate_text", "stepping_of", "stepping_text"),
    ),
    "rows": ("Row",),
    "run_folder": ("RunFolder",),
    "schema": ("GeneColumn", "RunColumns"),
}
"""Exported names by their module."""

__all__ = [
    "Checkpoint", "GeneColumn", "Row", "RunColumns", "RunFolder", "Stepping", "certificate_mode", "certified",
    "crowned_best", "damage_lines", "generation_of", "load", "mark_rows", "pattern", "provenance", "rate_text",
    "read_certificates", "stepping_of", "stepping_text", "write_certificates",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
