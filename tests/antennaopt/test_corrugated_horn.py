"""Corrugated horns: slots and mode converters by the formulas, areas, what cannot be made."""

from __future__ import annotations

import math

import numpy as np
import pytest
from family_cases import DESIGNS, KINDS
from test_geometry import area_and_moment, built, section
from test_horn_families import SOLVER, drawn

from antennaopt.families import stack
from antennaopt.families.corrugated_horn import depths, widths
from antennaopt.families.profiles import CURVES
from antennaopt.solve.plan import plan
from fdtd.errors import ConfigError


def test_slots_by_the_formulas() -> None:
    """Granet's worked horn, 10.7 to 14.5 GHz: 60 slots of 3.009 mm; the first 10.1, the last 6.06 mm deep."""
    centre = 24.07e-3
    horn = {
        "feed.inner_radius": 11.49e-3, "horn.slots": 60.0, "horn.pitch": 3.009e-3, "horn.aperture_radius": 46.93e-3,
        "horn.wavelength": centre, "horn.output_ratio": 1.10 / 1.2, "horn.curve": float(CURVES.index("hyperbolic")),
    }  # fmt: skip
    ratio = 14.5 / 10.7
    assert ratio < 1.4
    horn["horn.output_ratio"] = 1.02
    (radius,), (depth,) = depths(stack([DESIGNS["corrugated_horn"] | horn]))
    assert len(depth) == 60
    assert depth[0] == pytest.approx(10.1e-3, abs=0.05e-3)
    assert depth[-1] == pytest.approx(6.06e-3, abs=0.01e-3)

    def quarter(a: float, lam: float) -> float:
        return lam / 4 * math.exp(1 / (2.114 * (2 * math.pi * a / lam) ** 1.134))

    for j in (1, 3, 5, 6, 30, 60):
        a = math.sqrt(11.49e-3**2 + (j / 60) ** 2 * (46.93e-3**2 - 11.49e-3**2))
        assert radius[j - 1] == pytest.approx(a)
        if j <= 5:
            expected = 0.42 * centre - (j - 1) / 5 * (0.42 * centre - quarter(a, centre))
        else:
            end = quarter(46.93e-3, centre) - quarter(46.93e-3, centre / 1.02)
            expected = quarter(a, centre) - (j - 6) / 54 * end
        assert depth[j - 1] == pytest.approx(expected)


def test_mode_converters_by_the_formulas() -> None:
    """Ring-loaded slots and slots of variable width, 8 slots of which 5 are the converter's; the others are alike."""
    lam, pitch, share = 10.2e-3, 2.2e-3, 0.7
    design = DESIGNS["corrugated_horn"] | {"horn.slots": 8.0, "horn.neck_share": 0.15, "horn.narrowest_share": 0.2}
    radii, found, necks, slots = [], [], [], []
    for converter in range(3):
        designs = stack([design | {"horn.converter": float(converter)}])
        (radius,), (depth,) = depths(designs)
        (width,), (neck,) = widths(designs)
        radii, found, necks, slots = [*radii, radius], [*found, depth], [*necks, neck], [*slots, width]

    def e(a: float) -> float:
        return math.exp(1 / (2.114 * (2 * math.pi * a / lam) ** 1.134))

    for j in range(1, 9):
        a = 3.6e-3 + (8e-3 - 3.6e-3) * j / 8
        assert [one[j - 1] for one in radii] == pytest.approx([a] * 3)
        if j > 5:
            assert found[1][j - 1] == found[2][j - 1] == found[0][j - 1]
            assert [one[j - 1] for one in (*necks, *slots)] == pytest.approx([0.0] * 3 + [share] * 3)
            continue
        assert found[1][j - 1] == pytest.approx(lam / 4 * e(a))
        assert necks[1][j - 1] * pitch == pytest.approx((0.15 + (j - 1) * (share - 0.1 - 0.15) / 5) * pitch)
        widened = 0.42 * lam / 1.15 + (j - 1) / 4 * (lam / 4 - 0.42 * lam / 1.15)
        assert found[2][j - 1] == pytest.approx(widened * e(a))
        assert slots[2][j - 1] * pitch == pytest.approx((0.2 + (j - 1) * (share - 0.2) / 4) * pitch)
        assert necks[0][j - 1] == necks[2][j - 1] == 0.0 and slots[0][j - 1] == slots[1][j - 1] == share


@pytest.mark.parametrize(("converter", "chokes"), [(0, 0), (1, 0), (1, 2), (2, 0), (2, 1)])
def test_area_of_a_corrugated_horn(converter: int, chokes: int) -> None:
    """All inside the outer surface, less the bore and the slots; lips stand out into the bore of the tooth before."""
    share, pitch, wall, lam = 0.7, 2.2e-3, 0.8e-3, 10.2e-3
    changes = {"horn.converter": float(converter), "horn.chokes": float(chokes), "horn.slots": 8.0}
    designs = stack([DESIGNS["corrugated_horn"] | changes])
    ((radius,), (depth,)), ((width,), (neck,)) = depths(designs), widths(designs)
    outer, z = np.maximum.accumulate(radius + depth) + wall, np.append(np.arange(8) * pitch - wall, 8 * pitch)
    outer = np.append(outer, outer[-1])
    whole = np.trapezoid(outer, z)
    before = np.append(3.6e-3, radius[:-1])
    if converter == 1:
        lips = (neck > 0) * (radius - before) * (share - neck) * pitch
        slots = np.where(neck > 0, (2 * share + neck) / 3, share) * depth * pitch
        bore = 3.6e-3 * wall + (radius * pitch - lips).sum()  # the first lip is drawn with a part of the tube
    else:
        slots, bore = width * depth * pitch, 4.0e-3 * wall + (radius * pitch).sum()
    flange = chokes * lam * ((0.1 + 0.05) * (0.25 * lam + wall) - 0.1 * 0.25 * lam)
    if chokes:
        # Between the horn's outer surface and the first choke slot there is metal too.
        fine = np.linspace(8 * pitch - 0.25 * lam - wall, 8 * pitch, 20001)
        flange += np.trapezoid(outer[-1] - np.interp(fine, z, outer), fine)
    corners = drawn("corrugated_horn", **changes)
    assert area_and_moment(corners)[0] == pytest.approx(whole - bore - slots.sum() + flange, rel=1e-6)
    assert corners[:, 0].max() == pytest.approx(outer[-1] + chokes * 0.15 * lam, abs=2e-12)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"horn.converter": 1.0, "horn.neck_share": 0.7},
            "horn.neck_share = 0.7 leaves no lip (must be < horn.slot_sh",
        ),
        ({"horn.converter": 1.0, "horn.neck_margin": 0.8}, "horn.neck_margin = 0.8 closes the last neck"),
        ({"horn.converter": 2.0, "horn.narrowest_share": 0.8}, "horn.narrowest_share = 0.8 is wider than the other"),
        (
            {"horn.chokes": 1.0, "horn.choke_depth": 1.0, "horn.slots": 4.0},
            "horn.choke_depth = 1 makes chokes of 10.2 mm",
        ),
    ],
)
def test_corrugations_that_cannot_be_made(changes: dict[str, float], says: str) -> None:
    """The same numbers without the converter or the choke are sound."""
    design = DESIGNS["corrugated_horn"] | changes
    wrong, sound = KINDS["corrugated_horn"].refusal(
        stack([design, design | {"horn.converter": 0.0, "horn.chokes": 0.0}])
    )
    assert wrong is not None and wrong.startswith(says) and sound is None


def test_necks_and_lips_count_as_thin_parts() -> None:
    """A neck below a cell, a lip or a choke's tooth below an eighth are refused, with the cells that would do."""
    for changes, says in (
        ({"horn.converter": 1.0}, "the neck of horn.neck_share is 0.22 mm thick"),
        ({"horn.converter": 1.0, "horn.neck_share": 0.69, "horn.neck_margin": 0.01}, "the lip of a ring-loaded slot"),
        ({"horn.converter": 2.0}, "the slot of horn.narrowest_share is 0.275 mm thick"),
        ({"horn.chokes": 1.0, "horn.choke_width": 0.02}, "a choke slot of horn.choke_width is 0.204 mm thick"),
    ):
        design = DESIGNS["corrugated_horn"] | changes
        with pytest.raises(ConfigError, match=says):
            plan("corrugated_horn", design, design, SOLVER)


@pytest.mark.slow
def test_corrugated_horn() -> None:
    """The section inside the outer surface less the bore's steps and the slots, slot by slot."""
    design = DESIGNS["corrugated_horn"]
    metal = built("corrugated_horn")[2].conductors[2]
    area, volume = section(metal, 13e-3, -1e-3, 14e-3, cell=1e-5)
    (radius,), (depth,) = depths(stack([design]))
    outer = np.maximum.accumulate(radius + depth) + 0.8e-3
    z = np.append(np.arange(6) * 2.2e-3 - 0.8e-3, 13.2e-3)
    whole = np.trapezoid(np.append(outer, outer[-1]), z)
    bore = 4.0e-3 * 0.8e-3 + (radius * 2.2e-3).sum() + (depth * 0.7 * 2.2e-3).sum()
    assert area == pytest.approx(whole - bore, rel=1e-4)
    assert volume == pytest.approx(area_and_moment(drawn("corrugated_horn"))[1], rel=1e-4)
