"""The trust certificate: what a solved antenna's own numbers say about how far they can be believed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

DECAY_DB = -50.0
MOST_REFLECTED = 1.001
CONTOUR_TOLERANCE = 0.01
BALANCE_TOLERANCE = 0.02


def certify(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Check an outcome's energy, reflection and power.

    Args:
        outcome: As `evaluate` returns it; what it lacks counts as not passed.

    Returns:
        For each of `decay`, `passive`, `contour`, `balance` its `figure`, its `limit`, `what` it is and whether it
        `passed`; `verdict` is `trusted` or `doubtful`. One solution says nothing about the mesh.
    """
    reflection = [math.hypot(*pair) for pair in outcome.get("s11") or ()]
    checks: dict[str, Any] = {
        "decay": _check(outcome.get("decay_db"), DECAY_DB, "energy left at the last step against its peak, dB"),
        "passive": _check(_largest(reflection), MOST_REFLECTED, "largest |S11|"),
        "contour": _check(
            _largest(_off_one(outcome.get("contour_balance"))),
            CONTOUR_TOLERANCE,
            "far-field power over the flux through the contour, largest distance from 1",
        ),
        "balance": _check(
            _largest(_off_one(outcome.get("power_balance"))),
            BALANCE_TOLERANCE,
            "radiated and dissipated over accepted power, largest distance from 1",
        ),
    }
    sound = outcome.get("status") == "ok" and all(check["passed"] for check in checks.values())
    return {**checks, "verdict": "trusted" if sound else "doubtful"}


def doubts(certificate: Mapping[str, Any]) -> list[str]:
    """Return one line for each check that was not passed."""
    failed = [
        (name, check) for name, check in certificate.items() if isinstance(check, Mapping) and not check["passed"]
    ]
    return [
        f"certificate: {name} = {'unknown' if check['figure'] is None else format(check['figure'], '.4g')} "
        f"(must be <= {check['limit']:g}): {check['what']}"
        for name, check in failed
    ]


def _check(figure: float | None, limit: float, what: str) -> dict[str, Any]:
    known = figure is not None and not math.isnan(figure)
    return {
        "figure": figure if known and figure is not None and math.isfinite(figure) else None,
        "limit": limit,
        "passed": bool(known and figure is not None and figure <= limit),
        "what": what,
    }


def _off_one(values: Sequence[float | None] | None) -> list[float]:
    return [math.nan if value is None else abs(value - 1.0) for value in values or ()]


def _largest(values: Sequence[float]) -> float | None:
    """Return the largest value, NaN when one is NaN, None of nothing."""
    if any(math.isnan(value) for value in values):
        return math.nan
    return max(values, default=None)
