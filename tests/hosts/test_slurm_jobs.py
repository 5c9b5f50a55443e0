"""Kind `slurm` from end to end, with a queue that starts every job at once: `sbatch` and `scancel` of our own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from namespaces import EXPERIMENT, ROOT, table
from waiting import SAFETY_S, wait_until

pytestmark = pytest.mark.slow

SBATCH = """#!/bin/sh
# Takes a job script, starts it in a session of its own and says its number, as SLURM does.
for script; do :; done
cp "$script" "$QUEUE/$$.sh"
QUEUE= setsid sh "$QUEUE/$$.sh" > "$QUEUE/$$.log" 2>&1 &
echo $! > "$QUEUE/$$.pid"
echo "Submitted batch job $$"
"""
SCANCEL = """#!/bin/sh
echo "$1" >> "$QUEUE/cancelled"
kill -- -"$(cat "$QUEUE/$1.pid")" 2>/dev/null || true
"""
SQUEUE = """#!/bin/sh
for file in "$QUEUE"/*.pid; do
    kill -0 "$(cat "$file")" 2>/dev/null && basename "$file" .pid
done
true
"""
TOOLS = {"sbatch": SBATCH, "scancel": SCANCEL, "squeue": SQUEUE}
SOON = (
    "import sys; from antennaopt.farm import slurm, slurm_jobs; slurm.LOST_S = slurm_jobs.LOST_S = 1.0; "
    "from antennaopt.cli import entry; "
)
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


@pytest.fixture
def environment(tmp_path):
    """Variables of a shell with such a queue in `queue`, and an experiment and certificates in the test's folder."""
    queue, tools = tmp_path / "queue", tmp_path / "bin"
    queue.mkdir()
    tools.mkdir()
    for name, text in TOOLS.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tmp_path / "lens.toml").write_text(EXPERIMENT.read_text() + TABLE)
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "QUEUE": str(queue), "PYTHONPATH": str(ROOT)}


SMALL = [
    *("--set", "evolution.population=6", "--set", "evolution.generations=2", "--set", "certificate.mode=off"),
    *("--set", "solver.cell=0.6 mm", "--backend", "cpu", "--no-cache"),
]


def test_jobs_bring_the_workers_and_end_with_the_run(tmp_path, environment):
    """The same rows as with local workers; two jobs handed in, under TLS, and both cancelled at the end."""
    queue = tmp_path / "queue"

    def program(*arguments):
        command = [sys.executable, "-m", "antennaopt", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=500, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    program("tls", "farm-tls")
    apart = Path(program("run", "lens.toml", "--tls", "farm-tls", *SMALL, "--out", "apart")[-1])
    local = Path(program("run", "lens.toml", *SMALL, "--set", "cluster.kind=local", "--out", "local")[-1])
    pd.testing.assert_frame_equal(table(tmp_path / apart), table(tmp_path / local), check_exact=True)
    workers = set(pd.read_parquet(tmp_path / apart / "evals")["worker"])
    assert all(worker.startswith("SLURMCluster-") for worker in workers), workers
    scripts = list(queue.glob("*.sh"))
    assert len(scripts) == 2
    assert all("tls://" in script.read_text() for script in scripts)
    assert len(set((queue / "cancelled").read_text().split())) == 2
    assert json.loads((tmp_path / apart / "resolved.json").read_text())["cluster"]["slurm"]["cores"] == 1


def test_jobs_that_all_reach_their_wall_time_are_followed_by_others(tmp_path, environment):
    """A run of a night: its jobs began together and end together, and no generation is over at that moment."""
    queue, more = tmp_path / "queue", ["--set", "evolution.generations=30"]
    run = ["run", "lens.toml", *SMALL, *more]
    tls = [sys.executable, "-m", "antennaopt", "tls", "farm-tls"]
    subprocess.run(tls, check=True, capture_output=True, env=environment, cwd=tmp_path)
    command = [sys.executable, "-c", f"{SOON}sys.exit(entry.main())", *run, "--tls", "farm-tls", "--out", "apart"]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **piped, env=environment, cwd=tmp_path) as going:
        wait_until(lambda: list(tmp_path.glob("apart/*/*/evals/*")) or going.poll() is not None, "a generation")
        for pid in queue.glob("*.pid"):
            os.killpg(int(pid.read_text()), signal.SIGKILL)
        out, err = going.communicate(timeout=SAFETY_S)
    assert going.returncode == 0, err
    assert "all workers of SLURM are gone; the run goes on when its queue brings others" in err
    assert len(list(queue.glob("*.sh"))) == 4
    command = [sys.executable, "-m", "antennaopt", *run, "--set", "cluster.kind=local", "--out", "local"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SAFETY_S, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    apart, local = (table(tmp_path / text.splitlines()[-1]) for text in (out, done.stdout))
    pd.testing.assert_frame_equal(apart, local, check_exact=True)
