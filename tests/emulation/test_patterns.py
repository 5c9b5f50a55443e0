"""Figures of patterns by a device's kernels against those by arrays, and the same bits alone and in a batch.

Both do the same operations; sums of squares come in another order, and powers and logarithms from another library:
measured 2e-13 dB and degrees. A wrong sample of a first minimum, lobe or shoulder changes them by 1e-3 dB or more.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from host_device import HostLauncher

from antennaopt.solve import evaluate as module
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan
from fdtd import farfield
from fdtd.axisymmetric.simulation import solve
from fdtd.backends.cuda.patterns import patterns

sys.path.append(str(Path(__file__).parents[1] / "fdtd"))
import test_side_lobes as made

TOLERANCE = 1e-10
NAMED = (
    made.WIDE_BEAM, made.ONE_SHOULDER, made.TWO_SHOULDERS, made.TOO_STEEP_THEN_ONE, made.LOBE_AND_SHOULDER,
    made.LOBE_BETWEEN_SAMPLES, made.HORN_LIKE, made.SHAPED_BEAM, made.aperture(6.0), made.aperture(25.0),
    made.corners((0, 0), (20, -10), (40, -10), (60, -30), (180, -30)), made.corners((0, -3), (30, 0), (180, -40)),
    made.corners((0, 0), (180, 0)), made.corners((0, 0), (89, -40), (90, -20), (91, -40), (180, -60)),
    made.corners((0, 0), (90, -40), (91, -20), (92, -40), (180, -60)),
    made.corners((0, 0), (10, -10), (14, -11.2), (18, -12.404), (22, -13.2), (40, -25), (180, -60)),
)  # fmt: skip


def far_fields(step: float) -> tuple[np.ndarray, np.ndarray]:
    """A and B, (antennas, 1, T): made-up patterns in all pairs, and rippled ones with lobes and shoulders anywhere."""
    theta = np.arange(0, 180 + step / 2, step)
    rng = np.random.default_rng(11)
    levels = [one(theta) for one in NAMED]
    for _ in range(60):
        size, place, width = rng.uniform(0, 3, 6), rng.uniform(0, 180, 6), rng.uniform(3, 30, 6)
        ripple = (size * np.exp(-(((theta[:, None] - place) / width) ** 2))).sum(axis=1)
        levels.append(-20 * (theta / rng.uniform(20, 90)) ** rng.uniform(0.5, 2) / 3 + ripple)
    order = rng.permutation(len(levels))
    pairs = [(one, levels[other]) for one, other in zip(levels, order, strict=True)]
    turns = np.exp(2j * np.pi * rng.uniform(size=(len(pairs), 1)))
    a, b = (10 ** (np.array(one) / 20) * turns for one in zip(*pairs, strict=True))
    return a[:, None], -b[:, None]


def by_arrays(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """The same figures by the functions that define them."""
    theta_deg = np.linspace(0.0, 180.0, a.shape[-1])
    *planes, power = farfield.directivity(a, b)
    e_plane, h_plane = map(farfield.decibels, planes)
    return {
        "power": power,
        "boresight_dbi": e_plane[..., 0],
        "largest_dbi": np.maximum(e_plane, h_plane).max(axis=-1),
        "front_to_back_db": farfield.front_to_back(e_plane),
        "width_e_deg": farfield.half_power_beamwidth(e_plane, theta_deg),
        "width_h_deg": farfield.half_power_beamwidth(h_plane, theta_deg),
        "lobe_db": farfield.side_lobe(e_plane, h_plane, theta_deg),
        "cross_db": farfield.cross_polarisation(a, b, theta_deg),
    }


@pytest.mark.parametrize("step", [0.5, 1.0, 2.0])
def test_figures_are_those_of_arrays(step):
    a, b = far_fields(step)
    numbers = patterns(a, b, HostLauncher())
    found, expected = farfield.Beams.of(numbers), by_arrays(a, b)
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=0, atol=TOLERANCE, err_msg=name)
    theta_deg = np.linspace(0.0, 180.0, a.shape[-1])
    cuts = np.stack([farfield.decibels(one) for one in farfield.directivity(a, b)[:2]], axis=-2)
    lobes = farfield.cut_lobe(cuts, theta_deg)  # of each cut: the higher one may hide the other
    assert np.isnan(lobes).sum() > 5 and np.isfinite(lobes).sum() > 100
    np.testing.assert_allclose(numbers[..., -2:], lobes, rtol=0, atol=TOLERANCE)


def test_alone_and_in_a_batch():
    a, b = (np.concatenate([one[:40], one[10:50]], axis=1) for one in far_fields(1.0))
    together = patterns(a, b, HostLauncher())
    alone = patterns(a[7:8].copy(), b[7:8].copy(), HostLauncher())
    np.testing.assert_array_equal(alone[0], together[7])


def test_fields_that_are_zero_or_no_numbers():
    """No power, and a NaN, which stays one in what depends on it."""
    a, b = (one[:3].copy() for one in far_fields(2.0))
    a[0] = b[0] = 0.0
    a[1, 0, 5] = np.nan
    found, expected = farfield.Beams.of(patterns(a, b, HostLauncher())), by_arrays(a, b)
    for name in ("power", "boresight_dbi", "largest_dbi", "front_to_back_db", "lobe_db", "cross_db"):
        np.testing.assert_allclose(getattr(found, name), expected[name], rtol=0, atol=TOLERANCE, err_msg=name)


def test_outcomes_have_the_metrics_of_arrays(monkeypatch):
    """What a device computed of patterns stands in outcomes, each in its metric's place."""
    low, high = (
        {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4.2e-3, "feed.length": 9e-3, "lens.permittivity": 2.53,
         "lens.loss_tangent": 0.0, "lens.radius": radius, "lens.extension": 1e-3} for radius in (5e-3, 9e-3)
    )  # fmt: skip
    solver = {"frequencies": [28e9, 31e9], "design_frequency": 30e9, "cell": 0.6e-3, "pml_cells": 6, "decay_db": 40.0}
    about = (
        "hemispherical_lens",
        [low, high, {**low, "lens.radius": 7e-3}],
        plan("hemispherical_lens", low, high, solver).to_dict(),
    )

    def with_patterns(*arguments, **options):
        solved = solve(*arguments, **options)
        a, b = (solved.columns[name] for name in ("e_plane", "h_plane"))
        computed = patterns(a, b, HostLauncher())
        return replace(solved, columns={**solved.columns, "radiated": computed[..., 0].copy()}, patterns=computed)

    expected = evaluate(*about)
    monkeypatch.setattr(module, "solve", with_patterns)
    monkeypatch.setattr(module, "directivity", lambda *_: pytest.fail("computed by arrays"))
    for one, other in zip(evaluate(*about), expected, strict=True):
        assert one.status == "ok" and list(one.metrics) == list(other.metrics)
        for key, values in other.metrics.items():
            found = np.array(one.metrics[key], dtype=float)  # NaN in place of None
            np.testing.assert_allclose(found, np.array(values, dtype=float), rtol=1e-9, atol=1e-9, err_msg=key)
        for name in ("e_plane", "h_plane"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-12)
