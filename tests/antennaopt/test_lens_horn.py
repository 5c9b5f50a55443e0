"""A lens in the mouth of a horn: equal paths, no gap at the wall, shapes by a list, what does not fit.

That one is solved, exported and equal to its outline: test_every_family.py, test_geometry.py, test_outline.py.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from family_cases import DESIGNS, KINDS
from scipy.interpolate import PchipInterpolator
from test_every_family import antenna_file
from test_geometry import area_and_moment

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna
from antennaopt.families import stack
from antennaopt.families.sections import cleaned, free_corners
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan

SOLVER = {"frequencies": [29e9, 31e9], "design_frequency": 30e9, "cell": 0.6e-3}
FAMILY, DESIGN = KINDS["lens_horn"], DESIGNS["lens_horn"]
LIST = {"lens.thickness.0": 4e-3, "lens.thickness.1": 2.5e-3, "lens.thickness.2": 0.0}


def lens(**changes: float) -> np.ndarray:
    return FAMILY.outline(DESIGN | changes).dielectrics[0].corners


def test_all_paths_from_the_apex_are_equally_long() -> None:
    """In air to the curved face and in the lens to the mouth; the rim as thick as `edge` where it meets the wall."""
    n, apex = math.sqrt(2.53), -3.6 * 10 / 4.4 * 1e-3
    for edge in (0.0, 1e-3):
        r, z = lens(**{"lens.edge": edge}).T
        wall = (r - 3.6e-3) / 4.4e-3 * 10e-3
        face = (z < 10e-3 - 1e-9) & (z > wall + 1e-9)
        path = np.hypot(r, z - apex) + n * (10e-3 - z)
        assert face.sum() > 250 and np.ptp(path[face]) < 1e-11
        rim = math.hypot(10e-3 - edge - apex, 8e-3) + n * edge
        assert path[face].mean() == pytest.approx(rim, abs=1e-11)


@pytest.mark.parametrize(
    "changes",
    [{}, {"lens.edge": 0.0}, {"lens.edge": 4e-3}, LIST, LIST | {"lens.side": 1.0}, {"horn.aperture_radius": 3.6e-3}],
)
def test_the_lens_fills_the_horn_from_wall_to_wall(changes: dict[str, float]) -> None:
    """No point is in the wall; the area is that between the faces, cut off at the wall; edges are the union's."""
    design = DESIGN | changes
    corners = lens(**changes)
    cleaned(corners.tolist())
    a, edge = design["horn.aperture_radius"], design["lens.edge"]
    r = np.linspace(0, a, 40001)
    wall = np.clip((r - 3.6e-3) / max(a - 3.6e-3, 1e-12), 0, 1) * 10e-3
    if "lens.thickness.0" in design:
        t = PchipInterpolator(np.linspace(-a, a, 5), np.array([0.0, 2.5, 4.0, 2.5, 0.0]) * 1e-3)(r)
    else:
        n, away = math.sqrt(2.53), a * 10e-3 / max(a - 3.6e-3, 1e-9) - edge
        path = math.hypot(away, a)
        ahead = n * path - away
        t = (a**2 - r**2) / (ahead + np.sqrt(ahead**2 - (n**2 - 1) * (a**2 - r**2)))
    if design["lens.side"]:
        expected = np.trapezoid(t + 10e-3 - np.maximum(10e-3 - edge, wall), r)
    else:
        expected = np.trapezoid(10e-3 - np.maximum(10e-3 - edge - t, wall), r)
    assert area_and_moment(corners)[0] == pytest.approx(expected, rel=1e-5)
    inner = np.interp(corners[:, 1], [0.0, 10e-3, 1.0], [3.6e-3, a, a])
    assert (corners[:, 0] <= inner + 1e-9).all()
    rims = {(round(float(one.r[0]), 11), round(float(one.z[0]), 11)) for one in FAMILY.scene(stack([design])).rims}
    expected_rims = free_corners(list(FAMILY.outline(design).conductors))
    assert rims == {(round(one.r, 11), round(one.z, 11)) for one in expected_rims} and len(rims) >= 3


WIDE = DESIGN | {"horn.length": 20e-3, "horn.aperture_radius": 18e-3}
BULGE = {"lens.side": 1.0, "lens.thickness.0": 9e-3, "lens.thickness.1": 7e-3, "lens.thickness.2": 0.0}


def solved(family: str, design: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    (found,) = evaluate(family, [design], plan("lens_horn", WIDE | BULGE, WIDE | BULGE, SOLVER).to_dict())
    assert found.status == "ok"
    return np.array(found.s11), np.array(found.metrics["directivity_dbi"])


def test_a_lens_of_air_is_none_and_one_of_teflon_is_a_lens() -> None:
    """Against the conical horn on the same lattice; in a short wide horn a lens adds over 2 dB."""
    horn = {name: value for name, value in WIDE.items() if not name.startswith("lens.")}
    bare = solved("conical_horn", horn)
    air = solved("lens_horn", WIDE | LIST | {"lens.permittivity": 1.0, "lens.loss_tangent": 0.0})
    assert np.abs(air[0] - bare[0]).max() < 1e-5 and np.abs(air[1] - bare[1]).max() < 1e-4
    assert (solved("lens_horn", WIDE | BULGE)[1] > bare[1] + 2.0).all()


def test_alone_and_in_a_batch() -> None:
    """The same bits next to a thicker lens in a wider horn."""
    changed = DESIGN | {"lens.permittivity": 2.0, "horn.length": 9e-3, "lens.edge": 0.0}
    shared = plan("lens_horn", DESIGN, DESIGN, SOLVER).to_dict()
    together = evaluate("lens_horn", [changed, DESIGN, changed], shared)
    (alone,) = evaluate("lens_horn", [DESIGN], shared)
    assert alone.status == "ok" and together[0].status == "ok"
    assert together[1].s11 == alone.s11 and together[1].metrics == alone.metrics
    assert together[0].metrics == together[2].metrics != alone.metrics


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (('lens.side="outside"',), 'antenna.lens.thickness is missing for lens.side = "outside"'),
        (("lens.permittivity=1.2",), "antenna.lens.thickness makes a lens of"),
        (('lens.edge="11 mm"', 'lens.side="outside"', 'lens.thickness=["2 mm", "1 mm"]'), "antenna.lens.edge makes a"),
        (('lens.thickness=["2 mm"]',), 'antenna.lens.thickness = ["2 mm"] must be a list of 2 to 200 lengths'),
        (
            ('lens.thickness=[{ min = "1 mm", max = "2 mm" }]',),
            'antenna.lens.thickness = [{"min": "1 mm", "max": "2 mm"}] m',
        ),
        (('lens.thickness={ count = 1, min = "1 mm", max = "2 mm" }',), "antenna.lens.thickness.count = 1 must be a"),
        (('lens.thickness=["2 mm", "-1 mm"]',), 'antenna.lens.thickness.1 = "-1 mm" is out of bounds'),
    ],
)
def test_bad_values(changes: tuple[str, ...], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_antenna(antenna_file("lens_horn", tmp_path), tuple(f"antenna.{one}" for one in changes))
    assert f": {says}" in str(refused.value) and "\n" not in str(refused.value)
