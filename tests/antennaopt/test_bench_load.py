"""Every row that a bench stores names its commit, machine and load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antennaopt import cli
from antennaopt.bench import runner

ROW = {"figure": 1.0, "best": True, "seed": 1}
SEARCH = ROW | {
    "workers": 2, "algorithm": "ga", "best_fitness": 1.0, "evaluations": 4, "utilisation": 1.0, "steps": 4.0
}  # fmt: skip
BENCHES = {  # command line, what measures
    "evaluate": (["evaluate"], "evaluate.bench_evaluate"),
    "kernels": (["kernels"], "kernels.bench_kernels"),
    "sweep": (["sweep", "--stencil", "tmz"], "kernels.bench_sweep"),
    "search": (["search"], "search.bench_search"),
    "search, waiting": (["search", "--workers", "2"], "search.bench_waiting"),
    "farm": (["farm", "--workers", "1"], "farm.bench_farm"),
    "farm, simulated": (["farm", "--simulate", "10,5"], "farm.bench_simulated"),
    "farm, null": (["farm", "--null"], "farm_overhead.bench_overhead"),
}


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """What the row itself says of it stays."""
    monkeypatch.chdir(tmp_path)
    arguments, measures = BENCHES[name]
    row = SEARCH if "waiting" in name else ROW
    rows = [row, row | {"other_cores": 7.0}]
    monkeypatch.setattr(f"antennaopt.bench.{measures}", lambda *_, **__: rows)
    assert cli.main(["bench", *arguments, "--quiet", "--json", "rows.json"]) == 0
    stored = json.loads((tmp_path / "rows.json").read_text("utf-8"))
    first, second = stored["searches"] if "waiting" in name else stored
    assert first["machine"] and first["cores"] >= 1 and first["other_cores"] >= 0
    assert "commit" in first
    assert second["other_cores"] == 7.0
    assert {key: first[key] for key in row} == row


def test_load_is_what_others_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """In 10 s all programs use 18 s of processor time, we and our ended children 3 + 2 + 4 + 1: others 0.8 cores."""
    clock: list[Any] = [100.0, (1.0, 0.0, 0.0, 0.0, 0.0), 1000.0]
    monkeypatch.setattr(runner.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(runner.os, "times", lambda: clock[1])
    monkeypatch.setattr(runner, "busy_seconds", lambda: clock[2])
    watch = runner.Watch()
    clock[:] = [110.0, (4.0, 2.0, 4.0, 1.0, 0.0), 1018.0]
    assert watch.about()["other_cores"] == 0.8
