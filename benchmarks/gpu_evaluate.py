"""Populations of several families on the device and on the CPU: the same figures, and the time of each stage.

python benchmarks/gpu_evaluate.py [--batch N] [--json FILE]

The last row steps corrugated horns and lenses by turns on one lattice, that of the horns, 4,000 steps each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from antennaopt.families import kind, stack
from antennaopt.solve.device import usable_cores
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.options import SolveOptions
from antennaopt.solve.plan import plan
from fdtd.axisymmetric.simulation import Hooks, Keep, solve

FEED = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4.0e-3, "feed.length": 20e-3}
SOLVER = {
    "frequencies": [28.5e9, 30e9, 31.5e9],
    "design_frequency": 30e9,
    "cell": 0.3e-3,
    "courant_fraction": 0.98,
    "pml_cells": 10,
    "decay_db": 60.0,
    "precision": "float32",
    "surfaces": "diagonal",
}
FIGURES = ("directivity_dbi", "gain_dbi", "s11_db", "sidelobe_db", "front_to_back_db", "crosspol_db")
SLOTS = {"horn.slots": 12.0, "horn.pitch": 2.2e-3, "horn.wall": 0.8e-3, "horn.slot_share": 0.7}
STEPS, ROUNDS = 4000, 5  # of the comparison on one lattice
LINEAR = ("hpbw_e_deg", "hpbw_h_deg", "radiation_efficiency", "power_balance")

_THREADS = 32  # of the CPU's half, at most


def designs(family, count, rng):
    """Random antennas of a family, and the ends of their ranges."""
    lens = {"lens.permittivity": 2.53, "lens.loss_tangent": 6.6e-4}
    ranges = {
        "open_waveguide": {},
        "hemispherical_lens": {"lens.radius": (8e-3, 13e-3), "lens.extension": (1e-3, 6e-3)},
        "shaped_lens": {f"lens.radii.{place}": (8e-3, 18e-3) for place in range(8)},
        "conical_horn": {"horn.length": (10e-3, 25e-3), "horn.aperture_radius": (6e-3, 11e-3)},
        "corrugated_horn": {"horn.wavelength": (9.5e-3, 10.5e-3), "horn.aperture_radius": (9e-3, 12e-3)},
    }[family]
    own = {"conical_horn": {"horn.wall": 0.6e-3}, "corrugated_horn": SLOTS}
    given = {one.name: one.default for one in kind(family).parameters if one.default is not None}
    fixed = given | FEED | own.get(family, lens if "lens" in family else {})
    many = [fixed | {name: rng.uniform(low, high) for name, (low, high) in ranges.items()} for _ in range(count)]
    return many, [fixed | {name: ends[side] for name, ends in ranges.items()} for side in (0, 1)]


def difference(ours, theirs, name):
    """Largest difference of a figure over the frequencies; S11 where it is above -30 dB. Infinite if one has none."""
    a, b = (np.array(outcome[name], dtype=float) for outcome in (ours, theirs))
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return np.inf
    keep = (b > -30) if name == "s11_db" else np.isfinite(b)
    return float(np.abs(a - b)[keep].max(initial=0.0))


def compare(family, batch, compared, surfaces="diagonal"):
    """A population on the device, some of it on the CPU as well; one row."""
    many, ends = designs(family, batch, np.random.default_rng(1))
    if family == "open_waveguide":
        many = many[:4]
    made = plan(family, *ends, SOLVER | {"surfaces": surfaces}).to_dict()
    evaluate(family, many, made, backend="cuda")  # compile, fill caches
    stages, start = {}, time.perf_counter()
    device = evaluate(family, many, made, backend="cuda", options=SolveOptions(stages=stages))
    seconds = time.perf_counter() - start
    few = many[:compared]
    host = evaluate(family, few, made, backend="cpu", options=SolveOptions(threads=min(usable_cores(), _THREADS)))
    alone = evaluate(family, few[-1:], made, backend="cuda")[0]
    again = device[len(few) - 1]
    off = np.max([np.abs(np.array(a["s11"]) - np.array(b["s11"])).max() for a, b in zip(device, host, strict=False)])
    return {
        "family": family,
        "surfaces": surfaces,
        "batch": len(many),
        "compared": len(few),
        "grid": [made["nr"], made["nz"]],
        "steps": [outcome["steps"] for outcome in device[:8]],
        "same_steps": [a["steps"] == b["steps"] for a, b in zip(device, host, strict=False)],
        "ok": sum(outcome["status"] == "ok" for outcome in device),
        "seconds": seconds,
        "antennas_per_s": len(many) / seconds,
        "stage_seconds": {**stages, "rest": seconds - sum(stages.values())},
        "worst_db": {
            name: float(np.max([difference(a, b, name) for a, b in zip(device, host, strict=False)]))
            for name in FIGURES
        },
        "worst": {
            name: float(np.max([difference(a, b, name) for a, b in zip(device, host, strict=False)])) for name in LINEAR
        },
        "worst_s11": float(off),
        "alone_equals_in_batch": all(alone[name] == again[name] for name in (*FIGURES, *LINEAR, "s11", "steps")),
    }


def rates(batch):
    """Cell-steps a second of corrugated horns and of lenses on the horns' lattice, and their ratio; one row."""
    rng = np.random.default_rng(2)
    horns, ends = designs("corrugated_horn", batch, rng)
    lenses, _ = designs("hemispherical_lens", batch, rng)
    layout = replace(plan("corrugated_horn", *ends, SOLVER).layout, decay=0.0, steps=STEPS)
    both = {"corrugated_horn": horns, "hemispherical_lens": lenses}
    scenes = {name: kind(name).scene(stack(many)) for name, many in both.items()}
    found = {name: [] for name in scenes}
    for _ in range(ROUNDS + 1):  # the first compiles
        for name, scene in scenes.items():
            stages = {}
            steps = solve(layout, scene, backend="cuda", keep=Keep(losses=False), hooks=Hooks(stages=stages))[0].steps
            found[name].append(layout.grid.cells * steps * batch / stages["step"])
    ratios = [one / other for one, other in zip(*found.values(), strict=True)][1:]
    return {
        "lattice": [layout.nr, layout.nz],
        "batch": batch,
        "steps": steps,
        "cell_steps_per_s": {name: statistics.median(many[1:]) for name, many in found.items()},
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=264)
    parser.add_argument("--compared", type=int, default=6)
    parser.add_argument(
        "--families",
        nargs="*",
        default=["shaped_lens", "hemispherical_lens", "conical_horn", "corrugated_horn", "open_waveguide"],
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for family in options.families:
        rows.append(compare(family, options.batch, options.compared))
        print(json.dumps(rows[-1]), flush=True)
    rows.append(rates(options.batch))
    print(json.dumps(rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
