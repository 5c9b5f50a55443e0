"""Another account of this machine cannot run code in a local farm, which goes on meanwhile. Needs root."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from required import skip_without
from waiting import SAFETY_S, wait_until

from antennaopt.farm import clusters
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm

HERE = Path(__file__).parent
NOBODY = 65534
JOBS = [[(f"i{number}", {"x": float(number)})] for number in range(4)]


def held(family, designs, plan, *, backend):
    """Wait until the other account has tried."""
    (Path(plan["gate"]) / f"begun-{os.getpid()}").touch()
    wait_until((Path(plan["gate"]) / "open").exists)
    return [{"status": "ok", "decay_db": design["x"]} for design in designs]


@pytest.fixture
def other_account():
    """Return what runs the script as another account, on a farm's ports; its folder is that account's own."""
    if os.getuid() != 0:
        skip_without("accounts", f"this is user {os.getuid()}, not root")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, NOBODY, NOBODY)

        def tries(ports):
            command = [sys.executable, str(HERE / "second_account.py"), NOBODY, folder, *ports]
            done = subprocess.run(
                [str(word) for word in command],
                cwd="/",
                env={**os.environ, "PYTHONPATH": str(HERE.parents[1]), "HOME": folder},
                capture_output=True,
                text=True,
                timeout=SAFETY_S,
            )
            assert done.returncode == 0, done.stderr
            return [json.loads(line) for line in done.stdout.splitlines()]

        yield tries


def doors(farm):
    """Ports of the scheduler, first, and of each worker and its nanny."""
    cluster = farm.pool.cluster._cluster
    ports = [cluster.scheduler.address, *(nanny.address for nanny in cluster.workers.values())]
    ports += [nanny.worker_address for nanny in cluster.workers.values()]
    return [int(address.rpartition(":")[2]) for address in ports]


def struck(tries, gate):
    """What another account gets from a farm that solves meanwhile, and the outcomes of the farm."""
    settings = ClusterSettings(kind="local", workers=2, dashboard=False)
    with DaskFarm(held, family="test", plan={"gate": str(gate)}, cluster=settings) as farm:
        outcomes = farm.run(JOBS)
        wait_until(lambda: len(list(gate.glob("begun-*"))) == 2, "a batch in both workers")
        got = tries(doors(farm))
        (gate / "open").touch()
        return got, dict(outcomes)


def test_another_account_runs_nothing_and_the_farm_goes_on(other_account, tmp_path):
    """Without TLS, with it and no certificate, with one of another authority: scheduler, two nannies, two workers."""
    got, outcomes = struck(other_account, tmp_path)
    assert len(got) == 5
    for port in got:
        assert len(port) == 3
        for way, answer in port.items():
            assert isinstance(answer, str) and answer.endswith(("Error", "Closed")), (way, answer)
    assert {key: (one.status, one.decay_db, one.attempt) for key, one in outcomes.items()} == {
        f"i{number}": ("ok", float(number), 1) for number in range(4)
    }


@pytest.mark.slow
def test_in_an_open_farm_it_would_be_root(other_account, tmp_path, monkeypatch):
    """What is tried above does work where nothing prevents it."""
    monkeypatch.setattr(clusters, "throwaway", lambda: None)
    got, _ = struck(other_account, tmp_path)
    assert [port["tcp"] for port in got] == [[0, 0], [0], [0], [0], [0]]
