"""Write docs/validation.md and its pictures from results/validation/*.json (the last step of `make validation`).

The same figures stand in the README and in docs/guide/accuracy.md, between comments `measured: ...` and `end`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import validation_figures
from orders import HIGHEST_ORDER
from test_open_waveguide import PUBLISHED
from validation_tables import (
    STRAIGHT,
    antenna_table,
    extrapolation_table,
    family_table,
    figure_table,
    goals_table,
    number,
    open_waveguide_table,
    order_table,
    worst_table,
)

from antennaopt.evaluation.extrapolate import COURANT_FRACTION, ORDERS
from antennaopt.reports.canvas import render

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "results" / "validation"
PAGE = ROOT / "docs" / "validation.md"
PICTURES = ROOT / "docs" / "images" / "validation"
README, GUIDE = ROOT / "README.md", ROOT / "docs" / "guide" / "accuracy.md"
BLOCKS = ((README, "families"), (README, "open waveguide"), (GUIDE, "families"))
FAMILIES = {
    "hemispherical_lens": "Hemispherical lenses with extension",
    "shaped_lens": "Shaped lenses",
    "conical_horn": "Conical horns",
    "open_waveguide": "Open waveguide",
}

HEAD = """# Validation

Every figure of this page was measured by the tests and by `benchmarks/accuracy.py`; `make validation` runs both and
writes the page ({files} files of tests, {tests} tests, {minutes:.0f} minutes of one core). The figures themselves are
in [results/validation](../results/validation), and a test holds the page to them. Timings: one core, float32,
{device}.

## Antennas against finite elements

{antennas} antennas solved independently: body of revolution, NGSolve, order 6, curved elements graded at the rims;
order, mesh and absorbing layer change their S11 by at most {s11}, directivity by {directivity} dB, patterns down to
-30 dB by {pattern} dB, efficiency by {efficiency} ([how](../benchmarks/reference_fem/README.md)). The *holdout* set
was added later; nothing is tuned on it.

Largest error over 28.5, 30 and 31.5 GHz: directivity on axis; complex S11 at z = 0, as a distance; both cuts where the
reference is within 20 dB of boresight; radiation efficiency. Permittivity 2.53 at 31.5 GHz has 20 cells a wavelength
at 0.3 mm and 30 at 0.2 mm. Goals:

{goals}

Worst of each set; what misses its goal is bold. The lens of permittivity 3.8 is held to the goals of its own cells a
wavelength: 16, 24, 33 at 0.3, 0.2, 0.15 mm.

{worst}

Extrapolated: from {pair} mm, both solved with {courant:g} of the largest time step as `simulate --extrapolate` does it
([the formula](../antennaopt/evaluation/extrapolate.py)), with the orders below; seconds are those of both meshes.

### Order of convergence

Slope of log(error) over log(cell), 0.3 mm and below; the error is the root mean square over the antennas of a family,
the frequencies, and for the pattern both cuts and all angles, as amplitude over boresight's. Efficiency is fitted on
lossy antennas only (without loss it is 1 on any mesh). Metal that leaves a sliver of a cell open is moved a little for
the sake of the time step, at first order; with half the step it hardly is, and what remains is the rim's.

{orders}

To extrapolate with, an order is fitted to the signed errors of the reference set on neighbouring meshes: it leaves the
least behind, summed over the pairs of meshes. Where errors shrink in step it is the order above. Where they change
sign from mesh to mesh, as those of a corrected rim at another place in its cell do, there is nothing to extrapolate:
`none` (a formal {highest:g}) leaves the finer mesh's figures nearly as they are. `simulate --extrapolate` uses these.

{extrapolation}
"""

REPEAT = """## How to repeat it

- The page: `make validation`. One phenomenon: `python -m pytest tests/physics/test_cavity_modes.py`.
- The table of antennas, or a part of it, on any cells:
  `python benchmarks/accuracy.py --cases horn --cells 0.3 0.2 0.15`.
- The reference itself, with other elements, orders and layers: `benchmarks/reference_fem`, on NGSolve.
- With an independent FDTD code: `antennaopt export --format meep` writes any antenna as a script for Meep, which runs
  by itself where Meep is installed.
- The antennas: [fem_reference.json](../tests/published/data/fem_reference.json) and
  [fem_holdout.json](../tests/published/data/fem_holdout.json) hold all dimensions, results and uncertainties, to try
  another solver on.
"""


def picture(name, what):
    return f"![{what}](images/validation/{name}.svg)"


def antennas(rows):
    """A section for each family."""
    for family, title in FAMILIES.items():
        ours = [row for row in rows if row["family"] == family]
        if ours:
            figure = picture(family, f"{title}: error against the cell")
            lines = "Grey: single antennas, dashed those of the holdout set."
            yield f"### {title}\n\n{figure}\n\n{lines}\n\n{antenna_table(ours)}\n"


def physics(files):
    """A section for each file of tests."""
    yield "## Phenomena, one file each\n"
    yield (
        "`order` is fitted to the errors of a line where there are three resolutions or more and the errors fall on a"
        f" straight line (r squared above {STRAIGHT}); thin lines of the figures only join points. Derivations stand in"
        " the files.\n"
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
    """The whole page as text."""
    rows, reference = accuracy["rows"], accuracy["reference_uncertainty"]
    head = HEAD.format(
        s11=number(reference["s11"]),
        directivity=number(reference["directivity_dbi"]),
        pattern=number(max(reference["e_plane_dbi"], reference["h_plane_dbi"])),
        efficiency=number(reference["radiation_efficiency"]),
        files=len(tests),
        tests=sum(file["passed"] + file["failed"] for file in tests),
        minutes=(sum(file["seconds"] for file in tests) + sum(row.get("seconds", 0) for row in rows)) / 60,
        device=accuracy["device"],
        antennas=len({row["case"] for row in rows}),
        goals=goals_table(),
        worst=worst_table(rows),
        pair=" and ".join(f"{cell:g}" for cell in accuracy["extrapolated_from_mm"]),
        courant=COURANT_FRACTION,
        orders=order_table(rows, accuracy["half_step_rows"]),
        extrapolation=extrapolation_table(accuracy["orders"]),
        highest=HIGHEST_ORDER,
    )
    return "\n".join([head, *antennas(rows), *physics(tests), REPEAT])


def pictures(tests, accuracy):
    """Names and figures of all pictures of the page."""
    rows = accuracy["rows"]
    for family in FAMILIES:
        if any(row["family"] == family for row in rows):
            yield family, validation_figures.family_figure(rows, family)
    for file in tests:
        figure = validation_figures.curve_figure(file["figures"])
        if figure is not None:
            yield Path(file["file"]).stem, figure


def block(path, name, accuracy):
    """The text of a page with what stands between two of its comments measured anew."""
    made = {
        "families": lambda: family_table(accuracy["rows"], FAMILIES),
        "open waveguide": lambda: open_waveguide_table(PUBLISHED, accuracy["open_waveguide"]),
    }[name]()
    before, rest = path.read_text("utf-8").split(f"<!-- measured: {name} -->\n", 1)
    after = rest.split("<!-- end -->", 1)[1]
    return f"{before}<!-- measured: {name} -->\n{made}\n<!-- end -->{after}"


def stale_orders(accuracy):
    """Families whose stored orders, those of `simulate --extrapolate`, are not the fitted ones."""
    return [
        family
        for family, fitted in accuracy["orders"].items()
        if any(abs(ORDERS[family][key] - order) > 0.02 for key, order in fitted.items())
    ]


def read():
    """Both files, as stored."""
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
        path.write_text(block(path, name, accuracy), "utf-8")
    print("wrote " + ", ".join(str(path.relative_to(ROOT)) for path in dict.fromkeys((PAGE, *(p for p, _ in BLOCKS)))))
    stale, failed = stale_orders(accuracy), [file["file"] for file in tests if file["failed"]]
    if stale:
        print("ORDERS in antennaopt/evaluation/extrapolate.py should be, as fitted:")
        for family, fitted in accuracy["orders"].items():
            print(f'    "{family}": {{' + ", ".join(f'"{key}": {order:.2f}' for key, order in fitted.items()) + "},")
    if failed:
        print(f"tests that failed: {', '.join(failed)}")
    return int(bool(stale or failed))


if __name__ == "__main__":
    sys.exit(main())
