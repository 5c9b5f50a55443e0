"""`benchmarks/device_study.py` without a device: its parts, the time that they have, what it writes of a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from run_examples import evaluated, new_run, solved

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import device_study


def carry_out(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["device_study.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        device_study.main()
    return int(ended.value.code or 0)


def test_a_part_that_fails_or_is_out_of_time_leaves_the_others(monkeypatch, tmp_path, capsys) -> None:
    """Rows written before the end are kept and name command and commit; the exit status says that a part failed."""

    def slow(work: device_study.Measuring) -> None:
        device_study.stamped(work, "slow.json", ["-c", "import sys; open(sys.argv[2], 'w').write('[{}]'); input()"])

    def quick(work: device_study.Measuring) -> None:
        work.write("quick.json", {"commit": work.commit})

    def refused(work: device_study.Measuring) -> None:
        raise subprocess.CalledProcessError(5, "refused")

    parts = {"refused": refused, "quick": quick, "slow": slow, "late": quick}
    monkeypatch.setattr(device_study, "PARTS", parts)

    def run(command, *, timeout, **options):
        done = real(command, timeout=120, stdin=subprocess.DEVNULL, **{**options, "check": False})
        assert done.returncode == 1  # input() found no terminal: by then the rows are written
        monkeypatch.setattr(device_study.time, "monotonic", lambda: float("inf"))
        raise subprocess.TimeoutExpired(command, timeout)

    real = subprocess.run
    monkeypatch.setattr(device_study.subprocess, "run", run)
    monkeypatch.setenv("COMMIT", "abc1234")
    assert carry_out(monkeypatch, str(tmp_path)) == 1
    said = capsys.readouterr().out
    assert "failed: refused, slow, late" in said
    assert "late FAILED: TimeoutError: no time is left" in said
    assert json.loads((tmp_path / "quick.json").read_text()) == {"commit": "abc1234"}
    stored = json.loads((tmp_path / "slow.json").read_text())
    assert (stored["commit"], stored["rows"]) == ("abc1234", [{}])


def test_parts_by_name(monkeypatch, tmp_path) -> None:
    done = []
    monkeypatch.setattr(device_study, "PARTS", {name: lambda work, name=name: done.append(name) for name in "abc"})
    assert carry_out(monkeypatch, str(tmp_path), "c", "a") == 0
    assert done == ["a", "c"]
    assert carry_out(monkeypatch, str(tmp_path), "d") == 2


def test_a_run_is_summed_up_from_its_own_files(tmp_path) -> None:
    """The rate is cells times steps over stepping time; figures are the worst of the band."""
    with new_run(tmp_path, manifest={"plan": {"nr": 124, "nz": 210, "cell": 2e-4}}) as folder:
        outcomes = [
            solved(worker="0", stepping_seconds=0.5, origin="solved", steps=steps, s11_db=[level, level - 3.0])
            for steps, level in ((3000, -9.0), (4000, -12.0))
        ]
        folder.write_rows(0, [evaluated(slot=slot, outcome=outcome) for slot, outcome in enumerate(outcomes)])
        folder.log("generation", generation=0, seconds=2.0, evaluations=2, best=1.0)
        frame = pd.read_parquet(folder.evals_folder)
        best = frame.nsmallest(1, "fitness").iloc[0]
        folder.log("stopped", search_seconds=2.0, run_seconds=3.0, crowned=best["individual"])
        found = device_study.summary(folder.path, 4.0)
    assert found["cell_steps_per_s"] == pytest.approx(7000 * 124 * 210 / 1.0)
    assert (found["stepping_fraction"], found["evaluations_per_s"]) == (pytest.approx(0.5), pytest.approx(0.5))
    assert found["best"]["s11_db"] == pytest.approx(max(outcomes[int(best["slot"])]["s11_db"]))
    json.dumps(found, allow_nan=False)
