"""Whether a backend solves as another does: a few small antennas, some seconds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan

TOLERANCE_DB = 0.01
"""Of every figure of merit in dB, between backends in single precision."""

_FIXED = {
    "feed.inner_radius": 3.6e-3,
    "feed.outer_radius": 4.0e-3,
    "feed.length": 7.2e-3,
    "lens.permittivity": 2.53,
    "lens.loss_tangent": 6.6e-4,
    "lens.extension": 1e-3,
}
_RADII = (4.5e-3, 5.5e-3, 6.5e-3)
_FIGURES = ("directivity_dbi", "gain_dbi", "s11_db", "front_to_back_db")
_SOLVER = {
    "frequencies": [30e9],
    "design_frequency": 30e9,
    "cell": 0.4e-3,
    "courant_fraction": 0.98,
    "pml_cells": 8,
    "decay_db": 60.0,
    "precision": "float32",
    "surfaces": "diagonal",
}


def self_test(
    backend: str = "cuda", *, against: str = "cpu", antennas: int = len(_RADII), surfaces: str = "diagonal"
) -> dict[str, Any]:
    """Solve small hemispherical lenses on two backends.

    Args:
        backend: The one that is tested.
        against: The one that it is compared with; `reference` is the oracle in NumPy, 1 s an antenna.
        antennas: At most three.
        surfaces: "diagonal" as in searches, or "full" as in certificates.

    Returns:
        `passed`; `worst_db`, the largest difference of a figure of merit; `repeats`, whether the middle antenna alone
        came out to the bit as in its batch; `cells`, `steps`; `seconds`, compilation included.

    Raises:
        FdtdError: The backend cannot solve them; the message says why.
    """
    designs = [{**_FIXED, "lens.radius": radius} for radius in _RADII[:antennas]]
    middle = antennas // 2
    made = plan("hemispherical_lens", designs[0], designs[-1], _SOLVER | {"surfaces": surfaces}).to_dict()
    start = time.perf_counter()
    ours = evaluate("hemispherical_lens", designs, made, backend=backend)
    alone = evaluate("hemispherical_lens", designs[middle : middle + 1], made, backend=backend)[0]
    seconds = time.perf_counter() - start
    theirs = evaluate("hemispherical_lens", designs, made, backend=against)
    pairs = list(zip(ours, theirs, strict=True))
    solved = all(one["status"] == other["status"] == "ok" for one, other in pairs)
    worst = (
        float(np.max([np.abs(np.subtract(one[name], other[name])).max() for one, other in pairs for name in _FIGURES]))
        if solved
        else None
    )
    repeats = solved and all(alone[name] == ours[middle][name] for name in (*_FIGURES, "s11", "steps"))
    return {
        "passed": worst is not None and worst < TOLERANCE_DB and repeats,
        "worst_db": worst,
        "repeats": repeats,
        "cells": made["nr"] * made["nz"],
        "steps": max(one["steps"] for one in ours),
        "seconds": seconds,
    }
