"""What many tests of the optimiser begin with."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import cheap_evaluation
import pytest
from config_files import LENS, replaced
from made_up_runs import MadeUpRun, write_run

from antennaopt import cli
from antennaopt.errors import ConfigurationError
from antennaopt.farm import early


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """Run the command line in a folder of its own; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def no_early_workers(monkeypatch):
    """Start no process before the farm: it is in this one."""
    monkeypatch.setattr(early, "start", lambda count: None)


@pytest.fixture
def stopped_before_solving(monkeypatch):
    """Let what a run begins with, and a dry run estimates with, raise an error."""

    def stop(*_, **__):
        raise ConfigurationError("stopped here")

    for name in ("start.run", "dry_run.estimate"):
        monkeypatch.setattr(f"antennaopt.run.{name}", stop)


@pytest.fixture
def cheap_call(call, tmp_path, monkeypatch):
    """The same with a solver that takes no time, and `lens.toml` of two radii in the folder."""
    monkeypatch.setattr("antennaopt.solve.plan.plan", cheap_evaluation.plan)
    monkeypatch.setitem(sys.modules, "antennaopt.solve.evaluate", SimpleNamespace(evaluate=cheap_evaluation.evaluate))
    cheap_evaluation.CALLS.clear()
    (tmp_path / "lens.toml").write_text(
        replaced(LENS, '{ count = 6, min = "8 mm", max = "20 mm" }', '["9 mm", "8 mm"]')
    )
    return call


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """A finished run folder of 2 generations of 4; copy it before anything is changed."""
    return write_run(tmp_path_factory.mktemp("made"), MadeUpRun(generations=2, population=4, field_map=False))
