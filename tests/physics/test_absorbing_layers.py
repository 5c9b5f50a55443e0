"""Reflection of the absorbing layers, against a domain whose walls are too far away to reflect in time.

A ring of radial current of one cell at the axis radiates a pulse centred at 25 cells a wavelength. Tangential E is
compared on a contour two cells from the layers; the large domain's walls stand 150 cells further out, and nothing
comes back from them in the 440 steps. Everything else is the same lattice, so the difference is the layer's
reflection alone: propagating, grazing and evanescent, at all frequencies of the pulse. The largest error in time is
set against the largest field on that face.

Measured, dB, W cells from the axis to the radial layer (half of it to the axial ones), strength 0.8, kappa 1, alpha a
tenth of the centre frequency; m = 0, 1, 2:

    layer     W    r wall alone            z wall alone            all three walls, r face      ... z face
    10 cells  20   -77.7 -74.4 -74.2       -102.4 -97.4 -99.4      -77.6 -74.2 -74.2            -92.4 -74.5 -72.4
    10 cells  40   -80.6 -81.1 -81.3        -97.1 -95.2 -97.3      -79.2 -79.2 -80.0            -90.8 -78.2 -77.0
     8 cells  20   -73.2 -71.1 -70.6        -96.3 -91.6 -93.6      -73.7 -70.8 -70.4            -87.6 -71.9 -68.9
     8 cells  40   -75.3 -78.3 -78.2        -91.1 -89.3 -91.6      -73.0 -76.1 -76.7            -84.7 -76.6 -73.2

No theory gives these; the bounds are 3 dB above the worst m of each, a factor of 1.4. A recursive convolution of its
own for every pole of the radial layer gives -48 dB at W = 20 (and grows).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cavities import SHOWN_ON
from open_space import MARGIN, radiate, reflection_db, undisturbed

CELLS = (10, pytest.param(8, marks=pytest.mark.slow))
PLACES = [
    *((0, 20), (1, 20), (2, 20), (1, 40)),
    *(pytest.param(order, 40, marks=pytest.mark.slow) for order in (0, 2)),
]
"""m and W."""
ALONE = {  # by cells of the layer and W: r wall, z wall; dB
    (10, 20): (-71.0, -94.0),
    (10, 40): (-77.5, -92.0),
    (8, 20): (-67.5, -88.5),
    (8, 40): (-72.0, -86.0),
}
ALL_WALLS = {"r": (-74.5, -71.0, -71.0), "z": (-89.0, -71.5, -69.0)}  # by m, 10 cells


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize(("order", "width"), PLACES)
def test_radial_layer(measured: Callable[..., float], order: int, width: int, cells: int) -> None:
    """The layer in r alone, z walls far away."""
    box = (width - 2, 6, 6)
    samples = radiate("cpu", order, width, 6 + MARGIN, 6 + MARGIN, (cells, 0, 0), box)
    found = reflection_db(samples, undisturbed(order, box), box, "r")
    measured("r wall alone", found, "dB", at_most=ALONE[cells, width][0], layer_cells=cells, width_cells=width, m=order)


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize(("order", "width"), PLACES)
def test_axial_layer(measured: Callable[..., float], order: int, width: int, cells: int) -> None:
    """The layer at z_min alone, the other walls far away."""
    box = (12, width // 2 - 2, 6)
    samples = radiate("cpu", order, 12 + MARGIN, width // 2, 6 + MARGIN, (0, cells, 0), box)
    found = reflection_db(samples, undisturbed(order, box), box, "z")
    measured("z wall alone", found, "dB", at_most=ALONE[cells, width][1], layer_cells=cells, width_cells=width, m=order)


@pytest.mark.parametrize("backend", SHOWN_ON)
@pytest.mark.parametrize("face", ["r", "z"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_all_layers_and_their_corners(measured: Callable[..., float], order: int, face: str, backend: str) -> None:
    """A small domain closed on all sides: the contour's corners look into the layers' corners from two cells away."""
    box = (18, 8, 8)
    samples = radiate(backend, order, 20, 10, 10, (10, 10, 10), box)
    found = reflection_db(samples, undisturbed(order, box), box, face)
    measured(f"all walls, {face} face", found, "dB", at_most=ALL_WALLS[face][order], m=order, backend=backend)
