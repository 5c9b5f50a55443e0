"""Ports of guides and of microstrip lines on a device: against the oracle, in batches, and solved as on the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from fdtd import yee as space
from fdtd.backends import yee_reference
from fdtd.backends.cuda import yee
from fdtd.backends.cuda.device import CudaDevice

sys.path += [str(Path(__file__).parents[1] / name) for name in ("agreement", "physics")]
import test_yee_microstrip
import test_yee_open_guide
from port_problems import PROBLEMS

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]

TOLERANCE = {"float64": 1e-13, "float32": 2e-5}  # as in the emulation
STEPPED = [("guide", "one_step"), ("circuit", "one_step"), ("guide", "resident")]


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize(("kind", "scheme"), STEPPED)
def test_fields_and_sums_from_noise(cuda_device: CudaDevice, kind: str, scheme: str, precision: str) -> None:
    problem = PROBLEMS[kind](90)
    expected = yee_reference.run(problem)
    (found,) = yee.run_batch([problem], [None], precision=precision, final=True, scheme=scheme, on=cuda_device)
    assert found.final is not None and expected.final is not None
    bound = TOLERANCE[precision]
    assert np.abs(found.final - expected.final).max() <= bound * np.abs(expected.final).max()
    assert (np.abs(found.sums - expected.sums).max(axis=0) <= bound * np.abs(expected.sums).max(axis=0)).all()
    assert found.energy == pytest.approx(expected.energy, rel=bound)


@pytest.mark.parametrize("scheme", ["one_step", None])
def test_bits_do_not_depend_on_the_batch(cuda_device: CudaDevice, scheme: str | None) -> None:
    """Nine antennas with three kinds of ports, each kind with three numbers of steps."""
    problems = [make(300 + 7 * at) for at in range(3) for make in PROBLEMS.values()]
    together = yee.run_batch(problems, [None] * len(problems), final=True, scheme=scheme, on=cuda_device)
    for problem, records in zip(problems, together, strict=True):
        (alone,) = yee.run_batch([problem], [None], final=True, scheme=scheme, on=cuda_device)
        for name in ("final", "sums", "energy"):
            np.testing.assert_array_equal(getattr(records, name), getattr(alone, name))


def test_a_circuit_is_that_of_the_cpu(cuda_device: CudaDevice) -> None:
    """A microstrip line that runs through, 0.18 million cells; S within 1e-4 in single precision."""
    del cuda_device  # it is the process's device that solves
    scene, grid, ports = test_yee_microstrip.line(3, 6)
    found, expected = (
        space.solve_circuit(scene, grid, ports, test_yee_microstrip.BAND, stepper=space.Stepper(backend=name))
        for name in ("cuda", "cpu")
    )
    assert (found.status, found.steps) == ("ok", expected.steps)
    assert np.abs(found.s - expected.s).max() < 1e-4
    np.testing.assert_allclose(found.permittivity, expected.permittivity, rtol=1e-4)
    np.testing.assert_allclose(found.resistance, expected.resistance, rtol=1e-4)


def test_an_open_guide_is_that_of_the_cpu(cuda_device: CudaDevice) -> None:
    """Half a guide and the whole in one batch; S11 within 1e-5, far field within 1e-4 of its largest."""
    del cuda_device
    placed = [test_yee_open_guide.open_guide(whole=whole) for whole in (False, True)]
    found = space.solve_batch(
        [scene for scene, _ in placed], [grid for _, grid in placed], test_yee_open_guide.BAND,
        theta_deg=np.arange(-180.0, 181.0, 10.0), stepper=space.Stepper(backend="cuda"),
    )  # fmt: skip
    for one, whole in zip(found, (False, True), strict=True):
        expected = test_yee_open_guide.solved(whole=whole)
        assert (one.status, one.steps) == ("ok", expected.steps)
        assert np.abs(one.s11 - expected.s11).max() < 1e-5
        assert np.abs(one.far_field - expected.far_field).max() < 1e-4 * np.abs(expected.far_field).max()
