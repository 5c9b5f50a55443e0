"""Which cells move S11 of a patch: those at edges, across its substrate, in between, or the distance to the layers.

    python benchmarks/space_cells.py --json results/benchmarks/cpu/space_cells.json

Patches within the ranges of experiments/ten_thousand_patches.toml are solved with that file's cells, with one kind of
cells changed at a time, and on a fine mesh (docs/decisions/0044, edges of sheets). A row has S11 at the file's three
frequencies and the frequency of the largest resistance. What has a row is not solved again; `--table` prints them.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from antennaopt.families import kind
from antennaopt.solve.yee_plan import scene_of
from fdtd.yee import layout, solve

BAND = (5.6e9, 5.8e9, 6.0e9)
SWEEP = np.linspace(4.7e9, 7.0e9, 2301)
FIXED = {"substrate.permittivity": 2.2, "substrate.loss_tangent": 9e-4, "substrate.margin": 6e-3, "feed.kind": 0.0,
         "feed.radius": 0.635e-3, "feed.resistance": 50.0}  # fmt: skip
NAMES = ("substrate.thickness", "patch.length", "patch.width", "feed.offset")
PATCHES = {"thin": (1.575e-3, 16.6e-3, 20e-3, 3.2e-3), "middle": (3.175e-3, 15.2e-3, 20e-3, 4.5e-3),
           "thick": (4.56e-3, 15.53e-3, 14.07e-3, 6e-3)}  # fmt: skip
FINE = {"thin": 2.0, "middle": 4.0, "thick": 6.0}
"""Times three cells in the substrate, on cells of 0.25 mm at edges."""
OURS, HALF_OURS = "by default", "half of all cells by default"
BEST = "a third of the substrate at edges, 24 a wavelength"
SHORTEST = 299792458.0 / max(BAND) / np.sqrt(FIXED["substrate.permittivity"])
"""Wavelength in the substrate at the highest frequency, m."""
OWN = {"cell": 1e-3, "cells_per_wavelength": 20.0}
HALF = {"cell": 0.5e-3, "cells_per_wavelength": 40.0, "between": 6.0, "across": 2.0}
MESHES: dict[str, dict[str, float]] = {
    "cells of 1 mm at edges, 20 a wavelength, 3 in the substrate": OWN,
    "half of all cells": HALF,
    "2 in the substrate": OWN | {"across": 2 / 3},
    "6 in the substrate": OWN | {"across": 2.0},
    "0.5 mm at edges": OWN | {"cell": 0.5e-3},
    "0.5 mm at edges, 6 in the substrate": OWN | {"cell": 0.5e-3, "across": 2.0},
    "2 mm at edges": OWN | {"cell": 2e-3},
    "30 a wavelength": OWN | {"cells_per_wavelength": 30.0},
    "40 a wavelength": OWN | {"cells_per_wavelength": 40.0},
    "layers 20 mm away": OWN | {"margin": 20e-3},
}


def solved(name: str, mesh: dict[str, float]) -> dict[str, Any]:
    """Return a row of one patch on one mesh."""
    family, design = kind("patch"), FIXED | dict(zip(NAMES, PATCHES[name], strict=True))
    board = family.of(design).board(design)
    assert board is not None
    scene, start = scene_of(board, BAND[1], BAND), time.process_time()
    grid = layout(scene, BAND, layers=6, **mesh)
    found = solve(scene, grid, BAND, decay_db=-50.0)
    reflected = found.reflection(SWEEP)
    resistance = ((1 + reflected) / (1 - reflected)).real
    return {
        "patch": name, "cells": int(grid.cells), "steps": int(found.steps), "status": found.status,
        "s11": [[float(one.real), float(one.imag)] for one in found.s11],
        "resonance_hz": float(SWEEP[resistance.argmax()]), "seconds": time.process_time() - start,
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """Return how far S11, at most, and the resonance of each patch are from those of its fine mesh."""
    on = {(row["patch"], row["mesh"]): row for row in rows}
    names = [name for name in PATCHES if (name, "fine") in on]
    lines = ["| cells | " + " | ".join(f"{name}: S11 | resonance" for name in names) + " |"]
    lines.append("|---" * (1 + 2 * len(names)) + "|")
    for mesh in (*MESHES, OURS, HALF_OURS, BEST):
        cells = []
        for name in names:
            own, fine = on.get((name, mesh)), on[name, "fine"]
            if own is None:
                cells += ["", ""]
                continue
            apart = np.abs([complex(*a) - complex(*b) for a, b in zip(own["s11"], fine["s11"], strict=True)]).max()
            moved = 100 * (own["resonance_hz"] / fine["resonance_hz"] - 1)
            cells += [f"{apart:.3f}", f"{moved:+.2f} %"]
        lines.append(f"| {mesh} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True, metavar="FILE")
    parser.add_argument("--patches", nargs="+", choices=PATCHES, default=list(PATCHES))
    parser.add_argument("--table", action="store_true", help="print what is stored")
    parser.add_argument("--machine")
    parser.add_argument("--commit")
    options = parser.parse_args()
    if not options.table and not (options.machine and options.commit):
        parser.error("--machine and --commit are needed for new rows")
    rows = json.loads(options.json.read_text("utf-8")) if options.json.exists() else []
    if options.table:
        print(table(rows))
        return
    for name in options.patches:
        height = PATCHES[name][0]
        own = {OURS: {}, HALF_OURS: HALF | {"cell": min(height / 4, SHORTEST / 40)}}
        own[BEST] = {"cell": height / 3, "cells_per_wavelength": 24.0}
        fine = {"cell": 0.25e-3, "cells_per_wavelength": 48.0, "between": 6.0, "across": FINE[name]}
        for mesh, given in {**MESHES, **own, "fine": fine}.items():
            if any((row["patch"], row["mesh"]) == (name, mesh) for row in rows):
                continue
            row = {"mesh": mesh, **solved(name, given), "machine": options.machine, "commit": options.commit}
            rows.append(row)
            options.json.write_text(json.dumps(rows) + "\n", "utf-8")
            print(name, mesh, row["resonance_hz"], row["s11"], row["cells"], f"{row['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
