"""How far the solver is from independent finite elements, on several meshes, and extrapolated from two of them.

    python benchmarks/accuracy.py [--cases NAME ...] [--cells MM ...] [--from COARSE FINE] [--order P | stored]
                                  [--set KEY=VALUE ...] [--jobs N] [--json FILE]

A case may be given by part of its name, its family, or as `reference` or `holdout`. Every figure is the largest over
28.5, 30 and 31.5 GHz: directivity on axis, complex S11 at z = 0, both cuts where the reference is within 20 dB of
boresight, radiation efficiency. A star marks what misses the goal of its mesh.

An order is the slope of log(error) over log(cell) from 0.3 mm down, the error being the root mean square over the
antennas of a family and the frequencies (for the pattern over both cuts and all angles, as amplitude over boresight's).
Extrapolation is from meshes solved with half the largest time step, as `simulate --extrapolate` does it, and
uses the order fitted to the signed errors of the reference set (`orders.extrapolation_order`); the
holdout set takes no part. `--order stored` takes those of `simulate --extrapolate` instead.
"""

from __future__ import annotations

import argparse
import json
import re
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from orders import EXTRAPOLATED, FITTED, fitted_orders, misses, orders_to_extrapolate
from reference_antennas import ALL, CASES, COLUMNS, HOLDOUT, differences, solve, worst

from antennaopt.bench.kernels import device_name
from antennaopt.evaluation.extrapolate import COURANT_FRACTION, ORDERS, QUANTITIES, extrapolate

CELLS_MM = (0.6, 0.4, 0.3, 0.2, 0.15, 0.1)
EXTRAPOLATED_MM = (0.3, 0.2, 0.15, 0.1)  # solved with the time step of `simulate --extrapolate`, to fit its orders to
HEADINGS = ("D dB", "S11", "E dB", "H dB", "efficiency")
DENSITY_GHZ, DENSITY_PERMITTIVITY = 31.5, 2.53  # what the goals' cells a wavelength are counted in


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


def signed_errors(off):
    """What orders are fitted to, by `orders.FITTED`; the pattern at all angles, as amplitude over boresight's."""
    cuts = np.concatenate([off["e_plane"].ravel(), off["h_plane"].ravel()])
    return {"directivity": off["directivity_db"], "s11": off["s11"], "pattern": cuts, "efficiency": off["efficiency"]}


def row(name, mesh, finest_mm, outcome):
    """What the table and the fits need, as plain numbers (see `orders`)."""
    off = differences(name, outcome)
    permittivity = max(ALL[name].get("permittivity", 1.0), DENSITY_PERMITTIVITY)
    wavelength_mm = 299.792458 / DENSITY_GHZ / permittivity**0.5
    found = {"case": name, "family": ALL[name]["family"], "holdout": name in HOLDOUT, "mesh": mesh}
    found |= {"lossy": is_lossy(name), "cells_per_wavelength": round(wavelength_mm / finest_mm, 2)}
    found |= {key: float(f"{value:.4g}") for key, value in worst(off).items()}
    parts = signed_errors(off)
    found["rms"] = {key: float(f"{np.sqrt(np.mean(np.abs(part) ** 2)):.4g}") for key, part in parts.items()}
    found |= {key: outcome[key] for key in ("cells", "steps") if key in outcome}
    return found | ({"seconds": round(outcome["seconds"], 3)} if "seconds" in outcome else {})


def is_lossy(name):
    return ALL[name].get("loss_tangent", 0.0) > 0.01


def solve_all(names, cells_mm, changes, jobs):
    """Outcomes by antenna and mesh."""
    work = [(name, cell) for cell in cells_mm for name in names]
    run = partial(solve_one, changes=changes)
    run((names[0], max(cells_mm)))  # the first one also loads the compiled kernels
    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            return dict(zip(work, pool.map(run, work), strict=True))
    return {job: run(job) for job in work}


def chosen_orders(outcomes, wanted):
    """Orders by family and quantity: stored, given, or fitted to the reference set (to all where there is none)."""
    names = list(dict.fromkeys(name for name, _ in outcomes))
    families = {name: (ALL[name]["family"], is_lossy(name)) for name in names}
    own = {family for family, _ in families.values()}
    if wanted == "stored":
        return {family: ORDERS[family] for family in own}
    if wanted:
        return dict.fromkeys(own, dict.fromkeys(QUANTITIES, float(wanted)))
    errors = {job: signed_errors(differences(job[0], outcome)) for job, outcome in outcomes.items()}
    known = {name: about for name, about in families.items() if name in CASES}
    return orders_to_extrapolate(errors, families) | orders_to_extrapolate(errors, known)


def open_waveguide_figures(outcomes):
    """Figures of the antenna that has a published table, by mesh."""
    keys = ("s11_db", "directivity_dbi", "hpbw_e_deg", "hpbw_h_deg", "front_to_back_db")
    return {
        mesh: {key: [round(value, 3) for value in outcomes["open_waveguide", mesh][key]] for key in keys}
        for mesh in (0.3, 0.15)
        if ("open_waveguide", mesh) in outcomes
    }


def sweep(names, cells_mm, pair, order, changes, jobs):
    """Solve everything.

    Returns:
        Rows of all antennas and meshes, the extrapolated one of each last; rows of the meshes solved for that; the
        orders it took; outcomes by antenna and mesh.
    """
    outcomes = solve_all(names, cells_mm, changes, jobs)
    rows = {name: [row(name, cell, cell, outcomes[name, cell]) for cell in cells_mm] for name in names}
    orders, slow_rows = {}, []
    if all(cell in cells_mm for cell in pair):
        slower = {"courant_fraction": COURANT_FRACTION, **changes}
        meshes = {*pair, *(cell for cell in EXTRAPOLATED_MM if cell in cells_mm)} if not order else set(pair)
        smooth = solve_all(names, sorted(meshes, reverse=True), slower, jobs)
        orders = chosen_orders(smooth, order)
        slow_rows = [row(name, cell, cell, outcome) for (name, cell), outcome in smooth.items()]
        for name in names:
            first, second = (smooth[name, cell] for cell in pair)
            found = extrapolate(first, second, ratio=pair[0] / pair[1], order=orders[ALL[name]["family"]])
            found["seconds"] = first["seconds"] + second["seconds"]
            rows[name].append(row(name, EXTRAPOLATED, pair[1], found))
    return [row for name in names for row in rows[name]], slow_rows, orders, outcomes


def columns_of(row, starred):
    """The errors of one row, with stars."""
    return "".join(f"{row[key]:10.4f}{'*' if key in starred else ' '}" for key in COLUMNS)


def mesh_name(mesh):
    return "extra" if mesh == EXTRAPOLATED else f"{mesh:.3g}"


def print_rows(rows):
    """One line an antenna and mesh."""
    headings = "".join(f"{heading:>10} " for heading in HEADINGS)
    print(f"{'':33}{'mm':>6}{headings}{'s':>9}{'cells':>9}{'steps':>7}")
    for row in rows:
        name = row["case"] + (" (h)" if row["holdout"] else "")
        cost = f"{row['seconds']:9.2f}" + (f"{row['cells']:9d}{row['steps']:7d}" if "cells" in row else "")
        print(f"{name:33}{mesh_name(row['mesh']):>6}{columns_of(row, misses(row))}{cost}")


def print_summary(rows):
    """The worst of each mesh, a star where any antenna misses its goal, and the orders, of both sets."""
    print(f"\n{'worst of':33}{'mm':>6}" + "".join(f"{heading:>10} " for heading in HEADINGS))
    for holdout in (False, True):
        for mesh in dict.fromkeys(row["mesh"] for row in rows):
            ours = [row for row in rows if row["mesh"] == mesh and row["holdout"] == holdout]
            if ours:
                largest = {key: max(row[key] for row in ours) for key in COLUMNS}
                missed = {key for row in ours for key in misses(row)}
                print(f"{'holdout' if holdout else 'reference':33}{mesh_name(mesh):>6}{columns_of(largest, missed)}")
    print_orders(rows, "order of")


def print_orders(rows, heading):
    """Fitted orders of both sets."""
    print(f"\n{heading:33}" + "".join(f"{key:>12}" for key in FITTED))
    for holdout in (False, True):
        for family, found in fitted_orders([row for row in rows if row["holdout"] == holdout]).items():
            name = family + (" (h)" if holdout else "")
            print(f"{name:33}" + "".join(f"{found[key]:12.2f}" if key in found else f"{'-':>12}" for key in FITTED))


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--cells", nargs="+", type=float, default=CELLS_MM, metavar="MM")
    parser.add_argument("--from", nargs=2, type=float, default=(0.3, 0.2), metavar="MM", dest="pair")
    parser.add_argument("--order", help="extrapolate with this order, or `stored` (default: as fitted)")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="solver settings, e.g. pml_cells=12")
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
    names, cells_mm = chosen_cases(arguments.cases), sorted(set(arguments.cells), reverse=True)
    pair = tuple(sorted(arguments.pair, reverse=True))
    rows, slow_rows, orders, outcomes = sweep(names, cells_mm, pair, arguments.order, changes, arguments.jobs)
    print_rows(rows)
    print_summary(rows)
    print_orders(slow_rows, f"order with {COURANT_FRACTION:g} of the step")
    for family, used in orders.items():
        print(f"{family + ', to extrapolate':33}" + ", ".join(f"{key} {value:.2f}" for key, value in used.items()))
    if arguments.json:
        found = {"device": device_name(), "settings": changes, "extrapolated_from_mm": pair}
        found |= {
            "reference_uncertainty": reference_uncertainty(names),
            "orders": orders,
            "rows": rows,
            "half_step_rows": slow_rows,
        }
        found["open_waveguide"] = open_waveguide_figures(outcomes)
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(compact(json.dumps(found, indent=1)) + "\n", "utf-8")


def reference_uncertainty(names):
    """Largest change of the reference's figures with its order, mesh and absorbing layer."""
    changes = [result["uncertainty"] for name in names for result in ALL[name]["results"]]
    keys = ("s11", "directivity_dbi", "e_plane_dbi", "h_plane_dbi", "radiation_efficiency")
    return {key: max(change[key] for change in changes) for key in keys}


def compact(text):
    """Put every table of plain numbers on one line."""
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda found: re.sub(r"\s*\n\s*", " ", found[0]), text)


if __name__ == "__main__":
    main()
