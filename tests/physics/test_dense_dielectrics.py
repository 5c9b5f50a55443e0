"""Dense and lossy bodies stay stable: neither permittivity nor loss tangent has a limit from the time step.

The coupling of E_r and E_z at a slanted surface is bounded so that the inverse permittivity stays positive definite on
the lattice (`fdtd.axisymmetric.media`). Without the bound this sphere-capped cylinder of radius 17 cells grew without
limit: not finite after 1600 steps at permittivity 40, 800 at 60. Loss enters semi-implicitly, (1 - x)/(1 + x) with
x = sigma dt/(2 eps) > 0, so that |E| never grows by it, however large.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from antennaopt.families import FAMILIES, stack
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan
from fdtd.axisymmetric import media
from fdtd.axisymmetric.layout import Layout

SOLVER = {
    "frequencies": [30e9],
    "design_frequency": 30e9,
    "cell": 0.3e-3,
    "courant_fraction": 0.98,
    "pml_cells": 10,
    "decay_db": 60.0,
    "precision": "float32",
    "max_steps": 4000,
}


def lens(permittivity: float, loss_tangent: float) -> dict[str, float]:
    return {
        "feed.inner_radius": 3.6e-3,
        "feed.outer_radius": 4.0e-3,
        "feed.length": 6e-3,
        "lens.permittivity": permittivity,
        "lens.loss_tangent": loss_tangent,
        "lens.radius": 5.1e-3,
        "lens.extension": 1e-3,
    }


@pytest.mark.parametrize(("permittivity", "loss_tangent"), [(40.0, 0.0), (100.0, 0.0), (100.0, 1.0), (2.53, 1.0)])
def test_energy_does_not_grow(measured: Callable[..., float], permittivity: float, loss_tangent: float) -> None:
    """Over 4000 steps of 0.98 of the stable one, on far fewer cells a wavelength than are accepted."""
    design = lens(permittivity, loss_tangent)
    made = plan("hemispherical_lens", design, design, SOLVER).to_dict()
    outcome = evaluate("hemispherical_lens", [design], made)[0]
    assert outcome["status"] in ("ok", "undecayed"), outcome["error"]
    name = f"energy left after {outcome['steps']} steps"
    measured(name, outcome["decay_db"], "dB", at_most=0.0, permittivity=permittivity, loss_tangent=loss_tangent)


@pytest.mark.parametrize(("permittivity", "whole"), [(2.53, True), (12.0, True), (40.0, False)])
def test_usual_permittivities_keep_all_of_their_coupling(
    permittivity: float, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to that of silicon nothing is taken from the tensor: largest entries 0.064 and 0.250 (measured)."""
    design = lens(permittivity, 0.0)
    layout = Layout.from_dict(plan("hemispherical_lens", design, design, SOLVER).to_dict()["layout"])
    scene = FAMILIES["hemispherical_lens"].scene(stack([design]))
    bounded = media.effective_permittivity(layout.grid, scene, 30e9)[2]
    monkeypatch.setattr(media, "_part_that_is_stable", lambda permittivity, coupling: np.ones_like(coupling))
    unbounded = media.effective_permittivity(layout.grid, scene, 30e9)[2]
    assert np.allclose(bounded, unbounded, rtol=1e-12, atol=0.0) == whole
    assert (abs(bounded) <= abs(unbounded)).all()
