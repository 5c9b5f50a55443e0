"""Write docs/validation.md and its pictures from results/validation/*.json (the last step of `make validation`).

Tables of README and of docs/guide/accuracy.md are written too, between comments `measured: ...` and `end`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import performance_tables
import validation_figures
from orders import EXTRAPOLATED, HIGHEST_ORDER, OTHER_FEEDS
from reference_antennas import SETS
from test_open_waveguide import PUBLISHED
from validation_tables import (
    STRAIGHT,
    antenna_table,
    cavity_table,
    extrapolation_table,
    family_table,
    figure_table,
    goals_table,
    largest_over,
    open_waveguide_table,
    order_table,
    outline_table,
    search_table,
    table,
    uncertainty_table,
    worst_table,
)

from antennaopt.report.canvas import render
from antennaopt.solve.extrapolate import COURANT_FRACTION, ORDERS

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "results" / "validation"
PAGE = ROOT / "docs" / "validation.md"
PICTURES = ROOT / "docs" / "images" / "validation"
README, GUIDE = ROOT / "README.md", ROOT / "docs" / "guide" / "accuracy.md"
BLOCKS = (
    (README, "accuracy"),
    (GUIDE, "reference"),
    (GUIDE, "cells"),
    (GUIDE, "open waveguide"),
    (GUIDE, "cavities"),
    (GUIDE, "families"),
    (GUIDE, "other feeds"),
)
CAVITIES = {  # name, file of tests, and what the names of its figures end in
    "empty": ("test_cavity_modes.py", "empty"),
    "filled": ("test_cavity_modes.py", "filled"),
    "with a slab": ("test_dielectric_interface.py", ""),
    "with a rod": ("test_rod_in_cavity.py", ""),
}
FAMILIES = {
    "hemispherical_lens": "Hemispherical lenses with extension",
    "shaped_lens": "Shaped lenses",
    "conical_horn": "Conical horns",
    "dielectric_rod": "Dielectric rods",
    "open_waveguide": "Open waveguide",
}
STYLES = dict(zip(SETS, ("solid", "dashed", "dotted", "dash-dotted"), strict=True))

HEAD = """# Validation

The tests and `benchmarks/accuracy.py` measured every figure of this page. `make validation` runs both and writes the
page ({files} files of tests, {tests} tests, {minutes:.0f} minutes of one core). The figures themselves are in
[results/validation](../results/validation), and a test compares the page with them. Seconds are processor time of one
core, float32: {measured_on}.

## Antennas against finite elements

An independent solver computed {antennas} antennas ([how](../benchmarks/reference_fem/README.md)): body of revolution,
NGSolve, order 6, curved elements graded at the rims. There are four sets:

| set | antennas | feed, band | used for |
|---|---|---|---|
| reference | {in_reference} | 3.6 mm, 28.5 to 31.5 GHz | development; orders of extrapolation are fitted to it |
| holdout | {in_holdout} | the same | measured only |
| other feeds | {in_other} | 2 mm, 50 to 60 GHz; 5 mm, 20 to 23 GHz; 9 mm, 11 to 13 GHz | measured only |
| rods | {in_rods} | as reference | orders of extrapolation of dielectric rods are fitted to it |

The reference's own uncertainty is the largest change with its order, mesh and absorbing layer; patterns are compared
down to -30 dB:

{uncertainty}

An error is the largest over the antenna's three frequencies:

| column | compares |
|---|---|
| directivity | on axis |
| S11 | complex, referred to z = 0: the distance of the two values |
| E-plane, H-plane | the cut, where the reference is within 20 dB of boresight |
| efficiency | radiated over accepted power |

Other feeds are solved as an experiment would: `20 a wavelength` is `cells_per_wavelength = 20`, in the antenna's own
densest medium at its own highest frequency. The other sets are solved with cells of the same size. Permittivity 2.53
at 31.5 GHz then has 20 cells a wavelength at 0.3 mm and 30 at 0.2 mm; antennas of metal alone have 32 and 48. Goals:

{goals}

Worst of each set; what misses its goal is bold. The goals of the lens of permittivity 3.8 are those of its own cells a
wavelength: 16, 24, 33 at 0.3, 0.2, 0.15 mm.

{worst}

Extrapolated rows come from {pair} mm (other feeds: from 20 a wavelength and the mesh that `simulate --extrapolate`
adds). Both meshes are solved with {courant:g} of the largest time step, as `simulate --extrapolate` does
([formula](../antennaopt/solve/extrapolate.py)), and with the orders below. Seconds are those of both meshes.

### Order of convergence

The order is the slope of log(error) over log(cell), from 0.3 mm down. The error is the root mean square over the
antennas of a family and the frequencies. For the pattern it is taken over both cuts and all angles too, as amplitude
over that of boresight.

- On other feeds 20, 30, 40 and 60 cells a wavelength stand for 0.3, 0.2, 0.15 and 0.1 mm, here and in the figures.
- Efficiency is fitted on lossy antennas and on rods; without loss it is 1 on any mesh, but for rods whose base ends on
  the face of the tube.
- Where metal leaves a sliver of a cell open, the sliver is enlarged to keep the time step, and the next cell has as
  much less. With half the step slivers hardly grow, and the rim's error remains.

{orders}

The order to extrapolate with is fitted to signed errors on neighbouring meshes, of the reference set and of the rods.
It leaves the smallest error, summed over the pairs of meshes. Where errors keep their sign from mesh to mesh, it is
about the order above. Where they change sign, as those of a rim at another place in its cell do, extrapolation does not
help. Such an entry is `none`: a formal order of {highest:g}, which leaves the finer mesh's figures nearly as they are.
Outlines with dielectric and of metal alone have orders of their own ([record](decisions/0049-orders-by-material.md)).
`simulate --extrapolate` uses these orders:

{extrapolation}
"""

SEARCH = """### As a search solves

A search takes the diagonal of the permittivity tensor at surfaces, a pulse two fifths as long, and stops when the
energy is 50 dB below its peak in place of 60 ([record](decisions/0005-pulse-and-energy-stop.md)). The time step of
lenses and rods is 1.147 times as long ([record](decisions/0067-long-time-steps.md)). Largest errors of the same
antennas with these settings, with the standard time step, and with the full pulse and stop of `simulate` and of
certificates too.
What misses its goal is bold. Steps are over those of the full pulse, all antennas together.

{table}
"""

OUTLINES = """### Antennas given as polygons

Two or three antennas of each of six kinds on feeds of 3.6 to 5 mm, 28.5 to 31.5 GHz, with the same polygons for both
solvers ([tests/published/test_outlines.py](../tests/published/test_outlines.py)). Orders of extrapolation are fitted to
one antenna of each kind, and the others are held out. The cross-polar level is compared
at every second degree of the 45-degree plane where it is above -35 dB; 0 stands for none. What misses its goal is bold.
Extrapolated rows come from 0.3 and 0.2 mm, those of corrugated horns from 0.2 and 0.15 mm.

{table}
"""

REPEAT = """## How to repeat it

- The page: `make validation`. One phenomenon: `python -m pytest tests/physics/test_cavity_modes.py`.
- The table of antennas, or a part of it, on any cells:
  `python benchmarks/accuracy.py --cases horn --cells 0.3 0.2 0.15`.
- The reference itself, with other elements, orders and layers: `benchmarks/reference_fem`, on NGSolve.
- An independent FDTD code: `antennaopt export --format meep` writes any antenna as a script that runs where Meep is
  installed.
- Another solver: [fem_reference.json](../tests/published/data/fem_reference.json),
  [fem_holdout.json](../tests/published/data/fem_holdout.json), [fem_rods.json](../tests/published/data/fem_rods.json),
  [fem_outlines.json](../tests/published/data/fem_outlines.json),
  [fem_outlines_holdout.json](../tests/published/data/fem_outlines_holdout.json) and
  [fem_other_feeds.json](../tests/published/data/fem_other_feeds.json) hold all dimensions, results and uncertainties.
"""


def picture(name, what):
    return f"![{what}](images/validation/{name}.svg)"


def antennas(rows):
    """Yield a section for each family."""
    for family, title in FAMILIES.items():
        ours = [row for row in rows if row["family"] == family]
        if ours:
            figure = picture(family, f"{title}: error against the cell")
            styles = [f"{name} {style}" for name, style in STYLES.items() if any(row["set"] == name for row in ours)]
            lines = f"Grey: single antennas ({', '.join(styles)})."
            yield f"### {title}\n\n{figure}\n\n{lines}\n\n{antenna_table(ours)}\n"


def physics(files):
    """Yield a section for each file of tests."""
    yield "## Phenomena, one file each\n"
    yield (
        "A line has an `order` where it has three resolutions or more and its errors fall on a straight line"
        f" (r squared above {STRAIGHT}). Thin lines of the figures only join points. The files have the derivations.\n"
    )
    for file in files:
        stem = Path(file["file"]).stem
        outcome = f"{file['passed']} passed" + (f", **{file['failed']} failed**" if file["failed"] else "")
        outcome += f", {file['skipped']} skipped or known to fail" if file.get("skipped") else ""
        yield f"### {file['title']}\n\n[{file['file']}](../{file['file']}): {outcome}, {file['seconds']:.0f} s.\n"
        if validation_figures.curve_panels(file["figures"]):
            yield picture(stem, file["title"]) + "\n"
        if file["figures"]:
            yield figure_table(file["figures"]) + "\n"


def page(tests, accuracy):
    """Return the whole page as text."""
    rows = accuracy["rows"]
    head = HEAD.format(
        uncertainty=uncertainty_table(accuracy["reference_uncertainty"]),
        files=len(tests),
        tests=sum(file["passed"] + file["failed"] for file in tests),
        minutes=(sum(file["seconds"] for file in tests) + sum(row.get("seconds", 0) for row in rows)) / 60,
        measured_on=measured_on(accuracy),
        antennas=len({row["case"] for row in rows}),
        in_reference=len({row["case"] for row in rows if row["set"] == "reference"}),
        in_holdout=len({row["case"] for row in rows if row["set"] == "holdout"}),
        in_rods=len({row["case"] for row in rows if row["set"] == "rods"}),
        in_other=len({row["case"] for row in rows if row["set"] == OTHER_FEEDS}),
        goals=goals_table(),
        worst=worst_table(rows),
        pair=" and ".join(f"{cell:g}" for cell in accuracy["extrapolated_from_mm"]),
        courant=COURANT_FRACTION,
        orders=order_table(rows, accuracy["half_step_rows"]),
        extrapolation=extrapolation_table(accuracy["orders"]),
        highest=HIGHEST_ORDER,
    )
    outlines = OUTLINES.format(table=outline_table(accuracy["outlines"]))
    search = SEARCH.format(table=search_table(accuracy["search_rows"]))
    return "\n".join([head, search, *antennas(rows), outlines, *physics(tests), REPEAT])


def pictures(tests, accuracy):
    """Yield names and figures of all pictures of the page."""
    rows = accuracy["rows"]
    for family in FAMILIES:
        if any(row["family"] == family for row in rows):
            yield family, validation_figures.family_figure(rows, family)
    for file in tests:
        figure = validation_figures.curve_figure(file["figures"])
        if figure is not None:
            yield Path(file["file"]).stem, figure


def measured_on(accuracy):
    """Return where and how seconds were measured, as text; rows without a spread have no seconds."""
    about = accuracy["measured_on"]
    timed = [row["spread"] for row in accuracy["rows"] if "spread" in row]
    untimed = [row for row in accuracy["rows"] if "spread" not in row]
    commits = dict.fromkeys(row.get("commit", about["commit"])[:7] for row in untimed)
    later = f"; {len(untimed)} rows, of commit {', '.join(commits)}, are not timed" if untimed else ""
    return (
        f"median of {about['repeat']}, spread at most {max(timed):.1%} (half the range), {about['machine']}, "
        f"{about['other_cores']:.2f} of {about['cores']} cores busy with other programs, commit "
        f"{(about['commit'] or 'unknown')[:7]}{later}"
    )


def reference_sentence(accuracy):
    """Return how certain the reference itself is: the lenses, horns and waveguides, and the rods."""
    by_set = dict(accuracy["reference_uncertainty"])
    rods = by_set.pop("rods")
    directivity, s11 = (max(found[key] for found in by_set.values()) for key in ("directivity_dbi", "s11"))
    return (
        f"The reference is itself certain to {directivity:.1g} dB in directivity and {s11:.6f} in S11 "
        f"(rods: {rods['directivity_dbi']:.1g} dB and {rods['s11']:.6f})."
    )


def cells_table(accuracy):
    """Return the use of numbers of cells a wavelength, with the largest errors of all antennas of all sets."""
    rows = accuracy["rows"]
    return table(
        ("cells a wavelength", "use"),
        [
            ["8", "the smallest accepted"],
            ["12", "a first estimate: ranks antennas, does not measure them"],
            ["15", "a search whose best is solved again with smaller cells (the quickstart, `ka_band_lens`)"],
            ["20", f"results: within {largest_over(rows, 0.3, 20)} in complex S11 on the antennas below"],
            ["40", f"final figures: within {largest_over(rows, 0.15, 40)}"],
            ["`--extrapolate` from 20 and 30", f"within {largest_over(rows, EXTRAPOLATED)}"],
        ],
    )


def accuracy_table(rows):
    """Return the largest errors of all antennas of all sets, by mesh."""
    lines = []
    meshes_of = {
        "20 (default)": (0.3, 20),
        "30": (0.2, 30),
        "40": (0.15, 40),
        "extrapolated from 20 and 30": (EXTRAPOLATED,),
    }
    for name, meshes in meshes_of.items():
        ours = [row for row in rows if row["mesh"] in meshes]
        worst = {key: max(row[key] for row in ours) for key in ("directivity_db", "s11", "efficiency")}
        pattern = max(max(row["e_plane_db"], row["h_plane_db"]) for row in ours)
        first = (name, f"{worst['directivity_db']:.3f}", f"{worst['s11']:.4f}")
        lines.append([*first, f"{pattern:.2f}", f"{worst['efficiency']:.4f}"])
    return table(("cells per wavelength", "directivity (dB)", "S11", "patterns (dB)", "efficiency"), lines)


def cavities(tests):
    """Return the table of closed cavities, and the reflection of absorbing layers."""
    by_file = {Path(file["file"]).name: file["figures"] for file in tests}
    figures = {
        kind: [
            figure
            for figure in by_file[file]
            if (figure["name"].startswith("relative error") and figure["name"].endswith(end))
            or (figure["name"].startswith("order, ") and kind != "filled")
        ]
        for kind, (file, end) in CAVITIES.items()
    }
    walls = [one["value"] for one in by_file["test_absorbing_layers.py"] if one["name"].startswith("all walls")]
    return (
        f"{cavity_table(figures)}\n\nAbsorbing layers of 10 cells on all walls, corners included, reflect at most "
        f"{max(walls):.0f} dB of a pulse."
    )


def block(path, name, tests, accuracy):
    """Return the text of a page with new figures between two of its comments."""
    rows = accuracy["rows"]
    others = [row for row in rows if row["set"] == OTHER_FEEDS]
    same_feed = [row for row in rows if row["set"] != OTHER_FEEDS]
    made = {
        "accuracy": lambda: accuracy_table(rows),
        "reference": lambda: reference_sentence(accuracy),
        "families": lambda: family_table(same_feed, FAMILIES, (0.3, 0.2, 0.15, EXTRAPOLATED)),
        "other feeds": lambda: family_table(others, FAMILIES, (20, 30, 40, EXTRAPOLATED)),
        "open waveguide": lambda: open_waveguide_table(PUBLISHED, accuracy["open_waveguide"]),
        "cavities": lambda: cavities(tests),
        "cells": lambda: cells_table(accuracy),
    }[name]()
    return performance_tables.between(path.read_text("utf-8"), name, made)


def stale_orders(accuracy):
    """Return families whose stored orders, those of `simulate --extrapolate`, are not the fitted ones."""
    return [
        family
        for family, fitted in accuracy["orders"].items()
        if family not in ORDERS or any(abs(ORDERS[family][key] - order) > 0.02 for key, order in fitted.items())
    ]


def read():
    """Return both stored files."""
    return [json.loads((DATA / name).read_text("utf-8")) for name in ("tests.json", "accuracy.json")]


def main():
    """Write everything; exit status 1 where a test had failed or the stored orders are not the fitted ones."""
    tests, accuracy = read()
    PICTURES.mkdir(parents=True, exist_ok=True)
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    for name, figure in pictures(tests, accuracy):
        (PICTURES / f"{name}.svg").write_bytes(render(figure, "svg"))
    PAGE.write_text(page(tests, accuracy), "utf-8")
    for path, name in BLOCKS:
        path.write_text(block(path, name, tests, accuracy), "utf-8")
    performance_tables.write()
    written = dict.fromkeys((PAGE, *(p for p, _ in BLOCKS), *(p for p, _ in performance_tables.BLOCKS)))
    print("wrote " + ", ".join(str(path.relative_to(ROOT)) for path in written))
    stale, failed = stale_orders(accuracy), [file["file"] for file in tests if file["failed"]]
    if stale:
        print("Orders of the files in antennaopt/families should be, as fitted:")
        for family, fitted in accuracy["orders"].items():
            print(f'    "{family}": {{' + ", ".join(f'"{key}": {order:.2f}' for key, order in fitted.items()) + "},")
    if failed:
        print(f"tests that failed: {', '.join(failed)}")
    return int(bool(stale or failed))


if __name__ == "__main__":
    sys.exit(main())
