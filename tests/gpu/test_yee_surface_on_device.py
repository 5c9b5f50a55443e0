"""Far fields and powers of Huygens boxes on a device are those of the host, and do not depend on the batch.

See `tests/emulation/test_yee_surface_emulated.py`, from where scenes and tolerance come.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from antennaopt.figures import figure_of
from antennaopt.solve.figures import planned, with_figures
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.solvers import evaluator_of, planner_of
from fdtd.backends.cuda.device import CudaDevice

sys.path += [str(Path(__file__).parents[1] / name) for name in ("emulation", "antennaopt")]
from antennas_in_space import loaded
from test_feeds_in_space import PARTS
from test_pyramidal_horn_family import HORN
from test_yee_surface_emulated import BOUND, FACES, numbers, on_device, on_host, surface

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("faces", "hole"), [(name, "closed") for name in FACES] + [("open", "guide")])
def test_far_fields_and_powers_are_those_of_the_host(cuda_device: CudaDevice, faces: str, hole: str) -> None:
    own = surface(faces, hole)
    (found,), (expected,) = on_device([own], "float64", device=cuda_device), on_host([own], "float64")
    for name, value in numbers(expected).items():
        assert np.abs(numbers(found)[name] - value).max() <= BOUND * np.abs(value).max(), name


def test_bits_do_not_depend_on_the_batch(cuda_device: CudaDevice) -> None:
    """Nor on the portions in which samples are added."""
    surfaces = [surface("open", "closed"), surface("in a corner", "closed", 2), surface("open", "guide", 3)]
    together = on_device(surfaces, "float32", device=cuda_device)
    for own, far in zip(surfaces, together, strict=True):
        (alone,) = on_device([own], "float32", 20, 7, device=cuda_device)
        for name, value in numbers(far).items():
            np.testing.assert_array_equal(value, numbers(alone)[name])


def test_figures_of_feeds_are_those_of_the_cpu(cuda_device: CudaDevice, tmp_path: Path) -> None:
    """Three horns, each alone and all in one batch; in single precision."""
    del cuda_device  # it is the process's device that solves
    experiment = loaded(HORN, tmp_path)
    cone = {"theta": np.deg2rad(50)}
    metrics = ["crosspol_db", *(f"{part}_efficiency" for part in PARTS)]
    figures = [figure_of({"metric": metric, **cone}) for metric in metrics]
    designs = [{**experiment.design(), "horn.length": length} for length in (0.040, 0.036, 0.044)]
    made = planner_of(experiment.kind)(experiment.kind, designs[1], designs[2], experiment.solver.settings)
    plan = planned(made.to_dict(), figures)

    def solved(backend: str, asked: list[dict[str, float]]) -> list[Outcome]:
        outcomes = evaluator_of(experiment.family)(experiment.family, asked, plan, backend=backend)
        return with_figures(outcomes, asked, figures, experiment.kind)

    on_device_, on_cpu = solved("cuda", designs), solved("cpu", designs)
    for design, found, expected in zip(designs, on_device_, on_cpu, strict=True):
        (alone,) = solved("cuda", [design])
        assert alone.rings == found.rings and alone.figures == found.figures
        for name, values in expected.figures.items():
            assert found.figures[name] == pytest.approx(values, abs=1e-3 if name.startswith("crosspol") else 1e-5), name
