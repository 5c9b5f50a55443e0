"""`benchmarks/accuracy.py`: processor time, the antennas that decide the orders of extrapolation, added rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import accuracy
from reference_antennas import CASES, HOLDOUT, OTHER_FEEDS

from antennaopt.solve.extrapolate import ORDERS

NAMES = (next(iter(CASES)), next(iter(HOLDOUT)), next(iter(OTHER_FEEDS)))


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float, float]]:
    """What is solved, in order; the n-th solution takes n seconds of processor time and none of any other."""
    calls: list[tuple[str, float, float]] = []

    def solve(name: str, cell: float, *, courant_fraction: float = 0.98) -> dict[str, Any]:
        calls.append((name, cell, courant_fraction))
        return {"cells": 1, "steps": 1}

    def differences(name: str, outcome: Any) -> dict[str, np.ndarray]:
        keys = ("directivity_db", "s11", "efficiency", "e_plane_db", "h_plane_db", "e_plane", "h_plane")
        return dict.fromkeys(keys, np.ones(3))

    monkeypatch.setattr(accuracy, "solve", solve)
    monkeypatch.setattr(accuracy, "differences", differences)
    monkeypatch.setattr(accuracy, "extrapolate", lambda *_, **__: {})
    monkeypatch.setattr(accuracy.time, "process_time", lambda: len(calls) * (len(calls) + 1) / 2)
    return calls


def run(names: tuple[str, ...]) -> tuple[list[accuracy.Job], dict[accuracy.Job, Any]]:
    jobs = accuracy.all_jobs(names, [0.3, 0.2], [20, 30], (0.3, 0.2), None)
    return jobs, accuracy.solve_all(jobs, {}, 3, 1)


def test_antennas_meshes_and_methods_take_turns(solved: list[tuple[str, float, float]]) -> None:
    """Three rounds over everything, both time steps in each; the median of the three times, and half their range."""
    jobs, outcomes = run(NAMES)
    timed = solved[-3 * len(jobs) :]
    assert timed[: len(jobs)] == timed[len(jobs) : 2 * len(jobs)] == timed[2 * len(jobs) :]
    assert {fraction for _, _, fraction in timed[: len(jobs)]} == {0.98, 0.5}
    assert len(set(timed[: len(jobs)])) == len(jobs)
    warm = len(solved) - len(timed)
    rows, _, _ = accuracy.all_rows(NAMES, outcomes, (0.3, 0.2), "stored")
    first = next(row for row in rows if row["case"] == jobs[0].name and row["mesh"] == jobs[0].mesh)
    assert first["seconds"] == warm + len(jobs) + 1
    assert first["spread"] == round(len(jobs) / first["seconds"], 3)


def test_extrapolation_costs_both_meshes(solved: list[tuple[str, float, float]]) -> None:
    """The median of the sums of its two meshes, solved with half the time step."""
    _, outcomes = run(NAMES)
    rows, slow, _ = accuracy.all_rows(NAMES, outcomes, (0.3, 0.2), "stored")
    for name in NAMES[:2]:
        both = sum(row["seconds"] for row in slow if row["case"] == name)
        assert [row["seconds"] for row in rows if row["case"] == name and row["mesh"] == "extrapolated"] == [both]
    assert len([row for row in rows if row["case"] == NAMES[2] and row["mesh"] == "extrapolated"]) == 1


def test_other_feeds_decide_no_order(solved: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders are fitted without them, and where they are alone nothing is fitted."""
    seen: list[set[str]] = []
    monkeypatch.setattr(accuracy, "orders_to_extrapolate", lambda _, about: seen.append(set(about)) or ORDERS)
    accuracy.all_rows(NAMES, run(NAMES)[1], (0.3, 0.2), None)
    assert seen == [set(NAMES[:2]), {NAMES[0]}]
    assert accuracy.all_rows(NAMES[2:], run(NAMES[2:])[1], (0.3, 0.2), None)[2] == {}
    assert len(seen) == 2


def test_added_rows_replace_those_of_their_antennas(solved: list[Any]) -> None:
    """Without seconds, since the file's machine did not measure them; other settings need a file of their own."""
    rows, slow, _ = accuracy.all_rows(NAMES[:2], run(NAMES[:2])[1], (0.3, 0.2), "stored")
    about = {"measured_on": {"commit": "old"}, "settings": {}, "extrapolated_from_mm": [0.3, 0.2], "open_waveguide": {}}
    stored = about | {"orders": {"a": 1}, "rows": rows, "half_step_rows": slow}
    changed = [row | {"s11": 7.0} for row in rows if row["case"] == NAMES[0]]
    new = about | {"measured_on": {"commit": "new"}, "orders": {"b": 2}, "rows": changed, "half_step_rows": []}
    found = accuracy.added(stored, new)
    kept = [row for row in rows if row["case"] == NAMES[1]]
    assert found["rows"][: len(kept)] == kept
    assert [row["s11"] for row in found["rows"][len(kept) :]] == [7.0] * len(changed)
    assert all("seconds" not in row and row["commit"] == "new" for row in found["rows"][len(kept) :])
    assert (found["orders"], found["measured_on"]) == ({"a": 1, "b": 2}, {"commit": "old"})
    with pytest.raises(SystemExit, match="settings"):
        accuracy.added(stored, new | {"settings": {"pml_cells": 12}})


def test_as_a_command(tmp_path: Path) -> None:
    """The script itself, with real solutions: errors against the references on two meshes, and extrapolated."""
    script, found = Path(accuracy.__file__), tmp_path / "accuracy.json"
    words = ["--cases", "open_waveguide", "--cells", "0.6", "0.45", "--repeat", "1"]
    done = subprocess.run(
        [sys.executable, str(script), *words, "--json", str(found)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = json.loads(found.read_text())["rows"]
    s11 = {row["mesh"]: row["s11"] for row in rows if row["case"] == "open_waveguide"}
    assert 0.0 < s11[0.45] < s11[0.6] < 0.01
    assert max(row["s11"] for row in rows if row["mesh"] == "extrapolated") < 0.003
