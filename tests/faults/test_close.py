"""A farm that is closed while its workers cannot end by themselves: no process is left."""

import os
import signal

import cheap_lens
import pytest
from distributed import Nanny
from struck_farms import worker_pids
from waiting import wait_until

from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm


def opened():
    return DaskFarm(
        cheap_lens.bowl, family="t", plan={"sleep_s": 0.0}, cluster=ClusterSettings(workers=1, dashboard=False)
    )


@pytest.mark.slow
def test_a_worker_that_starts_when_its_scheduler_has_ended_is_killed(monkeypatch):
    """It waits for the scheduler for ever, and its nanny for it; Dask's own close ends in a timeout."""

    async def at_once(nanny, timeout=10):
        """Do not wait for a scheduler that is gone."""

    monkeypatch.setattr(Nanny, "_unregister", at_once)
    before = set(worker_pids())
    farm = opened()
    cluster = farm.pool.cluster._cluster
    (first,) = set(worker_pids()) - before
    os.kill(first, signal.SIGSTOP)  # else it would end with its scheduler, and its nanny too
    cluster.loop.add_callback(cluster.scheduler.close)
    wait_until(lambda: farm.pool.cluster.scheduler_is_gone)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: set(worker_pids()) - before - {first}, "another worker process")
    farm.close()
    wait_until(lambda: set(worker_pids()) <= before, "the end of all workers")
