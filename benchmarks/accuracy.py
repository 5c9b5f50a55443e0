"""Measure the solver's errors against independent finite elements, on several meshes and extrapolated from two.

    python benchmarks/accuracy.py [--cases NAME ...] [--cells MM ...] [--densities N ...] [--from COARSE FINE]
                                  [--order P | stored] [--set KEY=VALUE ...] [--repeat N] [--jobs N]
                                  [--json FILE | --add-to FILE | --as-in-search FILE]

A case may be given by part of its name, its family, or its set: `reference`, `holdout`, `rods`, `other-feeds`. The
last is solved with `--densities`, cells a wavelength as in an experiment; the others with `--cells`. Every figure
is the largest over the case's frequencies: directivity on axis, complex S11 at z = 0, both cuts where the reference is
within 20 dB of boresight, radiation efficiency. A star marks what misses the goal of its mesh.

`--json` writes a new file. `--add-to` replaces the rows of the chosen cases in a file and keeps its other rows; added
rows have no seconds, since the machine's state belongs to the whole file.

`--as-in-search` solves the cases on the meshes with a goal as a search does, with the standard time step in place of
the long one, and with the full pulse too in place of the short one, and puts these rows into a file.

Seconds are processor time from a design to its figures, the median of `--repeat` solutions. Antennas, meshes and both
time steps take turns, so that a change of the machine's speed meets all of them; the spread is half the range over the
median, the largest of a mesh's antennas in the summary.

An order is the slope of log(error) over log(cell) from 0.3 mm down, the error being the root mean square over the
antennas of a family and the frequencies (for the pattern over both cuts and all angles, as amplitude over boresight's).
Extrapolation is from meshes solved with half the largest time step, as `simulate --extrapolate` does it, and
uses the order fitted to the signed errors of the reference set and of the rods (`orders.extrapolation_order`).
`--order stored` takes those of `simulate --extrapolate` instead, as the set on other feeds always does.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from orders import EXTRAPOLATED, FITTED, OTHER_FEEDS, fitted_orders, misses, orders_to_extrapolate, worst_of
from reference_antennas import COLUMNS, EVERY, FITTED_TO, RODS, SAME_FEED, SETS, cell_of, differences, solve, worst

from antennaopt.bench.runner import Watch
from antennaopt.solve.extrapolate import COURANT_FRACTION, QUANTITIES, extrapolate, finer_cell, orders_of

CELLS_MM = (0.6, 0.4, 0.3, 0.2, 0.15, 0.1)
EXTRAPOLATED_MM = (0.3, 0.2, 0.15, 0.1)  # solved with the time step of `simulate --extrapolate`, to fit its orders to
DENSITIES = (20, 30, 40, 60)
EXTRAPOLATED_FROM, FINER = 20, "finer"  # of the set on other feeds, as `simulate --extrapolate` chooses the second mesh
SEARCH_MM, SEARCH_DENSITIES = (0.3, 0.2), (20, 30)  # with a goal
AS_IN_SEARCH = (("full", "standard"), ("short", "standard"), ("short", "long"))  # pulse and time step
REPEAT = 3
HEADINGS = ("D dB", "S11", "E dB", "H dB", "efficiency")
DENSITY_GHZ, DENSITY_PERMITTIVITY = 31.5, 2.53  # what the goals' cells a wavelength are counted in


@dataclass(frozen=True, kw_only=True)
class Job:
    """One antenna on one mesh.

    Attributes:
        name: Of the antenna.
        mesh: As in a row (see `orders`); `FINER` for the second mesh to extrapolate from.
        cell: m.
        slow: Whether with the time step of `simulate --extrapolate`.
    """

    name: str
    mesh: float | str
    cell: float
    slow: bool = False


def chosen_cases(words):
    """Names that fit any of the words, in the order of the files."""
    groups = {name.replace(" ", "-"): cases for name, cases in SETS.items()}
    known = [name for cases in SETS.values() for name in cases]
    found = set()
    for word in words:
        fits = [name for name in known if name in groups.get(word, ()) or word in (name, EVERY[name]["family"])]
        fits = fits or [name for name in known if word in name]
        if not fits:
            raise SystemExit(f"no case is called {word}; there are {', '.join(known)}")
        found.update(fits)
    return [name for name in known if name in found or not words]


def set_of(name):
    return next(group for group, cases in SETS.items() if name in cases)


def all_jobs(names, cells_mm, densities, pair, order):
    """What is to be solved: the meshes, and those to extrapolate from."""
    first, others = ([name for name in names if (name in SAME_FEED) == own] for own in (True, False))
    jobs = [Job(name=name, mesh=cell, cell=cell * 1e-3) for cell in cells_mm for name in first]
    if all(cell in cells_mm for cell in pair):
        slow = {*pair, *(cell for cell in EXTRAPOLATED_MM if cell in cells_mm)} if not order else set(pair)
        jobs += [
            Job(name=name, mesh=cell, cell=cell * 1e-3, slow=True) for cell in sorted(slow)[::-1] for name in first
        ]
    jobs += [Job(name=name, mesh=density, cell=cell_of(name, density)) for density in densities for name in others]
    for name in others if EXTRAPOLATED_FROM in densities else ():
        coarse = cell_of(name, EXTRAPOLATED_FROM)
        finer = finer_cell(coarse, EVERY[name]["inner_radius_m"])
        jobs.append(Job(name=name, mesh=EXTRAPOLATED_FROM, cell=coarse, slow=True))
        jobs.append(Job(name=name, mesh=FINER, cell=finer, slow=True))
    return jobs


def solve_one(job, changes):
    """One antenna on one mesh, and the processor time it took, s."""
    slower = {"courant_fraction": COURANT_FRACTION} if job.slow else {}
    began = time.process_time()
    outcome = solve(job.name, job.cell, **{**slower, **changes})
    return outcome, time.process_time() - began


def signed_errors(off):
    """What orders are fitted to, by `orders.FITTED`; the pattern at all angles, as amplitude over boresight's."""
    cuts = np.concatenate([off["e_plane"].ravel(), off["h_plane"].ravel()])
    return {"directivity": off["directivity_db"], "s11": off["s11"], "pattern": cuts, "efficiency": off["efficiency"]}


class Solved(NamedTuple):
    """An outcome, and the processor time of each of its solutions, s."""

    outcome: Any
    times: list[float]


def row(name, mesh, finest, solved):
    """What the table and the fits need, as plain numbers (see `orders`); `finest` is the cell, m."""
    outcome, times = solved
    off, case = differences(name, outcome), EVERY[name]
    if name in SAME_FEED:
        ghz, permittivity = DENSITY_GHZ, max(case.get("permittivity", 1.0), DENSITY_PERMITTIVITY)
    else:
        ghz, permittivity = max(case["frequencies_hz"]) / 1e9, case.get("permittivity", 1.0)
    density = 0.299792458 / ghz / permittivity**0.5 / finest
    found = {"case": name, "family": case["family"], "set": set_of(name), "mesh": mesh}
    found |= {"lossy": is_lossy(name), "cells_per_wavelength": round(density, 2)}
    found |= {key: float(f"{value:.4g}") for key, value in worst(off).items()}
    parts = signed_errors(off)
    found["rms"] = {key: float(f"{np.sqrt(np.mean(np.abs(part) ** 2)):.4g}") for key, part in parts.items()}
    found |= {key: outcome[key] for key in ("cells", "steps") if key in outcome}
    middle = median(times)
    return found | {"seconds": round(middle, 3), "spread": round((max(times) - min(times)) / 2 / middle, 3)}


def is_lossy(name):
    """Return whether the error of the efficiency is fitted: for lossy antennas, and for rods even without loss."""
    return name in RODS or EVERY[name].get("loss_tangent", 0.0) > 0.01


def solve_all(jobs, changes, repeat, processes):
    """Return what was solved, by job."""
    run = partial(solve_one, changes=changes)
    families = {EVERY[job.name]["family"]: job for job in jobs}
    for job in families.values():
        run(job)  # loads the compiled kernels
    rounds = jobs * repeat
    if processes > 1:
        with ProcessPoolExecutor(processes) as pool:
            solved = list(pool.map(run, rounds))
    else:
        solved = [run(job) for job in rounds]
    return {job: Solved(solved[at][0], [spent for _, spent in solved[at :: len(jobs)]]) for at, job in enumerate(jobs)}


def search_rows(names, processes):
    """Return a row of each antenna, mesh with a goal, pulse and time step, as a search solves; without seconds."""
    jobs = [job for job in all_jobs(names, SEARCH_MM, SEARCH_DENSITIES, SEARCH_MM, None) if not job.slow]
    found = []
    for pulse, time_step in AS_IN_SEARCH:
        how = {"pulse": pulse, "time_step": time_step}
        solved = solve_all(jobs, {"surfaces": "diagonal", **how}, 1, processes)
        found += [row(job.name, job.mesh, job.cell, one) | how for job, one in solved.items()]
    return [{key: value for key, value in one.items() if key not in ("seconds", "spread", "rms")} for one in found]


def chosen_orders(outcomes, wanted):
    """Return orders by family and quantity: stored, given, or fitted to `FITTED_TO` (else to the holdout)."""
    names = list(dict.fromkeys(job.name for job in outcomes))
    families = {name: (EVERY[name]["family"], is_lossy(name)) for name in names}
    own = {family for family, _ in families.values()}
    if wanted == "stored":
        return {family: orders_of(family)[0] for family in own}
    if wanted:
        return dict.fromkeys(own, dict.fromkeys(QUANTITIES, float(wanted)))
    errors = {
        (job.name, job.mesh): signed_errors(differences(job.name, found.outcome)) for job, found in outcomes.items()
    }
    known = {name: about for name, about in families.items() if name in FITTED_TO}
    return orders_to_extrapolate(errors, families) | orders_to_extrapolate(errors, known)


def open_waveguide_figures(outcomes):
    """Figures of the antenna that has a published table, by mesh."""
    keys = ("s11_db", "directivity_dbi", "hpbw_e_deg", "hpbw_h_deg", "front_to_back_db")
    found = {job.mesh: outcomes[job].outcome for job in outcomes if job.name == "open_waveguide" and not job.slow}
    return {
        mesh: {key: [round(value, 3) for value in found[mesh][key]] for key in keys}
        for mesh in (0.3, 0.15)
        if mesh in found
    }


def extrapolated(name, coarse, fine, outcomes, order):
    """The row of one antenna from two meshes; its times are the sums of both."""
    first, second = outcomes[coarse], outcomes[fine]
    found = extrapolate(first.outcome, second.outcome, ratio=coarse.cell / fine.cell, order=order)
    times = [sum(both) for both in zip(first.times, second.times, strict=True)]
    return row(name, EXTRAPOLATED, fine.cell, Solved(found, times))


def all_rows(names, outcomes, pair, order):
    """Rows of all antennas and meshes, the extrapolated one of each last; of the slow meshes; the orders fitted."""
    usual, slow = ({job: found for job, found in outcomes.items() if job.slow == one} for one in (False, True))
    fitted = {job: found for job, found in slow.items() if job.name in SAME_FEED}
    orders = chosen_orders(fitted, order) if fitted else {}
    by_mesh = {(job.name, job.mesh): job for job in slow}
    rows = []
    for name in names:
        family = EVERY[name]["family"]
        rows += [row(name, job.mesh, job.cell, found) for job, found in usual.items() if job.name == name]
        ends = pair if name in SAME_FEED else (EXTRAPOLATED_FROM, FINER)
        coarse, fine = (by_mesh.get((name, mesh)) for mesh in ends)
        if coarse and fine:
            used = orders[family] if name in SAME_FEED else orders_of(family)[0]
            rows.append(extrapolated(name, coarse, fine, outcomes, used))
    return rows, [row(job.name, job.mesh, job.cell, found) for job, found in fitted.items()], orders


def columns_of(row, starred):
    """The errors of one row, with stars."""
    return "".join(f"{row[key]:10.4f}{'*' if key in starred else ' '}" for key in COLUMNS)


def mesh_name(row):
    if row["mesh"] == EXTRAPOLATED:
        return "extra"
    return f"{row['mesh']:.3g}" + ("/wl" if row["set"] == OTHER_FEEDS else "")


def print_rows(rows):
    """One line an antenna and mesh."""
    headings = "".join(f"{heading:>10} " for heading in HEADINGS)
    print(f"{'':41}{'mm':>6}{headings}{'s':>9}{'spread':>8}{'cells':>9}{'steps':>7}")
    for row in rows:
        name = f"{row['case']} ({row['set'][0]})"
        cost = f"{row['seconds']:9.3f}{row['spread']:8.1%}"
        cost += f"{row['cells']:9d}{row['steps']:7d}" if "cells" in row else ""
        print(f"{name:41}{mesh_name(row):>6}{columns_of(row, misses(row))}{cost}")


def print_summary(rows):
    """The worst of each mesh, a star where any antenna misses its goal, median time, and the orders, of each set."""
    headings = "".join(f"{heading:>10} " for heading in HEADINGS)
    print(f"\n{'worst of':41}{'mm':>6}{headings}{'median s':>9}{'spread':>8}")
    for group in SETS:
        for mesh in dict.fromkeys(row["mesh"] for row in rows if row["set"] == group):
            ours = [row for row in rows if row["mesh"] == mesh and row["set"] == group]
            largest, missed = worst_of(ours)
            cost = f"{median(row['seconds'] for row in ours):9.3f}{max(row['spread'] for row in ours):8.1%}"
            print(f"{group:41}{mesh_name(ours[0]):>6}{columns_of(largest, missed)}{cost}")
    print_orders(rows, "order of")


def print_orders(rows, heading):
    """Fitted orders of each set."""
    print(f"\n{heading:41}" + "".join(f"{key:>12}" for key in FITTED))
    for group in SETS:
        for family, found in fitted_orders([row for row in rows if row["set"] == group]).items():
            name = f"{family} ({group[0]})"
            print(f"{name:41}" + "".join(f"{found[key]:12.2f}" if key in found else f"{'-':>12}" for key in FITTED))


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--cells", nargs="+", type=float, default=CELLS_MM, metavar="MM")
    parser.add_argument("--densities", nargs="+", type=float, default=DENSITIES, metavar="N")
    parser.add_argument("--from", nargs=2, type=float, default=(0.3, 0.2), metavar="MM", dest="pair")
    parser.add_argument("--order", help="extrapolate with this order, or `stored` (default: as fitted)")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="solver settings, e.g. pml_cells=12")
    parser.add_argument("--repeat", type=int, default=REPEAT, help="solutions of each, whose times are measured")
    parser.add_argument("--jobs", type=int, default=1, help="antennas at the same time; seconds then mean less")
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    target.add_argument("--add-to", type=Path, metavar="FILE", help="replace the rows of these cases, without seconds")
    target.add_argument("--as-in-search", type=Path, metavar="FILE", help="put rows of searches' settings into a file")
    arguments = parser.parse_args()
    if arguments.as_in_search:
        file = arguments.as_in_search
        found = json.loads(file.read_text("utf-8"))
        found["search_rows"] = search_rows(chosen_cases(arguments.cases), arguments.jobs)
        file.write_text(compact(json.dumps(found, indent=1)) + "\n", "utf-8")
        return
    changes = {}
    for setting in arguments.set:
        key, _, value = setting.partition("=")
        try:
            changes[key] = json.loads(value)
        except json.JSONDecodeError:
            changes[key] = value
    names, pair = chosen_cases(arguments.cases), tuple(sorted(arguments.pair, reverse=True))
    cells_mm, densities = (sorted(set(given), reverse=True) for given in (arguments.cells, arguments.densities))
    watch = Watch()
    jobs = all_jobs(names, cells_mm, densities[::-1], pair, arguments.order)
    outcomes = solve_all(jobs, changes, arguments.repeat, arguments.jobs)
    rows, slow_rows, orders = all_rows(names, outcomes, pair, arguments.order)
    about = watch.about()
    print_rows(rows)
    print_summary(rows)
    print_orders(slow_rows, f"order with {COURANT_FRACTION:g} of the step")
    for family, used in orders.items():
        print(f"{family + ', to extrapolate':41}" + ", ".join(f"{key} {value:.2f}" for key, value in used.items()))
    print(
        f"\nprocessor time, median of {arguments.repeat}; commit {about['commit']}; {about['machine']}, "
        f"{about['cores']} cores, {about['other_cores']:.2f} of them busy with other programs"
    )
    found = {
        "measured_on": {**about, "repeat": arguments.repeat, "jobs": arguments.jobs},
        "settings": changes,
        "extrapolated_from_mm": pair,
        "reference_uncertainty": reference_uncertainty(names),
        "orders": orders,
        "rows": rows,
        "half_step_rows": slow_rows,
        "open_waveguide": open_waveguide_figures(outcomes),
    }
    if arguments.add_to:
        found = added(json.loads(arguments.add_to.read_text("utf-8")), found)
    target = arguments.add_to or arguments.json
    if target:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(compact(json.dumps(found, indent=1)) + "\n", "utf-8")


def added(stored, found):
    """Return a stored file with the rows of newly solved cases in place of its own rows of them.

    Raises:
        SystemExit: The file has other settings or another pair of meshes to extrapolate from.
    """
    for key in ("settings", "extrapolated_from_mm"):
        if stored[key] != json.loads(json.dumps(found[key])):
            raise SystemExit(f"{key} = {found[key]} differs from the file's {stored[key]}; use --json for a new file")
    new = {row["case"] for row in found["rows"]}
    commit = found["measured_on"]["commit"]
    merged = {**stored, "orders": {**stored["orders"], **found["orders"]}}
    for key in ("rows", "half_step_rows"):
        kept = [row for row in stored[key] if row["case"] not in new]
        untimed = [{name: row[name] for name in row if name not in ("seconds", "spread")} for row in found[key]]
        merged[key] = kept + [row | {"commit": commit} for row in untimed]
    merged["open_waveguide"] = {**stored["open_waveguide"], **found["open_waveguide"]}
    merged["reference_uncertainty"] = reference_uncertainty(dict.fromkeys(row["case"] for row in merged["rows"]))
    return merged


def reference_uncertainty(names):
    """Return by set the largest change of the reference's figures with its order, mesh and absorbing layer."""
    keys = ("s11", "directivity_dbi", "e_plane_dbi", "h_plane_dbi", "radiation_efficiency")
    found = {}
    for group, cases in SETS.items():
        changes = [result["uncertainty"] for name in names if name in cases for result in EVERY[name]["results"]]
        if changes:
            found[group] = {key: max(change[key] for change in changes) for key in keys}
    return found


def compact(text):
    """Put every table of plain numbers on one line."""
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda found: re.sub(r"\s*\n\s*", " ", found[0]), text)


if __name__ == "__main__":
    main()
