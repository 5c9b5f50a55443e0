"""Richardson extrapolation of outcomes: made-up ones whose error is exactly C h^p must come out free of it.

The pattern is cos^2(theta/2) in power with a null that one mesh fills by 1e-4 and the other by less, the error of
either cut 3 % at 0.3 mm. Measured: what is left is rounding, below 1e-12.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from made_up_cuts import amplitudes_of

from antennaopt.metrics import METRICS, Extrapolation
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.extrapolate import extrapolate, richardson
from antennaopt.solve.plan import plan
from fdtd.errors import ConfigError
from fdtd.farfield import polar_weights

THETA = np.arange(181.0)
S11, EFFICIENCY = np.array([[0.3, -0.2], [-0.01, 0.02]]), np.array([0.9, 0.95])
EXACT = np.cos(np.radians(THETA) / 2) ** 2 + 0.01 * np.sin(np.radians(THETA) * 3) ** 2 + 1e-3
LINEAR = [key for key, one in METRICS.items() if one.extrapolation is Extrapolation.LINEAR]
LINEAR.remove("radiation_efficiency")  # has values of its own
POWERS = [key for key, one in METRICS.items() if one.extrapolation is Extrapolation.POWER]


def made_up(cell: float, orders: dict[str, float]) -> dict[str, Any]:
    """Two frequencies; the error of each figure is C (cell / 0.3)^p."""
    off = {key: (cell / 0.3) ** order for key, order in orders.items()}
    cut = 10 * np.log10(EXACT * (1 + 0.03 * np.cos(np.radians(THETA) * 5) * off["pattern"]))
    return {
        "status": "ok",
        "frequency_hz": [29e9, 30e9],
        "s11": (S11 + np.array([0.01, -0.02]) * off["s11"]).tolist(),
        "radiation_efficiency": (EFFICIENCY + 0.02 * off["efficiency"]).tolist(),
        **{key: [1 + 0.01 * off["efficiency"]] * 2 for key in LINEAR},
        **{key: [float(10 * np.log10(0.01 + 0.001 * off["pattern"]))] * 2 for key in POWERS},
        "theta_deg": THETA.tolist(),
        "e_plane": amplitudes_of([cut] * 2),
        "h_plane": amplitudes_of([cut - 1] * 2),
    }


@pytest.mark.parametrize("order", [4 / 3, 2.0, {"s11": 4 / 3, "pattern": 2.0, "efficiency": 1.0}])
def test_error_of_one_order_vanishes(order: float | dict[str, float]) -> None:
    """From 0.3 and 0.2 mm, each quantity with its own order."""
    orders = order if isinstance(order, dict) else dict.fromkeys(("s11", "pattern", "efficiency"), order)
    found = extrapolate(made_up(0.3, orders), made_up(0.2, orders), ratio=1.5, order=order)
    np.testing.assert_allclose(found["s11"], S11, atol=1e-12)
    np.testing.assert_allclose(found["s11_db"], 20 * np.log10(np.hypot(*S11.T)), atol=1e-9)
    np.testing.assert_allclose(found["radiation_efficiency"], EFFICIENCY, atol=1e-12)
    for key in LINEAR:
        np.testing.assert_allclose(found[key], 1, atol=1e-12)
    np.testing.assert_allclose(found["e_plane_dbi"][1], 10 * np.log10(EXACT), atol=1e-9)
    phase = np.angle(found["h_plane"][0])
    np.testing.assert_allclose(np.exp(1j * phase), np.exp(0.1j * np.arange(181)), atol=1e-9)
    for key in POWERS:
        np.testing.assert_allclose(found[key], -20, atol=1e-9)
    assert found["directivity_dbi"][0] == pytest.approx(found["e_plane_dbi"][0][0])
    np.testing.assert_allclose(found["gain_dbi"], found["directivity_dbi"] + 10 * np.log10(EFFICIENCY), atol=1e-9)


def test_a_null_that_goes_negative_keeps_the_fine_mesh() -> None:
    """A null filled more on the coarse mesh than its order says would extrapolate to negative power."""
    orders = {"s11": 2.0, "pattern": 2.0, "efficiency": 2.0}
    coarse, fine = made_up(0.3, orders), made_up(0.2, orders)
    coarse["e_plane"][0][90], fine["e_plane"][0][90] = [0.0, 0.1], [-0.01, 0.0]
    found = extrapolate(coarse, fine, ratio=1.5, order=2.0)
    assert found["e_plane_dbi"][0][90] == pytest.approx(-40.0)
    assert np.isfinite(found["e_plane_dbi"]).all()


def test_directivity_stays_normalised() -> None:
    """On a real antenna, coarse: the mean over the sphere of both extrapolated cuts is 1 as on either mesh."""
    design = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4.2e-3, "feed.length": 9e-3}
    solver = {"frequencies": [30e9], "design_frequency": 30e9, "courant_fraction": 0.98, "pml_cells": 8}
    outcomes = []
    for cell in (0.6e-3, 0.45e-3):
        chosen = plan(
            "open_waveguide", design, design, solver | {"cell": cell, "decay_db": 50.0, "precision": "float32"}
        )
        outcomes.append(evaluate("open_waveguide", [design], chosen.to_dict())[0])
    found = extrapolate(*outcomes, ratio=0.6 / 0.45, order=4 / 3)
    assert set(found) < set(outcomes[0])
    for outcome in (*outcomes, found):
        power = sum(10 ** (np.array(outcome[key][0]) / 10) for key in ("e_plane_dbi", "h_plane_dbi"))
        assert power @ polar_weights(181) / 4 == pytest.approx(1.0, abs=1e-6)


def test_refused() -> None:
    """Meshes in the wrong order, an order that is none, other frequencies."""
    with pytest.raises(ConfigError, match="ratio above 1"):
        richardson(np.ones(1), np.ones(1), 1 / 1.5, 2.0)
    with pytest.raises(ConfigError, match="order above 0"):
        richardson(np.ones(1), np.ones(1), 1.5, 0.0)
    orders = {"s11": 2.0, "pattern": 2.0, "efficiency": 2.0}
    other = made_up(0.2, orders) | {"frequency_hz": [30e9, 31e9]}
    with pytest.raises(ConfigError, match="same frequencies"):
        extrapolate(made_up(0.3, orders), other, ratio=1.5, order=2.0)
