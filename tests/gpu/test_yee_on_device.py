"""Antennas in three dimensions on a device: against the oracle, alone and in batches, and a patch as the CPU solves it.

Measured on an H100: 2e-15 and 5e-7 from the oracle after 90 steps of noise in double and single precision, equal bits
alone and in a batch, S11 of a patch within 3e-8 of the CPU's and its directivity within 4e-8 dB.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from antennaopt.experiment import load_antenna
from antennaopt.solve.solvers import evaluator_of, planner_of
from fdtd.backends import yee_reference
from fdtd.backends.cuda import yee
from fdtd.backends.cuda.device import CudaDevice

sys.path += [str(Path(__file__).parents[1] / name) for name in ("agreement", "antennaopt")]
from patch_files import PROBE
from test_yee import CASES, random_problem

pytestmark = pytest.mark.gpu

TOLERANCE = {"float64": 5e-14, "float32": 2e-5}  # as for the CPU backend


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("case", CASES)
def test_fields_and_records_from_noise(cuda_device: CudaDevice, case: str, precision: str) -> None:
    problem = random_problem(**CASES[case], steps=90)
    expected = yee_reference.run(problem)
    (found,) = yee.run_batch([problem], [None], precision=precision, final=True, scheme="one_step", on=cuda_device)
    assert found.final is not None and expected.final is not None
    bound = TOLERANCE[precision]
    assert np.abs(found.final - expected.final).max() <= bound * np.abs(expected.final).max()
    assert np.abs(found.sums - expected.sums).max() <= bound * np.abs(expected.sums).max()
    assert found.energy == pytest.approx(expected.energy, rel=bound)


def test_bits_do_not_depend_on_the_batch(cuda_device: CudaDevice) -> None:
    problems = [random_problem(**CASES[case], steps=200 + 7 * at) for at, case in enumerate(CASES)]
    together = yee.run_batch(problems, [None] * len(problems), final=True, scheme="one_step", on=cuda_device)
    for problem, records in zip(problems, together, strict=True):
        (alone,) = yee.run_batch([problem], [None], final=True, scheme="one_step", on=cuda_device)
        for name in ("final", "sums", "energy"):
            np.testing.assert_array_equal(getattr(records, name), getattr(alone, name))


def test_a_patch_is_that_of_the_cpu(cuda_device: CudaDevice, tmp_path: Path) -> None:
    """S11 within 1e-5, directivity within 1e-4 dB."""
    del cuda_device  # it is the process's device that solves
    (tmp_path / "patch.toml").write_text(PROBE)
    antenna = load_antenna(tmp_path / "patch.toml", [])
    design = antenna.design()
    plan = planner_of(antenna.kind)(antenna.kind, design, design, antenna.solver.settings).to_dict()
    found, expected = (evaluator_of("patch")("patch", [design], plan, backend=name)[0] for name in ("cuda", "cpu"))
    assert (found.status, found.steps) == ("ok", expected.steps)
    assert np.abs(np.subtract(found.s11, expected.s11)).max() < 1e-5
    name = "directivity_dbi"
    assert np.abs(np.subtract(found.metrics[name], expected.metrics[name])).max() < 1e-4
