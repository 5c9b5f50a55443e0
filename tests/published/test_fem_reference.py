"""Lenses and horns against an independent finite-element solution of order 6 (see `reference_antennas`).

Curved lens surfaces, a slanted metal wall that no lattice plane meets, loss, permittivity 3.8; seven of the antennas
are a holdout set that nothing was tuned on. 0.3 and 0.2 mm are a 20th and a 30th of the shortest wavelength in the
lenses of 2.53; in the one of 3.8 (`shaped_lens_11_lossy`) they are a 16th and a 24th, and it is held to the goals of
those: none at 0.3 mm (its bound is what is measured and a third), those of 20 cells at 0.2 mm, none extrapolated.

Measured, largest over all other antennas of either set and 28.5, 30 and 31.5 GHz; the goals in brackets:

    cell           D (dB)         S11             pattern down to -20 dB   efficiency
    0.3 mm         0.040 (0.06)   0.0073 (0.012)  0.26 (0.4)               0.0017 (0.01)
    0.2 mm         0.018 (0.03)   0.0033 (0.005)  0.12 (0.2)               0.0010 (0.005)
    extrapolated   0.004 (0.015)  0.0009 (0.003)  0.045 (0.1)              0.0004 (0.003)

No theory gives these. The bounds are the goals where those are no more than three times the largest error; where they
are more, half as much again as is measured, rounded up: efficiency 0.003 and 0.002, all five extrapolated
(`EXTRAPOLATED`).

Every antenna on five meshes, and the orders: docs/validation.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from reference_antennas import (
    ALL,
    BOUNDS,
    CASES,
    COLUMNS,
    HOLDOUT,
    amplitude,
    differences,
    error,
    expected,
    pattern_errors,
    side_lobes,
    solve,
    solved,
    worst,
)

from antennaopt.solve.extrapolate import COURANT_FRACTION, ORDERS, extrapolate

DENSE = "shaped_lens_11_lossy"
DENSE_GOALS = {0.3e-3: (0.06, 0.012, 0.55, 0.55, 0.006), 0.2e-3: BOUNDS[20]}
CELLS = {0.3e-3: BOUNDS[20], 0.2e-3: BOUNDS[30]}
EXTRAPOLATED = (0.006, 0.0013, 0.07, 0.07, 0.0007)
Measured = Callable[..., float]


def hold(measured: Measured, found: dict[str, float], goals: tuple[float, ...], **where: float | str) -> None:
    """All five figures of one antenna against their goals."""
    for key, bound in zip(COLUMNS, goals, strict=True):
        name, unit = (key.removesuffix("_db").replace("_", " "), "dB") if key.endswith("_db") else (key, "")
        measured(name, found[key], unit, at_most=bound, **where)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("cell", CELLS)
def test_within_the_goals(measured: Measured, cell: float, name: str) -> None:
    """Boresight directivity, complex S11 at z = 0, both cuts down to -20 dB and efficiency, at every frequency."""
    goals = DENSE_GOALS[cell] if name == DENSE else CELLS[cell]
    hold(measured, worst(differences(name, solved(name, cell))), goals, cell_mm=cell * 1e3, antenna=name)


@pytest.mark.parametrize(
    "name",
    [*HOLDOUT, *(pytest.param(name, marks=pytest.mark.slow) for name in CASES if name != DENSE)],
)
def test_extrapolated(measured: Measured, name: str) -> None:
    """From 0.3 and 0.2 mm, with the time step and the orders that `simulate --extrapolate` takes."""
    coarse, fine = (solve(name, cell, courant_fraction=COURANT_FRACTION) for cell in CELLS)
    found = extrapolate(coarse, fine, ratio=1.5, order=ORDERS[ALL[name]["family"]])
    hold(measured, worst(differences(name, found)), EXTRAPOLATED, mesh="extrapolated", antenna=name)


@pytest.mark.parametrize("name", ALL)
def test_beamwidths_and_far_lobes(measured: Measured, name: str) -> None:
    """Half-power beamwidths at 0.3 mm, and the cuts at all angles, as amplitude over boresight's.

    Measured, largest: 0.15 and 0.51 degrees, 0.0059 (lens of 3.8; others 0.0047).
    """
    measured("beamwidth E", error(name, 0.3e-3, "hpbw_e_deg"), "deg", at_most=0.2, cell_mm=0.3, antenna=name)
    measured("beamwidth H", error(name, 0.3e-3, "hpbw_h_deg"), "deg", at_most=0.6, cell_mm=0.3, antenna=name)
    amplitude = pattern_errors(name, 0.3e-3)[1]
    measured("pattern amplitude", amplitude, at_most=0.008, cell_mm=0.3, antenna=name)


# Antennas and GHz with a side lobe, in the reference, of 0.002 and 0.014 dB over the minimum next to it (80 degrees).
BARELY_A_LOBE = {("hemispherical_lens_9", 30.0), ("shaped_lens_13_lossy", 28.5)}


@pytest.mark.parametrize("name", ALL)
def test_side_lobe_front_to_back_and_cross_polarisation(measured: Measured, name: str) -> None:
    """The three figures of the pattern, at 0.3 mm, as amplitude over boresight's.

    Side lobe and back lobe are levels of the cuts, so they are off by no more than the cuts are: at most 0.0059 (see
    above), and 0.0005 for reading a level between samples. The cross-polar amplitude is half the sum of the two complex
    amplitudes, off by no more than the mean of their errors. Measured, largest: 0.0049, 0.0034, 0.0034. A
    figure that is 3 dB off differs by 0.01 (hemispherical lenses) to 0.1 (open waveguide).

    The reference's side lobes are read by the definition from splines through its cuts.
    """
    outcome = solved(name, 0.3e-3)
    for key, sign in (("front_to_back_db", -1), ("crosspol_db", 1)):
        off = np.abs(amplitude(sign * np.array(outcome[key])) - amplitude(sign * expected(name, key))).max()
        measured(key.removesuffix("_db").replace("_", " "), off, "of boresight", at_most=0.0045, antenna=name)
    frequencies = np.array(outcome["frequency_hz"]) / 1e9
    for ghz, ours, theirs in zip(frequencies, outcome["sidelobe_db"], side_lobes(name), strict=True):
        if (name, float(ghz)) in BARELY_A_LOBE:
            continue
        assert (ours is None) == (theirs is None), f"{ghz} GHz: {ours} and the reference {theirs}"
        off = 0.0 if ours is None else abs(amplitude(ours) - amplitude(theirs))
        measured("side lobe", off, "of boresight", at_most=0.0064, ghz=float(ghz), antenna=name)


@pytest.mark.slow
@pytest.mark.parametrize("names", [CASES, HOLDOUT], ids=["reference", "holdout"])
@pytest.mark.parametrize("figure", ["s11", "pattern"])
@pytest.mark.parametrize("family", ["hemispherical_lens", "shaped_lens"])
def test_lenses_converge_with_the_second_order(
    measured: Measured, family: str, figure: str, names: dict[str, dict[str, object]]
) -> None:
    """From 0.3, 0.2 and 0.1 mm, root mean square over antennas, frequencies (and angles); at least 1.8 is required.

    Measured 1.84 to 2.00. Horns and the open waveguide have no order to speak of: with their rims corrected, errors of
    1e-3 in S11 are left that come and go with the rim's place in its cell.
    """
    cells = (0.3e-3, 0.2e-3, 0.1e-3)
    lenses = [name for name, case in names.items() if case["family"] == family]
    keys = ("s11",) if figure == "s11" else ("e_plane", "h_plane")

    def size(cell: float) -> float:
        found = [differences(name, solved(name, cell)) for name in lenses]
        return float(np.sqrt(np.mean([np.mean(np.abs(off[key]) ** 2) for off in found for key in keys])))

    order = np.polyfit(np.log(cells), np.log([size(cell) for cell in cells]), 1)[0]
    which = "holdout" if lenses[0] in HOLDOUT else "reference"
    measured(f"order of {figure}", order, at_least=1.8, at_most=2.3, family=family, antennas=which)
