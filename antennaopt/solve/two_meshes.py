"""One antenna on two meshes, and the limits of its figures as the cell goes to zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.solve.extrapolate import COURANT_FRACTION, ORDERS, extrapolate, orders_of, richardson
from antennaopt.solve.outcome import Outcome, result_object

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

Plan = dict[str, Any]


FINER = 2 / 3
"""Its cell over that of the first: 0.3 mm and 0.2 mm."""


@dataclass(frozen=True, kw_only=True)
class Meshes:
    """One antenna, solved twice.

    Attributes:
        family: Decides the orders.
        outcome: The extrapolated one, in the form of `evaluate`'s; where a mesh gave no figures, that mesh's. Its
            field, steps and cells are the finer mesh's, its seconds both meshes'.
        solved: Plan and outcome on each mesh, the coarser first; one alone where that failed.
    """

    family: str
    outcome: Outcome
    solved: tuple[tuple[Plan, Outcome], ...]

    def about(self, backend: str, feed_radius: float) -> dict[str, Any]:
        """Return what `--json` tells of it: `extrapolation`, `meshes`, and the certificate with its mesh rows."""
        from antennaopt.solve.certificate import certify

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
            "certificate": certify(self.outcome, meshes=both, feed_radius=feed_radius),
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
    """Return a warning where the orders of a family are assumed."""
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
    first = plan(experiment.family, design, design, own).to_dict()
    finer = finer_cell(first["cell"], design["feed.inner_radius"])
    more = {name: math.ceil(count * slower * first["cell"] / finer) for name, count in steps.items()}
    return first, plan(experiment.family, design, design, replace(solver.with_cell(finer), **more)).to_dict()


def solve_on_two_meshes(family: str, plans: tuple[Plan, Plan], solve: Callable[[Plan], Outcome]) -> Meshes:
    """Solve one antenna on two meshes and extrapolate. Where one gives no figures, that is what comes of it.

    Args:
        family: Antenna family.
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
        if outcome.e_plane_dbi is None:
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
