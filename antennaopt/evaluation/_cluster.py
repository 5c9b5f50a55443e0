"""Where batches go: worker processes of our own on this machine, or a scheduler that runs already."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import warnings
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client, LocalCluster

from antennaopt.errors import ClusterError
from antennaopt.evaluation._worker import DEVICES

DASHBOARD_PORT = 8787
LOOPBACK = "127.0.0.1"

WORKER_ENVIRONMENT = {
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "DASK_LOGGING__DISTRIBUTED": "critical",
}
"""One process a core and one thread a process: libraries must not start threads of their own."""

SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.no-workers-timeout": "300s",
    "distributed.scheduler.worker-ttl": None,  # the driver wakes or kills what stopped; it may have been stopped itself
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.daemon": True,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.limit": "1h",
}
"""The driver counts failures and decides what is tried again; the scheduler hands out and reports."""


class LocalWorkers:
    """A scheduler in this process and one worker process a core, or a device; all sockets on loopback."""

    def __init__(
        self,
        worker_count: int | None = None,
        *,
        devices: Sequence[str] = (),
        threads: int = 1,
        dashboard: bool = True,
        timeout_s: float = 60.0,
    ) -> None:
        """Start the workers and wait for them.

        Args:
            worker_count: Processes; when None one a device, or one a core that this process may use.
            devices: UUIDs of the CUDA devices; a worker sees one of them and no other.
            threads: Of a process.
            dashboard: Whether to serve Dask's dashboard.
            timeout_s: How long to wait for the first worker.

        Raises:
            ClusterError: No worker came up in time.
        """
        count = worker_count or len(devices) or usable_cores()
        quieten()
        self._closed = False
        with dask.config.set(SETTINGS), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Port .* is already in use")  # taken in between: another is found
            try:
                self._cluster: Any = LocalCluster(
                    n_workers=count,
                    threads_per_worker=threads,
                    processes=True,
                    host=LOOPBACK,
                    # Dask serves HTTP, on all interfaces, even when told of no dashboard: always give it an address.
                    dashboard_address=f"{LOOPBACK}:{dashboard_port() if dashboard else 0}",
                    scheduler_kwargs={"dashboard": dashboard},
                    silence_logs=logging.CRITICAL,
                    memory_limit=None,
                    env={**WORKER_ENVIRONMENT, DEVICES: ",".join(devices)},
                    preload=["antennaopt.evaluation._worker"],
                )
                self.client = connect(self._cluster, timeout_s)
                self.client.wait_for_workers(1, timeout=timeout_s)
            except (TimeoutError, OSError, RuntimeError) as problem:
                self.close()
                raise ClusterError(
                    f"no local worker process came up within {timeout_s:g} s ({problem}); "
                    "is the machine overloaded, or short of memory?"
                ) from problem
        self.worker_count = count
        self.dashboard_link: str | None = self._cluster.dashboard_link if dashboard else None

    def workers(self) -> dict[str, int]:
        """Threads of each worker, by its address, once all are there or the first has waited long enough for them."""
        with suppress(TimeoutError):
            self.client.wait_for_workers(self.worker_count, timeout=20.0)
        threads: Any = self.client.nthreads()
        return dict(threads)

    @property
    def scheduler_is_gone(self) -> bool:
        """Whether the scheduler has ended; a new one, with new workers, can take its place."""
        return self._cluster.scheduler.status.name != "running"

    def wake_workers(self) -> list[str]:
        """Let worker processes go on that were stopped (SIGSTOP); return their addresses."""
        woken = []
        for nanny in list(self._cluster.workers.values()):
            if nanny.pid and is_stopped(nanny.pid):
                with suppress(ProcessLookupError):
                    os.kill(nanny.pid, signal.SIGCONT)
                    woken.append(str(nanny.worker_address))
        return woken

    def kill_worker(self, address: str) -> bool:
        """Kill the worker process at an address; a new one takes its place. False when there is none."""
        for nanny in list(self._cluster.workers.values()):
            if nanny.worker_address == address and nanny.pid:
                with suppress(ProcessLookupError):
                    os.kill(nanny.pid, signal.SIGKILL)
                    return True
        return False

    def close(self) -> None:
        """Stop scheduler and workers; workers that do not go within seconds are killed."""
        if self._closed:
            return
        self._closed = True
        cluster, client = getattr(self, "_cluster", None), getattr(self, "client", None)
        pids = [nanny.pid for nanny in getattr(cluster, "workers", {}).values() if nanny.pid]
        within(5.0, client and (lambda: client.close(timeout=3)))
        if not within(10.0, cluster and (lambda: cluster.close(timeout=8))):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


class RemoteScheduler:
    """Workers that somebody else started, behind a scheduler's address."""

    def __init__(self, address: str, *, connect_timeout_s: float = 10.0, worker_timeout_s: float = 30.0) -> None:
        """Connect, wait for a worker and check that the workers can run this program.

        Raises:
            ClusterError: No answer, no worker in time, or workers without this program; the message names the address.
        """
        quieten()
        self.client: Any = None
        try:
            self.client = connect_in_time(address, connect_timeout_s)
        except Exception as problem:  # what answers there may be anything at all
            raise ClusterError(
                f"no Dask scheduler answers at {address} within {connect_timeout_s:g} s; "
                "check the address, that `dask scheduler` runs there and that no firewall is between"
            ) from problem
        try:
            self.client.wait_for_workers(1, timeout=worker_timeout_s)
        except TimeoutError as problem:
            self.close()
            raise ClusterError(
                f"the scheduler at {address} has no workers (waited {worker_timeout_s:g} s); "
                f"start some with `dask worker {address} --nthreads 1`"
            ) from problem
        try:
            self.client.run(_can_import)
        except Exception as problem:
            self.close()
            raise ClusterError(
                f"the workers of {address} cannot run antennaopt ({type(problem).__name__}: {problem}); "
                "install the same version there"
            ) from problem
        self.dashboard_link: str | None = self.client.dashboard_link

    @property
    def worker_count(self) -> int:
        """Threads of all workers, as the scheduler last said."""
        return max(sum(self.client.nthreads().values()), 1)

    def workers(self) -> dict[str, int]:
        """Threads of each worker, by its address."""
        threads: Any = self.client.nthreads()
        return dict(threads)

    @property
    def scheduler_is_gone(self) -> bool:
        """False: another connection to it is all that can be tried, and Dask's client does."""
        return False

    def wake_workers(self) -> list[str]:
        """Do nothing: other people's processes are theirs."""
        return []

    def kill_worker(self, address: str) -> bool:
        """Do nothing: other people's processes are theirs; their watchdog and the scheduler's time limit remain."""
        return False

    def close(self) -> None:
        """Disconnect; the scheduler and its workers live on."""
        client, self.client = self.client, None
        within(5.0, client and (lambda: client.close(timeout=3)))


def connect(target: Any, timeout_s: float) -> Client:
    """Return a client of a cluster or of a scheduler's address.

    Raises:
        TimeoutError, OSError, ValueError: No answer, or not an address.
    """
    # A client whose constructor raised is still half alive, and the garbage collector closing it at some later moment
    # can deadlock with the making of the next one; so it is kept in hand and closed here.
    client = Client.__new__(Client)
    try:
        with dask.config.set({"distributed.comm.timeouts.connect": f"{timeout_s:g}s"}):
            client.__init__(target, timeout=timeout_s, set_as_default=False)
    except BaseException:
        within(5.0, lambda: client.close(timeout=3))
        raise
    return client


def connect_in_time(address: str, timeout_s: float) -> Client:
    """Connect to a scheduler's address under a deadline of our own.

    Dask's time limit covers its own protocol; something else that listens there can hold the handshake for ever.

    Raises:
        TimeoutError: No scheduler's answer within the limit and two seconds.
        Exception: What the attempt ended in.
    """
    outcome: list[Any] = []

    def attempt() -> None:
        try:
            outcome.append(connect(address, timeout_s))
        except Exception as problem:
            outcome.append(problem)

    if not within(timeout_s + 2.0, attempt) or not outcome:
        raise TimeoutError(f"{address} holds the connection without speaking Dask's protocol")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def is_stopped(pid: int) -> bool:
    """Whether a process of this machine is stopped by a signal; one under a debugger is not meant."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return False
    return state[:1] == ["T"]


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def dashboard_port() -> int:
    """Return Dask's usual dashboard port, or 0 (any free one) when it is taken."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, DASHBOARD_PORT))
        except OSError:
            return 0
    return DASHBOARD_PORT


def quieten() -> None:
    """Keep Dask's own logs off the terminal: what matters is reported as outcomes and errors."""
    for name in ("distributed", "bokeh", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    nanny = logging.getLogger("distributed.nanny")  # each nanny keeps its own lines, and is asked how its worker ended
    nanny.setLevel(logging.INFO)
    nanny.propagate = False


def within(seconds: float, action: Any) -> bool:
    """Run an action that might hang in a thread; return whether it ended in time. Its own errors do not matter."""
    if not action:
        return True

    def run() -> None:
        with suppress(Exception):
            action()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def _can_import() -> str:
    import antennaopt.evaluation._task as task

    return task.__name__
