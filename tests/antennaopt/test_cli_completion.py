"""A shell that completes gets commands, and the values of `--backend` and `--format`."""

import os
import subprocess
import sys

import pytest


def completions(line):
    """What bash is given for the last word of a line."""
    asked = {"_ANTENNAOPT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    run = [sys.executable, "-m", "antennaopt"]
    done = subprocess.run(run, env={**os.environ, **asked}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return [entry.partition(",")[2] for entry in done.stdout.splitlines() if entry]


@pytest.mark.parametrize(
    "line, values",
    [
        ("antennaopt sim", ["simulate"]),
        ("antennaopt run --backend ", ["auto", "cpu", "reference", "cuda"]),
        ("antennaopt simulate antenna.toml --backend c", ["cpu", "cuda"]),
        ("antennaopt worker --backend x", []),
        ("antennaopt export antenna.toml --format ", ["meep", "openems"]),
    ],
)
def test_values(line, values):
    assert completions(line) == values
