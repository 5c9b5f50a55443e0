"""Each family's scene against analytic integrals over its section, its profile against SciPy's, and what it refuses.

The section of a body r, z is integrated on a fine lattice through the same level sets that the solver reads: a cell
counts by the part of it that a straight line at its centre's distance leaves, of the second order in the cell. With
some 200 cells across, measured within 2e-5; 4 um more of wall would show.
"""

from __future__ import annotations

import numpy as np
import pytest
from family_cases import CASES, DESIGNS, FEED, KINDS, RADII
from scipy.integrate import quad
from scipy.interpolate import PchipInterpolator

from antennaopt.families import FAMILIES, stack
from antennaopt.families.shaped_lens import profile
from fdtd.axisymmetric.scene import prepared
from fdtd.backends import POLYGONS

WALL = 0.4e-3
FEED_SECTION = 12e-3 * WALL + 4.0e-3 * WALL  # tube, and back wall


def section(level, r_max: float, z_min: float, z_max: float, cell: float = 2e-5) -> tuple[float, float]:
    """Area of a section, m^2, and volume of the body over 2 pi, m^3, r >= 0 only."""
    r = (np.arange(int(np.ceil(r_max / cell))) + 0.5) * cell
    z = z_min + (np.arange(int(np.ceil((z_max - z_min) / cell))) + 0.5) * cell
    part = np.clip(0.5 + level(np.array(0), r[np.newaxis], z[:, np.newaxis]) / cell, 0.0, 1.0)
    return float(part.sum() * cell**2), float((part @ r).sum() * cell**2)


def built(family: str, **changes: float):
    designs = stack([{**DESIGNS[family], **changes}])
    return KINDS[family], designs, KINDS[family].scene(designs)


@pytest.mark.parametrize("family", FAMILIES)
def test_feed_is_in_every_family(family: str) -> None:
    """A tube from z = -length to 0 and a back wall as thick as the tube."""
    scene = built(family)[2]
    tube, wall = scene.conductors[:2]

    def either(index, r, z):
        return np.maximum(tube(index, r, z), wall(index, r, z))

    area, _ = section(either, 5e-3, -13e-3, 1e-3)
    assert area == pytest.approx(FEED_SECTION, rel=2e-3)
    assert either(0, 3.8e-3, -1e-9) > 0 > either(0, 3.8e-3, 1e-9)
    assert either(0, 0.0, -12.2e-3) > 0 > either(0, 0.0, -11.9e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_size_holds_everything(family: str) -> None:
    """Outside the box that `size` gives nothing stands above z = 0."""
    kind, designs, scene = built(family)
    radius, height = (float(one[0]) for one in kind.size(designs))
    r, z = np.meshgrid(np.linspace(0, 30e-3, 301), np.linspace(1e-6, 40e-3, 301))
    outside = (r > radius + 1e-9) | (z > height + 1e-9)
    compiled = prepared(scene, np, POLYGONS)
    bodies = [*compiled.conductors, *(body.distance for body in compiled.dielectrics)]
    assert all((level(np.array(0), r[outside], z[outside]) <= 1e-12).all() for level in bodies)
    if scene.dielectrics:
        boxes = np.array([(body.r_max, body.z_min, body.z_max) for body in scene.dielectrics])
        assert boxes[:, 0].max() <= radius + 1e-12 and boxes[:, 2].max() <= height + 1e-12
        if len(scene.conductors) == 2:  # the feed alone
            assert [boxes[:, 0].max(), *boxes[:, 1], boxes[:, 2].max()] == pytest.approx(
                [radius, *np.zeros(len(boxes)), height], abs=1e-12
            )


def test_open_waveguide_is_the_feed_alone() -> None:
    scene = built("open_waveguide")[2]
    assert len(scene.conductors) == 2 and scene.dielectrics == ()


def test_hemispherical_lens() -> None:
    """A cylinder of 3 mm with half a ball of 9 mm: section R e + pi R^2 / 4, volume pi R^2 e + 2 pi R^3 / 3."""
    (lens,) = built("hemispherical_lens")[2].dielectrics
    area, volume = section(lens.distance, 10e-3, -1e-3, 13e-3)
    assert area == pytest.approx(9e-3 * 3e-3 + np.pi * 81e-6 / 4, rel=1e-4)
    assert volume == pytest.approx(81e-6 * 3e-3 / 2 + 729e-9 / 3, rel=1e-4)
    assert lens.permittivity == pytest.approx([2.53]) and lens.loss_tangent == pytest.approx([0.0])


def test_shaped_lens() -> None:
    """Section int R^2 / 2, volume over 2 pi int R^3 / 3 sin(theta), R by SciPy's PCHIP of the mirrored list."""
    (lens,) = built("shaped_lens")[2].dielectrics
    theta = np.linspace(-np.pi / 2, np.pi / 2, 2 * len(RADII) - 1)
    curve = PchipInterpolator(theta, [*RADII[:0:-1], *RADII])
    points = list(theta[theta > 0][:-1])
    area, volume = section(lens.distance, 15e-3, -1e-3, 15e-3)
    assert area == pytest.approx(quad(lambda t: curve(t) ** 2 / 2, 0, np.pi / 2, points=points)[0], rel=2e-4)
    expected = quad(lambda t: curve(t) ** 3 / 3 * np.sin(t), 0, np.pi / 2, points=points)[0]
    assert volume == pytest.approx(expected, rel=2e-4)
    assert lens.loss_tangent == pytest.approx([1e-3])


def test_profile_is_pchip() -> None:
    """At any angle SciPy's value, slope zero on the axis, never beyond the points around it, a batch at a time."""
    rng = np.random.default_rng(5)
    lists = rng.uniform(8e-3, 18e-3, (3, 7))
    designs = stack([{f"lens.radii.{place}": one[place] for place in range(7)} for one in lists])
    knots, coefficients = profile(designs)
    theta = np.linspace(0, np.pi / 2, 200)
    piece = np.minimum(np.searchsorted(knots, theta, side="right") - 1, len(knots) - 2)
    t = theta - knots[piece]
    for at, radii in enumerate(lists):
        c3, c2, c1, c0 = coefficients[:, piece, at]
        value = ((c3 * t + c2) * t + c1) * t + c0
        mirrored = PchipInterpolator(np.concatenate([-knots[:0:-1], knots]), np.concatenate([radii[:0:-1], radii]))
        assert value == pytest.approx(mirrored(theta), rel=1e-12)
        assert abs(coefficients[2, 0, at]) < 1e-15
        low, high = np.minimum(radii[piece], radii[piece + 1]), np.maximum(radii[piece], radii[piece + 1])
        assert ((value >= low - 1e-12) & (value <= high + 1e-12)).all()


def test_conical_horn() -> None:
    """Wall over 18 mm: 0.4 mm thick at the throat, 0.5 mm at the aperture: section (0.4 + 0.5) / 2 x 18 mm^2."""
    shell = built("conical_horn")[2].conductors[2]
    area, volume = section(shell, 11e-3, -1e-3, 19e-3, cell=1e-5)
    assert area == pytest.approx(0.45e-3 * 18e-3, rel=1e-3)
    z = np.linspace(0, 18e-3, 2001)
    inner, outer = 3.6e-3 + 0.3 * z, 4.0e-3 + (5.5 / 18) * z
    assert volume == pytest.approx(np.trapezoid((outer**2 - inner**2) / 2, z), rel=1e-3)


@pytest.mark.parametrize("family", [family for family, case in CASES.items() if case.refused])
def test_refusals(family: str) -> None:
    """The offending design of a batch alone, with both values; the limit itself is allowed."""
    case, kind = CASES[family], FAMILIES[family]
    ((name, value),) = case.refused.items()
    first, second, third = kind.refusal(stack([DESIGNS[family], DESIGNS[family] | case.refused, DESIGNS[family]]))
    assert first is None and third is None
    assert second is not None
    entry = name.replace("radii.5", "radii[5]")
    assert f"{entry} = {value * 1e3:g} mm" in second and f"{case.limited_by} = {case.limit * 1e3:g} mm" in second
    assert kind.refusal(stack([DESIGNS[family] | {name: case.limit}])) == [None]


def test_dielectric_rod() -> None:
    """A cylinder of 5 mm and a cut cone of 9 mm, whose volume over pi is (R^2 + R t + t^2) h / 3."""
    (rod,) = built("dielectric_rod")[2].dielectrics
    radius, tip, cylinder, cone = 4.3e-3, 1.5e-3, 5e-3, 9e-3
    area, volume = section(rod.distance, 5e-3, -1e-3, 15e-3, cell=1e-5)
    assert area == pytest.approx(radius * cylinder + (radius + tip) * cone / 2, rel=1e-3)
    expected = radius**2 * cylinder / 2 + (radius**2 + radius * tip + tip**2) * cone / 6
    assert volume == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rod.tip_radius": 4.4e-3}, "rod.radius = 4.3 mm is smaller than rod.tip_radius = 4.4 mm"),
        ({"rod.taper": 15e-3}, "rod.length = 14 mm is smaller than rod.taper = 15 mm"),
    ],
)
def test_what_else_a_rod_must_reach(changes: dict[str, float], says: str) -> None:
    kind, designs, _ = built("dielectric_rod", **changes)
    assert kind.refusal(designs) == [says]
    (whole,) = kind.refusal(stack([DESIGNS["dielectric_rod"] | {"rod.taper": 14e-3, "rod.tip_radius": 4.3e-3}]))
    assert whole is None


def test_open_waveguide_refuses_nothing() -> None:
    assert FAMILIES["open_waveguide"].refusal(stack([FEED] * 2)) == [None, None]


def area_and_moment(corners: np.ndarray) -> tuple[float, float]:
    """Area of a polygon (r, z), m^2, and volume of its body of revolution over 2 pi, m^3 (Green's theorem)."""
    (r, z), (r_next, z_next) = corners.T, np.roll(corners, -1, axis=0).T
    cross = r * z_next - r_next * z
    return abs(float(cross.sum() / 2)), abs(float((cross * (r + r_next)).sum() / 6))


@pytest.mark.parametrize("family", FAMILIES)
def test_outline_is_the_scene(family: str) -> None:
    """What is exported as polygons is what the solver's level sets hold: corners and middles of chords on the surface.

    A chord may be 0.1 um inside a curve, and the level set of a shaped lens is a distance to first order only.
    Sections of conductors are compared as a whole: the tube and the back wall are one polygon and two level sets.
    """
    kind, _, scene = built(family)
    outline = kind.outline(DESIGNS[family])
    compiled = prepared(scene, np, POLYGONS)
    conductors = compiled.conductors

    def metal(index, r, z):
        return np.max([np.broadcast_to(level(index, r, z), np.broadcast(r, z).shape) for level in conductors], 0)

    drawn = np.sum([area_and_moment(one) for one in outline.conductors], axis=0)
    every = np.concatenate(outline.conductors)
    box = every[:, 0].max() + 1e-3, every[:, 1].min() - 1e-3, every[:, 1].max() + 1e-3
    assert drawn == pytest.approx(section(metal, *box, cell=4e-5), rel=2e-3)
    for lens, solid in zip(compiled.dielectrics, outline.dielectrics, strict=True):
        corners = solid.corners
        for points in (corners, (corners + np.roll(corners, -1, axis=0)) / 2):
            off_axis = points[points[:, 0] > 1e-9]
            assert np.abs(lens.distance(np.array(0), *off_axis.T)).max() < 1.1e-7
        assert area_and_moment(corners) == pytest.approx(section(lens.distance, 15e-3, 0.0, 15e-3), rel=1e-4)
