"""Loops of the stencils in space against plain NumPy forms of their equations, which share no index code with them."""

from __future__ import annotations

import numpy as np
import pytest

from fdtd.backends.cpu.boxes import step_box
from fdtd.errors import ConfigError
from fdtd.stencils.maxwell import YEE3D_FORMULA
from fdtd.stencils.sums import HEAT7_FORMULA, HEAT19_FORMULA, heat_weights

SHAPE = (9, 8, 11)  # nz, ny, nx
AXIS = {"x": 2, "y": 1, "z": 0}
TURNS = {"x": ("y", "z"), "y": ("z", "x"), "z": ("x", "y")}

# Of 20 steps from noise of size 1: an update rounds about ten times, 20 sqrt(10) times half a unit in the last place
# is 7e-15 and 4e-6. Measured: 8e-16 and 4e-7.
TOLERANCE = {"float64": 7e-15, "float32": 4e-6}


def forward(field: np.ndarray, axis: int) -> np.ndarray:
    """Difference to the next; the last gets zero."""
    return np.concatenate([np.diff(field, axis=axis), np.zeros_like(field.take([0], axis))], axis)


def backward(field: np.ndarray, axis: int) -> np.ndarray:
    """Difference to the one before; the first gets zero."""
    return np.concatenate([np.zeros_like(field.take([0], axis)), np.diff(field, axis=axis)], axis)


def places(axis: str, electric: bool) -> np.ndarray:
    """Where a component is stepped: before the walls at half nodes; between them at nodes, of E alone."""
    inside = np.ones(SHAPE, bool)
    for other, at in AXIS.items():
        half = (other == axis) == electric
        index = np.arange(SHAPE[at]).reshape([-1 if one == at else 1 for one in range(3)])
        inside &= index < SHAPE[at] - 1
        if electric and not half:
            inside &= index > 0
    return inside


def yee(state: np.ndarray, media: np.ndarray, spacings: dict[str, np.ndarray], steps: int) -> np.ndarray:
    """Step Yee's equations in float64."""
    e, h = dict(zip("xyz", state[:3].copy(), strict=True)), dict(zip("xyz", state[3:].copy(), strict=True))

    def over(name: str, axis: str) -> np.ndarray:
        return spacings[f"{name}_{axis}"][: SHAPE[AXIS[axis]]].reshape([-1 if n == AXIS[axis] else 1 for n in range(3)])

    for _ in range(steps):
        curls = {
            axis: over("half", one) * forward(e[two], AXIS[one]) - over("half", two) * forward(e[one], AXIS[two])
            for axis, (one, two) in TURNS.items()
        }
        for axis, curl in curls.items():
            h[axis] = np.where(places(axis, electric=False), h[axis] - curl, h[axis])
        for n, (axis, (one, two)) in enumerate(TURNS.items()):
            curl = over("node", one) * backward(h[two], AXIS[one]) - over("node", two) * backward(h[one], AXIS[two])
            stepped = media[n] * e[axis] + media[3 + n] * curl
            e[axis] = np.where(places(axis, electric=True), stepped, e[axis])
    return np.stack([*e.values(), *h.values()])


def random_cavity() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fields, lossy and unequal media, graded cells; E on the walls is zero."""
    rng = np.random.default_rng(3)
    state = rng.standard_normal((6, *SHAPE))
    for n, axis in enumerate("xyz"):
        state[n] *= places(axis, electric=True)
    media = np.concatenate([rng.uniform(0.9, 1.0, (3, *SHAPE)), rng.uniform(0.2, 1.0, (3, *SHAPE))])
    return state, media, rng.uniform(0.2, 0.5, (6, max(SHAPE)))


@pytest.mark.parametrize("precision", TOLERANCE)
def test_yee_lattice(precision: str) -> None:
    state, media, spacings = random_cavity()
    named = {one.name: spacings[n] for n, one in enumerate(YEE3D_FORMULA.spacings)}
    expected = yee(state, media, named, 20)
    found = step_box(YEE3D_FORMULA, state.astype(precision), 20, media=media, spacings=spacings)
    assert found.dtype == precision
    for n in range(6):
        assert np.abs(found[n] - expected[n]).max() / np.abs(expected[n]).max() < TOLERANCE[precision]


def test_energy_of_a_lossless_cavity_stays() -> None:
    """Sum of E(n) E(n) + H(n - 1/2) H(n + 1/2), which leapfrog keeps. Measured: equal to 16 digits."""
    state, _, _ = random_cavity()
    for n, axis in enumerate("xyz"):  # no normal H in the walls, nor anything beyond them
        state[3 + n] *= places(axis, electric=False)
    media, spacings = np.ones((6, *SHAPE)), np.full((6, max(SHAPE)), 0.5)
    energies = []
    for count in (1, 1000):
        step_box(YEE3D_FORMULA, state, count, media=media, spacings=spacings)
        later = step_box(YEE3D_FORMULA, state.copy(), 1, media=media, spacings=spacings)
        energies.append((state[:3] ** 2).sum() + (state[3:] * later[3:]).sum())
    assert abs(energies[1] / energies[0] - 1) < 1e-12


@pytest.mark.parametrize(("formula", "points"), [(HEAT7_FORMULA, 7), (HEAT19_FORMULA, 19)])
def test_heat(formula, points: int) -> None:
    """A product of sines is an eigenvector of both sums: it decays by a known factor a step, and the rim stays.

    With c = cos(pi m / n) along each axis the factor is 1 + a (2 (cx + cy + cz) - 6), and 1 + a (2/3 (cx + cy + cz) +
    2/3 (cx cy + cy cz + cz cx) - 4).
    """
    sides, modes, ratio, steps = SHAPE, (1, 2, 3), 0.15, 12
    waves = [np.sin(np.pi * m * np.arange(n) / (n - 1)) for m, n in zip(modes, sides, strict=True)]
    start = np.einsum("k,j,i->kji", *waves)
    z, y, x = (np.cos(np.pi * m / (n - 1)) for m, n in zip(modes, sides, strict=True))
    faces, edges = x + y + z, x * y + y * z + z * x
    factor = 1 + ratio * (2 * faces - 6 if points == 7 else 2 / 3 * (faces + edges) - 4)
    found = step_box(formula, np.stack([start, start]), steps, weights=heat_weights(points, ratio))
    np.testing.assert_allclose(found[0][1:-1, 1:-1, 1:-1], factor**steps * start[1:-1, 1:-1, 1:-1], atol=1e-14)
    np.testing.assert_array_equal(found[0][0], start[0])


@pytest.mark.parametrize(("formula", "points", "limit"), [(HEAT7_FORMULA, 7, 1 / 6), (HEAT19_FORMULA, 19, 3 / 8)])
def test_limits_of_the_heat_equation(formula, points: int, limit: float) -> None:
    """Noise dies below the limit and grows above it."""
    noise = np.random.default_rng(2).standard_normal((1, 14, 14, 14))
    noise[:, [0, -1]] = noise[:, :, [0, -1]] = noise[..., [0, -1]] = 0.0
    for share, grows in ((0.98, False), (1.1, True)):
        found = step_box(formula, np.repeat(noise, 2, axis=0), 400, weights=heat_weights(points, share * limit))
        assert (np.abs(found).max() > np.abs(noise).max()) == grows


def test_refusals() -> None:
    with pytest.raises(ConfigError, match=r"needs \(6, nz, ny, nx\)"):
        step_box(YEE3D_FORMULA, np.zeros((3, 4, 4, 4)), 1)
    with pytest.raises(ConfigError, match=r"media of yee3d must have shape \(6, 4, 4, 4\)"):
        step_box(YEE3D_FORMULA, np.zeros((6, 4, 4, 4)), 1)
    with pytest.raises(ConfigError, match=r"weights of heat19 must have shape \(3,\)"):
        step_box(HEAT19_FORMULA, np.zeros((2, 4, 4, 4)), 1, weights=(1.0, 0.0))
