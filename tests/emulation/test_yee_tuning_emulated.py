"""The autotuner of antennas in space on the emulation: candidates run, and the winner is remembered."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from host_device import HostDevice

from fdtd.backends.cuda import yee, yee_tuning
from fdtd.errors import FdtdError

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from test_yee import CASES, random_problem


def test_a_pair_of_antennas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`one_step` and the plan's own cluster are timed; what is chosen gives the fields of a batch that chose itself."""
    monkeypatch.setattr(yee_tuning, "_ONE_STEP", ())
    monkeypatch.setattr(yee_tuning, "_OF_EACH", 0)
    problem, timed = random_problem(**CASES["layers all round, lossy"], steps=24), dict[str, float | FdtdError]()
    known = {"identity": "the emulation", "wait": lambda: None, "copies": 2, "file": tmp_path / "tuned.json"}
    winner, rate = yee_tuning.tuned(
        problem, HostDevice(), **known, told=lambda one, found: timed.update({one.scheme: found})
    )
    assert timed.keys() == {"one_step", "resident"}
    assert rate == max(timed.values()) == timed[winner.scheme] > 0  # type: ignore[type-var]
    assert yee_tuning.tuned(problem, HostDevice(), **known) == (winner, rate)
    (chosen,) = yee.run_batch(
        [problem], [None], final=True, on=HostDevice(), scheme=winner.scheme, **winner.choice
    )  # fmt: skip
    (other,) = yee.run_batch([problem], [None], final=True, on=HostDevice(), scheme="one_step")
    assert chosen.final is not None and other.final is not None
    assert np.abs(chosen.final - other.final).max() < 1e-5 * np.abs(other.final).max()
