"""Check horns of the atlas (`benchmarks/horn_atlas.py`) with finite elements; one row of text a horn.

    python benchmarks/reference_fem/horn_atlas.py [--horns N] [--folder FOLDER]

The best horn of every length and N random ones of `map.csv` go to `FOLDER/finite_elements.csv`; horns that stand there
are left out. Each is solved twice: `change_db` is the change of directivity with one polynomial order less, elements a
third larger and two levels of rim refinement less.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
from cases import _feed, _horn
from run import FINEST, solve_case

FOLDER = Path(__file__).resolve().parents[2] / "results" / "horn_atlas"
DESIGN = ("diameter", "length", "feed_radius", "wall")
COLUMNS = (*DESIGN, "directivity_dbi", "change_db", "s11_re", "s11_im", "beamwidth_e_deg", "beamwidth_h_deg")
MM = 10.0  # a wavelength
GHZ = (29.0, 29.9792458, 31.0)
FEED_LENGTH_MM = 12.0
FINE = replace(FINEST, order=5)
COARSE = replace(FINEST, order=4, elements_per_wavelength=3.0, rim_levels=4)


def designs(file):
    """Return the directivity of each design of a file; none where it is missing."""
    if not file.exists():
        return {}
    with file.open(newline="", encoding="utf-8") as text:
        rows = csv.DictReader(text)
        return {tuple(float(row[name]) for name in DESIGN): float(row["directivity_dbi"]) for row in rows}


def best_of_each_length(horns):
    """Return the designs of largest directivity."""
    best = {}
    for design in sorted(horns, key=horns.get):
        best[design[1]] = design
    return sorted(best.values())


def solved(design):
    """Return the row of a horn."""
    diameter, length, feed_radius, wall = (size * MM for size in design)
    feed = _feed(GHZ, feed_radius, feed_radius + wall, FEED_LENGTH_MM)
    case = _horn("atlas", length, diameter / 2, wall, feed) | {"frequencies_hz": [feed["design_frequency_hz"]]}
    (one,), _ = solve_case(case, FINE.for_band(case))
    (other,), _ = solve_case(case, COARSE.for_band(case))
    row = [f"{size:.5g}" for size in design]
    row += [f"{one['directivity_dbi']:.4f}", f"{abs(one['directivity_dbi'] - other['directivity_dbi']):.1e}"]
    return row + [f"{part:.5f}" for part in one["s11"]] + [f"{one[key]:.2f}" for key in ("hpbw_e_deg", "hpbw_h_deg")]


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--horns", type=int, default=50, help="random horns of the map (default: 50)")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    file = arguments.folder / "finite_elements.csv"
    horns = designs(arguments.folder / "map.csv")
    every, known = sorted(horns), designs(file)
    chosen = [every[place] for place in np.random.default_rng(7).permutation(len(every))[: arguments.horns]]
    missing = [one for one in dict.fromkeys((*best_of_each_length(horns), *chosen)) if one not in known]
    with file.open("a", newline="", encoding="utf-8") as text:
        writer = csv.writer(text, lineterminator="\n")
        if not known:
            writer.writerow(COLUMNS)
        for design in missing:
            writer.writerow(solved(design))
            text.flush()


if __name__ == "__main__":
    main()
