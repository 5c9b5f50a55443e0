"""What many tests of the optimiser begin with."""

from __future__ import annotations

import pytest
from made_up_runs import MadeUpRun, write_run

from antennaopt import cli


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """Run the command line in a folder of its own; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """A finished run folder of 2 generations of 4; copy it before anything is changed."""
    return write_run(tmp_path_factory.mktemp("made"), MadeUpRun(generations=2, population=4, field_map=False))
