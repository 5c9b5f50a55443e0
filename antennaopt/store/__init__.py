"""A run on disk: Parquet rows, checkpoints, and their readers. Only this package uses PyArrow.

`load` and `pattern` are imported when they are first used, so that naming this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.store.reading import load, pattern

__all__ = ["load", "pattern"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.reading"), name)
