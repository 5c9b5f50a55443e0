"""Outcomes of small coarse antennas: what is in them, and that nothing but the design and the plan decides their bits.

Cells of 0.6 mm, 10 a wavelength in the lens: far from converged, but the same equations. A solve takes 0.05 s on the
CPU backend and 1 s on the reference.

Measured: float32 against float64, directivity within 2e-7 dB, gain and front to back 2e-6 dB, S11 5e-8; the reference
against float64, 1e-14 dB. The required bounds are 0.005 dB and 0.01 dB; those below are some hundred times what is
measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from antennaopt.families import FAMILIES
from antennaopt.farm.replies import pack_outcomes
from antennaopt.solve import evaluate as module
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.options import SolveOptions
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.plan import plan
from fdtd.axisymmetric.scene import Scene, box
from fdtd.axisymmetric.simulation import Solutions, solve
from fdtd.errors import Unsuitable

FEED = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4.2e-3, "feed.length": 9e-3}
SMALL = {**FEED, "lens.permittivity": 2.53, "lens.loss_tangent": 0.02, "lens.radius": 5e-3, "lens.extension": 1e-3}
LARGE = {**SMALL, "lens.radius": 7e-3, "lens.extension": 3e-3, "lens.permittivity": 2.2}
BROKEN = {**SMALL, "lens.radius": 4e-3}
BANDS = 3
METRICS = (
    "s11_db",
    "directivity_dbi",
    "max_directivity_dbi",
    "gain_dbi",
    "radiation_efficiency",
    "hpbw_e_deg",
    "hpbw_h_deg",
    "sidelobe_db",
    "front_to_back_db",
    "crosspol_db",
    "power_balance",
    "contour_balance",
)
ALWAYS = {"status", "error", "seconds", "stepping_seconds", "steps", "cells"}
TIMES = ("seconds", "stepping_seconds")


@lru_cache
def planned(precision: str = "float32") -> dict[str, Any]:
    solver = {
        "frequencies": [28.5e9, 30e9, 31.5e9],
        "design_frequency": 30e9,
        "cell": 0.6e-3,
        "courant_fraction": 0.98,
        "pml_cells": 8,
        "decay_db": 50.0,
        "precision": precision,
    }
    return plan("hemispherical_lens", SMALL, {**LARGE, "lens.permittivity": 2.53}, solver).to_dict()


def solved(*designs: dict[str, float], precision: str = "float32", **options: Any) -> list[Outcome]:
    return evaluate("hemispherical_lens", designs, planned(precision), **options)


@lru_cache
def alone(name: str, precision: str = "float32", backend: str = "cpu") -> Outcome:
    return solved({"small": SMALL, "large": LARGE}[name], precision=precision, backend=backend)[0]


def timeless(outcome: Outcome) -> Outcome:
    return outcome.without(*TIMES)


def test_keys() -> None:
    """The outcome's contract: one number a frequency, patterns on whole degrees."""
    outcome = alone("small")
    assert outcome["status"] == "ok" and outcome["error"] is None
    assert set(outcome) >= ALWAYS | {
        "frequency_hz",
        "s11",
        "theta_deg",
        "e_plane",
        "h_plane",
        "decay_db",
        *METRICS,
    }
    assert all(len(outcome[key]) == BANDS for key in (*METRICS, "frequency_hz", "s11", "e_plane_dbi", "h_plane_dbi"))
    assert all(len(pair) == 2 for pair in outcome["s11"])
    assert outcome["theta_deg"].tolist() == [float(angle) for angle in range(181)]
    with pytest.raises(ValueError, match="read-only"):  # all outcomes share it
        outcome["theta_deg"] *= 2.0
    assert outcome["e_plane_dbi"].shape == outcome["h_plane_dbi"].shape == (BANDS, 181)
    assert outcome["e_plane"].shape == outcome["h_plane"].shape == (BANDS, 181)
    assert outcome["e_plane"].dtype == complex
    assert outcome["decay_db"] < -50
    assert outcome["steps"] > 0 and outcome["cells"] == planned()["nr"] * planned()["nz"]


def test_figures_hang_together() -> None:
    """What one figure says of another, whatever the antenna."""
    outcome = alone("large")
    column = {key: np.array(outcome[key], dtype=float) for key in METRICS}
    reflected = np.hypot(*np.array(outcome["s11"]).T)
    assert column["s11_db"] == pytest.approx(20 * np.log10(reflected), abs=1e-9)
    gain = column["directivity_dbi"] + 10 * np.log10(column["radiation_efficiency"])
    assert column["gain_dbi"] == pytest.approx(gain, abs=1e-9)
    realised = gain + 10 * np.log10(1 - reflected**2)
    assert outcome["realized_gain_dbi"] == pytest.approx(realised, abs=1e-9)
    assert (column["max_directivity_dbi"] >= column["directivity_dbi"] - 1e-9).all()
    e_plane, h_plane = np.array(outcome["e_plane_dbi"]), np.array(outcome["h_plane_dbi"])
    assert e_plane[:, [0, -1]] == pytest.approx(h_plane[:, [0, -1]], abs=1e-4)
    assert column["front_to_back_db"] == pytest.approx(e_plane[:, 0] - e_plane[:, -1], abs=1e-9)
    assert column["power_balance"] == pytest.approx(1.0, abs=0.02)
    assert column["contour_balance"] == pytest.approx(1.0, abs=0.02)
    assert (column["radiation_efficiency"] < 0.97).all()  # the lens has a loss tangent of 0.02


def test_without_losses_only_the_power_balance_of_lossy_antennas_is_missing() -> None:
    """The field in the lens is not recorded; all other numbers keep their bits, alone and next to lossless antennas."""
    lossless = {**SMALL, "lens.loss_tangent": 0.0}
    lean = {**planned(), "losses": False}
    both = evaluate("hemispherical_lens", [SMALL, lossless], lean)
    assert both[0]["power_balance"] == [None] * BANDS
    assert both[1]["power_balance"] == pytest.approx([1.0] * BANDS, abs=0.02)
    for found, design in zip(both, (SMALL, lossless), strict=True):
        full = timeless(solved(design)[0]).to_dict()
        alone_too = timeless(evaluate("hemispherical_lens", [design], lean)[0])
        assert timeless(found) == alone_too == full | {"power_balance": found["power_balance"]}


def test_json() -> None:
    """Plain numbers all through."""
    assert json.loads(json.dumps(alone("small").to_dict(), allow_nan=False)) == alone("small")


def test_any_place_in_any_batch() -> None:
    """Bit for bit: next to other sizes, next to one that is not solved, and beyond the size of a part."""
    batch = solved(LARGE, BROKEN, SMALL, SMALL, LARGE, LARGE, SMALL)
    assert [outcome["status"] for outcome in batch] == ["ok", "infeasible", *["ok"] * 5]
    for place, name in ((0, "large"), (2, "small"), (3, "small"), (4, "large"), (5, "large"), (6, "small")):
        assert timeless(batch[place]) == timeless(alone(name)), place


def test_infeasible_is_never_stepped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row with its reason, and the solver not called."""
    monkeypatch.setattr(module, "solve", lambda *_, **__: pytest.fail("stepped"))
    (outcome,) = solved(BROKEN)
    assert outcome["status"] == "infeasible"
    assert "lens.radius = 4 mm" in outcome["error"]
    assert (outcome["steps"], outcome["seconds"]) == (0, 0.0)
    assert set(outcome) == ALWAYS


@pytest.mark.parametrize("steps", [160, 480, 640])
def test_undecayed(steps: int) -> None:
    """Stopped by the step limit, the pulse on its way in or out: said so, with what is left and what to do."""
    (outcome,) = evaluate("hemispherical_lens", [SMALL], planned(), options=SolveOptions(max_steps=steps))
    assert outcome["status"] == "undecayed"
    assert outcome["steps"] == steps
    assert f"after {steps} steps" in outcome["error"] and "max_steps" in outcome["error"]
    assert json.loads(json.dumps(outcome.to_dict(), allow_nan=False)) == outcome


def changed(solutions: Solutions, **changes: Any) -> Solutions:
    """Return answers of which all antennas have other numbers."""
    columns = solutions.columns
    return replace(
        solutions, columns={**columns, **{key: np.full_like(columns[key], value) for key, value in changes.items()}}
    )


@pytest.mark.parametrize(("left_db", "status"), [(-59.9, "ok"), (-50.1, "ok"), (-49.9, "undecayed")])
def test_energy_at_the_step_limit(monkeypatch: pytest.MonkeyPatch, left_db: float, status: str) -> None:
    """What still rings at the frequencies may be as much as a certificate allows, whatever `decay_db` stops at."""

    def ringing(*args: Any, **options: Any) -> Solutions:
        return changed(solve(*args, **options), energy=0.1, residual=10 ** (left_db / 10))

    monkeypatch.setattr(module, "solve", ringing)
    (outcome,) = solved(SMALL)
    assert outcome["status"] == status
    assert outcome["decay_db"] == pytest.approx(left_db)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"finite": False}, "fields are not finite after 2000 steps"),
        ({"energy": 1.0}, "energy still grows after 2000 steps"),
        ({"s11": np.full(BANDS, np.nan)}, "S11 is not finite"),
    ],
)
def test_diverged(monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], words: str) -> None:
    """Fields that overflow, or that grow when the source has long been off: no figures, but the reason."""

    def exploding(*args: Any, **options: Any) -> Solutions:
        return changed(solve(*args, **options), steps=2000, **changes)

    monkeypatch.setattr(module, "solve", exploding)
    (outcome,) = solved(SMALL)
    assert outcome["status"] == "diverged"
    assert words in outcome["error"]
    assert "directivity_dbi" not in outcome


@pytest.mark.parametrize("name", ["small", "large"])
def test_single_precision_suffices(name: str) -> None:
    """Rounding of float32 is far below what a figure is read to."""
    single, double = alone(name), alone(name, "float64")
    for key in ("directivity_dbi", "gain_dbi", "s11_db", "front_to_back_db"):
        assert single[key] == pytest.approx(double[key], abs=2e-4), key
    assert np.array(single["s11"]) == pytest.approx(np.array(double["s11"]), abs=5e-6)


def test_reference_backend_agrees() -> None:
    """The oracle steps the same problem in other code."""
    ours, oracle = alone("small"), alone("small", "float64", "reference")
    for key in ("directivity_dbi", "gain_dbi", "s11_db", "front_to_back_db"):
        assert ours[key] == pytest.approx(oracle[key], abs=2e-4), key
    assert ours["steps"] == oracle["steps"]


def test_fields() -> None:
    """With `fields` the field map covers the lattice inside the layers and S11 the band; figures stay the same."""
    (outcome,) = solved(SMALL, fields=True)
    field, sweep = outcome.field, outcome.sweep
    shape = (len(field["z_m"]), len(field["r_m"]))
    assert all(field[key].shape == shape for key in ("permittivity", "metal"))
    assert field["e"].shape == (BANDS, 3, *shape) and np.isfinite(field["e"]).all()
    assert field["frequency_hz"].tolist() == [28.5e9, 30e9, 31.5e9] and field["shown"] == 1
    assert (np.diff(sweep["frequency_hz"]) > 0).all() and len(sweep["s11"]) == len(sweep["frequency_hz"])
    assert outcome["s11"] == alone("small")["s11"]


def test_stages_add_up() -> None:
    """Where the time goes, added to what stands there."""
    stages = {"step": 100.0}
    (outcome,) = solved(SMALL, options=SolveOptions(stages=stages))
    assert stages["step"] == pytest.approx(100.0 + outcome["stepping_seconds"])
    assert outcome["stepping_seconds"] <= outcome["seconds"]
    assert {"rasterise", "step", "transform"} <= set(stages)


def test_unknown_backend() -> None:
    with pytest.raises(Unsuitable, match=r"backend = 'abacus'.*cpu, cuda, reference"):
        solved(SMALL, backend="abacus")


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("bottom", "top"), [(0.0, 0.0), (-1e-3, -0.4e-3), (-0.5e-3, 0.5e-3)])
def test_a_closed_aperture_is_infeasible(
    monkeypatch: pytest.MonkeyPatch, bottom: float, top: float, precision: str
) -> None:
    """A plate across the feed, in its mouth or inside, of no thickness too: nothing passes the contour.

    No figure of merit is made up from that; accepted power is rounding there, of either sign.
    """
    family = FAMILIES["open_waveguide"]

    def closed(designs: Mapping[str, np.ndarray]) -> Scene:
        scene, radius = family.scene(designs), designs["feed.outer_radius"]
        plate = box(np.full_like(radius, -np.inf), radius, np.full_like(radius, bottom), np.full_like(radius, top))
        return replace(scene, conductors=(*scene.conductors, plate))

    design = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4e-3, "feed.length": 12e-3}
    solver = {"frequencies": [28.5e9, 31.5e9], "design_frequency": 30e9, "cell": 0.4e-3, "courant_fraction": 0.98}
    solver |= {"pml_cells": 8, "decay_db": 60.0, "precision": precision}
    made = plan("open_waveguide", design, design, solver).to_dict()
    assert evaluate("open_waveguide", [design], made)[0]["status"] == "ok"
    monkeypatch.setitem(FAMILIES, "open_waveguide", replace(family, scene=closed))
    outcome = evaluate("open_waveguide", [design], made)[0]
    assert (outcome["status"], outcome["steps"] > 0) == ("infeasible", True)
    assert outcome["error"] == (
        "nothing is radiated: on this mesh metal closes the aperture; refine the mesh or the shape"
    )
    assert not {"directivity_dbi", "s11", "e_plane_dbi", "radiation_efficiency"} & set(outcome)


def test_too_few_steps_are_named() -> None:
    """The wave of 10 steps has not come to the aperture; that was a message about metal that closes it."""
    design = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4e-3, "feed.length": 12e-3}
    solver = {"frequencies": [28.5e9, 31.5e9], "design_frequency": 30e9, "cell": 0.4e-3, "steps": 10}
    (outcome,) = evaluate("open_waveguide", [design], plan("open_waveguide", design, design, solver).to_dict())
    assert outcome["status"] == "infeasible"
    assert "nothing is radiated after 10 steps: raise solver.steps to more than" in outcome["error"]


@pytest.mark.parametrize("over_cutoff", [1.021, 1.04, 1.2])
def test_the_sweep_begins_above_the_cutoff_of_the_feed(over_cutoff: float) -> None:
    """S11 is drawn a little around a single frequency; just above cutoff that was an error about another frequency."""
    cutoff = 1.8411838 * 299792458 / (2 * np.pi * FEED["feed.inner_radius"])
    solver = {"frequencies": [over_cutoff * cutoff], "design_frequency": over_cutoff * cutoff, "cell": 0.6e-3}
    made = plan("open_waveguide", FEED, FEED, solver).to_dict()
    (outcome,) = evaluate("open_waveguide", [FEED], made, fields=True)
    assert outcome.ok and outcome.sweep is not None
    first, last = outcome.sweep["frequency_hz"][0], outcome.sweep["frequency_hz"][-1]
    assert cutoff < first < over_cutoff * cutoff < last
    assert np.isfinite(outcome.sweep["s11"]).all()


def test_a_batch_is_sent_by_its_arrays_as_antenna_by_antenna() -> None:
    """The same bytes; also where some of it could not be built, came back in another order, or were changed."""
    batch = solved(SMALL, LARGE, {**SMALL, "lens.radius": 6e-3})
    some = solved(SMALL, BROKEN, LARGE)
    assert [hasattr(one, "sent") for one in (*batch, *some)] == [True, True, True, True, False, True]
    orders = {
        "whole": batch,
        "a part": batch[1:],
        "turned": batch[::-1],
        "with one that was refused": some,
        "changed": [batch[0].changed(s11=[[0.1, 0.2]] * BANDS), *batch[1:]],
        "two": batch + some,
    }
    for name, outcomes in orders.items():
        alone = [Outcome(**vars(one)) for one in outcomes]
        assert pack_outcomes(outcomes, device="cpu") == pack_outcomes(alone, device="cpu"), name
        named = [one.changed(device="cpu") for one in alone]
        assert pack_outcomes(outcomes, device="cpu") == pack_outcomes(named), name
