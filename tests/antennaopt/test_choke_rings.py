"""Choke rings on an open waveguide: section, edges, batches of several numbers of rings, what does not fit.

That one is solved, exported and equal to its outline: test_every_family.py, test_geometry.py, test_outline.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from family_cases import DESIGNS, KINDS
from test_every_family import antenna_file
from test_geometry import area_and_moment

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna
from antennaopt.families import stack
from antennaopt.families.sections import cleaned, free_corners
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan
from fdtd.errors import ConfigError

SOLVER = {"frequencies": [29e9, 31e9], "design_frequency": 30e9, "cell": 0.6e-3}
FAMILY, DESIGN = KINDS["choke_ring_feed"], DESIGNS["choke_ring_feed"]


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("set_back", [0.0, 1.5e-3])
def test_section(count: int, set_back: float) -> None:
    """A plate under n slots and n teeth, set back; its sharp edges are those of the union with the tube."""
    design = DESIGN | {"rings.count": float(count), "rings.set_back": set_back}
    tube, rings = FAMILY.outline(design).conductors
    cleaned(rings.tolist())
    plate, teeth = count * 2.4e-3 * 0.7e-3, count * 0.7e-3 * 2.6e-3
    assert area_and_moment(rings)[0] == pytest.approx(plate + teeth, rel=1e-9)
    assert (rings[:, 0].max(), rings[:, 1].max(), rings[:, 1].min()) == pytest.approx(
        (4e-3 + count * 2.4e-3, -set_back, -set_back - 3.3e-3), abs=1e-11
    )
    assert float(FAMILY.size(stack([design]))[0][0]) == pytest.approx(rings[:, 0].max())
    expected = {(round(one.r, 11), round(one.z, 11), round(one.opening, 4)) for one in free_corners([tube, rings])}
    found = {
        (round(float(one.r[0]), 11), round(float(one.z[0]), 11), round(float(one.opening[0]), 4))
        for one in FAMILY.scene(stack([design])).rims
    }
    assert found == expected and len(found) == 4 + 2 * count  # the mouth's two, the two backs', two a tooth


def test_alone_and_in_a_batch() -> None:
    """The same bits next to a feed with more rings."""
    more = DESIGN | {"rings.count": 4.0, "rings.set_back": 0.0}
    shared = plan("choke_ring_feed", DESIGN, DESIGN | {"rings.count": 4.0}, SOLVER).to_dict()
    together = evaluate("choke_ring_feed", [more, DESIGN, more], shared)
    (alone,) = evaluate("choke_ring_feed", [DESIGN], shared)
    assert alone.status == "ok"
    assert together[1].s11 == alone.s11 and together[1].metrics == alone.metrics
    assert together[0].metrics == together[2].metrics != alone.metrics


def test_rings_lower_what_is_radiated_backwards() -> None:
    """Two rings of about a quarter of a wavelength against the waveguide alone."""
    (ringed,) = evaluate("choke_ring_feed", [DESIGN], plan("choke_ring_feed", DESIGN, DESIGN, SOLVER).to_dict())
    bare = {name: value for name, value in DESIGN.items() if name.startswith("feed.")}
    (alone,) = evaluate("open_waveguide", [bare], plan("open_waveguide", bare, bare, SOLVER).to_dict())
    front_to_back = [np.array(one.metrics["front_to_back_db"], dtype=float) for one in (ringed, alone)]
    assert front_to_back[0].min() > front_to_back[1].max() + 5.0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            'rings.depth="15 mm"',
            "antenna.rings.depth = 15 mm with rings.set_back = 1 mm and rings.wall = 0.7 mm reaches",
        ),
        ("rings.count=0", "antenna.rings.count = 0 is out of bounds (must be >= 1 and <= 20)"),
        ("rings.count=2.5", "antenna.rings.count = 2.5 is not a whole number"),
        ('rings.tooth="-1 mm"', 'antenna.rings.tooth = "-1 mm" is out of bounds'),
        ('rings.set_back="-1 mm"', 'antenna.rings.set_back = "-1 mm" is out of bounds'),
    ],
)
def test_bad_values(change: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_antenna(antenna_file("choke_ring_feed", tmp_path), (f"antenna.{change}",))
    assert f": {says}" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rings.width": 0.5e-3}, "rings.width is 0.5 mm thick, too thin for cells of 0.6 mm"),
        ({"rings.tooth": 0.05e-3}, "rings.tooth is 0.05 mm thick, too thin"),
    ],
)
def test_what_no_lattice_holds(changes: dict[str, float], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        plan("choke_ring_feed", DESIGN | changes, DESIGN | changes, SOLVER)
