"""Horns of curves, splines, steps and slots: what holds for all, and for spline and dual-mode horns.

That each is solved, exported and equal to its outline: test_every_family.py, test_geometry.py, test_outline.py. Of one
family: test_profile_horn.py, test_corrugated_horn.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from family_cases import DESIGNS, FLARES, KINDS, SPLINE
from scipy.interpolate import CubicSpline, PchipInterpolator
from test_geometry import area_and_moment, built, section

from antennaopt.families import spline_horn, stack
from antennaopt.families.sections import cleaned, free_corners
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan

HORNS = ("profile_horn", "spline_horn", "dual_mode_horn", "corrugated_horn")
SOLVER = {"frequencies": [28.5e9, 31.5e9], "design_frequency": 30e9, "cell": 0.6e-3}
START, STOP, LENGTH = 3.6e-3, 8e-3, 15e-3


def drawn(family: str, **changes: float) -> np.ndarray:
    """The horn's polygon without the feed, repeated corners left out."""
    corners = KINDS[family].outline(DESIGNS[family] | changes).conductors[1]
    return corners[(corners != np.roll(corners, 1, axis=0)).any(axis=1)]


def test_spline_horn_is_pchip() -> None:
    corners = KINDS["spline_horn"].outline(DESIGNS["spline_horn"]).conductors[1]
    r, z = corners[len(corners) // 2 :].T
    curve = PchipInterpolator(np.linspace(0, LENGTH, 7), [START, *SPLINE])
    assert r == pytest.approx(curve(z), abs=2e-12)
    assert z[0] == LENGTH and z[-1] == 0.0


def test_a_free_spline_is_natural() -> None:
    """Next to a monotone one in a batch; the mouth keeps its radius, and wide swings are refused with the place."""
    family, design = KINDS["spline_horn"], DESIGNS["spline_horn"]
    free = design | {"horn.spline": 1.0}
    corners = family.outline(free).conductors[1]
    r, z = corners[len(corners) // 2 :].T
    curve = CubicSpline(np.linspace(0, LENGTH, 7), [START, *SPLINE], bc_type="natural")
    assert r == pytest.approx(curve(z), abs=2e-12)
    assert np.abs(r - PchipInterpolator(np.linspace(0, LENGTH, 7), [START, *SPLINE])(z)).max() > 2e-5
    both, _ = spline_horn._section(stack([free, design | {"horn.spline": 0.0}]))
    for together, alone in zip(both, (free, design), strict=True):
        assert (together == spline_horn._section(stack([alone]))[0][0]).all()
    widest = family.size(stack([free]))[0][0]
    assert r.max() + design["horn.wall"] <= widest <= 1.1 * max(SPLINE) + design["horn.wall"]
    assert not list(family.faults(free)) and not list(family.faults(design | {"horn.radii.1": 40e-3}))
    for change, says in (
        ((9e-3, 9e-3, 2e-3, 8e-3, 8e-3, 8e-3), "<= 9.9 mm, a tenth over the largest of horn.radii"),
        ((8e-3, 2.5e-3, 2.5e-3, 9e-3, 9e-3, 9e-3), ">= 1.8 mm, half of the feed's"),
    ):
        (fault,) = family.faults(free | {f"horn.radii.{place}": one for place, one in enumerate(change)})
        assert says in fault


def test_dual_mode_horn() -> None:
    """Plate 0.7 x 3, cylinder 0.7 x 3, cone 0.7 x 12 mm, all measured along r or z; the plate is round the tube."""
    metal = built("dual_mode_horn")[2].conductors[2]
    area, volume = section(metal, 10e-3, -1e-3, 16e-3, cell=1e-5)
    assert area == pytest.approx((0.7 * 3 + 0.7 * 3 + 0.7 * 12) * 1e-6, rel=1e-4)
    assert volume == pytest.approx(area_and_moment(drawn("dual_mode_horn"))[1], rel=1e-4)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        *((family, {}) for family in HORNS),
        ("profile_horn", {"horn.curve": 3.0, "horn.rho": 0.5, "horn.amplitude": 1.0, "horn.wall": 0.3e-3}),
        ("profile_horn", {"horn.wall": 0.4e-3, "horn.curve": 0.0}),
        ("profile_horn", FLARES),
        ("spline_horn", {"horn.radii.2": 3.7e-3, "horn.radii.3": 8e-3, "horn.radii.4": 4e-3}),
        ("dual_mode_horn", {"horn.step_radius": 3.6e-3, "horn.wall": 0.4e-3}),
        ("dual_mode_horn", {"horn.step_radius": 4.6e-3, "horn.aperture_radius": 4.6e-3}),
        ("corrugated_horn", {"horn.slots": 2.0, "horn.wall": 3e-3}),
        ("corrugated_horn", {"horn.slots": 9.0, "horn.converter_slots": 0.0}),
        ("corrugated_horn", {"horn.converter": 1.0, "horn.chokes": 1.0}),
        ("corrugated_horn", {"horn.converter": 1.0, "horn.converter_slots": 0.0}),
        ("corrugated_horn", {"horn.converter": 1.0, "horn.converter_slots": 1.0, "feed.outer_radius": 5.5e-3}),
        ("corrugated_horn", {"horn.converter": 2.0, "horn.chokes": 3.0, "horn.choke_depth": 0.4}),
        (
            "corrugated_horn",
            {"horn.converter": 2.0, "horn.converter_slots": 1.0, "horn.slots": 2.0, "horn.chokes": 1.0},
        ),
    ],
)
def test_sections_are_sound_and_edges_are_those_of_the_union(family: str, changes: dict[str, float]) -> None:
    """Against `free_corners`, which knows polygons only; a section never crosses itself."""
    design = {name: value for name, value in DESIGNS[family].items() if f"{name}.0" not in changes} | changes
    tube, horn = KINDS[family].outline(design).conductors
    cleaned(horn.tolist())
    expected = {
        (round(one.r, 11), round(one.z, 11)): (round(one.wall % (2 * math.pi), 4), round(one.opening, 4))
        for one in free_corners([tube, horn])
    }
    found = {
        (round(float(one.r[0]), 11), round(float(one.z[0]), 11)): (
            round(float(one.wall[0]) % (2 * math.pi), 4),
            round(float(one.opening[0]), 4),
        )
        for one in KINDS[family].scene(stack([design])).rims
    }
    assert found == expected and len(found) >= 3


@pytest.mark.parametrize("family", HORNS)
def test_size_grows_with_every_parameter(family: str) -> None:
    """A lattice is laid out for all upper ends at once: no antenna below them may be larger."""
    rng = np.random.default_rng(3)
    lengths = [one.name for one in KINDS[family].parameters if one.unit == "m" and one.name.startswith("horn")]
    upper = (
        DESIGNS[family] | {"horn.slots": 9.0, "horn.converter": 2.0, "horn.chokes": 2.0}
        if family == "corrugated_horn"
        else DESIGNS[family]
    )
    radius, height = (float(one[0]) for one in KINDS[family].size(stack([upper])))
    for _ in range(30):
        lower = {
            name: value * rng.uniform(0.5, 1) for name, value in upper.items() if name.rstrip(".012345") in lengths
        }
        lower["horn.aperture_radius"] = rng.uniform(5e-3, upper.get("horn.aperture_radius", 9e-3))
        lower |= (
            {"horn.slots": float(rng.integers(3, 10)), "horn.chokes": float(rng.integers(3))}
            if family == "corrugated_horn"
            else {}
        )
        lower |= {"horn.curve": float(rng.integers(8))} if "horn.curve" in upper else {}
        lower |= {"horn.converter": float(rng.integers(3))} if family == "corrugated_horn" else {}
        corners = KINDS[family].outline(upper | lower).conductors[1]
        assert corners[:, 0].max() <= radius + 1e-9 and corners[:, 1].max() <= height + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("family", HORNS)
def test_alone_and_in_a_batch(family: str) -> None:
    """The same bits next to antennas with more slots, other curves and no step."""
    design = DESIGNS[family]
    changed = {
        "profile_horn": {"horn.curve": 6.0, "horn.wall": 0.4e-3},
        "spline_horn": {"horn.radii.2": 4.1e-3, "horn.wall": 0.4e-3},
        "dual_mode_horn": {"horn.step_radius": 3.6e-3, "horn.wall": 0.4e-3},
        "corrugated_horn": {"horn.slots": 8.0, "horn.curve": 2.0, "horn.converter": 1.0, "horn.neck_share": 0.3}
        | {"horn.chokes": 1.0},
    }[family]
    shared = plan(family, design, {name: max(value, changed.get(name, 0)) for name, value in design.items()}, SOLVER)
    batch = [design | changed, design, design | changed, design]
    together = evaluate(family, batch, shared.to_dict())
    (alone,) = evaluate(family, [design], shared.to_dict())
    assert alone.status == "ok"
    assert together[1].s11 == together[3].s11 == alone.s11 and together[1].metrics == alone.metrics
    assert together[0].metrics == together[2].metrics != alone.metrics
