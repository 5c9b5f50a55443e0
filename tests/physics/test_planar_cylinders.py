"""Cylinders next to a line source against the eigenfunction series: ring of total field and scattering width.

Solved as a user would, `fdtd.planar.scattering.scatter` with its defaults, at 20 cells a wavelength in the dielectric
(metal: in free space). Relative L2 over angle. Measured, per cent, ring / scattering width, radius half a wavelength,
source one wavelength from the axis, ring at three quarters; "plain" is without the compensation:

    cells a wavelength   TM dielectric, 4   TE dielectric, 4   TM metal       TE metal
    10, plain            9.45 / 17.9        8.31 / 19.2
    10                   2.57 /  3.16       1.69 /  3.19
    20, plain            2.41 /  4.67       1.96 /  4.96       1.44 / 0.61    1.81 / 0.61
    20                   0.64 /  0.77       0.47 /  0.87       0.29 / 0.50    0.56 / 0.91
    40, plain                                                  0.33 / 0.14    0.47 / 0.16
    40                                                         0.07 / 0.12    0.18 / 0.18

The plain lattice's error is dispersion: its waves are 0.2 to 0.4 % too short at 20 cells a wavelength, over the two
wavelengths across the dielectric; and the strength of the point current, 1.1 % at 20 cells (kd^2 / 8). What is left is
the lattice's anisotropy, and it grows with the wavelengths across and with the resonances of the cylinder: permittivity
5, radius 0.6, TM, whose field rings for 640 periods, has 1.5 %, the worst of what was tried with permittivities 2 to 6,
radii 0.3 to 0.8 and sources at 0.65 to 3 wavelengths; all else 1.0 or less. A metal cylinder of 6 cells' radius: 1.2 in
the TE width. TE without the off-diagonal part of the tensor: 1.5 / 4.7.

One per cent is the aim. No theory gives what is left of the anisotropy, so the bounds are the figures of the table and
10 to 40 %, nowhere more than the aim.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from planar_cylinders import FREQUENCY, WAVELENGTH, Case, compare

from fdtd.backends import planar_reference
from fdtd.errors import ConfigError
from fdtd.planar.scattering import Cylinder, Mesh, scatter

Measured = Callable[..., float]
BODIES = pytest.mark.parametrize("permittivity", [4.0, None], ids=["dielectric", "metal"])
POLARISATIONS = pytest.mark.parametrize("polarisation", ["TM", "TE"])


LARGEST = {  # ring and width, per cent
    ("TM", 4.0): (0.85, 1.0),
    ("TE", 4.0): (0.65, 1.0),
    ("TM", None): (0.4, 0.7),
    ("TE", None): (0.75, 1.0),
}


@BODIES
@POLARISATIONS
def test_within_one_per_cent(measured: Measured, polarisation: str, permittivity: float | None) -> None:
    """20 cells a wavelength, all else by default."""
    ring, width = LARGEST[polarisation, permittivity]
    errors = compare(Case(polarisation, permittivity))
    name = f"{polarisation}, {'metal' if permittivity is None else 'dielectric'}"
    measured(f"{name}, ring", 100 * errors.ring, "%", at_most=ring, cells_per_wavelength=20)
    measured(f"{name}, width", 100 * errors.width, "%", at_most=width, cells_per_wavelength=20)


@pytest.mark.parametrize(
    ("shape", "bounds"),
    [
        ((2.0, 0.3, 1.0, 0.6), (0.5, 0.9, 0.4)),
        ((2.0, 0.8, 1.2, 1.0), (0.8, 0.9, 0.4)),
        ((2.5, 0.4, 2.0, 0.6), (0.7, 0.8, 0.5)),
        ((6.0, 0.3, 0.8, 0.5), (1.0, 0.8, 0.1)),
        ((None, 0.8, 1.2, 1.5), (0.9, 1.0, 0.75)),
        pytest.param((3.0, 0.8, 1.3, 1.05), (0.9, 1.05, 0.3), marks=pytest.mark.slow),
        pytest.param((4.0, 0.5, 3.0, 0.8), (0.9, 1.05, 0.45), marks=pytest.mark.slow),
        pytest.param((6.0, 0.5, 0.9, 0.7), (0.6, 0.8, 0.1), marks=pytest.mark.slow),
        pytest.param((6.0, 0.8, 1.5, 1.1), (0.95, 0.85, 0.15), marks=pytest.mark.slow),
    ],
)
@POLARISATIONS
def test_other_cylinders(
    polarisation: str, shape: tuple[float, float, float, float], bounds: tuple[float, float, float]
) -> None:
    """Permittivity, radius, distance of the source and radius of the ring, wavelengths.

    Bounds on ring, width and incident field, per cent: the worse polarisation measured and 20 to 50 %.
    """
    errors = compare(Case(polarisation, *shape))
    for found, bound in zip((errors.ring, errors.width, errors.incident), bounds, strict=True):
        assert 100 * found < bound


@BODIES
@POLARISATIONS
def test_plain_lattice(polarisation: str, permittivity: float | None) -> None:
    """Without compensation: the dielectric misses one per cent by its phase error, 0.4 % of 4 pi on the axes."""
    errors = compare(Case(polarisation, permittivity), compensate=False)
    ring, width = (0.02, 0.008) if permittivity is None else (0.027, 0.055)
    assert 0.01 < errors.ring < ring
    assert errors.width < width


@BODIES
@POLARISATIONS
def test_second_order(measured: Measured, polarisation: str, permittivity: float | None) -> None:
    """Order of the ring's error from 10 to 20 cells (metal: 20 to 40), plain and compensated alike."""
    start = 20.0 if permittivity is None else 10.0
    for compensate, least in ((False, 1.9), (True, 1.6)):
        errors = [
            compare(Case(polarisation, permittivity), cells, compensate=compensate).ring for cells in (start, 2 * start)
        ]
        body = "metal" if permittivity is None else "dielectric"
        measured(
            f"order, {polarisation}, {body}, {'compensated' if compensate else 'plain'}",
            np.log2(errors[0] / errors[1]),
            at_least=least,
        )


def test_coupled_components_at_the_surface() -> None:
    """TE with a diagonal tensor only is several times worse: the smoothing is what gives the order."""
    assert compare(Case("TE", 4.0), tensor=False).ring > 2.5 * compare(Case("TE", 4.0)).ring


@POLARISATIONS
def test_backends_agree(polarisation: str) -> None:
    """The oracle gives the same answer to rounding."""
    found, other = (
        scatter(
            Cylinder(radius=0.3 * WAVELENGTH, permittivity=2.0),
            polarisation=polarisation,
            frequency=FREQUENCY,
            source=(0.9 * WAVELENGTH, 0.1 * WAVELENGTH),
            ring=0.5 * WAVELENGTH,
            angles=np.linspace(0, 6, 7),
            mesh=Mesh(cells_per_wavelength=10),
            **chosen,
        )
        for chosen in ({}, {"run": planar_reference.run})
    )
    assert other.total == pytest.approx(found.total, rel=1e-9)
    assert other.width == pytest.approx(found.width, rel=1e-9)


@pytest.mark.parametrize(("source", "named"), [(0.52, "cylinder"), (0.74, "ring")])
def test_source_too_near(source: float, named: str) -> None:
    """The message says what it is too near to, and how far away it must be."""
    with pytest.raises(ConfigError, match=rf"from the {named} \(needs >= 2.998 mm\)"):
        scatter(
            Cylinder(radius=0.5 * WAVELENGTH, permittivity=4.0),
            polarisation="TM",
            frequency=FREQUENCY,
            source=(source * WAVELENGTH, 0.0),
            ring=0.75 * WAVELENGTH,
            angles=np.zeros(1),
        )
