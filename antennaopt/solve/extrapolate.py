"""Solve one antenna on two meshes and extrapolate its figures to cell size zero (Richardson extrapolation).

With an error of C h^p on cells h1 > h2 of one antenna, f = f2 + (f2 - f1) / ((h1/h2)^p - 1) has none of it left
(Richardson, Phil. Trans. R. Soc. A 210 (1911) 307). Each figure is extrapolated in the form in which it is smooth in
the field, so that an error of order p in the field is one of order p in the figure:

- S11 as a complex number: real and imaginary part apart, never its modulus or phase, which are singular at a match.
- Directivity and patterns as power ratios at each angle, not in dB: power is a polynomial in the field and stays
  smooth through a null, where dB and amplitudes are not. The integral of directivity over the sphere is linear in it
  and the same on both meshes, so the result is still normalised.
- Phases of the cuts from complex amplitudes, which belong to the incident wave and to z = 0 on both meshes.
- Every other metric as `antennaopt.metrics` says: computed from these, as it is, or as a power ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.families import FAMILIES, Family, Orders
from antennaopt.families.parameters import METAL_ORDERS
from antennaopt.metrics import METRICS, Extrapolation, Metric, Quantities
from antennaopt.solve.cuts import amplitudes
from antennaopt.solve.modes import limit_of_modes, returned_at_port
from antennaopt.solve.outcome import Outcome, result_object
from fdtd.errors import ConfigError
from fdtd.farfield import decibels

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment


COURANT_FRACTION = 0.5
"""Largest fraction of the stable time step for meshes to extrapolate from. A small one lets metal cut cells anywhere,
so that errors fall more smoothly from one mesh to the other."""
QUANTITIES: tuple[str, ...] = ("s11", "pattern", "efficiency")  # each may have an order of its own
METAL_OUTLINE = "outline of metal"
"""What the orders of an outline without dielectric stand under."""
_FITTED: dict[str, Orders] = {name: one.orders for name, one in FAMILIES.items() if one.orders is not None}
_FITTED[METAL_OUTLINE] = METAL_ORDERS
ORDERS: dict[str, dict[str, float]] = {
    name: {quantity: getattr(orders, quantity) for quantity in QUANTITIES} for name, orders in _FITTED.items()
}
DEFAULT_ORDERS: dict[str, float] = {"s11": 2.0, "pattern": 2.0, "efficiency": 2.0}
DEFAULT_FROM = "assumed: that of the scheme away from rims and surfaces; none is fitted for this family"


def ordered_as(family: Family) -> str:
    """Return the name in `ORDERS` that a family belongs to: its own, but for outlines of metal alone."""
    return METAL_OUTLINE if family.bodies and all(body.metal for body in family.bodies) else family.name


def orders_of(name: str) -> tuple[dict[str, float], str]:
    """Return orders of convergence by quantity, and their source.

    Args:
        name: As `ordered_as` returns it. A family without fitted orders has the default ones.
    """
    return (dict(ORDERS[name]), _FITTED[name].source) if name in ORDERS else (dict(DEFAULT_ORDERS), DEFAULT_FROM)


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
    coarse, fine = Outcome.of(coarse), Outcome.of(fine)
    orders = order if isinstance(order, Mapping) else dict.fromkeys(QUANTITIES, order)

    def limit(key: str, quantity: str) -> np.ndarray:
        return richardson(np.array(coarse[key]), np.array(fine[key]), ratio, orders[quantity])

    def power(key: str) -> np.ndarray:
        first, second = (10 ** (np.array(outcome[key]) / 10) for outcome in (coarse, fine))
        found = richardson(first, second, ratio, orders["pattern"])
        return decibels(np.where(found > 0, found, second))

    def cut(key: str, levels: np.ndarray) -> np.ndarray:
        first, second = (amplitudes(outcome[key]) for outcome in (coarse, fine))
        phase = np.angle(richardson(first, second, ratio, orders["pattern"]))
        return 10 ** (levels / 20) * np.exp(1j * phase)

    s11, theta = limit("s11", "s11"), np.array(fine["theta_deg"])
    modes = (
        None
        if coarse.modes is None or fine.modes is None
        else limit_of_modes(coarse.modes, fine.modes, partial(richardson, ratio=ratio, order=orders["s11"]))
    )
    found = Quantities(
        reflected=(s11**2).sum(axis=-1),
        theta_deg=theta,
        e_plane_dbi=power("e_plane_dbi"),
        h_plane_dbi=power("h_plane_dbi"),
        efficiency=limit("radiation_efficiency", "efficiency"),
        returned=np.array(np.nan) if modes is None else returned_at_port(modes, (s11**2).sum(axis=-1)),
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
        modes=modes,
        metrics={metric.key: metric.plain(limits[metric.extrapolation](metric)) for metric in METRICS.values()},
        theta_deg=theta,
        e_plane=cut("e_plane", found.e_plane_dbi),
        h_plane=cut("h_plane", found.h_plane_dbi),
    )


Plan = dict[str, Any]


FINER = 2 / 3
"""Its cell over that of the first: 0.3 mm and 0.2 mm."""


@dataclass(frozen=True, kw_only=True)
class Meshes:
    """One antenna, solved twice.

    Attributes:
        family: Decides the orders, see `ordered_as`.
        outcome: The extrapolated one, in the form of `evaluate`'s; where a mesh gave no figures, that mesh's. Its
            field, steps and cells are the finer mesh's, its seconds both meshes'.
        solved: Plan and outcome on each mesh, the coarser first; one alone where that failed.
    """

    family: str
    outcome: Outcome
    solved: tuple[tuple[Plan, Outcome], ...]

    def about(self, backend: str, design: Mapping[str, float]) -> dict[str, Any]:
        """Return what `--json` tells of it: `extrapolation`, `meshes`, and the certificate with its mesh rows."""
        from antennaopt.solve.certificate import certify, feed_of

        meshes = []
        for plan, outcome in self.solved:
            grid = [plan["nr"], plan["nz"]]
            about = {"cell_m": plan["cell"], "grid": grid, "cells": outcome.get("cells") or grid[0] * grid[1]}
            meshes.append(result_object({"frequency_hz": [], **outcome}, backend=backend, **about))
        orders, source = orders_of(self.family)
        both = (self.solved[0][1], self.solved[1][1]) if len(self.solved) > 1 else None
        return {
            "extrapolation": {
                "cells_m": [plan["cell"] for plan, _ in self.solved],
                "order": orders,
                "order_source": source,
            },
            "meshes": meshes,
            "certificate": certify(self.outcome, meshes=both, **feed_of(design)),
        }

    @property
    def origin(self) -> str:
        """Say in a few words what was extrapolated."""
        cells = " and ".join(f"{plan['cell'] * 1e3:.4g}" for plan, _ in self.solved)
        return f"extrapolated from cells of {cells} mm"

    def line(self) -> str:
        """Say in one line what was extrapolated, and how."""
        orders, source = orders_of(self.family)
        same = len(set(orders.values())) == 1
        shown = f"{orders['s11']:.3g}" if same else ", ".join(f"{one:.3g} ({name})" for name, one in orders.items())
        return f"{self.origin}; order {shown}, {source}"


def order_warnings(family: str) -> list[str]:
    """Return a warning where the orders of a family (`ordered_as`) are assumed."""
    if family in ORDERS:
        return []
    return [
        f"no order of convergence is fitted for family = {family!r} (fitted: {', '.join(ORDERS)}); order 2 is assumed; "
        "compare with a finer cell before trusting the extrapolated figures"
    ]


def plan_two_meshes(experiment: Experiment, design: Mapping[str, float], cell: float | None) -> tuple[Plan, Plan]:
    """Plan one antenna with its own cell and with a finer one, both with at most half the largest stable time step.

    A smaller time step lets metal cut cells anywhere, so that errors fall smoothly from one mesh to the other. Steps
    that were asked for grow with the finer mesh and the smaller time step.

    Args:
        experiment: Its settings.
        design: Every parameter, SI.
        cell: Of the coarser mesh, m; None for the experiment's.
    """
    from antennaopt.solve.plan import plan

    given = experiment.solver.settings
    solver = replace(given, courant_fraction=min(given.courant_fraction, COURANT_FRACTION))
    slower = given.courant_fraction / solver.courant_fraction
    own = solver if cell is None else solver.with_cell(cell)
    steps = given.step_counts()
    own = replace(own, **{name: math.ceil(count * slower) for name, count in steps.items()})
    first = plan(experiment.kind, design, design, own).to_dict()
    finer = finer_cell(first["cell"], design["feed.inner_radius"])
    more = {name: math.ceil(count * slower * first["cell"] / finer) for name, count in steps.items()}
    return first, plan(experiment.kind, design, design, replace(solver.with_cell(finer), **more)).to_dict()


def solve_on_two_meshes(family: str, plans: tuple[Plan, Plan], solve: Callable[[Plan], Outcome]) -> Meshes:
    """Solve one antenna on two meshes and extrapolate. Where one gives no figures, that is what comes of it.

    Args:
        family: Antenna family, see `ordered_as`.
        plans: The coarser one first.
        solve: Solves on a plan.
    """
    solved: list[tuple[Plan, Outcome]] = []
    for plan in plans:
        outcome = Outcome.of(solve(plan))
        if not outcome.ok:
            why = f"with cells of {plan['cell'] * 1e3:.4g} mm: {outcome.error or 'no reason given'}"
            outcome = outcome.changed(error=why)
        solved.append((plan, outcome))
        if outcome.e_plane is None:
            return Meshes(family=family, outcome=outcome, solved=tuple(solved))
    (first, coarse), (second, fine) = solved
    outcome = _extrapolated(coarse, fine, first["cell"] / second["cell"], orders_of(family)[0])
    return Meshes(family=family, outcome=outcome, solved=tuple(solved))


def _extrapolated(coarse: Outcome, fine: Outcome, ratio: float, orders: Mapping[str, float]) -> Outcome:
    """Put the extrapolated figures over the finer mesh's outcome; evidence that does not extrapolate is the worse."""
    made = (fine | extrapolate(coarse, fine, ratio=ratio, order=orders)).changed(
        decay_db=max(_decay(coarse), _decay(fine)),
        seconds=(coarse.seconds or 0.0) + (fine.seconds or 0.0),
    )
    for one in (fine, coarse):
        if not one.ok:
            made = made.changed(status=one.status, error=one.error)
    if coarse.sweep is not None and fine.sweep is not None:
        first, second = np.array(coarse.sweep["s11"]), np.array(fine.sweep["s11"])
        sweep = {**fine.sweep, "s11": richardson(first, second, ratio, orders["s11"]).tolist()}
        made = made.changed(sweep=sweep)
    return made


def _decay(outcome: Outcome) -> float:
    return 0.0 if outcome.decay_db is None else outcome.decay_db


def finer_cell(cell: float, feed_radius: float, ratio: float = FINER) -> float:
    """Return the second mesh's cell, m: about `ratio` of the first one's.

    The feed's wall is on a plane of both lattices, or of none.

    Args:
        cell: Of the first mesh, m.
        feed_radius: Inner radius of the feed, m.
        ratio: Finer cell over cell, below 1.
    """
    across = feed_radius / cell
    if abs(across - round(across)) > 1e-6:
        return ratio * cell
    return float(f"{feed_radius / max(round(across / ratio), round(across) + 1):.12g}")
