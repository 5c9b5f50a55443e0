"""How far the solver is from independent finite elements, on several meshes, and extrapolated from two of them.

    python benchmarks/accuracy.py [--cases NAME ...] [--cells MM ...] [--from COARSE FINE] [--order P]
                                  [--set KEY=VALUE ...] [--jobs N] [--json FILE]

A case may be given by part of its name, its family, or as `reference` or `holdout`. Every figure is the largest over
28.5, 30 and 31.5 GHz: directivity on axis, complex S11 at z = 0, both cuts where the reference is within 20 dB of
boresight, radiation efficiency. A star marks what misses the goal of its mesh.

An order is the slope of log(error) over log(cell) from 0.4 mm down, the error being the root mean square over the
antennas of a family and the frequencies (for the pattern over both cuts and all angles, as amplitude over boresight's).
Extrapolation uses the orders fitted to the reference set; the holdout set takes no part in any fit but the one
reported for itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "published"))

from reference_antennas import ALL, CASES, HOLDOUT, differences, solve, worst

from antennaopt.evaluation.extrapolate import extrapolate

CELLS_MM = (0.6, 0.4, 0.3, 0.2, 0.15)
COLUMNS = ("directivity_db", "s11", "e_plane_db", "h_plane_db", "efficiency")
HEADINGS = ("D dB", "S11", "E dB", "H dB", "efficiency")
EXTRAPOLATED = "extrapolated"
GOALS = {  # of the columns
    0.3: (0.06, 0.012, 0.4, 0.4, 0.01),
    0.2: (0.03, 0.005, 0.2, 0.2, 0.005),
    EXTRAPOLATED: (0.015, 0.003, 0.1, 0.1, 0.003),
}
FITTED = ("directivity", "s11", "pattern", "efficiency")
FIT_FROM_MM = 0.4
EXACT = 2e-5  # an error below this has no order: rounding, or the reference's own


def chosen_cases(words):
    """Names that fit any of the words, in the order of the files."""
    groups = {"reference": CASES, "holdout": HOLDOUT}
    found = set()
    for word in words:
        fits = [name for name in ALL if name in groups.get(word, ()) or word in (name, ALL[name]["family"])]
        fits = fits or [name for name in ALL if word in name]
        if not fits:
            raise SystemExit(f"no case is called {word}; there are {', '.join(ALL)}")
        found.update(fits)
    return [name for name in ALL if name in found or not words]


def solve_one(job, changes):
    """One antenna on one mesh."""
    name, cell_mm = job
    return solve(name, cell_mm * 1e-3, **changes)


def row(name, mesh, outcome):
    """What the table and the fits need, as plain numbers."""
    off = differences(name, outcome)
    found = {"case": name, "family": ALL[name]["family"], "holdout": name in HOLDOUT, "mesh": mesh}
    found |= {key: float(f"{value:.4g}") for key, value in worst(off).items()}
    cuts = np.concatenate([off["e_plane"].ravel(), off["h_plane"].ravel()])
    parts = {"directivity": off["directivity_db"], "s11": off["s11"], "pattern": cuts, "efficiency": off["efficiency"]}
    found["rms"] = {key: float(f"{np.sqrt(np.mean(np.abs(part) ** 2)):.4g}") for key, part in parts.items()}
    return found | {key: outcome[key] for key in ("seconds", "cells", "steps") if key in outcome}


def family_errors(rows, family, key):
    """Meshes (mm) and root mean squares of one figure over the antennas of a family."""
    ours = [row for row in rows if row["family"] == family and row["mesh"] != EXTRAPOLATED]
    meshes = sorted({row["mesh"] for row in ours})
    return meshes, [float(np.sqrt(np.mean([r["rms"][key] ** 2 for r in ours if r["mesh"] == m]))) for m in meshes]


def fitted_orders(rows):
    """Order of convergence by family and figure; what is exact has none."""
    orders = {}
    for family in dict.fromkeys(row["family"] for row in rows):
        orders[family] = {}
        for key in FITTED:
            meshes, errors = family_errors(rows, family, key)
            used = [(mesh, error) for mesh, error in zip(meshes, errors, strict=True) if mesh <= FIT_FROM_MM]
            if len(used) > 1 and min(errors) > EXACT:
                orders[family][key] = round(float(np.polyfit(*np.log(used).T, 1)[0]), 3)
    return orders


def orders_to_use(rows, order):
    """For each family what `extrapolate` takes: the given order, or those fitted to the reference set."""
    if order:
        return dict.fromkeys({row["family"] for row in rows}, order)
    known = [row for row in rows if not row["holdout"]] or rows
    found = {}
    for family, fitted in fitted_orders(known).items():
        pattern = fitted["pattern"]
        found[family] = {"s11": fitted["s11"], "pattern": pattern, "efficiency": fitted.get("efficiency", pattern)}
    return found


def cells_of(row):
    """The columns of one row, with stars."""
    goals = GOALS.get(row["mesh"], (np.inf,) * len(COLUMNS))
    return [f"{row[key]:.4f}{'*' if row[key] > goal else ' '}" for key, goal in zip(COLUMNS, goals, strict=True)]


def print_rows(rows):
    """One line an antenna and mesh."""
    print(f"{'':31}{'mm':>6}" + "".join(f"{heading:>11}" for heading in HEADINGS) + f"{'s':>9}{'cells':>9}{'steps':>7}")
    for row in rows:
        mesh = f"{row['mesh']:.3g}" if row["mesh"] != EXTRAPOLATED else "extra"
        name = row["case"] + (" (h)" if row["holdout"] else "")
        cost = f"{row['seconds']:9.2f}{row['cells']:9d}{row['steps']:7d}" if "cells" in row else ""
        print(f"{name:31}{mesh:>6}" + "".join(f"{text:>11}" for text in cells_of(row)) + cost)


def print_summary(rows):
    """The worst of each mesh, and the orders, of both sets."""
    print("\nworst of " + f"{'mm':>28}" + "".join(f"{heading:>11}" for heading in HEADINGS))
    for holdout in (False, True):
        for mesh in dict.fromkeys(row["mesh"] for row in rows):
            ours = [row for row in rows if row["mesh"] == mesh and row["holdout"] == holdout]
            if ours:
                largest = {"mesh": mesh} | {key: max(row[key] for row in ours) for key in COLUMNS}
                label = f"{mesh:.3g}" if mesh != EXTRAPOLATED else "extra"
                print(
                    f"{'holdout' if holdout else 'reference':31}{label:>6}"
                    + "".join(f"{t:>11}" for t in cells_of(largest))
                )
    print("\norder of" + " " * 29 + "".join(f"{key:>12}" for key in FITTED))
    for holdout in (False, True):
        for family, found in fitted_orders([row for row in rows if row["holdout"] == holdout]).items():
            name = family + (" (h)" if holdout else "")
            print(f"{name:37}" + "".join(f"{found[key]:12.2f}" if key in found else f"{'-':>12}" for key in FITTED))


def sweep(names, cells_mm, pair, order, changes, jobs):
    """Rows of all antennas and meshes, the extrapolated ones last."""
    work = [(name, cell) for cell in cells_mm for name in names]
    run = partial(solve_one, changes=changes)
    rows, outcomes = [], {}
    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            made = list(pool.map(run, work))
    else:
        made = map(run, work)
    for (name, cell), outcome in zip(work, made, strict=True):
        rows.append(row(name, cell, outcome))
        if cell in pair:
            outcomes[name, cell] = outcome
    if all(cell in cells_mm for cell in pair):
        orders = orders_to_use(rows, order)
        for name in names:
            first, second = (outcomes[name, cell] for cell in pair)
            used = orders[ALL[name]["family"]]
            rows.append(row(name, EXTRAPOLATED, extrapolate(first, second, ratio=pair[0] / pair[1], order=used)))
    return rows


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--cells", nargs="+", type=float, default=CELLS_MM, metavar="MM")
    parser.add_argument("--from", nargs=2, type=float, default=(0.3, 0.2), metavar="MM", dest="pair")
    parser.add_argument("--order", type=float, help="extrapolate with this order (default: as fitted)")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="KEY=VALUE", help="of the solver's table, e.g. pml_cells=12"
    )
    parser.add_argument("--jobs", type=int, default=1, help="antennas at the same time; seconds then mean little")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    changes = {}
    for setting in arguments.set:
        key, _, value = setting.partition("=")
        try:
            changes[key] = json.loads(value)
        except json.JSONDecodeError:
            changes[key] = value
    names, cells_mm = chosen_cases(arguments.cases), sorted(arguments.cells, reverse=True)
    rows = sweep(names, cells_mm, tuple(arguments.pair), arguments.order, changes, arguments.jobs)
    rows.sort(key=lambda row: list(ALL).index(row["case"]))
    print_rows(rows)
    print_summary(rows)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"settings": changes, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
