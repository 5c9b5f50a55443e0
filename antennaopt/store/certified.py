"""Certificates of solved antennas as columns of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from antennaopt.solve.certificate import TRUSTED, certify, passes, reason
from antennaopt.solve.outcome import Outcome
from antennaopt.store.schema import CERTIFICATE


def certificate_columns(
    outcomes: Sequence[Outcome], radii: Sequence[float | None], fillings: Sequence[float]
) -> dict[str, list[Any]]:
    """Return the columns of rows' certificates; most are passed, and need no words.

    Args:
        outcomes: One a row.
        radii: Inner radius of each row's feed, m; None without.
        fillings: Relative permittivity of what fills it.
    """
    cells = [_certificate_of(*one) for one in zip(outcomes, radii, fillings, strict=True)]
    return {name: [cell[name] for cell in cells] for name, _ in CERTIFICATE}


def _certificate_of(outcome: Outcome, feed_radius: float | None, permittivity: float) -> Mapping[str, Any]:
    if not outcome.ok:
        return _NO_CERTIFICATE
    if passes(outcome, feed_radius, permittivity):
        return _PASSED
    return certificate_cells(certify(outcome, feed_radius=feed_radius, feed_permittivity=permittivity))


def certificate_cells(certificate: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a row's columns of the certificate; all None without one.

    Args:
        certificate: As `certify` makes it, with its mesh rows or without.
    """
    given = certificate or {}
    figures = {name: (given.get(name) or {}).get("figure") for name in ("mesh_directivity", "mesh_s11")}
    return {
        "certificate": given.get("verdict"),
        "certificate_reason": reason(given) if given else None,
        "mesh_directivity_db": _number(figures["mesh_directivity"]),
        "mesh_s11": _number(figures["mesh_s11"]),
    }


def _number(value: Any) -> float | None:
    """Return a float, or None for what is not there; NaN stays NaN so that the file tells the two apart."""
    if value is None:
        return None
    number = float(value)
    return math.nan if math.isnan(number) else number


_NO_CERTIFICATE = certificate_cells(None)
_PASSED = {**_NO_CERTIFICATE, "certificate": TRUSTED}
