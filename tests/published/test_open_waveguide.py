"""The open circular waveguide of a published table: TE11, a = 3.6 mm, rim 0.4 mm, 20 mm long, shorted at the back.

The table is of an independent high-order finite-element solution (two orders agree to 1e-4 dB). S11 is that of an
infinitely long feed: the absorber in front of our back wall stands for it, and the wall's outside is in both.

What is left is the rim: fields rise as x^(-1/3) towards a 90-degree edge, where the lattice without a correction would
converge with order 4/3, not 2. With 0.3 mm cells the wall (1.33 cells) also ends between lattice planes on its outside;
with 0.15 mm (2.67 cells) too.

Measured, largest over the three frequencies:

    cell      D           |S11|      complex S11   phase at 30 GHz   HPBW E / H          front to back
    0.30 mm   0.0038 dB   0.030 dB   0.00038       0.16 deg          0.104 / 0.033 deg   0.020 dB
    0.15 mm   0.0033 dB   0.007 dB   0.00032       0.15 deg          0.100 / 0.013 deg   0.004 dB

No theory gives what the correction of the rim leaves; the tolerances are these figures and a third to a half, and half
a unit of the table's last digit. The goals are 0.15 dB, 0.6 dB, 1 degree and 0.1 dB, 0.35 dB, 1 degree.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable

import numpy as np
import pytest
from reference_antennas import solved

GHZ = (28.5, 30.0, 31.5)
PUBLISHED = {
    "s11_db": (-15.550, -18.347, -20.821),
    "directivity_dbi": (8.031, 8.284, 8.417),
    "hpbw_e_deg": (72.98, 69.92, 71.60),
    "hpbw_h_deg": (69.78, 70.29, 71.11),
    "front_to_back_db": (12.21, 13.11, 13.80),
}
PHASE_DEG_30 = 175.14
TOLERANCE = {  # by cell, m
    0.3e-3: {
        "s11_db": 0.04,
        "directivity_dbi": 0.006,
        "hpbw_e_deg": 0.15,
        "hpbw_h_deg": 0.05,
        "front_to_back_db": 0.032,
    },
    0.15e-3: {
        "s11_db": 0.011,
        "directivity_dbi": 0.005,
        "hpbw_e_deg": 0.15,
        "hpbw_h_deg": 0.023,
        "front_to_back_db": 0.01,
    },
}
S11_TOLERANCE = {0.3e-3: 5.5e-4, 0.15e-3: 4.8e-4}
PHASE_TOLERANCE_DEG = {0.3e-3: 0.24, 0.15e-3: 0.22}
LOST = {0.3e-3: (1.2e-3, 1e-3), 0.15e-3: (6.3e-4, 3.2e-4)}  # in the far field, through the contour


@pytest.mark.parametrize("key", PUBLISHED)
@pytest.mark.parametrize("cell", TOLERANCE)
def test_figures(measured: Callable[..., float], cell: float, key: str) -> None:
    """Every figure of the table at every frequency."""
    ours = np.array(solved("open_waveguide", cell)[key])
    name, _, unit = key.replace("_", " ").rpartition(" ")
    error = np.abs(ours - PUBLISHED[key]).max()
    measured(
        name, error, unit.replace("dbi", "db").replace("db", "dB"), at_most=TOLERANCE[cell][key], cell_mm=cell * 1e3
    )


@pytest.mark.parametrize("cell", TOLERANCE)
def test_phase_of_s11(measured: Callable[..., float], cell: float) -> None:
    """At 30 GHz in the plane z = 0, exp(+jwt); the continuous phase constant would put it off by 2 dbeta L."""
    real, imaginary = solved("open_waveguide", cell)["s11"][GHZ.index(30.0)]
    phase = math.degrees(cmath.phase(complex(real, imaginary)))
    error = abs(phase - PHASE_DEG_30)
    measured("phase of S11 at 30 GHz", error, "deg", at_most=PHASE_TOLERANCE_DEG[cell], cell_mm=cell * 1e3)


@pytest.mark.parametrize("cell", TOLERANCE)
def test_nothing_is_lost(measured: Callable[..., float], cell: float) -> None:
    """Perfect metal in air: what enters at the port is radiated.

    Measured within 8e-4 and 4e-4, through the contour 7e-4 and 2e-4; up to 1e-3 is what the energy stop at -60 dB may
    leave out. The bounds are the figures and a half.
    """
    outcome, (far, near) = solved("open_waveguide", cell), LOST[cell]
    for key, bound in (("radiation_efficiency", far), ("power_balance", far), ("contour_balance", near)):
        off = np.abs(np.array(outcome[key]) - 1).max()
        measured(f"{key.replace('_', ' ')}, distance from 1", off, at_most=bound, cell_mm=cell * 1e3)


@pytest.mark.parametrize("cell", TOLERANCE)
def test_complex_s11(measured: Callable[..., float], cell: float) -> None:
    """At 30 GHz, as a distance. Without the rim's edge condition it was 0.0062 at 0.3 mm and 0.0027 at 0.15 mm."""
    exact = 10 ** (PUBLISHED["s11_db"][1] / 20) * cmath.exp(1j * math.radians(PHASE_DEG_30))
    error = abs(complex(*solved("open_waveguide", cell)["s11"][1]) - exact)
    measured("complex S11 at 30 GHz", error, at_most=S11_TOLERANCE[cell], cell_mm=cell * 1e3)
