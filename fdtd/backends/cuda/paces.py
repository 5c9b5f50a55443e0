"""Measured paces of a device's schemes, over those that their plans promise: what a choice of schemes goes by.

Plans promise what an H200 does. `antennaopt doctor --paces` measures, and keeps the ratios in the user's cache. They
hold for one device, driver and kernel text. A process reads them once, so that it chooses alike to its end. The
arithmetic class names them, as another scheme can have other bits.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from fdtd.backends.cuda.text import kernel_digest
from fdtd.cache_folder import cache_folder, read_table, write_table
from fdtd.schemes.antennas import Scheme

_VERSION, _NAME = 1, "devices"


def pace_file() -> Path:
    """Where measured paces are kept: `antennaopt/paces.json` in the user's cache folder (XDG)."""
    return cache_folder() / "paces.json"


def pace_key(scheme: Scheme) -> str:
    """Return what a ratio holds for: a scheme, the cells of a lane, and whether rows are cut into segments."""
    cut = " in segments" if scheme.macros.get("SEGMENTS", 1) > 1 else ""
    return f"{scheme.name}, {scheme.macros.get('CELLS', 1)} cells a lane{cut}"


def paced(scheme: Scheme, paces: Mapping[str, float]) -> float:
    """Return a plan's cell-steps a second on a device.

    Args:
        scheme: Ready for a problem.
        paces: Ratios of the device, by `pace_key`. Lanes that were not measured take the median of their scheme's; a
            scheme that was not measured takes the median of all. `one_step` promises the least, and keeps it.
    """
    if scheme.name == "one_step":
        return scheme.pace
    own = [ratio for key, ratio in paces.items() if key.startswith(f"{scheme.name}, ")]
    others = own or list(paces.values()) or [1.0]
    return scheme.pace * paces.get(pace_key(scheme), statistics.median(others))


@lru_cache(maxsize=8)
def measured_paces(identity: str) -> Mapping[str, float]:
    """Return the ratios that were measured on a device, none where they were not; read once a process.

    Args:
        identity: Device, compute capability and driver.
    """
    found = read_table(pace_file(), _VERSION, _NAME).get(_key(identity), {})
    if not isinstance(found, dict):
        return {}
    return {
        str(key): float(ratio)
        for key, ratio in found.items()
        if isinstance(ratio, int | float) and 0 < ratio < math.inf
    }


def paces_text(identity: str) -> str:
    """Return what the arithmetic class says of a device's paces: their digest, or that none were measured."""
    found = measured_paces(identity)
    text = json.dumps(found, sort_keys=True)
    return f"measured, {hashlib.sha256(text.encode()).hexdigest()[:12]}" if found else "as planned"


def keep_paces(identity: str, paces: Mapping[str, float]) -> None:
    """Add a device's ratios to the cache in one step; processes that have read it keep what they read.

    Raises:
        OSError: The cache cannot be written.
    """
    file = pace_file()
    write_table(file, _VERSION, _NAME, read_table(file, _VERSION, _NAME) | {_key(identity): dict(paces)})


def _key(identity: str) -> str:
    return f"{identity}, kernels {kernel_digest()[:12]}"
