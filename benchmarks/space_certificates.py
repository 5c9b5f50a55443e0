"""What certificates of antennas in space are worth: random designs on the run's mesh, the certificate's, and finer.

    python benchmarks/space_certificates.py --json results/benchmarks/cpu/space_certificates.json

Three designs of each family are drawn at random about its closed form. Each is solved with the cells of a run, with
half of them as its certificate does, and with cells that are a quarter as large in all places (`--finer`).
Rows hold S11 and the directivity on axis of every mesh; what has a row is not solved again. `--table` solves nothing
and prints the table of docs/guide/accuracy.md. `--strips 40 400` solves the first resonator on the certificate's mesh
as a cylinder of 40 strips, as the solver makes it, and of 400; rows with `strips` are those.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.constants import c

from antennaopt.families import kind
from antennaopt.settings import SolverSettings
from antennaopt.solve import yee_plan
from antennaopt.solve.yee import evaluate
from antennaopt.solve.yee_plan import YeePlan, plan

HZ = 10e9
BAND = (0.98 * HZ, HZ, 1.02 * HZ)
FAMILIES = ("patch", "strip_dipole", "dielectric_resonator", "pyramidal_horn")
DESIGNS = 3
FINEST = 4.0
KEPT = ("status", "error", "steps", "cells", "decay_db", "frequency_hz", "s11", "directivity_dbi", "contour_balance",
        "power_balance", "radiation_efficiency")  # fmt: skip


def drawn(family: str, number: int) -> dict[str, float]:
    """Return a design, SI, by dotted name: the number decides the feed, and all else that is drawn."""
    random, lam = np.random.default_rng([FAMILIES.index(family), number]), c / HZ

    def about(value: float, share: float = 0.2) -> float:
        return float(value * random.uniform(1 - share, 1 + share))

    known = kind(family).spatial
    assert known is not None, "all of FAMILIES are solved in space"
    if family == "patch":
        design = {"substrate.permittivity": about(2.8), "substrate.loss_tangent": 1e-3}
        design |= {"substrate.thickness": about(0.035 * lam), "substrate.margin": about(0.15 * lam)}
        made = known.start(design, HZ)
        design |= {name: about(made[name], 0.05) for name in ("patch.length", "patch.width")}
        if number == 0:  # of a pin, with the radius that it has
            return design | {"feed.kind": 0.0, "feed.offset": about(0.25 * design["patch.length"])} | {
                "feed.radius": about(0.01 * lam), "feed.resistance": 50.0}  # fmt: skip
        line = {"feed.line_width": about(0.08 * lam), "feed.line_length": about(0.2 * lam), "feed.resistance": 50.0}
        if number == 1:
            inset = {"feed.inset_depth": about(0.25 * design["patch.length"]), "feed.inset_gap": about(0.04 * lam)}
            return design | {"feed.kind": 1.0} | line | inset
        return design | {"feed.kind": 2.0} | line
    if family == "strip_dipole":
        design = {"dipole.length": about(0.46 * lam, 0.1), "dipole.width": about(0.05 * lam)}
        design |= {"dipole.gap": about(0.04 * lam), "feed.resistance": 50.0}
        if number:
            sides = {"reflector.length": about(0.8 * lam), "reflector.width": about(0.8 * lam)}
            design |= {"reflector.height": about(0.25 * lam)} | sides
        return design
    if family == "dielectric_resonator":
        permittivity = about(9.0)
        side = 0.5 * lam / np.sqrt(permittivity)  # near the resonance of the closed form
        design = {"resonator.permittivity": permittivity, "resonator.loss_tangent": 1e-3}
        design |= {"resonator.height": about(0.9 * side), "feed.resistance": 50.0}
        design |= {"ground.length": about(0.8 * lam), "ground.width": about(0.8 * lam)}
        if number == 1:
            design |= {
                "resonator.shape": 1.0,
                "resonator.length": about(1.7 * side),
                "resonator.width": about(1.7 * side),
            }
        else:
            design |= {"resonator.shape": 0.0, "resonator.radius": about(0.95 * side)}
        if number < 2:
            reach = design.get("resonator.radius", design.get("resonator.length", 0.0) / 2)
            return design | {"feed.kind": 0.0, "feed.offset": about(0.9 * reach, 0.1)} | {
                "feed.height": about(0.7 * design["resonator.height"])}  # fmt: skip
        slot = {"substrate.permittivity": 2.2, "substrate.thickness": 0.03 * lam}
        slot |= {"feed.slot_length": about(0.22 * lam, 0.1), "feed.slot_width": about(0.05 * lam, 0.1)}
        slot |= {"feed.stub_length": about(0.15 * lam), "feed.line_width": about(0.08 * lam, 0.1)}
        return design | {"feed.kind": 1.0, "feed.line_length": about(0.3 * lam, 0.1)} | slot
    wide, high = 0.762 * lam, 0.339 * lam  # of WR-90
    design = {"feed.width": wide, "feed.height": high, "horn.wall": about(0.05 * lam), "horn.length": about(0.9 * lam)}
    return design | {"horn.width": about(1.6 * lam), "horn.height": about(1.3 * lam)}


def meshes(family: str, design: Mapping[str, float], finer: Sequence[float]) -> Iterator[tuple[float, YeePlan]]:
    """Yield how many times finer than the run's a mesh is, and its plan: the run's, the certificate's, finer ones."""
    settings = SolverSettings(
        frequencies=BAND, design_frequency=HZ, cells_per_wavelength=15.0, pml_cells=8, decay_db=45.0
    )
    own = plan(family, design, design, settings)
    yield 1.0, own
    yield 2.0, plan(family, design, design, settings.with_cell(own.cell / 2), halving=own)
    for times in finer:
        density, between = times * own.cells_per_wavelength, times * own.between
        made = replace(own, cell=own.cell / times, cells_per_wavelength=density, between=between)
        yield times, replace(made, max_steps=round(own.max_steps * times))


def changes(row: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[float, float]:
    """Return the largest distance of S11 and the largest difference of directivity, dB, between two outcomes."""
    reflected = [np.array([complex(*one) for one in found["s11"]]) for found in (row, other)]
    directed = [np.array(found["directivity_dbi"]) for found in (row, other)]
    return float(np.abs(reflected[0] - reflected[1]).max()), float(np.abs(directed[0] - directed[1]).max())


def table(rows: list[dict[str, Any]]) -> str:
    """Return what the certificate sees of each design, next to what the finest mesh shows."""
    lines = [
        "| antenna | S11: halved | run's cells to a quarter | half to a quarter "
        "| directivity (dB): halved | run's cells to a quarter |",
        "|---" * 6 + "|",
    ]
    for family in FAMILIES:
        for number in range(DESIGNS):
            every = [row for row in rows if (row["family"], row["number"]) == (family, number)]
            own = [row for row in every if "strips" not in row]
            on = {row["finer"]: row["outcome"] for row in own}
            if FINEST not in on:
                continue
            found = [changes(on[low], on[high]) for low, high in ((1.0, 2.0), (1.0, FINEST), (2.0, FINEST))]
            cells = [f"{s11:.3f}" for s11, _ in found] + [f"{found[at][1]:.3f}" for at in (0, 1)]
            lines.append(f"| `{family}` {number + 1} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def in_strips(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Solve the first resonator as a cylinder of other numbers of strips, keep the rows, and print what changes."""
    family, found = "dielectric_resonator", []
    design = drawn(family, 0)
    half = dict(meshes(family, design, []))[2.0]
    for count in options.strips:
        yee_plan.STRIPS = count
        (outcome,) = evaluate(family, [design], half.to_dict())
        found.append({name: outcome.get(name) for name in KEPT})
        about = {"family": family, "number": 0, "finer": 2.0, "strips": count, "cell_m": half.cell, "design": design}
        rows.append({**about, "outcome": found[-1], "machine": options.machine, "commit": options.commit})
    options.json.write_text(json.dumps(rows) + "\n", "utf-8")
    print("S11 and directivity (dB) change by", changes(found[0], found[-1]))


def measure(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Solve what has no row yet, and keep each row at once."""
    done = {(row["family"], row["number"], row["finer"]) for row in rows if "strips" not in row}
    for number in range(DESIGNS):
        for family in options.families:
            design = drawn(family, number)
            for times, one in meshes(family, design, options.finer):
                if (family, number, times) in done:
                    continue
                began = time.process_time()
                (found,) = evaluate(family, [design], one.to_dict())
                seconds = time.process_time() - began
                about = {"family": family, "number": number, "finer": times, "cell_m": one.cell, "design": design}
                outcome = {name: found.get(name) for name in KEPT}
                origin = {"seconds": seconds, "machine": options.machine, "commit": options.commit}
                rows.append({**about, "outcome": outcome, **origin})
                options.json.write_text(json.dumps(rows) + "\n", "utf-8")
                print(family, number, times, outcome["status"], f"{seconds:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--finer", type=float, nargs="*", default=[FINEST], metavar="TIMES")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--json", type=Path, required=True, metavar="FILE")
    parser.add_argument("--machine", default="AMD EPYC, one core")
    parser.add_argument("--commit", default="")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--strips", type=int, nargs="+", metavar="NUMBER")
    options = parser.parse_args()
    rows = json.loads(options.json.read_text("utf-8")) if options.json.exists() else []
    if options.strips:
        in_strips(options, rows)
        return
    if not options.table:
        measure(options, rows)
    print(table(rows))


if __name__ == "__main__":
    main()
