"""A scheduler that the run did not start: running, silent, without workers, and killed in the middle."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import farm_solvers
import pytest
from loopback import free_port
from waiting import SAFETY_S, wait_until

from antennaopt.errors import ClusterError, ConfigurationError
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm

HERE = Path(__file__).parent


@pytest.fixture
def dask():
    """Start Dask's own commands as processes; end them afterwards."""
    processes = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            env={**os.environ, "PYTHONPATH": str(HERE)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        processes.append(process)
        return process

    yield start
    for process in reversed(processes):
        process.terminate()
        try:
            process.wait(timeout=SAFETY_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def scheduler(dask):
    port = free_port()
    process = dask("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    wait_until(lambda: answers(port), "the scheduler")
    return f"tcp://127.0.0.1:{port}", process


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=SAFETY_S).close()
    except ConnectionError:
        return False
    return True


def connected(address, *, connect_timeout_s=SAFETY_S, worker_timeout_s=SAFETY_S, **plan):
    return DaskFarm(
        farm_solvers.solve,
        family="test",
        plan=plan,
        cluster=ClusterSettings(kind="address", address=address),
        connect_timeout_s=connect_timeout_s,
        worker_timeout_s=worker_timeout_s,
    )


def test_no_answer_is_a_cluster_error_that_names_the_address():
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(ClusterError, match=f"{address} within 2 s") as caught:
        connected(address, connect_timeout_s=2.0)
    assert caught.value.exit_code == 5


def test_an_address_where_nobody_is_is_a_cluster_error():
    with pytest.raises(ClusterError, match="scheduler"):
        connected("tcp://127.0.0.1:1", connect_timeout_s=2.0)


@pytest.mark.parametrize("address", ["nonsense://127.0.0.1:1", "tcp://127.0.0.1:x"])
def test_what_is_no_address_is_bad_usage(address):
    with pytest.raises(ConfigurationError, match="is no scheduler's address"):
        connected(address)


def test_scheduler_without_workers_is_a_cluster_error(scheduler):
    address, _ = scheduler
    with pytest.raises(ClusterError, match="has no workers"):
        connected(address, worker_timeout_s=1.0)


def test_a_scheduler_that_comes_back_with_a_worker_goes_on(scheduler, dask):
    """It may be away for as long as workers may. The client gave up after ten seconds, those of a first connection."""
    address, process = scheduler
    command = ("scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2], "--no-dashboard")
    worker = ("worker", address, "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
    dask(*worker)
    with connected(address, connect_timeout_s=SAFETY_S / 2) as farm:
        assert farm.pool.cluster.client._timeout == SAFETY_S, "how long Dask tries to connect again"
        process.send_signal(signal.SIGKILL)
        wait_until(lambda: farm.pool.cluster.client.status == "connecting", "the end of the connection")
        dask(*command)
        dask(*worker)
        outcomes = dict(farm.run([[("i0", {"x": 1.0})]]))
    assert outcomes["i0"].decay_db == 2.0


def test_remote_workers_solve_and_a_killed_scheduler_is_noticed(scheduler, dask):
    address, process = scheduler
    dask("worker", address, "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
    with connected(address) as farm:
        assert farm.worker_count == 1
        jobs = [(f"i{n}", {"x": float(n)}) for n in range(6)]
        outcomes = dict(farm.run(farm.cut(jobs)))
        assert [outcomes[f"i{n}"].decay_db for n in range(6)] == [2.0 * n for n in range(6)]

        farm.pool.watch.patience_s = 3.0
        process.send_signal(signal.SIGKILL)
        with pytest.raises(ClusterError, match="gone"):
            list(farm.run([jobs]))
