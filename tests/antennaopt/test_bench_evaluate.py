"""`bench evaluate` on a device that is made up: several batches, two at a time, and where their time goes."""

import threading
import time

import pytest
from config_files import WAVEGUIDE

from antennaopt.bench import evaluate as bench
from antennaopt.config import load_antenna
from antennaopt.evaluation import _device


@pytest.fixture
def solved(monkeypatch):
    """Solve in 40 ms of preparing and 40 ms of stepping, one batch at a time on the device; keep what was asked."""
    asked, stepping = [], threading.Lock()

    def evaluate(family, designs, plan, *, backend, stages):
        asked.append((len(designs), plan["max_steps"], threading.get_ident()))
        time.sleep(0.04)
        came = time.perf_counter()
        with stepping:
            began = time.perf_counter()
            time.sleep(0.04)
        for name, seconds in {"rasterise": 0.04, "wait": began - came, "step": 0.04, "transform": 0.0}.items():
            stages[name] = stages.get(name, 0.0) + seconds
        return [{"status": "ok", "steps": 77}] * len(designs)

    monkeypatch.setattr(bench, "evaluate", evaluate)
    monkeypatch.setattr(
        _device, "room", lambda plan: {"scheme": "wavefront", "device": "toy", "wave": 5, "antennas": 100, "reason": ""}
    )
    return asked


def test_a_device_gets_batches_of_two_waves_two_at_a_time(solved, tmp_path):
    """Six batches of 80 ms take at most 0.34 s: 40 ms of each but the first hide behind another's stepping."""
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    (row,) = bench.bench_evaluate(load_antenna(tmp_path / "guide.toml", []), backend="cuda", repeat=1)
    warm, timed = solved[:2], solved[2:]
    assert {size for size, _, _ in solved} == {10}
    assert len(timed) == 6
    assert warm[0][1] < timed[0][1]
    assert len({thread for _, _, thread in timed}) == 2
    assert (row["scheme"], row["device"], row["batch"], row["steps"]) == ("wavefront", "toy", 10, 77)
    assert row["antennas_per_s"] > 60 / 0.34
    assert row["stage_seconds"]["step"] == pytest.approx(0.004)
    assert 0.6 < row["stepping_share"] < 1.0
