"""Measure errors of antennas given as polygons against finite elements, and fit their orders of extrapolation.

    python benchmarks/outlines.py FILE [--cases NAME ...]

Adds its rows and orders to the FILE that `accuracy.py --json` writes; a part of the cases replaces their rows alone.
Goals and meshes are those of `tests/published/test_outlines.py`. Orders are fitted to one antenna of each kind, from
0.3 to 0.1 mm with the time step of `simulate --extrapolate`, of metal alone and with dielectric by themselves. The
corrugated horn, which rings for 100,000 steps and more, is fitted on 0.2 and 0.15 mm for its own family.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from accuracy import compact, signed_errors
from orders import EXTRAPOLATED, orders_to_extrapolate
from reference_antennas import (
    DRAWN,
    OUTLINE_KEYS,
    OUTLINE_MESHES,
    OUTLINES,
    RINGING,
    differences,
    extrapolated_outline,
    solve,
    worst,
)

from antennaopt.solve.extrapolate import COURANT_FRACTION, METAL_OUTLINE

FITTED_FROM_MM = (0.3, 0.2, 0.15, 0.1)
RINGING_FROM_MM = (0.2, 0.15)
OF_METAL = ("outline_two_chokes", "outline_dual_mode", "outline_spline")
WITH_DIELECTRIC = ("outline_two_layers", "outline_rod")
KINDS = {  # names in `antennaopt.solve.extrapolate.ORDERS`, and the antennas that they are fitted to
    "outline": WITH_DIELECTRIC,
    METAL_OUTLINE: OF_METAL,
    "lens_horn": WITH_DIELECTRIC,
    "corrugated_horn": ("outline_corrugated",),
    "choke_ring_feed": ("outline_two_chokes",),
    "dual_mode_horn": ("outline_dual_mode",),
    "profile_horn": ("outline_spline",),
    "spline_horn": ("outline_spline",),
    "shell_lens": ("outline_two_layers",),
}


def rows_of(name):
    """Yield an antenna's rows: its largest errors on each mesh, in dB but for S11 and efficiency."""
    for mesh in OUTLINE_MESHES[name]:
        outcome = extrapolated_outline(name) if mesh == EXTRAPOLATED else solve(name, mesh * 1e-3)
        found = worst(differences(name, outcome))
        own = {"case": name, "held_out": name not in OUTLINES, "mesh": mesh}
        yield own | {key: float(f"{found[key]:.4g}") for key in OUTLINE_KEYS}


def fitted():
    """Return orders by name in `ORDERS`."""
    errors = {
        (name, mesh): signed_errors(differences(name, solve(name, mesh * 1e-3, courant_fraction=COURANT_FRACTION)))
        for name in dict.fromkeys(name for names in KINDS.values() for name in names)
        for mesh in (RINGING_FROM_MM if name in RINGING else FITTED_FROM_MM)
    }
    found = {}
    for family, names in KINDS.items():
        own = {key: error for key, error in errors.items() if key[0] in names}
        found |= orders_to_extrapolate(own, dict.fromkeys(names, (family, False)))
    return found


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--cases", nargs="+", choices=DRAWN, default=list(DRAWN), metavar="NAME")
    arguments = parser.parse_args()
    stored = json.loads(arguments.file.read_text("utf-8"))
    rows = {(row["case"], row["mesh"]): row for row in stored.get("outlines", ())}
    for name in arguments.cases:
        for row in rows_of(name):
            rows[name, row["mesh"]] = row
            print(f"{name:24}{row['mesh']!s:>13}" + "".join(f"{row[key]:10.4f}" for key in OUTLINE_KEYS), flush=True)
    stored["outlines"] = [rows[name, mesh] for name in DRAWN for mesh in OUTLINE_MESHES[name] if (name, mesh) in rows]
    if not RINGING.issuperset(arguments.cases):
        stored["orders"] |= fitted()
    arguments.file.write_text(compact(json.dumps(stored, indent=1)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
