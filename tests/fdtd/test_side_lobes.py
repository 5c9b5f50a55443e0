"""Side lobes and shoulders of patterns that are known at every angle.

What `sidelobe_db` must be is found on the pattern itself, every 0.001 degrees, by the words of the definition; the
function under test sees samples every 1 or 2 degrees. It reads levels from parabolas: over features of some 10 degrees
the error is below 0.01 dB at 1 degree and 0.1 dB at 2.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf, j1
from side_lobe_definition import Pattern, by_the_definition

from fdtd.farfield import or_none, side_lobe

TOLERANCE_DB = {0.5: 0.01, 1.0: 0.02, 2.0: 0.1}
WIDE_BEAM: Pattern = lambda t: -12 * (t / 90) ** 2  # noqa: E731  (falls ever more steeply up to 180 degrees)


def found(e_plane: Pattern, h_plane: Pattern = WIDE_BEAM, step: float = 1.0, limit: float = 90.0) -> float | None:
    theta = np.arange(0, 180 + step / 2, step)
    level = float(side_lobe(e_plane(theta), h_plane(theta), theta, limit))
    return None if np.isnan(level) else level


def falling(*humps: tuple[float, float, float]) -> Pattern:
    """A pattern that only falls: its descent is a sum of humps, each a steepness (dB a degree), a place and a width."""

    def pattern(theta: np.ndarray) -> np.ndarray:
        drops = (
            steepness * width * np.sqrt(np.pi) / 2 * (erf((theta - place) / width) + erf(place / width))
            for steepness, place, width in humps
        )
        return -sum(drops, np.zeros_like(theta))

    return pattern


def corners(*points: tuple[float, float]) -> Pattern:
    """Straight lines between angles and levels."""
    angles, levels = np.array(points).T
    return lambda theta: np.interp(theta, angles, levels)


def decibels(field: Pattern) -> Pattern:
    return lambda theta: 20 * np.log10(np.maximum(np.abs(field(theta)), 1e-6))


def aperture(ka: float) -> Pattern:
    """A uniformly filled round aperture, the same in both cuts."""

    def field(theta: np.ndarray) -> np.ndarray:
        x = np.maximum(ka * np.sin(np.deg2rad(theta)), 1e-9)
        return np.where(theta > 90, 1e-3, 2 * j1(x) / x)

    return decibels(field)


def bell(place: float, width: float, height: float = 1.0) -> Pattern:
    """A field of Gaussian shape, and its mirror image in boresight."""

    def field(theta: np.ndarray) -> np.ndarray:
        sides = (np.exp(-(((theta - side) / width) ** 2)) for side in (place, -place))
        return height / (1 if place else 2) * sum(sides, np.zeros_like(theta))

    return field


ONE_SHOULDER = falling((0.6, 15, 7), (0.5, 42, 7))
TWO_SHOULDERS = falling((0.6, 15, 6), (0.5, 40, 6), (0.6, 66, 6))
TOO_STEEP_THEN_ONE = falling((0.6, 15, 9), (0.5, 34, 9), (0.6, 70, 8))
LOBE_AND_SHOULDER = decibels(lambda t: bell(0, 14)(t) + bell(30, 10, 0.3)(t) - bell(55, 5, 0.1)(t))
LOBE_BETWEEN_SAMPLES = decibels(lambda t: np.sinc(t / 13.26) + 1e-5)
HORN_LIKE = decibels(lambda t: bell(0, 18)(t) + bell(33, 12, 0.3)(t) - 0.02)
SHAPED_BEAM: Pattern = lambda t: 4 * np.sin(np.deg2rad(np.minimum(t, 90) * 2)) ** 2 - 25 * (t / 90) ** 2  # noqa: E731


@pytest.mark.parametrize("step", TOLERANCE_DB)
@pytest.mark.parametrize(
    ("pattern", "about"),
    [
        pytest.param(ONE_SHOULDER, -7.44, id="a shoulder and no minimum at all"),
        pytest.param(TWO_SHOULDERS, -6.38, id="the higher of two shoulders"),
        pytest.param(TOO_STEEP_THEN_ONE, -17.46, id="a first one that is too steep, a second that counts"),
        pytest.param(LOBE_AND_SHOULDER, -10.14, id="a shoulder above the lobes"),
        pytest.param(HORN_LIKE, -9.62, id="a shoulder as of a horn"),
        pytest.param(LOBE_BETWEEN_SAMPLES, -13.26, id="a lobe between samples"),
        pytest.param(aperture(9.3), -17.57, id="a round aperture"),
        pytest.param(SHAPED_BEAM, 0.44, id="a beam whose maximum is off boresight"),
    ],
)
def test_levels_are_those_of_the_pattern_itself(pattern: Pattern, about: float, step: float) -> None:
    exact = by_the_definition(pattern)
    assert exact == pytest.approx(about, abs=0.006)
    assert found(pattern, step=step) == pytest.approx(exact, abs=TOLERANCE_DB[step])
    assert found(WIDE_BEAM, pattern, step=step) == found(pattern, step=step)  # in the H-plane alone


def test_a_uniformly_filled_aperture() -> None:
    """2 J_1(x)/x: -17.57 dB (Balanis, Antenna Theory, 4th ed., table 12.1: -17.6)."""
    assert found(aperture(20.0)) == pytest.approx(-17.57, abs=0.01)


@pytest.mark.parametrize("step", TOLERANCE_DB)
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(lambda t: -12 * (t / 16) ** 2, id="Gaussian beam"),
        pytest.param(decibels(lambda t: np.cos(np.deg2rad(np.minimum(t, 89.9))) ** 3), id="cosine beam"),
        pytest.param(decibels(lambda t: bell(0, 30)(t) + bell(120, 10, 0.3)(t)), id="a lobe at 120 degrees alone"),
        pytest.param(falling((0.1, 30, 30), (0.5, 75, 9), (0.5, 125, 9)), id="a shoulder at 100 degrees alone"),
        pytest.param(falling((0.25, 8, 4), (0.5, 35, 10)), id="a shoulder above -3 dB alone"),
        pytest.param(falling((0.5, 15, 9), (0.5, 33, 9)), id="a descent that only falls to two thirds"),
        pytest.param(lambda t: -20 * np.sin(np.deg2rad(t / 2)) ** 2, id="a descent that dies out"),
    ],
)
def test_no_side_lobe(pattern: Pattern, step: float) -> None:
    assert found(pattern, pattern, step=step) is None
    assert by_the_definition(pattern) is None


@pytest.mark.parametrize("step", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    ("points", "level"),
    [
        pytest.param([(0, 0), (20, -10), (30, -10), (50, -30), (180, -31)], -10.0, id="a flat one"),
        pytest.param(
            [(0, 0), (20, -12), (30, -14), (50, -30), (180, -90)], -12.0, id="a straight one: where it starts"
        ),
        pytest.param([(0, 0), (20, -12), (24, -12), (26, -40), (30, -25), (180, -60)], -12.0, id="before a null"),
        pytest.param([(0, 0), (20, -3), (30, -3), (50, -30), (180, -70)], -3.0, id="at -3 dB"),
        pytest.param([(0, 0), (20, -2.9), (30, -2.9), (50, -30), (180, -300)], None, id="above -3 dB"),
        pytest.param([(0, 0), (40, -12), (60, -14), (92, -17.2), (180, -90)], -12.0, id="it reaches over 90 degrees"),
        pytest.param([(0, 0), (91, -12), (120, -12), (180, -90)], None, id="it begins beyond 90 degrees"),
        pytest.param([(0, 0), (40, -20), (60, -24), (80, -23), (180, -90)], -23.0, id="a slow end is none: its lobe"),
    ],
)
def test_shoulders_with_corners(points: list[tuple[float, float]], level: float | None, step: float) -> None:
    """A corner is rounded by the samples: a level is right within half a sample of the descent."""
    slack = 0.07 + max(step - 1, 0) * 0.3
    assert found(corners(*points), step=step) == (level if level is None else pytest.approx(level, abs=slack))


def test_rounding_is_no_side_lobe() -> None:
    """Steps of 1e-4 dB, as of a float32 solution, on a flat top, on the flank and where the descent dies out."""
    theta = np.arange(181.0)
    ripple = 5e-5 * np.random.default_rng(7).uniform(-1, 1, theta.size)
    for beam in (WIDE_BEAM(theta), -30 * np.sin(np.deg2rad(theta / 2)) ** 4, -12 * (theta / 60) ** 2):
        assert np.isnan(side_lobe(beam + ripple, beam - ripple, theta))
    exact = by_the_definition(ONE_SHOULDER)
    assert float(side_lobe(ONE_SHOULDER(theta) + ripple, WIDE_BEAM(theta), theta)) == pytest.approx(exact, abs=0.01)


def test_batches_and_limits() -> None:
    """Any leading shape; the limit is another angle for who asks."""
    theta = np.arange(181.0)
    cuts = np.stack([ONE_SHOULDER(theta), WIDE_BEAM(theta), TWO_SHOULDERS(theta)]).reshape(3, 1, -1)
    levels = side_lobe(cuts, cuts, theta)
    assert levels.shape == (3, 1)
    assert or_none(levels[:, 0]) == [found(ONE_SHOULDER), None, found(TWO_SHOULDERS)]
    assert found(ONE_SHOULDER, limit=20.0) is None
    far = decibels(lambda t: bell(0, 30)(t) + bell(120, 10, 0.3)(t))
    assert found(far, limit=180.0) == pytest.approx(by_the_definition(far, 180.0), abs=0.02)


def test_bits_do_not_depend_on_the_batch() -> None:
    """Beams of 4 to 260 degrees with ripples: first minima near boresight, far from it, and none at all."""
    theta, rng = np.arange(181.0), np.random.default_rng(11)
    widths, heights, periods = (rng.uniform(*one, (200, 1)) for one in ((2, 130), (0, 9), (3, 40)))
    cuts = -3 * (theta / widths) ** 2 + heights * (np.cos(theta / periods) - 1)
    together = side_lobe(cuts, cuts[::-1], theta)
    alone = [side_lobe(one, other, theta) for one, other in zip(cuts, cuts[::-1], strict=True)]
    assert np.array_equal(together, alone, equal_nan=True)
    assert 0 < np.isnan(together).sum() < 150


def test_a_maximum_is_one_of_amplitudes() -> None:
    """Two samples at the top whose levels differ in the last digit have one amplitude: the later one is the maximum."""
    theta = np.arange(181.0)
    cut = np.full(181, -40.0)
    cut[[0, 1, 2]] = 0.0, -20.0, -35.0
    cut[10:12] = -1.1, np.nextafter(-1.1, -2)
    assert 10 ** (cut[10] / 20) == 10 ** (cut[11] / 20)
    a, b = 10 ** (-1.1 / 20), 10 ** (-40 / 20)
    assert float(side_lobe(cut, cut, theta)) == pytest.approx(20 * np.log10(a + (a - b) / 8), abs=1e-9)
