"""Richardson extrapolation of an outcome from two meshes: what its figures tend to as the cell goes to zero.

With an error of C h^p on cells h1 > h2 of one antenna, f = f2 + (f2 - f1) / ((h1/h2)^p - 1) has none of it left
(Richardson, Phil. Trans. R. Soc. A 210 (1911) 307). Each figure is extrapolated in the form in which it is smooth in
the field, so that an error of order p in the field is one of order p in the figure:

- S11 as a complex number: real and imaginary part apart, never its modulus or phase, which are singular at a match.
- Directivity and patterns as power ratios at each angle, not in dB: power is a polynomial in the field and stays
  smooth through a null, where dB and amplitudes are not. The integral of directivity over the sphere is linear in it
  and the same on both meshes, so the result is still normalised.
- Every other metric as `antennaopt.metrics` says: computed from these, as it is, or as a power ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from antennaopt.families import FAMILIES
from antennaopt.metrics import METRICS, Extrapolation, Metric, Quantities
from antennaopt.solve.outcome import Outcome
from fdtd.errors import ConfigError
from fdtd.farfield import decibels

COURANT_FRACTION = 0.5
"""Largest fraction of the stable time step for meshes to extrapolate from. A small one lets metal cut cells anywhere,
so that errors fall more smoothly from one mesh to the other."""
QUANTITIES: tuple[str, ...] = ("s11", "pattern", "efficiency")  # each may have an order of its own
ORDERS: dict[str, dict[str, float]] = {
    name: {quantity: getattr(family.orders, quantity) for quantity in QUANTITIES}
    for name, family in FAMILIES.items()
    if family.orders is not None
}
DEFAULT_ORDERS: dict[str, float] = {"s11": 2.0, "pattern": 2.0, "efficiency": 2.0}
DEFAULT_FROM = "assumed: that of the scheme away from rims and surfaces; none is fitted for this family"


def orders_of(family: str) -> tuple[dict[str, float], str]:
    """Return a family's orders of convergence by quantity (the default ones of a new family), and their source."""
    orders, known = ORDERS.get(family), FAMILIES[family].orders
    return (dict(orders), known.source) if orders and known else (dict(DEFAULT_ORDERS), DEFAULT_FROM)


def richardson(coarse: np.ndarray, fine: np.ndarray, ratio: float, order: float) -> np.ndarray:
    """The limit of a quantity with an error of one order, from two meshes.

    Args:
        coarse: Values on the coarse mesh, real or complex, any shape.
        fine: The same on the fine mesh.
        ratio: Coarse cell over fine cell, above 1.
        order: Order of the error, above 0.

    Raises:
        ConfigError: The coarse mesh is not the coarser one, or the order is not positive.
    """
    if not ratio > 1 or not order > 0:
        raise ConfigError(
            f"Richardson extrapolation of order {order:g} with a ratio of cells of {ratio:g} (needs an order above 0"
            " and the coarse mesh first: a ratio above 1)"
        )
    return fine + (fine - coarse) / (ratio**order - 1)


def extrapolate(
    coarse: Mapping[str, Any], fine: Mapping[str, Any], *, ratio: float, order: float | Mapping[str, float]
) -> Outcome:
    """Extrapolate an outcome's figures of merit.

    Args:
        coarse: Outcome with the larger cell, status `ok`, as `evaluate` returns it.
        fine: Outcome of the same antenna at the same frequencies with the smaller cell.
        ratio: Coarse cell over fine cell.
        order: Order of convergence, or one for each of `QUANTITIES` (`orders_of` has those of a family); directivity
            belongs to the pattern.

    Returns:
        An `ok` outcome with the figures of merit, and nothing about steps, cells and time. Where a pattern's
        extrapolated power is not positive (a null that neither mesh resolves) the fine mesh's stands.

    Raises:
        ConfigError: The outcomes are not of the same frequencies, or as in `richardson`.
    """
    if coarse["frequency_hz"] != fine["frequency_hz"]:
        raise ConfigError("extrapolation needs both meshes at the same frequencies")
    orders = order if isinstance(order, Mapping) else dict.fromkeys(QUANTITIES, order)

    def limit(key: str, quantity: str) -> np.ndarray:
        return richardson(np.array(coarse[key]), np.array(fine[key]), ratio, orders[quantity])

    def power(key: str) -> np.ndarray:
        first, second = (10 ** (np.array(outcome[key]) / 10) for outcome in (coarse, fine))
        found = richardson(first, second, ratio, orders["pattern"])
        return decibels(np.where(found > 0, found, second))

    s11, theta = limit("s11", "s11"), np.array(fine["theta_deg"])
    found = Quantities(
        reflected=(s11**2).sum(axis=-1),
        theta_deg=theta,
        e_plane_dbi=power("e_plane_dbi"),
        h_plane_dbi=power("h_plane_dbi"),
        efficiency=limit("radiation_efficiency", "efficiency"),
    )
    limits: dict[Extrapolation, Callable[[Metric], np.ndarray]] = {
        Extrapolation.RECOMPUTED: lambda metric: metric.compute(found),
        Extrapolation.LINEAR: lambda metric: limit(metric.key, "efficiency"),
        Extrapolation.POWER: lambda metric: power(metric.key),
    }
    return Outcome(
        status="ok",
        frequency_hz=list(fine["frequency_hz"]),
        s11=s11.tolist(),
        metrics={metric.key: metric.plain(limits[metric.extrapolation](metric)) for metric in METRICS.values()},
        theta_deg=theta.tolist(),
        e_plane_dbi=found.e_plane_dbi.tolist(),
        h_plane_dbi=found.h_plane_dbi.tolist(),
    )
