"""Antennas that an independent high-order finite-element code has solved, and our own solutions of them.

`data/fem_reference.json` comes from `benchmarks/reference_fem` (NGSolve, body of revolution, order 6, graded at the
rims); it holds its settings and what changes when order, mesh or absorbing layer change: at most 1e-6 in S11 and 0.005
dB in a pattern.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from antennaopt.evaluation.evaluate import evaluate
from antennaopt.evaluation.plan import plan

CASES: dict[str, dict[str, Any]] = {
    case["name"]: case
    for case in json.loads((Path(__file__).parent / "data" / "fem_reference.json").read_text("utf-8"))
}


def design(case: dict[str, Any]) -> dict[str, float]:
    """The case's design parameters, SI, by dotted name."""
    parameters = {"feed.inner_radius": "inner_radius_m", "feed.outer_radius": "outer_radius_m"}
    parameters |= {"feed.length": "feed_length_m"}
    parameters |= {"lens.permittivity": "permittivity", "lens.loss_tangent": "loss_tangent"}
    parameters |= {"lens.radius": "lens_radius_m", "lens.extension": "lens_extension_m"}
    parameters |= {"horn.length": "horn_length_m", "horn.aperture_radius": "horn_aperture_radius_m"}
    parameters |= {"horn.wall": "horn_wall_m"}
    found = {name: case[key] for name, key in parameters.items() if key in case}
    return found | {f"lens.radii.{place}": radius for place, radius in enumerate(case.get("lens_radii_m", ()))}


@lru_cache
def solved(name: str, cell: float) -> dict[str, Any]:
    """Our outcome at an exact cell size, m, float32, everything else as `simulate` has it by default."""
    case = CASES[name]
    solver = {
        "frequencies": case["frequencies_hz"],
        "design_frequency": case["design_frequency_hz"],
        "cell": cell,
        "courant_fraction": 0.98,
        "pml_cells": 10,
        "decay_db": 60.0,
        "precision": "float32",
    }
    chosen = plan(case["family"], design(case), design(case), solver)
    outcome = evaluate(case["family"], [design(case)], chosen.to_dict())[0]
    assert outcome["status"] == "ok", outcome["error"]
    return outcome


def expected(name: str, key: str) -> np.ndarray:
    """The reference's values over frequency (and angle)."""
    return np.array([result[key] for result in CASES[name]["results"]])


def error(name: str, cell: float, key: str) -> float:
    """Largest difference of one figure over the frequencies; of S11 the complex distance."""
    difference = np.array(solved(name, cell)[key], dtype=float) - expected(name, key)
    return float(np.hypot(*difference.T).max() if key == "s11" else np.abs(difference).max())


def pattern_errors(name: str, cell: float, down_to_db: float = 20.0) -> tuple[float, float]:
    """Largest error of both cuts: in dB down to a level below boresight; in amplitude over boresight's."""
    at = np.array(CASES[name]["results"][0]["theta_deg"], dtype=int)
    decibels, amplitude = 0.0, 0.0
    for key in ("e_plane_dbi", "h_plane_dbi"):
        ours, theirs = np.array(solved(name, cell)[key])[:, at], expected(name, key)
        peak = theirs[:, :1]
        decibels = max(decibels, np.abs(ours - theirs)[theirs > peak - down_to_db].max())
        amplitude = max(amplitude, np.abs(10 ** ((ours - peak) / 20) - 10 ** ((theirs - peak) / 20)).max())
    return float(decibels), float(amplitude)
