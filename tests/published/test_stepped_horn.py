"""Phase centre of Feko's example of a horn that feeds a reflector, against finite elements.

Guide of radius 0.51 wavelengths, step to 0.65, flare to 1.00 over 3.05 wavelengths, 12.5 GHz. The step excites TM11,
whose cutoff radius is 0.61 wavelengths: its phase at the mouth, and with it the phase centre, depends on the radii.
Least squares over 0 to 40 degrees, both planes, weighted by power, in front of the mouth (mm):

| | phase centre |
|---|---|
| Feko's example guide (`ph_centre`, Altair Feko 2021) | -2.682 |
| finite elements (`benchmarks/reference_fem`), wall of 0.3 mm, +- 1e-5 | -0.995 |
| ours, 40 and 60 cells a wavelength | -1.149, -1.056 |
| ours, 60 cells, all radii 0.5 % and 1 % smaller | -1.99, -2.88 |

No half angle from 10 to 90 degrees gives Feko's value. Radii 0.9 % smaller do; a circle drawn with 19 straight edges
has that area. The directivity is 14.595 dBi, and 14.49 with the smaller radii.

References:
    Altair Feko 2021 example guide, "Horn feeding a large reflector".
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from reference_antennas import _read

import antennaopt as ao

Measured = Callable[..., float]
(CASE,) = _read("fem_stepped_horn.json").values()
MOUTH = 73.1494  # mm
FEKO = -2.6821  # mm


def solved(cells_per_wavelength: int, radii: float = 1.0) -> dict[str, float]:
    """Our results, all radii but the wall's thickness multiplied by a factor."""
    inner, wall = CASE["inner_radius_m"] * 1e3, 0.3
    body = CASE["bodies"][0]["points_m"]
    outside = {0, 1, 2, 5}  # corners on the outer side of the wall
    points = [
        [f"{(1e3 * r - wall * (place in outside)) * radii + wall * (place in outside):.7g} mm", f"{1e3 * z:.7g} mm"]
        for place, (r, z) in enumerate(body)
    ]
    feed = {"inner_radius": f"{inner * radii:.7g} mm", "outer_radius": f"{inner * radii + wall:.7g} mm"}
    antenna = {
        "family": "outline",
        "feed": {**feed, "length": "60 mm"},
        "body": [{"material": "metal", "points": points}],
    }
    solver = {"frequencies": ["12.5 GHz"], "cells_per_wavelength": cells_per_wavelength}
    about = {"metric": "phase_centre_mm", "theta": "40 deg"}
    return ao.simulate({"antenna": antenna, "solver": solver}, figures=[about]).to_dict()["results"][0]


def test_phase_centre_against_finite_elements(measured: Measured) -> None:
    """On 60 cells a wavelength, within the 0.1 mm that are required."""
    found, expected = solved(60), CASE["results"][0]
    assert 1e3 * expected["phase_centre_m"] - MOUTH == pytest.approx(-0.995, abs=0.001)
    measured("phase_centre_mm", abs(found["phase_centre_mm_40deg"] - 1e3 * expected["phase_centre_m"]), at_most=0.1)
    measured("directivity_db", abs(found["directivity_dbi"] - expected["directivity_dbi"]), at_most=0.003)


@pytest.mark.slow
def test_radii_a_little_smaller_have_the_published_phase_centre(measured: Measured) -> None:
    found = solved(60, radii=0.991)["phase_centre_mm_40deg"] - MOUTH
    measured("phase_centre_mm", abs(found - FEKO), at_most=0.1)
