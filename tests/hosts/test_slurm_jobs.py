"""Kind `slurm` from end to end, with a queue that starts every job at once: `sbatch` and `scancel` of our own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from namespaces import EXPERIMENT, ROOT, table

pytestmark = pytest.mark.slow

SBATCH = """#!/bin/sh
# Takes a job script, starts it in a session of its own and says its number, as SLURM does.
cp "$1" "$QUEUE/$$.sh"
QUEUE= setsid sh "$QUEUE/$$.sh" > "$QUEUE/$$.log" 2>&1 &
echo $! > "$QUEUE/$$.pid"
echo "Submitted batch job $$"
"""
SCANCEL = """#!/bin/sh
echo "$1" >> "$QUEUE/cancelled"
kill -- -"$(cat "$QUEUE/$1.pid")" 2>/dev/null || true
"""
TABLE = """
[cluster]
kind = "slurm"
workers = 2
[cluster.slurm]
cores = 1
memory = "1 GB"
walltime = "10 min"
interface = "lo"
"""


def test_jobs_bring_the_workers_and_end_with_the_run(tmp_path):
    """The same rows as with local workers; two jobs handed in, under TLS, and both cancelled at the end."""
    queue, tools = tmp_path / "queue", tmp_path / "bin"
    queue.mkdir()
    tools.mkdir()
    for name, text in {"sbatch": SBATCH, "scancel": SCANCEL}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    text = EXPERIMENT.read_text()
    (tmp_path / "lens.toml").write_text(text + TABLE)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "QUEUE": str(queue), "PYTHONPATH": str(ROOT)}

    def program(*arguments):
        command = [sys.executable, "-m", "antennaopt", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    program("tls", "farm-tls")
    small = [
        *("--set", "evolution.population=6", "--set", "evolution.generations=2", "--set", "certificate.mode=off"),
        *("--set", "solver.cell=0.6 mm", "--backend", "cpu", "--no-cache"),
    ]
    apart = Path(program("run", "lens.toml", "--tls", "farm-tls", *small, "--out", "apart")[-1])
    local = Path(program("run", "lens.toml", *small, "--set", "cluster.kind=local", "--out", "local")[-1])
    pd.testing.assert_frame_equal(table(tmp_path / apart), table(tmp_path / local), check_exact=True)
    workers = set(pd.read_parquet(tmp_path / apart / "evals")["worker"])
    assert all(worker.startswith("SLURMCluster-") for worker in workers), workers
    scripts = list(queue.glob("*.sh"))
    assert len(scripts) == 2
    assert all("tls://" in script.read_text() for script in scripts)
    assert len(set((queue / "cancelled").read_text().split())) == 2
    assert json.loads((tmp_path / apart / "resolved.json").read_text())["cluster"]["slurm"]["cores"] == 1
