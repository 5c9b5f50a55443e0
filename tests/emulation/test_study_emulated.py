"""A study with the CUDA backend from experiment file to report, its workers' device being the emulation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import study_on_emulation
from host_device import HostDevice

from antennaopt.experiment import load_experiment
from antennaopt.farm import dask_pool
from antennaopt.run import start
from antennaopt.run.start import run
from fdtd.backends.cuda import SCHEMES, present

EXPERIMENT = """
seed = 7

[antenna]
family = "hemispherical_lens"
feed = { inner_radius = "3.6 mm", outer_radius = "4.0 mm", length = "7.2 mm" }
lens = { permittivity = 2.53, loss_tangent = 6.6e-4, extension = "0.5 mm", radius = { min = "4.2 mm", max = "5.8 mm" } }

[solver]
frequencies = ["30 GHz"]
cell = "0.6 mm"
pml_cells = 6
pml_distance = "3 mm"
decay_db = 20
surfaces = "diagonal"

[evolution]
population = 2
tournament_size = 2
generations = 2
elites = 1

[[objective]]
metric = "directivity_dbi"
at_least = 12.0
"""


@pytest.mark.slow
def test_a_study_on_a_device_is_that_of_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three antennas: through DEAP, Dask (a process, two batches at a time), Parquet and certificates.

    The same search as with backend cpu: directivity within 1e-4 dB, single precision, and the same antennas.
    """
    found = (present.Found(uuid="GPU-0", name="emulation", limits=HostDevice().limits),)
    monkeypatch.setattr(present, "devices", lambda: found)
    monkeypatch.setattr(dask_pool, "capacity", study_on_emulation.capacity)
    monkeypatch.setattr(start, "arithmetic_class", study_on_emulation.arithmetic_class)
    file = tmp_path / "lens.toml"
    file.write_text(EXPERIMENT)
    experiment = load_experiment(file, ['certificate="report"'])
    ours = run(experiment, root=tmp_path / "cuda", backend="cuda", evaluate=study_on_emulation.evaluate)
    theirs = run(experiment, root=tmp_path / "cpu", backend="cpu", report=False)
    one, other = (
        pd.read_parquet(summary.folder / "evals").set_index("individual").sort_index() for summary in (ours, theirs)
    )
    assert list(one.index) == list(other.index)
    assert set(one["status"]) == {"ok"}
    (column,) = (name for name in one if name.startswith("directivity_dbi"))
    np.testing.assert_allclose(one[column].to_numpy(), other[column].to_numpy(), rtol=0.0, atol=1e-4)
    manifest = json.loads((ours.folder / "manifest.json").read_text())
    assert manifest["backend"] == "cuda"
    assert manifest["device"]["device"] == "emulation"
    assert manifest["device"]["scheme"] in SCHEMES
    assert (ours.folder / "best" / "field.npz").exists()
    assert ours.report is not None
