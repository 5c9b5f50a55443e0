"""Cylinders beside a line source against the eigenfunction series: ring of total field and scattering width.

Radius half a wavelength in free space, source one wavelength from the axis, ring at three quarters; relative L2 over
angle. Measured, per cent, ring / scattering width; N cells a wavelength in free space, so N = 40 is 20 in permittivity
4; plain: true permittivities on the lattice; compensated: `compensated_permittivity`:

    N   lattice      TM dielectric    TE dielectric    TM metal       TE metal
    20  plain        8.98 / 18.24     8.02 / 19.16     1.42 / 0.65    1.69 / 0.60
    40  plain        2.37 /  4.69     1.97 /  4.97     0.35 / 0.16    0.47 / 0.16
    20  compensated  2.52 /  2.97     1.96 /  3.33     1.18 / 0.55    0.83 / 1.09
    40  compensated  0.65 /  0.78     0.52 /  0.91     0.29 / 0.13    0.22 / 0.19

The plain lattice's error is dispersion: its waves are 0.2 to 0.4 % too short at 20 cells a wavelength, over the two
wavelengths across the dielectric. The smoothing decides what is left: TE, compensated, N = 40, with the diagonal of
the tensor only, 1.59 / 4.66.
"""

from __future__ import annotations

import numpy as np
import pytest
from planar_cylinders import compare

BODIES = pytest.mark.parametrize("permittivity", [4.0, None], ids=["dielectric", "metal"])
POLARISATIONS = pytest.mark.parametrize("polarisation", ["TM", "TE"])


@BODIES
@POLARISATIONS
def test_within_one_per_cent(polarisation: str, permittivity: float | None) -> None:
    """20 cells a wavelength in the dielectric, with the permittivities that make up for the lattice's dispersion."""
    errors = compare(polarisation, permittivity, 40)
    assert errors.ring < 0.01
    assert errors.width < 0.01


@BODIES
@POLARISATIONS
def test_plain_lattice(polarisation: str, permittivity: float | None) -> None:
    """Without compensation: the dielectric misses one per cent by its phase error, 0.4 % of 4 pi on the axes."""
    errors = compare(polarisation, permittivity, 40, compensated=False)
    ring, width = (0.006, 0.003) if permittivity is None else (0.027, 0.055)
    assert errors.ring < ring
    assert errors.width < width


@BODIES
@POLARISATIONS
def test_second_order(polarisation: str, permittivity: float | None) -> None:
    """Order of the ring's error from N = 20 to 40. Measured: TM 1.92 and 2.02 (metal), TE 2.02 and 1.86."""
    coarse, fine = (compare(polarisation, permittivity, cells, compensated=False).ring for cells in (20, 40))
    assert np.log2(coarse / fine) > 1.8


def test_coupled_components_at_the_surface() -> None:
    """TE with a diagonal tensor only is several times worse: the smoothing is what gives the order."""
    assert compare("TE", 4.0, 40, tensor=False).ring > 2.5 * compare("TE", 4.0, 40).ring
