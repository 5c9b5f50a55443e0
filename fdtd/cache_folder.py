"""Where the user's caches are: what can be found again, only later."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`antennaopt` in the user's cache folder (XDG)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "antennaopt"
