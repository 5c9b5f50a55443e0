"""Goals, and orders of convergence fitted to rows of `accuracy.py`.

A row is one antenna on one mesh: `case`, `family`, `set` (of `SETS`), `lossy`, `mesh` (mm, in the set "other feeds"
cells a wavelength as given, or "extrapolated"), `cells_per_wavelength`, the largest errors (`COLUMNS`), their root
mean squares under `rms` (`FITTED`), `seconds` of processor time (median) and its `spread`, `cells`, `steps`.
Efficiency is fitted on `lossy` antennas only: elsewhere it is 1, and the error a floor of other origin. Rods count as
lossy: a base that ends on the tube's face gives their efficiency an error of second order, with and without loss.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

# The packages first: `tests` has folders of their names.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "published"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reference_antennas import COLUMNS, EXTRAPOLATED_GOAL, GOALS

EXTRAPOLATED = "extrapolated"
FITTED = ("directivity", "s11", "pattern", "efficiency")
OTHER_FEEDS = "other feeds"
FIT_FROM_MM = 0.3  # 20 cells a wavelength, the coarsest with a goal
CELLS_PER_WAVELENGTH_TIMES_MM = 6.0  # 20 x 0.3: meshes of sets with another wavelength as if they had this one
EXACT = 2e-5  # an error below this has no order: rounding, or the reference's own


HIGHEST_ORDER = 6.0  # from there on an extrapolation from 3 : 2 moves a figure by less than a tenth of the change


def goal(row):
    """Return the goals of a row's columns, or None: coarser meshes have no goal."""
    density = row["cells_per_wavelength"] * 1.01  # 19.94 and 29.9 are the 20 and 30 of the goals
    if row["mesh"] == EXTRAPOLATED:
        return EXTRAPOLATED_GOAL if density >= max(GOALS) else None
    return next((limits for cells, limits in GOALS.items() if density >= cells), None)


def misses(row):
    """Return the columns that miss their goals."""
    limits = goal(row)
    return [key for key, limit in zip(COLUMNS, limits, strict=True) if row[key] > limit] if limits else []


def worst_of(rows):
    """Return the largest error of each column over rows, and the columns in which any of them misses its goal."""
    return {key: max(row[key] for row in rows) for key in COLUMNS}, {key for row in rows for key in misses(row)}


def family_errors(rows, family, key):
    """Meshes (mm) and root mean squares of one figure over the antennas of a family."""
    ours = [row for row in rows if row["family"] == family and row["mesh"] != EXTRAPOLATED]
    found = [(mesh_mm(row), row["rms"][key]) for row in ours if row["lossy"] or key != "efficiency"]
    meshes = sorted({mesh for mesh, _ in found})
    return meshes, [float(np.sqrt(np.mean([rms**2 for mesh, rms in found if mesh == at]))) for at in meshes]


def mesh_mm(row):
    """The row's mesh as a cell in mm at the wavelength of the reference antennas."""
    return CELLS_PER_WAVELENGTH_TIMES_MM / row["mesh"] if row["set"] == OTHER_FEEDS else row["mesh"]


def line_of(meshes, errors):
    """Order p and error at 1 mm of a power law through the meshes from `FIT_FROM_MM` down; None if there is none."""
    used = [(mesh, error) for mesh, error in zip(meshes, errors, strict=True) if mesh <= FIT_FROM_MM]
    if len(used) < 2 or min(error for _, error in used) < EXACT:
        return None
    order, height = np.polyfit(*np.log(used).T, 1)
    return float(order), float(np.exp(height))


def fitted_orders(rows):
    """Order of convergence by family and figure; what is exact has none."""
    orders = {}
    for family in dict.fromkeys(row["family"] for row in rows):
        lines = {key: line_of(*family_errors(rows, family, key)) for key in FITTED}
        orders[family] = {key: round(line[0], 3) for key, line in lines.items() if line}
    return orders


def extrapolation_order(pairs):
    """Order with which two meshes extrapolate best, from signed errors on pairs of meshes: least squares over all.

    A slope of sizes is the rate at which errors shrink, not a proof of a common sign. Where errors change sign from
    mesh to mesh, as those of rims between lattice lines do, extrapolation with the slope would add them up. With the
    signed errors e1 and e2, the rest of e2 is e2 - (e1 - e2) / (r^p - 1). Errors of one sign give their true order.
    Errors of changing sign give a high order, which leaves the fine mesh as it is.

    Args:
        pairs: Ratio of the cells, signed errors on the coarse mesh, the same on the fine one.
    """
    orders = np.arange(0.5, HIGHEST_ORDER + 1e-9, 0.01)
    left = np.zeros_like(orders)
    for ratio, coarse, fine in pairs:
        change, size = coarse - fine, np.vdot(fine, fine).real
        share = 1 / (ratio**orders - 1)
        left += 1 + (share**2 * np.vdot(change, change).real - 2 * share * np.vdot(change, fine).real) / size
    return round(float(orders[np.argmin(left)]), 2)


def orders_to_extrapolate(errors, families):
    """Return the orders for `antennaopt.solve.extrapolate`, by family.

    Args:
        errors: Signed errors by antenna and mesh (mm), arrays by `FITTED`.
        families: Family of each antenna that takes part; which are lossy, since only these decide the efficiency.
    """
    meshes = sorted({mesh for _, mesh in errors if mesh <= FIT_FROM_MM}, reverse=True)
    found = {}
    for family in dict.fromkeys(family for family, _ in families.values()):

        def fit(key, family=family):
            ours = [name for name, (own, lossy) in families.items() if own == family and (lossy or key != "efficiency")]
            if not ours:
                return None
            pairs = []
            for coarse, fine in pairwise(meshes):
                sides = (np.concatenate([errors[name, mesh][key].ravel() for name in ours]) for mesh in (coarse, fine))
                pairs.append((coarse / fine, *sides))
            return extrapolation_order(pairs)

        pattern = fit("pattern")
        found[family] = {"s11": fit("s11"), "pattern": pattern, "efficiency": fit("efficiency") or pattern}
    return found
