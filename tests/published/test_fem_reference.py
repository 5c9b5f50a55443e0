"""Lenses and horns against an independent finite-element solution of order 6 (see `reference_antennas`).

Curved lens surfaces, a slanted metal wall that no lattice plane meets, loss, permittivity 3.8: nothing here was tuned
on. The cell of 0.3 mm is a 20th of the shortest wavelength in the lenses of 2.53 and a 16th in the one of 3.8 (the 11
mm lens below).

Measured at 0.3 mm, largest over 28.5, 30 and 31.5 GHz; pattern errors down to -20 dB, and in amplitude over
boresight's:

                           D dB    S11     HPBW E / H deg   efficiency  pattern dB  pattern amplitude
    shaped_lens_14         0.013   0.0054  0.05 / 0.25      0.0003      0.23        0.005
    shaped_lens_18         0.033   0.0096  0.08 / 0.20      0.0004      0.27        0.005
    shaped_lens_11_lossy   0.072   0.0102  0.15 / 0.66      0.0041      0.98        0.015
    hemispherical_lens_9   0.024   0.0063  0.10 / 0.33      0.0001      0.29        0.005
    hemispherical_lens_12  0.043   0.0065  0.18 / 0.45      0.0001      0.41        0.005
    conical_horn_18        0.017   0.0072  0.14 / 0.08      0.0003      0.37        0.005
    conical_horn_30        0.018   0.0068  0.11 / 0.09      0.0002      0.34        0.006

At 0.15 mm: D at most 0.013 dB (lossy lens 0.034), S11 0.0035, HPBW 0.10 degrees (0.26), pattern 0.19 dB (0.5). The
rim's singularity would hold S11 to the order 4/3 in the end; the error of the field on its way through the lenses,
which is of the second, still hides it.

The lossy lens is the one at 16 cells a wavelength; its pattern error is where the level is 17 to 20 dB down. The
tolerances leave a quarter to a third; the issue asks for 0.15 dB and 0.06.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from reference_antennas import ALL, CASES, HOLDOUT, error, pattern_errors

NAMES = [name for name in ALL if name != "open_waveguide"]
COARSE, FINE = 0.3e-3, 0.15e-3
DENSE = "shaped_lens_11_lossy"
Measured = Callable[..., float]


def hold(measured: Measured, name: str, cell: float, figure: str, value: float, unit: str, bound: float) -> None:
    """One figure of one antenna."""
    measured(figure, value, unit, at_most=bound, cell_mm=cell * 1e3, antenna=name)


@pytest.mark.parametrize("name", NAMES)
def test_directivity_and_s11(measured: Measured, name: str) -> None:
    """Boresight directivity and complex S11 at z = 0, every frequency."""
    bound = 0.12 if name == DENSE else 0.08
    hold(measured, name, COARSE, "directivity", error(name, COARSE, "directivity_dbi"), "dB", bound)
    hold(measured, name, COARSE, "S11", error(name, COARSE, "s11"), "", 0.012)


@pytest.mark.parametrize("name", NAMES)
def test_beamwidths(measured: Measured, name: str) -> None:
    """Half-power beamwidths in both planes."""
    hold(measured, name, COARSE, "beamwidth E", error(name, COARSE, "hpbw_e_deg"), "deg", 0.45)
    bound = 0.85 if name == DENSE else 0.6
    hold(measured, name, COARSE, "beamwidth H", error(name, COARSE, "hpbw_h_deg"), "deg", bound)


@pytest.mark.parametrize("name", NAMES)
def test_pattern(measured: Measured, name: str) -> None:
    """Both cuts at all angles, side and back lobes included."""
    decibels, amplitude = pattern_errors(name, COARSE)
    hold(measured, name, COARSE, "pattern down to -20 dB", decibels, "dB", 1.4 if name == DENSE else 0.6)
    hold(measured, name, COARSE, "pattern amplitude", amplitude, "", 0.020 if name == DENSE else 0.008)


@pytest.mark.parametrize("name", NAMES)
def test_efficiency(measured: Measured, name: str) -> None:
    """Radiated over accepted power: 1 without loss, 0.70 to 0.85 in the lenses of loss tangent 0.02."""
    bound = 0.006 if ALL[name].get("loss_tangent", 0.0) > 0.01 else 0.001
    hold(measured, name, COARSE, "efficiency", error(name, COARSE, "radiation_efficiency"), "", bound)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_fine_mesh(measured: Measured, name: str) -> None:
    """The same with half the cell."""
    decibels, amplitude = pattern_errors(name, FINE)
    dense = name == DENSE
    hold(measured, name, FINE, "directivity", error(name, FINE, "directivity_dbi"), "dB", 0.07 if dense else 0.02)
    hold(measured, name, FINE, "S11", error(name, FINE, "s11"), "", 0.005)
    hold(measured, name, FINE, "beamwidth E", error(name, FINE, "hpbw_e_deg"), "deg", 0.12)
    hold(measured, name, FINE, "beamwidth H", error(name, FINE, "hpbw_h_deg"), "deg", 0.35 if dense else 0.15)
    hold(measured, name, FINE, "pattern down to -20 dB", decibels, "dB", 0.65 if dense else 0.33)
    hold(measured, name, FINE, "pattern amplitude", amplitude, "", 0.008)


@pytest.mark.slow
@pytest.mark.parametrize("names", [list(CASES), list(HOLDOUT)], ids=["reference", "holdout"])
@pytest.mark.parametrize("figure", ["s11", "pattern"])
def test_order_of_convergence(measured: Measured, figure: str, names: list[str]) -> None:
    """From 0.6, 0.3 and 0.15 mm, errors averaged over the antennas as logarithms: about the second.

    At 0.6 mm the rim is two thirds of a cell thick and lenses have 10 (8) cells a wavelength: outside what is asked
    for, but the line through three points still slopes as it should. Measured 2.14 for S11 and 1.99 for the pattern's
    amplitude of the reference set.
    """
    cells = (0.6e-3, COARSE, FINE)
    lenses_and_horns = [name for name in names if name in NAMES]

    def size(name: str, cell: float) -> float:
        return error(name, cell, "s11") if figure == "s11" else pattern_errors(name, cell)[1]

    errors = np.array([[size(name, cell) for cell in cells] for name in lenses_and_horns])
    order = np.polyfit(np.log(cells), np.log(errors).mean(axis=0), 1)[0]
    which = "holdout" if lenses_and_horns[0] in HOLDOUT else "reference"
    measured(f"order of {figure}, {which} set", order, at_least=1.2, at_most=2.5)
