"""Names of kernels in print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def kernel_name(row: Mapping[str, Any]) -> str:
    """Name the kernel of a benchmark's row: its scheme, and what its plan was told (`one_step, launches 1`)."""
    return ", ".join([str(row["scheme"]), *(f"{key} {value}" for key, value in (row.get("choice") or {}).items())])
