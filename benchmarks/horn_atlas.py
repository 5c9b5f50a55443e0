"""Solve the conical horns of the atlas; one row of text a horn.

    python benchmarks/horn_atlas.py map|variants|beyond [--limit N] [--folder FOLDER]

A row is added to `FOLDER/<set>.csv` as soon as its horn is solved, and horns that stand there are left out: a stopped
computation goes on where it was. Lengths are in wavelengths and angles in degrees; the phase centre counts from the
mouth. Every horn is solved on cells of 0.03 and 0.02 wavelengths and extrapolated, as `antennaopt simulate
--extrapolate` does it.

`map` is a grid over diameter and length, `variants` have other feeds and walls or are open guides, and `beyond` are
longer than the map.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import antennaopt as ao

FOLDER = Path(__file__).resolve().parents[1] / "results" / "horn_atlas"
FEED_RADIUS, WALL, FEED_LENGTH = 0.36, 0.06, 1.2  # wavelengths
CELL = 0.03
"""The coarser cell, wavelengths; the finer one is 0.02. Horns are multiples of 0.06, so that both lattices fit them."""
GRID = 0.06
LONGEST, WIDEST = 12.5, 6.72
STEEPEST = 70.0
"""Largest half angle of the flare on the map, degrees."""
PHASES = (0.08, 0.7)
"""Phase error s of the map's horns that are wider than 2 wavelengths; narrower ones may have more."""
NEAR_OPTIMUM = (0.2, 0.47)
_MM = 10.0  # a wavelength, so that a number of the file is one of the solver's times ten
_FREQUENCY = "29.9792458 GHz"
_FIGURES = (
    {"metric": "beamwidth_deg", "level_db": 10, "plane": "e"},
    {"metric": "beamwidth_deg", "level_db": 10, "plane": "h"},
    {"metric": "phase_centre_mm"},
)
COLUMNS = (
    "diameter", "length", "feed_radius", "wall", "coarse_dbi", "fine_dbi", "directivity_dbi", "s11_re", "s11_im",
    "beamwidth_e_deg", "beamwidth_h_deg", "beamwidth_e_10db_deg", "beamwidth_h_10db_deg", "sidelobe_db",
    "crosspol_db", "phase_centre", "verdict", "seconds",
)  # fmt: skip


@dataclass(frozen=True, order=True)
class Horn:
    """A conical horn, wavelengths.

    Attributes:
        diameter: Inside, at the mouth.
        length: From the throat to the mouth; 0 is an open guide.
        feed_radius: Inner radius of the guide.
        wall: Of the guide, and of the horn at its mouth.
    """

    diameter: float
    length: float
    feed_radius: float = FEED_RADIUS
    wall: float = WALL

    @property
    def flare_deg(self) -> float:
        """Half angle."""
        return math.degrees(math.atan2(self.diameter / 2 - self.feed_radius, self.length))

    @property
    def phase_error(self) -> float:
        """Balanis' s = d^2 / (8 l), l the slant length from the apex to the rim."""
        slant = self.diameter / 2 / math.sin(math.radians(self.flare_deg))
        return self.diameter**2 / 8 / slant

    def table(self) -> dict[str, Any]:
        """Return it as an antenna file."""

        def mm(length: float) -> str:
            return f"{length * _MM:.6g} mm"

        inner, outer = self.feed_radius, self.feed_radius + self.wall
        feed = {"inner_radius": mm(inner), "outer_radius": mm(outer), "length": mm(FEED_LENGTH)}
        horn = {"length": mm(self.length), "aperture_radius": mm(self.diameter / 2), "wall": mm(self.wall)}
        antenna = {"family": "conical_horn", "feed": feed, "horn": horn}
        if self.length == 0.0:
            antenna = {"family": "open_waveguide", "feed": feed}
        title = f"Conical horn, {self.diameter:g} x {self.length:g} wavelengths"
        return {"title": title, "antenna": antenna, "solver": {"frequencies": [_FREQUENCY]}}


def solve(horn: Horn) -> list[str]:
    """Return the row of a horn, in the order of `COLUMNS`."""
    outcome = ao.simulate(horn.table(), cell=CELL * _MM * 1e-3, extrapolate=True, figures=_FIGURES, backend="cpu")
    one = outcome.results[0]
    coarse, fine = (mesh["results"][0]["directivity_dbi"] for mesh in outcome.meshes)
    values = (
        (4, coarse, fine, one.directivity_dbi),
        (5, *one.s11),
        (2, one.hpbw_e_deg, one.hpbw_h_deg, one.beamwidth_deg_e_10db, one.beamwidth_deg_h_10db),
        (2, one.sidelobe_db, one.crosspol_db),
        (3, one.phase_centre_mm / _MM - horn.length),
    )
    row = [f"{length:.5g}" for length in astuple(horn)]
    row += ["" if value is None else f"{value:.{digits}f}" for digits, *found in values for value in found]
    return [*row, outcome.certificate["verdict"], f"{outcome.seconds:.2f}"]


def map_horns() -> list[Horn]:
    """Return the horns of the map, those near the optimum first, each part in random order."""
    diameters = [*range(13, 50), *range(50, round(WIDEST / GRID) + 1, 2)]
    lengths, step = [], 1
    while step * GRID <= LONGEST:
        lengths.append(step)
        step = max(step + 1, round(1.08 * step))
    horns = [Horn(round(d * GRID, 2), round(length * GRID, 2)) for d in diameters for length in lengths]
    horns = [horn for horn in horns if horn.flare_deg <= STEEPEST and _within(horn)]
    order = np.random.default_rng(13).permutation(len(horns))
    least, most = NEAR_OPTIMUM
    return sorted((horns[place] for place in order), key=lambda horn: not least <= horn.phase_error <= most)


def _within(horn: Horn) -> bool:
    least, most = PHASES
    return least <= horn.phase_error and (horn.phase_error <= most or horn.diameter <= 2)


def solved(file: Path) -> set[Horn]:
    """Return the horns of a file."""
    if not file.exists():
        return set()
    with file.open(newline="", encoding="utf-8") as text:
        return {Horn(*(float(row[name]) for name in COLUMNS[:4])) for row in csv.DictReader(text)}


def variants() -> Iterator[Horn]:
    """Yield horns of one cone with other feeds, horns with other walls, and open guides."""
    for d, length in ((1.32, 0.6), (1.92, 1.2), (2.52, 1.8), (3.12, 2.4), (4.32, 3.6), (5.52, 9.6)):
        for change in (-0.03, 0.0, 0.03):
            yield Horn(d, round(length * (1 - 2 * change / (d - 2 * FEED_RADIUS)), 2), round(FEED_RADIUS + change, 2))
        for wall in (0.03, 0.12):
            yield Horn(d, length, wall=wall)
    for radius in (0.305, 0.315, 0.33, 0.345, 0.36):
        yield Horn(2 * radius, 0.0, radius)


def beyond() -> Iterator[Horn]:
    """Yield horns longer than those of the map."""
    for length, diameters in ((19.98, (7.8, 8.16, 8.52)), (31.98, (9.84, 10.32, 10.8))):
        for d in diameters:
            yield Horn(d, length)


SETS = {"map": map_horns, "variants": variants, "beyond": beyond}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--limit", type=int, help="horns to solve at most")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    file = arguments.folder / f"{arguments.set}.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    known = solved(file)
    missing = [horn for horn in SETS[arguments.set]() if horn not in known]
    print(f"{len(known)} horns in {file}, {len(missing)} to solve", flush=True)
    with file.open("a", newline="", encoding="utf-8") as text:
        writer = csv.writer(text, lineterminator="\n")
        if not file.stat().st_size:
            writer.writerow(COLUMNS)
            text.flush()
        for horn in missing[: arguments.limit]:
            writer.writerow(solve(horn))
            text.flush()


if __name__ == "__main__":
    main()
