"""Loaded by every local worker before it starts (Dask preload)."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any


def dask_setup(worker: Any) -> None:
    """Leave the terminal's process group: Ctrl-C then reaches the driver alone, which lets the workers finish."""
    with suppress(OSError):  # already the leader of a group of its own
        os.setsid()
