"""Media made by a device's kernels and arrays, against NumPy's: alone and in batches, in few launches.

Open parts have NumPy's bits: the kernels do the same operations in the same order, without fused multiply-adds. Ratios
around rims come from powers and angles, whose last bits differ from library to library: within 1e-12, of ratios up to
10; measured 2e-14.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import counted_arrays
import numpy as np
import pytest
from host_device import HostLauncher

from antennaopt.families import stack
from antennaopt.solve.plan import plan
from fdtd.axisymmetric.conductors import open_parts
from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.polygons import in_polygon, searched
from fdtd.axisymmetric.scene import Scene, box, capped_cylinder, cone_shell, packed, prepared
from fdtd.axisymmetric.simulation import fill
from fdtd.backends import polygon_depths
from fdtd.backends.cuda import polygons, rasterise, rims

sys.path.append(str(Path(__file__).parents[1] / "antennaopt"))
from family_cases import CASES, DESIGNS, KINDS

SOLVER = {"frequencies": [30e9], "design_frequency": 30e9, "cell": 0.45e-3, "pml_cells": 6, "pml_distance": 1.5e-3}
FAMILIES = ("conical_horn", "dielectric_rod", "hemispherical_lens", "corrugated_horn", "lens_horn", "outline")
TOLERANCE = 1e-12


def batch(family: str, count: int, surfaces: str = "diagonal") -> tuple[Layout, Scene]:
    """Antennas of a family whose gene runs through its range, and their lattice."""
    case, drawn = CASES[family], KINDS[family].of(DESIGNS[family])
    designs = [DESIGNS[family] | {case.gene: value} for value in np.linspace(case.low, case.high, count).tolist()]
    low, high = (DESIGNS[family] | {case.gene: value} for value in (case.low, case.high))
    layout = plan(drawn, low, high, {**SOLVER, "surfaces": surfaces}).layout
    return layout, drawn.scene(stack(designs))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The counting library in place of a device's."""
    launch = counted_arrays.CountingLauncher(counted_arrays)
    for module in (rasterise, polygons, rims):
        monkeypatch.setattr(module, "launcher", lambda: launch)
    counted_arrays.reset()
    yield counted_arrays
    counted_arrays.reset()


def host(media: Media) -> dict[str, np.ndarray]:
    parts = {one.name: counted_arrays.host(getattr(media, one.name)) for one in fields(media)}
    return {name: np.asarray(part) for name, part in parts.items() if part is not None}


@pytest.mark.parametrize("surfaces", ["diagonal", pytest.param("full", marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", FAMILIES)
def test_media_are_those_of_the_host(counted: Any, family: str, surfaces: str) -> None:
    layout, scene = batch(family, 2, surfaces)
    ours, theirs = host(fill(layout, scene, counted)), host(fill(layout, scene))
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        assert ours[name].shape == expected.shape
        assert np.abs(ours[name] - expected).max() < TOLERANCE, name


@pytest.mark.parametrize("family", FAMILIES)
def test_alone_and_in_a_batch(counted: Any, family: str) -> None:
    """The last of three antennas, to the bit."""
    layout, scene = batch(family, 3)
    case, drawn = CASES[family], KINDS[family].of(DESIGNS[family])
    alone = drawn.scene(stack([DESIGNS[family] | {case.gene: float(case.high)}]))
    together, one = host(fill(layout, scene, counted)), host(fill(layout, alone, counted))
    for name, expected in one.items():
        assert np.array_equal(together[name][2:], expected), name


@pytest.mark.parametrize("family", FAMILIES)
def test_open_parts_have_the_bits_of_the_host(family: str) -> None:
    layout, scene = batch(family, 2)
    metal = prepared(scene, np, polygon_depths)
    found = rasterise.open_parts(layout.grid, metal.conductors, 1 if scene.same_metal else 2, HostLauncher())
    assert found is not None
    for ours, theirs in zip(found, open_parts(layout.grid, metal), strict=True):
        assert np.array_equal(ours, theirs)


def test_walls_thinner_than_a_cell(counted: Any) -> None:
    """A cone's wall of a sixth of a cell at 53 degrees: nodes are taken over in more than one pass."""
    layout, _ = batch("conical_horn", 1)
    numbers = (np.array([one]) for one in (3.6e-3, 9e-3, 3.72e-3, 9.12e-3, 4e-3))
    metal = (cone_shell(*numbers),)
    expected = open_parts(layout.grid, Scene(batch=1, conductors=metal))
    found = rasterise.open_parts(layout.grid, metal, 1, HostLauncher())
    assert found is not None
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True))


def test_depths_in_polygons_have_the_bits_of_every_edge() -> None:
    rng = np.random.default_rng(3)
    corners = rng.uniform(0.0, 9e-3, (3, 40, 2))
    corners[:, :2, 0] = 0.0  # an edge on the axis
    corners[1, 20:] = corners[1, 19]
    index, r, z = rng.integers(0, 3, (300, 1)), rng.uniform(-9e-3, 9e-3, (300, 4)), rng.uniform(-2e-3, 11e-3, (1, 4))

    def depths(*arguments: np.ndarray) -> np.ndarray:
        return polygons.depths(*arguments, launch=HostLauncher())

    assert np.array_equal(searched(corners, np, depths)(index, r, z), in_polygon(corners, index, r, z))
    assert np.array_equal(searched(corners[:1], np, depths)(index, r, z), in_polygon(corners[:1], index, r, z))


def test_level_sets_without_a_kernel_are_left_to_arrays() -> None:
    one = np.ones(1)
    ring = box(one, 2 * one, one, 2 * one)
    assert packed((ring,), 1, np) is not None
    assert packed((ring, capped_cylinder(one, one)), 1, np) is None
    assert packed((ring,), 2, np) is None
    assert packed((lambda index, r, z: r - z,), 1, np) is None


LAUNCHES = {"conical_horn": 60, "corrugated_horn": 175}
"""Most launches, a tenth above those measured: arrays cost a device 10 us or more each, whatever their size."""


@pytest.mark.parametrize("family", LAUNCHES)
def test_launches_do_not_grow_with_the_batch(counted: Any, family: str) -> None:
    """And nothing waits for the device, but for the search of polygons' neighbours."""
    found = []
    for count in (2, 5):
        counted.reset()
        fill(*batch(family, count), counted)
        found.append(dict(counted.COUNTS))
    assert found[0] == found[1]
    assert 0 < sum(found[0].values()) <= LAUNCHES[family], found[0]
    assert counted.WAITS.keys() <= {"bool"}
