"""Sizes of antennas: closed forms, bodies that overlap, and the area that shapely finds for every family."""

import math

import numpy as np
import pytest
import shapely
from family_cases import DESIGNS, KINDS

from antennaopt.families.measures import measures, revolved


def box(inner, outer, bottom, top):
    return np.array([(inner, bottom), (outer, bottom), (outer, top), (inner, top)])


def turned(shape):
    """Volume by Pappus of what shapely made of a section."""
    return sum(2 * math.pi * one.centroid.x * one.area for one in shapely.get_parts(shape))


def test_a_union_counts_what_overlaps_and_what_touches_once():
    whole = math.pi * 9.0 * 2.0
    assert revolved([box(0, 3, 0, 2)]) == pytest.approx(whole)
    assert revolved([box(0, 2, 0, 2), box(2, 3, 0, 2)]) == pytest.approx(whole)
    assert revolved([box(0, 2.5, 0, 1.5), box(0, 3, 0, 2), box(1, 2, 1, 2)]) == pytest.approx(whole)


def test_crossing_edges_and_a_cone_are_exact():
    cone = np.array([(0, 0), (3, 0), (0, 2)])
    assert revolved([cone]) == pytest.approx(math.pi * 9 * 2 / 3)
    upside_down = np.array([(0, 2), (3, 2), (0, 0)])
    assert revolved([cone, upside_down]) == pytest.approx(2 * math.pi * 6 - math.pi * 1.5**2 * 2 / 3)


@pytest.mark.parametrize("name", KINDS)
def test_the_volumes_of_every_family_are_those_of_its_united_sections(name):
    family, design = KINDS[name], DESIGNS[name]
    outline = family.outline(design)
    metal = shapely.union_all([shapely.Polygon(one) for one in outline.conductors])
    solids = shapely.union_all([shapely.Polygon(one.corners) for one in outline.dielectrics])
    found = measures(family, design)
    assert found.metal == pytest.approx(turned(metal), rel=1e-9)
    assert found.dielectric == pytest.approx(turned(solids.difference(metal)), rel=1e-9, abs=1e-18)
    assert found.mass(2700.0, 1000.0) == pytest.approx(2700 * found.metal + 1000 * found.dielectric)


def test_a_horn_is_as_long_as_its_export_and_its_aperture_is_the_inner_mouth():
    design = DESIGNS["conical_horn"]
    found = measures(KINDS["conical_horn"], design)
    wall = design["feed.outer_radius"] - design["feed.inner_radius"]
    assert found.length == pytest.approx(design["horn.length"] + design["feed.length"] + wall)
    assert found.aperture == pytest.approx(2 * design["horn.aperture_radius"])
    assert found.diameter == pytest.approx(2 * (design["horn.aperture_radius"] + design["horn.wall"]))


def test_the_aperture_of_a_lens_is_its_largest_diameter():
    design = DESIGNS["hemispherical_lens"]
    assert measures(KINDS["hemispherical_lens"], design).aperture == pytest.approx(2 * design["lens.radius"])
