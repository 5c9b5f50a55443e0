"""The fixture `measured`: an assertion that hands out its figure, which `--validation FILE` keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILE = '''"""A made-up phenomenon, measured
twice. And more."""
import pytest

@pytest.mark.parametrize("cells", [10, 20])
def test_error(measured, cells):
    assert measured("error", 3 / cells**2, "%", at_most=0.01, cells_per_wavelength=cells) > 0

def test_order(measured):
    measured("order", 1.7, at_least=1.8)

def test_not_finite(measured):
    measured("error", float("nan"))

def test_skipped(measured):
    pytest.skip("no program")

@pytest.mark.slow
def test_slow_without_figures():
    pass

@pytest.mark.slow
def test_slow(measured):
    measured("level", -70.0, "dB", at_most=-60.0, case="a")
'''


@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one", "two"])
def test_figures_are_kept(tmp_path: Path, processes: tuple[str, ...]) -> None:
    """Also those that miss their bound, and from worker processes; slow tests that measure nothing are left out."""
    (tmp_path / "test_made_up.py").write_text(FILE, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: long\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "--validation", "kept.json", *processes]
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert "error, cells_per_wavelength = 10: 0.03 % is above 0.01" in run.stdout
    assert "order: 1.7  is below 1.8" in run.stdout
    assert "3 failed, 2 passed, 1 skipped" in run.stdout
    (kept,) = json.loads((tmp_path / "kept.json").read_text("utf-8"))
    assert kept["title"] == "A made-up phenomenon, measured twice"
    assert (kept["passed"], kept["failed"], kept["skipped"]) == (2, 3, 1)
    found = {figure["test"]: figure for figure in kept["figures"]}
    assert found["test_error[20]"] == {
        "test": "test_error[20]",
        "name": "error",
        "value": 0.0075,
        "unit": "%",
        "at_most": 0.01,
        "where": {"cells_per_wavelength": 20.0},
    }
    assert set(found) == {"test_error[10]", "test_error[20]", "test_order", "test_not_finite", "test_slow"}
