"""Polygons as level sets: against every edge in turn, against boxes and cones, alone and in a batch."""

from __future__ import annotations

import numpy as np
import pytest

from fdtd.axisymmetric.polygons import in_polygon, searched
from fdtd.axisymmetric.scene import LevelSet, box, cone_shell
from fdtd.backends import POLYGONS

CELL = 0.3e-3
RNG = np.random.default_rng(5)
INDEX, R, Z = RNG.integers(0, 4, 40_000), RNG.uniform(0, 25e-3, 40_000), RNG.uniform(-10e-3, 16e-3, 40_000)


def star(corners: int, seed: int) -> np.ndarray:
    """A polygon round (12, 3) mm whose corners stand 2 to 9 mm away; every second one runs clockwise."""
    rng = np.random.default_rng(seed)
    angle, away = np.sort(rng.uniform(0, 2 * np.pi, corners)), rng.uniform(2, 9, corners)
    points = np.stack([12 + away * np.cos(angle), 3 + away * np.sin(angle)], axis=1) * 1e-3
    return points[::-1] if seed % 2 else points


def true_distance(corners: np.ndarray) -> np.ndarray:
    """Distance of the points from a polygon of their antenna, m."""
    start, step = corners[INDEX], np.roll(corners, -1, axis=1)[INDEX] - corners[INDEX]
    to = np.stack([R, Z], axis=1)[:, None] - start
    along = np.clip((to * step).sum(axis=-1) / (step**2).sum(axis=-1), 0, 1)
    return np.linalg.norm(to - along[..., None] * step, axis=-1).min(axis=1)


def true_inside(corners: np.ndarray) -> np.ndarray:
    """Whether the points are inside, by the winding number: the sum of the angles under which they see the edges."""
    to = corners[INDEX] - np.stack([R, Z], axis=1)[:, None]
    after = np.roll(to, -1, axis=1)
    turn = np.arctan2(to[..., 0] * after[..., 1] - to[..., 1] * after[..., 0], (to * after).sum(axis=-1))
    return np.abs(turn.sum(axis=1)) > np.pi


@pytest.mark.parametrize("corners", [3, 4, 9, 60])
def test_sign_and_distance(corners: int) -> None:
    """Inside where the winding number says so; next to an edge the distance, next to a corner at most that."""
    polygons = np.stack([star(corners, seed) for seed in range(4)])
    depth, away = in_polygon(polygons, INDEX, R, Z), true_distance(polygons)
    assert ((depth > 0) == true_inside(polygons)).all()
    assert (np.abs(depth) <= away * (1 + 1e-9)).all()
    assert np.isclose(np.abs(depth), away, rtol=1e-9).mean() > 0.5


def compiled(corners: np.ndarray) -> LevelSet:
    """The level set with the host's search."""
    return searched(corners, np, POLYGONS)


@pytest.mark.parametrize("corners", [3, 4, 9, 17, 60, 333])
def test_search_finds_the_nearest_edge(corners: int) -> None:
    """As every edge in turn: the same bits."""
    polygons = np.stack([star(corners, seed) for seed in range(4)])
    assert np.array_equal(compiled(polygons)(INDEX, R, Z), in_polygon(polygons, INDEX, R, Z))


def test_alone_and_in_a_batch() -> None:
    """The same bits; a polygon that is filled up with repeated corners is the same polygon."""
    polygons = np.stack([star(9, seed) for seed in range(4)])
    mine = INDEX == 2
    alone = compiled(polygons[2:3])(INDEX[mine] * 0, R[mine], Z[mine])
    assert np.array_equal(compiled(polygons)(INDEX, R, Z)[mine], alone)
    filled = np.concatenate([polygons[2:3], np.repeat(polygons[2:3, -1:], 5, axis=1)], axis=1)
    assert np.array_equal(compiled(filled)(INDEX[mine] * 0, R[mine], Z[mine]), alone)


def test_as_boxes_and_cones_have_it() -> None:
    """A ring and a horn's wall, whose level sets are the smallest depth behind their planes."""
    one = np.ones(1)
    ring = np.array([[[4.0, -3.3], [10.4, -3.3], [10.4, 0.2], [4.0, 0.2]]]) * 1e-3
    horn = np.array([[[3.6, 0.0], [4.0, 0.0], [9.0, 14.0], [8.0, 14.0]]]) * 1e-3
    for polygon, level in (
        (ring, box(4e-3 * one, 10.4e-3 * one, -3.3e-3 * one, 0.2e-3 * one)),
        (horn, cone_shell(3.6e-3 * one, 8e-3 * one, 4e-3 * one, 9e-3 * one, 14e-3 * one)),
    ):
        expected, found = level(INDEX * 0, R, Z), in_polygon(polygon, INDEX * 0, R, Z)
        near = np.abs(expected) < 3 * CELL
        assert near.sum() > 1000
        assert np.abs(found - expected)[near].max() < 1e-12


def test_an_edge_on_the_axis_is_no_surface() -> None:
    """A cylinder's depth on its axis is that of its ends, and a cone's tip is a corner."""
    cylinder = np.array([[[0.0, 0.0], [5.0, 0.0], [5.0, 9.0], [0.0, 9.0]]]) * 1e-3
    z = np.array([-0.4e-3, 0.4e-3, 1.1e-3, 8.5e-3, 9.3e-3])
    nearest = np.minimum(z, 9e-3 - z)
    for level in (compiled(cylinder), lambda *at: in_polygon(cylinder, *at)):
        assert level(np.zeros(5, dtype=int), np.zeros(5), z) == pytest.approx(nearest, abs=1e-15)
        assert (level(np.zeros(1, dtype=int), np.zeros(1), np.array([4.5e-3])) > 0).all()
    cone = np.array([[[0.0, 0.0], [5.0, 0.0], [0.0, 9.0]]]) * 1e-3
    tip = in_polygon(cone, np.zeros(2, dtype=int), np.zeros(2), np.array([8.7e-3, 9.3e-3]))
    assert tip == pytest.approx([0.3e-3 * 5 / np.hypot(5, 9), -0.3e-3], rel=1e-9)


def test_one_polygon_for_a_whole_batch() -> None:
    polygon = star(9, 1)[None]
    shared = compiled(polygon)(INDEX, R, Z)
    assert np.array_equal(shared, compiled(np.repeat(polygon, 4, axis=0))(INDEX, R, Z))


def test_a_polygon_of_one_repeated_corner_holds_nothing() -> None:
    """Of a batch, next to one that holds something; by comparison with every edge and by the search."""
    square = np.array([(1e-3, 1e-3), (3e-3, 1e-3), (3e-3, 3e-3), (1e-3, 3e-3)])
    corners = np.stack([square, np.zeros_like(square)])
    points = np.array([0, 1, 1]), np.array([2e-3, 2e-3, 0.0]), np.array([2e-3, 2e-3, 0.0])
    for depth in (in_polygon(corners, *points), compiled(corners)(*points)):
        assert depth[0] == pytest.approx(1e-3) and (depth[1:] == -1.0).all()
