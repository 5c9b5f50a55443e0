"""Modes at the port and in a horn's guide from the sums that the CUDA kernels keep, run by the emulation."""

from __future__ import annotations

import numpy as np
import pytest
from host_device import HostDevice

from antennaopt.settings import ReportedModes, SolverSettings
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan
from fdtd.axisymmetric import simulation
from fdtd.axisymmetric.problem import Problem, Records, Watch
from fdtd.backends import cuda

HORN = {
    "feed.inner_radius": 5.2e-3, "feed.outer_radius": 5.8e-3, "feed.length": 10e-3, "horn.step_radius": 6.5e-3,
    "horn.phasing": 6e-3, "horn.flare": 4e-3, "horn.aperture_radius": 8e-3, "horn.wall": 0.8e-3,
}  # fmt: skip


@pytest.mark.parametrize("scheme", ["one_step", pytest.param("wavefront", marks=pytest.mark.slow)])
def test_modes_of_the_device_are_those_of_the_cpu(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    """Float32, 300 steps: within 1e-5 of the incident wave."""
    settings = SolverSettings(
        frequencies=(38e9, 40e9), design_frequency=40e9, cell=0.65e-3, cells_per_wavelength=None, steps=300,
        surfaces="diagonal", report_modes=(ReportedModes(plane=3e-3),),
    )  # fmt: skip
    shared = plan("dual_mode_horn", HORN, HORN, settings).to_dict()
    (expected,) = evaluate("dual_mode_horn", [HORN], shared)
    device = HostDevice()
    device.arrays = np  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(cuda, "device", lambda: device)

    def run(problem: Problem, precision: str, threads: int, watch: Watch | None) -> Records:
        return cuda.run(problem, precision=precision, scheme=scheme)

    monkeypatch.setitem(simulation.BACKENDS, "cuda", run)
    (measured,) = evaluate("dual_mode_horn", [HORN], shared, backend="cuda")
    assert measured.modes is not None and expected.modes is not None
    for ours, theirs in zip(measured.modes, expected.modes, strict=True):
        assert [(one["plane"], one["name"]) for one in ours] == [(one["plane"], one["name"]) for one in theirs]
        assert {one["name"] for one in ours} >= {"TE11", "TM11"}
        for one, other in zip(ours, theirs, strict=True):
            assert complex(*one["s"]) == pytest.approx(complex(*other["s"]), abs=1e-5)
