"""What many tests of the optimiser begin with."""

from __future__ import annotations

import pytest

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
