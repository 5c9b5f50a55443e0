"""Media made by a device's kernels and arrays, against NumPy's: alone and in batches, in few launches.

Open parts have NumPy's bits: the kernels do the same operations in the same order, without fused multiply-adds. Ratios
around rims come from powers and angles, whose last bits differ from library to library: within 1e-12, of ratios up to
10; measured 2e-14.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial
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
from fdtd.axisymmetric.polygons import Search, in_polygon, searched, table
from fdtd.axisymmetric.problem import Records
from fdtd.axisymmetric.scene import Scene, box, cone_shell, packed, prepared
from fdtd.axisymmetric.simulation import fill, pose
from fdtd.axisymmetric.solutions import solutions
from fdtd.backends import POLYGONS
from fdtd.backends.cuda import media, patterns, polygons, rasterise, rims, spectra

sys.path.append(str(Path(__file__).parents[1] / "antennaopt"))
from family_cases import CASES, DESIGNS, KINDS

SOLVER = {"frequencies": [30e9], "design_frequency": 30e9, "cell": 0.45e-3, "pml_cells": 6, "pml_distance": 1.5e-3}
FAMILIES = (
    "conical_horn",
    "dielectric_rod",
    "hemispherical_lens",
    "shaped_lens",
    "corrugated_horn",
    "lens_horn",
    "outline",
)
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
    for module in (rasterise, polygons, rims, media, spectra, patterns):
        monkeypatch.setattr(module, "launcher", lambda: launch)
    counted_arrays.reset()
    yield counted_arrays
    counted_arrays.reset()


def host(made: Media) -> dict[str, np.ndarray]:
    parts = {one.name: counted_arrays.host(getattr(made, one.name)) for one in fields(made)}
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
    metal = prepared(scene, np, POLYGONS)
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

    emulated = Search(
        depths=lambda *arguments: polygons.depths(*arguments, launch=HostLauncher()),
        table=lambda corners: polygons.table(corners, HostLauncher()),
    )
    for ours, theirs in zip(emulated.table(corners), table(corners), strict=True):
        assert np.array_equal(ours, theirs)
    for some in (corners, corners[:, ::-1], corners[:1]):
        found = searched(some, np, emulated)(index, r, z)
        assert np.array_equal(found, in_polygon(np.ascontiguousarray(some), index, r, z))


def test_level_sets_without_a_kernel_are_left_to_arrays() -> None:
    one = np.ones(1)
    ring = box(one, 2 * one, one, 2 * one)
    whole = packed((box(*np.array([[1], [2], [1], [2]])),), 1, np)
    assert whole is not None and whole[1].dtype == np.float64
    assert packed((ring,), 1, np) is not None
    assert packed((ring, partial(_half_space, one)), 1, np) is None
    assert packed((ring,), 2, np) is None
    assert packed((lambda index, r, z: r - z,), 1, np) is None


def _half_space(top: np.ndarray, index: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.minimum(top[index] - z, z)


def test_shapes_without_a_kernel(counted: Any) -> None:
    """Metal and a dielectric that only array operations know, on the device."""
    layout, scene = batch("hemispherical_lens", 2)
    (lens,) = scene.dielectrics
    shapes = {
        "dielectrics": (replace(lens, distance=partial(_half_space, np.array([5e-3, 6e-3])), r_max=6e-3),),
        "conductors": (*scene.conductors, partial(_half_space, np.array([1.1e-3, 1.1e-3]))),
    }
    for name, made in shapes.items():
        other = replace(scene, **{name: made})
        ours, theirs = host(fill(layout, other, counted)), host(fill(layout, other))
        assert all(np.abs(ours[part] - theirs[part]).max() < TOLERANCE for part in theirs)


LAUNCHES = {"conical_horn": (30, 0), "corrugated_horn": (33, 0), "dielectric_rod": (95, 1), "outline": (105, 1)}
"""Most array operations and kernels, a tenth above those measured, and how often the host waits for a result.

Each takes a device's host 10 us or more, whatever the size of its arrays.
"""


@pytest.mark.parametrize("family", LAUNCHES)
def test_launches_do_not_grow_with_the_batch(counted: Any, family: str) -> None:
    found, most = [], LAUNCHES[family]
    for count in (2, 5):
        counted.reset()
        fill(*batch(family, count), counted)
        found.append((dict(counted.COUNTS), counted.WAITS.total()))
    assert found[0] == found[1]
    assert 0 < sum(found[0][0].values()) <= most[0], found[0][0]
    assert found[0][1] <= most[1]


def test_more_media_meet_at_a_rim_than_are_kept(counted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come in a copy of their own."""
    layout, scene = batch("dielectric_rod", 2)
    expected = host(fill(layout, scene))
    waits = []
    for most in (12, 0):
        counted.reset()
        monkeypatch.setattr(media, "MOST_BORDERS", most)
        ours = host(fill(layout, scene, counted))
        waits.append(counted.WAITS.total())
        assert all(np.abs(ours[name] - part).max() < TOLERANCE for name, part in expected.items())
    assert waits == [1, 3]


def test_spans_come_in_one_copy(counted: Any) -> None:
    for surfaces in ("diagonal", "full"):
        layout, scene = batch("shaped_lens", 3, surfaces)
        ours, theirs = fill(layout, scene, counted), fill(layout, scene)
        counted.reset()
        spans = ours.spans
        assert counted.WAITS == {"get": 1}
        assert sum(counted.COUNTS.values()) < 16
        for one in fields(spans):
            assert np.array_equal(getattr(spans, one.name), getattr(theirs.spans, one.name)), one.name
        assert spans.coupled == (surfaces == "full")
        assert spans.cut_columns.any() and not spans.cut_columns.all()


def test_figures_of_a_lossy_batch_come_in_one_copy(counted: Any) -> None:
    """More antennas than are transformed at a time, without a field map, as in a search.

    The host waits for a copy until everything is done that was started before, the steps of another batch among it.
    """
    many, samples = 40, 12
    layout, scene = batch("dielectric_rod", many)
    lossy = tuple(replace(one, loss_tangent=np.full(many, 1e-3)) for one in scene.dielectrics)
    problem, feeds = pose(layout, fill(layout, replace(scene, dielectrics=lossy), counted))
    assert problem.media.spans.lossy_rows.any()
    rng = np.random.default_rng(4)
    records = Records(
        steps=np.full(many, 1000), energy=np.full(many, 1e-7), finite=np.ones(many, dtype=bool),
        port=counted.asarray(rng.normal(size=(many, samples, 2))),
        contour=counted.asarray(rng.normal(size=(many, samples, layout.contour.size))), field_map=None, final=None,
    )  # fmt: skip
    solutions(layout, problem, feeds, records, losses=False)  # copies the tables that all batches of a study share
    counted.reset()
    found = solutions(layout, problem, feeds, records, losses=False)
    assert counted.WAITS == {"get": 1}
    assert len(found) == many
    assert all(np.isnan(one.dissipated).all() and np.isfinite(one.radiated).all() for one in found)


def test_a_device_reduces_records_as_the_host_does(counted: Any) -> None:
    """Of a whole batch at a time, and of each antenna what it recorded; what lies behind that is never read."""
    many, samples = 35, 12
    layout, scene = batch("dielectric_rod", many)
    rng = np.random.default_rng(5)
    taken = rng.integers(2, samples + 1, many)
    port, contour = rng.normal(size=(many, samples, 2)), rng.normal(size=(many, samples, layout.contour.size))
    for one, count in enumerate(taken):
        port[one, count:] = contour[one, count:] = np.nan
    about = {"energy": np.full(many, 1e-7), "finite": np.ones(many, dtype=bool), "field_map": None, "final": None}
    found = {}
    for name, xp in (("device", counted), ("host", np)):
        problem, feeds = pose(layout, fill(layout, scene, xp))
        kept = [counted.asarray(one) for one in (port, contour)]
        if name == "host":
            kept = [[one[:count] for one, count in zip(every, taken, strict=True)] for every in (port, contour)]
        records = Records(steps=taken * layout.record_every, port=kept[0], contour=kept[1], **about)
        found[name] = solutions(layout, problem, feeds, records, sweep=5, losses=False)
    for device, host in zip(found["device"], found["host"], strict=True):
        for column in ("s11", "e_plane", "h_plane", "accepted", "through_contour", "sweep_s11"):
            expected = getattr(host, column)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(getattr(device, column), expected, rtol=0, atol=1e-11 * scale, err_msg=column)
