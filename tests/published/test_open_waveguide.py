"""The open circular waveguide of the public table: TE11, a = 3.6 mm, rim 0.4 mm thick, 20 mm long, shorted at the back.

The table is of an independent high-order finite-element solution (two orders agree to 1e-4 dB). S11 is that of an
infinitely long feed: the absorber in front of our back wall stands for it, and the wall's outside is in both.

What is left is the rim: fields rise as x^(-1/3) towards a 90-degree edge and the lattice converges there with order
4/3, not 2. With 0.3 mm cells the wall (1.33 cells) also ends between lattice planes on its outside; with 0.15 mm (2.67
cells) too.

Measured, largest over the three frequencies:

    cell      D        |S11|     complex S11   phase at 30 GHz   HPBW E / H        front to back
    0.30 mm   0.031    0.020 dB  0.0062        2.4 deg low       0.38 / 0.23 deg   0.10 dB
    0.15 mm   0.021    0.013 dB  0.0027        1.0 deg low       0.20 / 0.22 deg   0.08 dB

The tolerances leave about a third on top of that; the issue asks for 0.15 dB, 0.6 dB, 1 degree and 0.1 dB, 0.35 dB, 1
degree.
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
    0.3e-3: {"s11_db": 0.04, "directivity_dbi": 0.05, "hpbw_e_deg": 0.6, "hpbw_h_deg": 0.4, "front_to_back_db": 0.18},
    0.15e-3: {"s11_db": 0.025, "directivity_dbi": 0.03, "hpbw_e_deg": 0.3, "hpbw_h_deg": 0.3, "front_to_back_db": 0.13},
}
S11_TOLERANCE = {0.3e-3: 1.5e-3, 0.15e-3: 1e-3}
PHASE_TOLERANCE_DEG = {0.3e-3: 3.0, 0.15e-3: 1.5}


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
    """Perfect metal in air: what enters at the port is radiated (measured within 8e-4 and 4e-4)."""
    outcome = solved("open_waveguide", cell)
    for key in ("radiation_efficiency", "power_balance", "contour_balance"):
        off = np.abs(np.array(outcome[key]) - 1).max()
        measured(f"{key.replace('_', ' ')}, distance from 1", off, at_most=2e-3, cell_mm=cell * 1e3)


@pytest.mark.parametrize("cell", TOLERANCE)
def test_complex_s11(measured: Callable[..., float], cell: float) -> None:
    """At 30 GHz, as a distance. Without the rim's edge condition it was 0.0062 at 0.3 mm and 0.0027 at 0.15 mm."""
    exact = 10 ** (PUBLISHED["s11_db"][1] / 20) * cmath.exp(1j * math.radians(PHASE_DEG_30))
    error = abs(complex(*solved("open_waveguide", cell)["s11"][1]) - exact)
    measured("complex S11 at 30 GHz", error, at_most=S11_TOLERANCE[cell], cell_mm=cell * 1e3)
