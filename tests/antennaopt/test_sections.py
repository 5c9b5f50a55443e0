"""Polygons of a file: what is refused, which edges of metal stand free, and what is thin."""

from __future__ import annotations

import math

import numpy as np
import pytest

from antennaopt.families.sections import SectionError, cleaned, free_corners, lowest_within, thinnest

TUBE = np.array([(0, -10), (4, -10), (4, 0), (3.6, 0), (3.6, -9.6), (0, -9.6)]) * 1e-3


def mm(*points: tuple[float, float]) -> np.ndarray:
    return np.array(points) * 1e-3


@pytest.mark.parametrize(
    ("points", "place", "says"),
    [
        ([(0, 0), (1, 0)], None, "has 2 points"),
        ([(0, 0), (1, 0), (-1, 1)], 2, "negative radius of -1 mm"),
        ([(0, 0), (1, 0), (1, 0), (0, 1)], 1, "same as the next one"),
        ([(0, 0), (2, 2), (2, 0), (0, 2)], 0, "crosses or touches the one from point 2"),
        ([(0, 0), (4, 0), (4, 4), (2, 0), (0, 4)], 0, "crosses or touches the one from point 2"),
        ([(0, 0), (4, 0), (2, 0), (2, 3)], 1, "runs back along itself"),
        ([(1, 0), (2, 1), (3, 2)], 0, "runs back along itself"),
    ],
)
def test_refused(points: list[tuple[float, float]], place: int | None, says: str) -> None:
    with pytest.raises(SectionError, match=says) as refused:
        cleaned([(r * 1e-3, z * 1e-3) for r, z in points])
    assert refused.value.point == place


def test_a_repeated_last_point_closes_the_polygon() -> None:
    square = mm((1, 0), (2, 0), (2, 1), (1, 1))
    assert np.array_equal(cleaned([*square, square[0]]), square)


def test_many_points_are_checked_whole() -> None:
    """5,000 points of a circle are sound; one moved across it is not."""
    angle = np.linspace(0, 2 * np.pi, 5000, endpoint=False)
    circle = np.stack([0.02 + 0.01 * np.cos(angle), 0.01 * np.sin(angle)], axis=1)
    assert len(cleaned(circle)) == 5000
    circle[1234] = 0.035, 0.0
    with pytest.raises(SectionError, match="crosses"):
        cleaned(circle)


def corners(*metal: np.ndarray) -> dict[tuple[float, float], tuple[float, float]]:
    """Wall and opening in degrees, by place in mm."""
    found = free_corners(metal)
    return {
        (round(one.r * 1e3, 6), round(one.z * 1e3, 6)): (
            round(math.degrees(one.wall) % 360, 6),
            round(math.degrees(one.opening), 6),
        )
        for one in found
    }


def test_the_feed_alone() -> None:
    """Two edges of the aperture and the back wall's; notches inside are none."""
    assert corners(TUBE) == {(4, -10): (180, 270), (4, 0): (270, 270), (3.6, 0): (0, 270)}


def test_a_flange_flush_with_the_aperture() -> None:
    """The tube's outer edge is gone, since the flange's face goes on in its plane."""
    flange = mm((4, -3.3), (10.4, -3.3), (10.4, 0), (4, 0))
    assert corners(TUBE, flange) == {
        (4, -10): (180, 270),
        (3.6, 0): (0, 270),
        (10.4, -3.3): (180, 270),
        (10.4, 0): (270, 270),
    }


def test_bodies_that_overlap() -> None:
    """Edges inside another body are none, and neither are the notches where boundaries cross."""
    one, other = mm((6, 0), (10, 0), (10, 4), (6, 4)), mm((8, 2), (12, 2), (12, 6), (8, 6))
    assert set(corners(one, other)) == {(6, 0), (10, 0), (6, 4), (12, 2), (12, 6), (8, 6)}
    assert corners(one, mm((5, -1), (11, -1), (11, 5), (5, 5))).keys() == {(5, -1), (11, -1), (11, 5), (5, 5)}


def test_two_halves_are_one_body() -> None:
    """A square cut along its diagonal has four corners, at each of which both halves count."""
    lower, upper = mm((6, 0), (10, 0), (10, 4)), mm((6, 0), (10, 4), (6, 4))
    assert corners(lower, upper) == corners(mm((6, 0), (10, 0), (10, 4), (6, 4)))


def test_a_throat_and_an_acute_edge() -> None:
    """A flare of 45 degrees turns the wall by 45 degrees; a wedge of 20 degrees leaves 340."""
    flare = mm((3.6, 0), (4, 0), (9, 5), (8.6, 5))
    found = corners(TUBE, flare)
    assert found[3.6, 0][1] == pytest.approx(180 + 45)
    assert (4, 0) not in found
    wedge = mm((6, 0), (16, 0), (16, 10 * math.tan(math.radians(20))))
    assert corners(wedge)[6, 0] == pytest.approx((20, 340))


def test_samples_of_a_curve_are_no_rims() -> None:
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.stack([0.02 + 0.005 * np.cos(angle), 0.005 * np.sin(angle)], axis=1)
    assert free_corners([ring]) == []
    assert len(free_corners([ring[::4]])) == 15  # turns of 24 degrees


def test_thin_places_and_gaps() -> None:
    comb = mm((4, 0), (9, 0), (9, 3), (8.7, 3), (8.7, 0.5), (8.2, 0.5), (8.2, 3), (4, 3))
    assert thinnest(comb)[0] == pytest.approx(0.3e-3)
    width, (r, z) = thinnest(comb, outwards=True)
    assert width == pytest.approx(0.5e-3)
    assert r in (pytest.approx(8.2e-3), pytest.approx(8.7e-3)) and 0.5e-3 < z < 3e-3
    assert thinnest(comb[::-1])[0] == pytest.approx(0.3e-3)
    other = mm((9.1, 0), (12, 0), (12, 3), (9.1, 3))
    assert thinnest(comb, [other], outwards=True)[0] == pytest.approx(0.1e-3)
    assert thinnest(mm((4, 0), (9, 0), (9, 3)))[0] == math.inf  # walls that meet are not thin


@pytest.mark.parametrize("turned", [False, True])
def test_walls_that_meet_in_a_sharp_corner_are_no_thin_place(turned: bool) -> None:
    """A lens with a rim of about 60 degrees, of chords that are no neighbours; a notch likewise."""
    z = np.linspace(0, 6, 40)
    rim = np.stack([12 - 3 * z / 6 - (z / 6) ** 2, z], axis=1)
    flank = np.linspace(0.1, 12, 30)[:-1]
    lens = mm((0, 0), *((r, 0) for r in flank), *map(tuple, rim), (0, 6))
    assert thinnest(lens[::-1] if turned else lens)[0] > 3e-3
    notched = mm((4, -3), (16, -3), (16, 8), (9, 8), *map(tuple, rim[:0:-1]), (12, 0), *((r, 0) for r in flank[:3:-1]))
    assert thinnest(notched[::-1] if turned else notched, outwards=True)[0] > 1e-3


def test_what_is_thin_near_a_sharp_corner() -> None:
    """A neck behind the corner, a needle below 6 degrees, and a plate with its end cut askew."""
    neck = mm((4, 0), (6, 0), (8, 0.5), (8.2, 3), (8, 6), (7, 6.2), (8.1, 3), (7, 0.6), (4, 6))
    assert thinnest(neck)[0] < 0.2e-3
    s = np.linspace(0, 10, 30)
    needle = mm(*((4 + one, 0) for one in s), *((4 + one, 0.06 * (10 - one)) for one in s[-2::-1]))
    assert thinnest(needle)[0] < 0.03e-3
    plate = mm((4, 0), (6, 0), (5.8, 0.2), (4, 0.2))
    assert thinnest(plate)[0] == pytest.approx(0.2e-3)


def test_what_reaches_into_the_feed() -> None:
    plug = mm((0, -4), (3.6, -6), (3.6, 2), (0, 2))
    assert lowest_within(plug, 3.6e-3) == pytest.approx(-6e-3)
    assert lowest_within(plug, 1.8e-3) == pytest.approx(-5e-3)
    assert lowest_within(mm((4, -9), (6, -9), (6, 0)), 3.6e-3) is None
