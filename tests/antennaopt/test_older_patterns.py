"""Runs of schema version 4, whose patterns are directivity in dBi: read, reported, resumed and repaired as they are.

Real fields on a coarse lattice in this process, three antennas a generation, 0.05 s each. A run of today is turned into
one of version 4: its patterns become dBi, and its manifest has no word of complex ones.
"""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from test_study_reuse import TOML, serial  # a farm in this process

from antennaopt.experiment import load_experiment
from antennaopt.report.record import read_run
from antennaopt.run.start import resume, run
from antennaopt.run.stores import recall
from antennaopt.store import pattern
from antennaopt.store.generations import write_table
from antennaopt.store.rows import pattern_table
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import patterns_schema

CHANGES = ("evolution.population=4", "evolution.generations=2")
LEVELS = ["e_plane_dbi", "h_plane_dbi"]


@pytest.fixture(scope="module")
def today(tmp_path_factory):
    root = tmp_path_factory.mktemp("today")
    (root / "lens.toml").write_text(TOML)
    experiment = load_experiment(root / "lens.toml", CHANGES)
    return run(experiment, root=root / "results", source=TOML, overrides=CHANGES, farm=serial, report=False).folder


@pytest.fixture
def older(today, tmp_path):
    """The same run as version 4 wrote it."""
    folder = tmp_path / today.name
    shutil.copytree(today, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["columns"].pop("complex_cuts") is True
    (folder / "manifest.json").write_text(json.dumps(manifest | {"schema_version": 4}))
    for path in (folder / "patterns").iterdir():
        names = set(pq.read_table(path, partitioning=None)["individual"].to_pylist())
        outcomes = {name: recall(today, name).outcome for name in names}
        write_table(pattern_table(today.name, outcomes, patterns_schema(complex_cuts=False)), path)
    return folder


def test_patterns_have_the_columns_that_are_there(today, older):
    then, now = (pattern(folder, recall(today, "best").individual) for folder in (older, today))
    assert list(then.columns) == ["frequency_hz", "theta_deg", *LEVELS]
    assert list(now.columns) == [*then.columns, "e_plane", "h_plane"]
    np.testing.assert_allclose(then[LEVELS], now[LEVELS], atol=3e-6)
    assert now.e_plane[0] == now.h_plane[0]
    assert abs(now.e_plane[0]) ** 2 == pytest.approx(10 ** (now[LEVELS[0]][0] / 10))


def test_an_individual_has_directivity_and_no_amplitudes(older):
    outcome = recall(older, "best").outcome
    assert outcome.e_plane is None and outcome["e_plane_dbi"][0][0] == pytest.approx(outcome["directivity_dbi"][0])
    (first, *_), entry = outcome.results, outcome.results[0].to_dict()
    assert first.e_plane is None and "e_plane" not in entry
    assert len(entry["e_plane_dbi"]) == len(entry["theta_deg"]) == 181
    (cut, *_) = read_run(older).cuts({"individual": recall(older, "best").individual})
    assert cut.e_plane_dbi[0] == pytest.approx(outcome["directivity_dbi"][0])


def test_a_resume_goes_on_in_the_columns_of_the_run(older):
    resume(older, overrides=["evolution.generations=3"], farm=serial, report=False)
    folder = RunFolder.open(older)
    assert folder.generations() == [0, 1, 2]
    for path in (older / "patterns").iterdir():
        assert pq.ParquetFile(path).schema_arrow.names[-2:] == LEVELS
    (entry, *_) = json.loads((older / "best" / "result.json").read_text())["results"]
    assert entry["e_plane_dbi"][0] == pytest.approx(entry["directivity_dbi"], abs=3e-6)


def test_a_repair_writes_the_columns_of_the_run(today, older):
    path = older / "patterns" / "gen-000001.parquet"
    before = pq.read_table(path, partitioning=None)
    path.unlink()
    resume(older, overrides=["evolution.generations=3"], repair=True, farm=serial, report=False)
    after = pq.read_table(path, partitioning=None)
    assert after.schema.equals(before.schema)
    for name in LEVELS:
        np.testing.assert_allclose(np.stack(after[name].to_numpy()), np.stack(before[name].to_numpy()), atol=3e-6)


def test_far_field_files_want_phase(older, call, tmp_path):
    code, out, err = call("export", older, "--cut", tmp_path / "best.cut")
    assert (code, out) == (2, "") and "without phase; solve the antenna again" in err and len(err.splitlines()) == 1
    assert not (tmp_path / "best.cut").exists()
