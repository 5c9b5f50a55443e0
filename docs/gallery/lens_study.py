"""A lens study.

A small search optimises the shape of a dielectric lens. The rows of the run are then read as a table, and the best lens
is solved again on a finer mesh. A real study has more individuals, more generations and smaller cells.
"""

# %%
# The experiment is a table, as in an experiment file. The five radii of the lens are a range, so they are genes.
from __future__ import annotations

import matplotlib.pyplot as plt

import antennaopt as ao

EXPERIMENT = {
    "title": "Lens study",
    "seed": 3,
    "antenna": {
        "family": "shaped_lens",
        "feed": {"inner_radius": "3.6 mm", "outer_radius": "4.0 mm", "length": "12 mm"},
        "lens": {
            "permittivity": 2.53,
            "loss_tangent": 6.6e-4,
            "radii": {"count": 5, "min": "7 mm", "max": "15 mm"},
        },
    },
    "solver": {"frequencies": ["30 GHz"], "cells_per_wavelength": 12},
    "evolution": {"population": 16, "generations": 6, "elites": 1},
    "objective": [
        {"metric": "directivity_dbi", "at_least": 17.0},
        {"metric": "s11_db", "at_most": -12.0, "weight": 0.5},
    ],
    "certificate": {"mode": "off"},
    "cluster": {"workers": 1, "dashboard": False},
}

# %%
# Worker processes import this script, so code that must run only once is below the guard. `run.rows` is a pandas table
# with one row per evaluation. `run.best` is solved again with smaller cells: the search ranks lenses
# on a coarse mesh, and the final figures are those of the fine one.
if __name__ == "__main__":
    run = ao.optimise(ao.load(EXPERIMENT), backend="cpu")
    rows = run.rows[run.rows.status == "ok"]
    print(rows.groupby("generation").fitness.describe()[["count", "min", "50%"]].round(2).to_string())

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    points = axes.scatter(rows.directivity_dbi_30000mhz, rows.s11_db_30000mhz, c=rows.generation, s=18)
    figure.colorbar(points, label="generation")
    axes.axvline(17.0, color="grey", linewidth=0.8)
    axes.axhline(-12.0, color="grey", linewidth=0.8)
    axes.set(xlabel="directivity on axis (dBi)", ylabel="S11 (dB)", title="All lenses of the study; lines: the goals")
    figure.savefig("lens_study.png", dpi=110)

    best = run.best
    fine = ao.simulate(best, cells_per_wavelength=20)
    for key in ("directivity_dbi", "s11_db", "sidelobe_db"):
        coarse = getattr(best.outcome.results[0], key)
        print(f"{key:16} {coarse:7.2f} in the search, {getattr(fine.results[0], key):7.2f} on the fine mesh")
    ao.plot(fine).savefig("best_lens.png", dpi=110)
