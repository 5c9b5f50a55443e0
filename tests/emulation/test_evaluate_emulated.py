"""Whole evaluations with the CUDA backend, run on the CPU by the emulation: designs in, figures of merit out."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from host_device import HostDevice

from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import SolverPlan, plan
from antennaopt.solve.rehearsal import Rehearsal, rehearse
from fdtd.backends import cuda

FEED = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4.0e-3, "feed.length": 7.2e-3}
BODY = {"lens.permittivity": 2.53, "lens.loss_tangent": 6.6e-4, "lens.extension": 0.5e-3}
LENSES = [{**FEED, **BODY, "lens.radius": radius} for radius in (4.2e-3, 5.6e-3)]
SOLVER = {
    "frequencies": [30e9],
    "design_frequency": 30e9,
    "cell": 0.6e-3,
    "courant_fraction": 0.98,
    "pml_cells": 6,
    "pml_distance": 3e-3,
    "decay_db": 20.0,
    "precision": "float64",
    "surfaces": "diagonal",
}
FIGURES = ("directivity_dbi", "s11_db", "gain_dbi", "front_to_back_db", "crosspol_db", "e_plane_dbi")


@pytest.fixture(scope="module")
def study() -> SolverPlan:
    return plan("hemispherical_lens", LENSES[0], LENSES[-1], SOLVER)


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> HostDevice:
    """The process's device is the emulation; its arrays are NumPy's."""
    found = HostDevice()
    found.arrays = np  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(cuda, "device", lambda: found)
    return found


@pytest.fixture
def batch(emulated: HostDevice, study: SolverPlan) -> list[dict]:
    return evaluate("hemispherical_lens", LENSES, study.to_dict(), backend="cuda")


@pytest.mark.slow
def test_figures_are_the_cpu_backends_whatever_the_batch(batch: list[dict], study: SolverPlan) -> None:
    """Double precision leaves nothing but rounding: 3e-9 dB allowed, 2e-14 dB measured.

    Then both antennas again as in a worker with a device: two threads with a batch each, stepped at the same time. To
    the bit as in one batch; with one constant memory for both the emulation crashes.
    """
    theirs = evaluate("hemispherical_lens", LENSES, study.to_dict(), backend="cpu")
    worst = 0.0
    for one, other in zip(batch, theirs, strict=True):
        assert (one["status"], one["steps"]) == ("ok", other["steps"])
        for name in FIGURES:
            worst = max(worst, float(np.max(np.abs(np.subtract(one[name], other[name])))))
    assert worst < 3e-9
    apart: dict[int, dict] = {}

    def solve(which: int) -> None:
        apart[which] = evaluate("hemispherical_lens", [LENSES[which]], study.to_dict(), backend="cuda")[0]

    threads = [threading.Thread(target=solve, args=(which,)) for which in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for which in range(2):
        assert all(np.array_equal(apart[which][name], batch[which][name]) for name in (*FIGURES, "s11"))


@pytest.mark.slow
def test_a_rehearsal_next_to_a_batch_changes_no_bit(emulated: HostDevice, study: SolverPlan, batch: list[dict]) -> None:
    """Of the same study, and of a field, while the batch is rasterised and stepped."""
    about = {"family": "hemispherical_lens", "designs": LENSES, "plan": study.to_dict()}
    rehearsals = [Rehearsal(**about, first=True), Rehearsal(**about, fields=True)]
    threads = [threading.Thread(target=rehearse, args=(one,)) for one in rehearsals]
    for thread in threads:
        thread.start()
    again = evaluate("hemispherical_lens", LENSES, study.to_dict(), backend="cuda")
    for thread in threads:
        thread.join()
    for one, other in zip(batch, again, strict=True):
        assert all(np.array_equal(one[figure], other[figure]) for figure in FIGURES)
