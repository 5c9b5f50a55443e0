"""Compute the reference files: every antenna of `cases.py`, each solved with four resolutions.

    python benchmarks/reference_fem/run.py [--out FILE] [NAME ...]

A case that is computed again replaces its entry; the file is written after every case.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from dataclasses import asdict, replace
from pathlib import Path

import ngsolve as ngs
import numpy as np
from cases import CASES, HOLDOUT, OTHER_FEEDS, OUTLINES, OUTLINES_HOLDOUT, RODS, STEPPED
from far_field import summarise
from fields import relative_permittivity, solve
from shapes import Resolution, build_domain

DATA = Path(__file__).resolve().parents[2] / "tests" / "published" / "data"
SETS = {
    DATA / "fem_reference.json": CASES,
    DATA / "fem_holdout.json": HOLDOUT,
    DATA / "fem_other_feeds.json": OTHER_FEEDS,
    DATA / "fem_rods.json": RODS,
    DATA / "fem_outlines.json": OUTLINES,
    DATA / "fem_outlines_holdout.json": OUTLINES_HOLDOUT,
    DATA / "fem_stepped_horn.json": STEPPED,
}
EVERY = (*CASES, *HOLDOUT, *OTHER_FEEDS, *RODS, *OUTLINES, *OUTLINES_HOLDOUT, *STEPPED)
FINEST = Resolution(order=6, elements_per_wavelength=4.0, rim_levels=6)
VARIANTS = {
    "order": replace(FINEST, order=5),
    "mesh": replace(FINEST, elements_per_wavelength=3.0, rim_levels=4),
    "layer": replace(FINEST, air_gap_mm=3.5, pml_thickness_mm=10.0, pml_attenuation=15.0),
}
MORE_ELEMENTS = {
    "open_waveguide_v": 8.0,
    "dielectric_rod_50": 8.0,
    "dielectric_rod_30_lossy": 8.0,
    "outline_rod": 8.0,
    "outline_rod_38": 8.0,
}  # a wavelength: with 4, two orders differ by 0.002 dB in front of thick walls, and by 0.06 dB beside rods, 20 dB down
SCALARS = (
    "directivity_dbi",
    "phase_centre_m",
    "hpbw_e_deg",
    "hpbw_h_deg",
    "front_to_back_db",
    "crosspol_db",
    "radiation_efficiency",
)
PATTERN_FLOOR_DB = 30.0
FLOORS_DB = {"cross_plane_dbi": 40.0}
CUTS = ("e_plane_dbi", "h_plane_dbi", "cross_plane_dbi")


def solve_case(case, resolution):
    """Results of one antenna, a list with one entry a frequency, and the number of unknowns."""
    domain = build_domain(case, resolution)
    results = []
    for frequency in case["frequencies_hz"]:
        permittivity = relative_permittivity(case, frequency, case["design_frequency_hz"])
        solution = solve(domain, frequency, permittivity, resolution)
        results.append({"frequency_hz": frequency, **summarise(domain, solution, frequency, resolution.order)})
    return results, solution.dofs


def difference(reference, other):
    """Absolute differences of two results; patterns within 30 dB of boresight in the reference, 40 across."""
    s, t = complex(*reference["s11"]), complex(*other["s11"])
    change = {"s11": abs(s - t), "s11_db": abs(20 * np.log10(abs(t) / abs(s)))}
    for key in SCALARS:
        change[key] = abs(reference[key] - other[key])
    for key in CUTS:
        first, second = np.array(reference[key]), np.array(other[key])
        compared = first > reference["directivity_dbi"] - FLOORS_DB.get(key, PATTERN_FLOOR_DB)
        change[key] = float(np.abs(first - second)[compared].max(initial=0.0))
    return {key: float(f"{value:.2e}") for key, value in change.items()}


def compute(case):
    """One entry of the reference file: results at the finest resolution, and how far the other resolutions are off."""
    finer = MORE_ELEMENTS.get(case["name"], FINEST.elements_per_wavelength) / FINEST.elements_per_wavelength

    def of_case(resolution):
        elements = resolution.elements_per_wavelength * finer
        return replace(resolution.for_band(case), elements_per_wavelength=elements)

    finest = of_case(FINEST)
    variants = {name: of_case(resolution) for name, resolution in VARIANTS.items()}
    results, dofs = solve_case(case, finest)
    others = {name: solve_case(case, resolution)[0] for name, resolution in variants.items()}
    for i, result in enumerate(results):
        by_variant = {name: difference(result, other[i]) for name, other in others.items()}
        result["uncertainty"] = {key: max(change[key] for change in by_variant.values()) for key in by_variant["order"]}
        result["change_with"] = by_variant
        result["theta_deg"] = list(range(0, 181, 2))
        for key, value in result.items():
            if isinstance(value, float):
                result[key] = round(value, 7)
            elif key in CUTS:
                result[key] = [round(level, 4) for level in value]
    return {
        **case,
        "time_convention": "exp(+jwt)",
        "s11_reference_plane_z_m": 0.0,
        "results": results,
        "solver": "benchmarks/reference_fem (NGSolve)",
        "solver_version": ngs.__version__,
        "order": FINEST.order,
        "dofs": dofs,
        "resolution": asdict(finest),
        "compared_with": {name: asdict(resolution) for name, resolution in variants.items()},
    }


def store(entry, path):
    """Put one entry into the file, in the order of `cases.py`."""
    entries = {old["name"]: old for old in json.loads(path.read_text())} if path.exists() else {}
    entries[entry["name"]] = entry
    order = [case["name"] for case in EVERY]
    ranked = sorted(entries.values(), key=lambda old: order.index(old["name"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(ranked, indent=1)
    path.write_text(_compact_lists(text) + "\n")


def _compact_lists(text):
    """Put every list or table of plain numbers on one line."""
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda found: re.sub(r"\s*\n\s*", " ", found[0]), text)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="cases to compute (default: all)")
    parser.add_argument("--out", type=Path, help="one file for all (default: those of the tests)")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    homes = {case["name"]: arguments.out or path for path, cases in SETS.items() for case in cases}
    unknown = set(arguments.names) - set(homes)
    if unknown:
        parser.error(f"unknown case {sorted(unknown)}; known: {', '.join(homes)}")
    ngs.SetNumThreads(arguments.threads)
    for case in EVERY:
        if arguments.names and case["name"] not in arguments.names:
            continue
        start = time.perf_counter()
        entry = compute(case)
        store(entry, homes[case["name"]])
        print(f"{case['name']}: {entry['dofs']} unknowns, {time.perf_counter() - start:.0f} s")
        for result in entry["results"]:
            s, worst = complex(*result["s11"]), result["uncertainty"]
            print(
                f"  {result['frequency_hz'] / 1e9:.1f} GHz  S11 {20 * np.log10(abs(s)):.3f} dB"
                f" {np.degrees(np.angle(s)):.2f} deg (+-{worst['s11']:.1e})  D {result['directivity_dbi']:.4f} dBi"
                f" (+-{worst['directivity_dbi']:.1e})  HPBW {result['hpbw_e_deg']:.2f}/{result['hpbw_h_deg']:.2f}"
                f"  F/B {result['front_to_back_db']:.3f}  efficiency {result['radiation_efficiency']:.6f}"
                f"  balance {result['power_balance']:.6f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
