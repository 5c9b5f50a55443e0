"""Clusters with a scheduler in this process and workers on this machine or from a queue."""

from __future__ import annotations

import logging
import os
import signal
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import dask.config
from distributed.security import Security
from distributed.versions import VersionMismatchWarning

from antennaopt.errors import ClusterError
from antennaopt.farm import early
from antennaopt.farm.dask_client import connect_inside, in_thread, page_link, threads_of, within
from antennaopt.farm.early import SAFE_PATH, WORKER_ENVIRONMENT
from antennaopt.farm.security import LOOPBACK, host_and_port
from antennaopt.farm.servers import DEVICES, PRELOAD, FiguresCluster, PrivateFolder, SilentNanny
from antennaopt.solve.device import usable_cores
from fdtd.cache_folder import cache_folder

DASHBOARD_PORT = 8787

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
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.log-length": 1000,
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.system-monitor.interval": "2s",
    "distributed.admin.system-monitor.disk": False,
}
"""The driver counts failures and decides what is tried again; the scheduler hands out and reports.

Dask keeps logs of 100,000 entries, profiles its workers and ticks 50 times a second: memory and time of cores.
"""

CLOSE_S = 10.0
"""How long a scheduler and its workers may take to end by themselves."""

KILL_S = 10.0
"""How long they may take when worker processes are killed."""

PAUSE_S = 0.1

START_ATTEMPTS = 3
"""How often worker processes of this machine are started before none of them can be."""

NOT_ONLY_AT_THE_START = {"distributed.deploy.lost-worker-timeout": "1h"}
"""Else Dask closes the nanny of a worker that is just coming back, because it was away so long before."""


class Cluster:
    """A Dask scheduler and its workers, as the pool uses them.

    Attributes:
        client: Dask's.
        where: For messages.
        here: Whether its workers are processes of this machine.
        worker_count: Number of batches solved at a time.
        dashboard_link: For a browser, or None.
        scheduler: Dask's where it is in this process, else None.
        folder: Which workers of this machine and this process share, where the scheduler is here; else None.
        queue_s: How long all workers may be gone while a queue of jobs or pods brings others.
    """

    client: Any
    scheduler: Any = None
    where = "this machine"
    here = False
    worker_count: Any = 1
    dashboard_link: str | None = None
    folder: str | None = None
    queue_s: float = 0.0

    @property
    def scheduler_is_gone(self) -> bool:
        """Whether the scheduler has ended for good, so that a new one, with new workers, can take its place.

        Never of one in another process: another connection is all that can be tried, and Dask's client does.
        """
        return False

    def workers(self) -> dict[str, int]:
        """Return the threads of each worker by its address; those of a queue may have to wait for hours."""
        return threads_of(self.client)

    def accepted(self, threads: Mapping[str, int]) -> Mapping[str, int]:
        """Return the workers that may get work, of those that are there: all, where they are started by us."""
        return threads

    def scale(self, batches: int) -> None:
        """Start workers for a number of batches, where there is a queue for them."""

    def mend(self) -> list[tuple[str, str]]:
        """Wake and replace workers, where they are processes of this machine.

        Returns:
            What was done, `worker_woken` or `worker_replaced`, and the worker's address or name.
        """
        return []

    def kill_worker(self, address: str) -> bool:
        """Kill the worker at an address; False where it is no process of this machine: its own watchdog remains."""
        return False

    def close(self) -> None:
        """Disconnect, and end what we started."""


class OwnScheduler(Cluster):
    """A scheduler in this process with the workers that `cluster` starts for it."""

    here = True

    def __init__(
        self, cluster: Callable[[], Any], *, dashboard: bool, timeout_s: float, none_came: str, not_begun: str
    ) -> None:
        """Start the scheduler and wait for the first worker.

        Args:
            cluster: Makes Dask's cluster, with our settings in force.
            dashboard: Whether it serves Dask's dashboard.
            timeout_s: How long to wait.
            none_came: What it means that there is none.
            not_begun: What it means that the cluster cannot be made.

        Raises:
            ClusterError: No worker came up in time.
        """
        prepare_processes()
        dask.config.set(NOT_ONLY_AT_THE_START)
        self._closed = False
        self._scratch = PrivateFolder()
        self.folder = self._scratch.name if self.here else None
        starting = {"distributed.worker.multiprocessing-method": early.METHOD} if early.is_any_waiting() else {}
        with dask.config.set({**SETTINGS, **starting, "temporary-directory": self._scratch.name}):
            try:
                self._cluster: Any = cluster()
                self.scheduler = self._cluster.scheduler
                self.client = connect_inside(self._cluster, timeout_s)
                self._await_first(timeout_s)
            except (TimeoutError, OSError, RuntimeError) as problem:
                begun = hasattr(self, "_cluster")
                self.close()
                raise ClusterError(f"{none_came if begun else not_begun} ({problem})") from problem
            except BaseException:  # a signal: jobs and processes must not be left behind
                self.close()
                raise
        self.dashboard_link = page_link(
            self.client, self._dashboard() if dashboard else None, later=getattr(self._cluster, "has_pages", False)
        )

    def _dashboard(self) -> str | None:
        """Return where the dashboard is; on loopback, wherever the scheduler itself listens."""
        return f"http://{LOOPBACK}:{self._cluster.scheduler.http_server.port}/"

    @property
    def scheduler_is_gone(self) -> bool:
        """Whether the scheduler has ended; a new one, with new workers, can take its place."""
        return self._cluster.scheduler.status.name != "running"

    def _await_first(self, timeout_s: float) -> None:
        """Wait for the first worker.

        Raises:
            TimeoutError: None came in time.
        """
        self.client.wait_for_workers(1, timeout=timeout_s)

    def close(self) -> None:
        """Stop scheduler and workers; processes of this machine that do not go within seconds are killed."""
        if self._closed:
            return
        self._closed = True
        cluster, client = getattr(self, "_cluster", None), getattr(self, "client", None)
        within(5.0, client and (lambda: client.close(timeout=3)))
        if cluster is not None:
            # Without a time limit of Dask's: it would cancel the close, and forget processes that still run.
            ending = in_thread(cluster.close)
            ending.join(CLOSE_S)
            if ending.is_alive():
                self._kill_processes(cluster, ending)
        self._scratch.cleanup()

    def _kill_processes(self, cluster: Any, ending: Thread) -> None:
        """Do nothing: the workers are on other machines. The thread closes a cluster that does not end by itself."""


class LocalWorkers(OwnScheduler):
    """A scheduler in this process and one worker process a core, or a device; all sockets on loopback unless asked."""

    def __init__(
        self,
        worker_count: int | None = None,
        *,
        devices: Sequence[str] = (),
        threads: int = 1,
        dashboard: bool = True,
        timeout_s: float = 60.0,
        dashboard_hosts: Sequence[str] = (),
        listen: str | None = None,
        security: Security | None = None,
    ) -> None:
        """Start the workers and wait for them.

        Args:
            worker_count: Processes; when None one a device, or one a core that this process may use.
            devices: UUIDs of the CUDA devices, again for each process that shares one; a worker sees one and no other.
            threads: Of a process.
            dashboard: Whether to serve Dask's dashboard, on loopback.
            timeout_s: How long to wait for the first worker.
            dashboard_hosts: Names, in addition to this machine's loopback, under which the dashboard answers.
            listen: Host, with or without a port, of the scheduler and these workers; loopback and any port when None.
            security: Certificates; the caller has made sure that they are there where they must be.

        Raises:
            ClusterError: No worker came up in time.
        """
        cache_folder()  # found once here: worker processes inherit a temporary one
        self.worker_count = worker_count or len(devices) or usable_cores()
        host, port = host_and_port(listen)
        none_came = (
            f"no local worker process came up within {timeout_s:g} s; is the machine overloaded, short of memory, or "
            f"does {host} not belong to it?"
        )
        address = f"{LOOPBACK}:{DASHBOARD_PORT}" if dashboard else None
        super().__init__(
            lambda: _with_all_workers(
                lambda: FiguresCluster(
                    n_workers=self.worker_count,
                    threads_per_worker=threads,
                    processes=True,
                    host=host,
                    scheduler_port=port,
                    protocol="tls://" if security else "tcp://",
                    security=security,
                    dashboard_address=address,  # pyright: ignore[reportArgumentType] - None is for no dashboard
                    scheduler_kwargs={"dashboard_hosts": dashboard_hosts},
                    worker_class=SilentNanny,
                    local_directory=dask.config.get("temporary-directory"),  # also of one that is started later
                    silence_logs=logging.CRITICAL,
                    memory_limit=None,
                    env={**WORKER_ENVIRONMENT, DEVICES: ",".join(devices)},
                    preload=[PRELOAD],
                )
            ),
            dashboard=dashboard,
            timeout_s=timeout_s,
            none_came=none_came,
            not_begun=none_came,
        )

    def workers(self) -> dict[str, int]:
        """Threads of each worker, by its address, once all are there or the first has waited long enough for them."""
        with suppress(TimeoutError):
            self.client.wait_for_workers(self.worker_count, timeout=20.0)
        return threads_of(self.client)

    def mend(self) -> list[tuple[str, str]]:
        """Wake worker processes that were stopped (SIGSTOP), and replace those that Dask has given up.

        It gives up one that dies while it starts, or that takes long to come back.
        """
        done = []
        for name, nanny in list(self._cluster.workers.items()):
            if nanny.status.name in ("closed", "failed"):
                self._cluster.workers.pop(name, None)
            elif nanny.pid and is_stopped(nanny.pid) and _signalled(nanny, signal.SIGCONT):
                done.append(("worker_woken", str(nanny.worker_address)))
        missing = self._cluster.worker_spec.keys() - self._cluster.workers.keys()
        if missing:
            self._cluster.scale(len(self._cluster.worker_spec))
        return done + [("worker_replaced", str(name)) for name in sorted(missing)]

    def kill_worker(self, address: str) -> bool:
        """Kill the worker process at an address; a new one takes its place. False when there is none."""
        nannies = [one for one in list(self._cluster.workers.values()) if one.worker_address == address]
        return any(_signalled(nanny, signal.SIGKILL) for nanny in nannies)

    def _kill_processes(self, cluster: Any, ending: Thread) -> None:
        """Kill worker processes until the cluster has ended.

        Also those that are just starting: one whose scheduler has gone waits for it for ever, and its nanny for it.
        """
        until = time.monotonic() + KILL_S
        while ending.is_alive() and time.monotonic() < until:
            with suppress(RuntimeError):  # the set grew meanwhile
                for nanny in list(cluster._created):
                    _signalled(nanny, signal.SIGKILL)
            ending.join(PAUSE_S)


class QueuedWorkers(OwnScheduler):
    """A scheduler of our own for workers that a queue of jobs or pods brings: as many as there is work for."""

    here = False

    def __init__(
        self,
        cluster: Callable[[], Any],
        *,
        most: int,
        least: int | None,
        dashboard: bool,
        timeout_s: float,
        none_came: str,
        not_begun: str,
    ) -> None:
        """Ask for the least number of workers and wait for the first.

        Args:
            cluster: Makes Dask's cluster.
            most: Workers at most.
            least: Workers at least; `most` when None.
            dashboard: Whether to serve Dask's dashboard.
            timeout_s: How long to wait for the first worker, and for others when all are gone.
            none_came: What it means that there is none.
            not_begun: What it means that the cluster cannot be made.

        Raises:
            ClusterError: No worker came in time.
        """
        self.queue_s = timeout_s
        self.worker_count = self._most = most
        self._least = least or most
        super().__init__(cluster, dashboard=dashboard, timeout_s=timeout_s, none_came=none_came, not_begun=not_begun)

    def scale(self, batches: int) -> None:
        """Keep as many workers as there are batches, within the bounds; replace those that ended."""
        self._cluster.scale(min(max(batches, self._least), self._most))


def _with_all_workers(cluster: Callable[[], FiguresCluster]) -> FiguresCluster:
    """Make a cluster; try again where Dask gives it up, as it does when a worker process is killed while it starts.

    Raises:
        RuntimeError: Given up each time.
    """
    for _ in range(START_ATTEMPTS - 1):
        with suppress(RuntimeError):
            return cluster()
    return cluster()


def _signalled(nanny: Any, number: signal.Signals) -> bool:
    """Send a signal to the worker process of a nanny; return whether there was one."""
    with suppress(ProcessLookupError):
        if nanny.pid:
            os.kill(nanny.pid, number)
            return True
    return False


def is_stopped(pid: int) -> bool:
    """Whether a process of this machine is stopped by a signal; one under a debugger is not meant."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return False
    return state[:1] == ["T"]


def prepare_processes() -> None:
    """Keep processes that are started from now on out of the current folder, and Dask's own logs off the terminal.

    Outcomes and errors report what matters. Workers take the setting from the environment, and so does the resource
    tracker of `multiprocessing`, which starts before them.
    """
    os.environ.update(SAFE_PATH)
    warnings.filterwarnings("ignore", category=VersionMismatchWarning)  # others than ours are refused, in one line
    for name in ("distributed", "distributed.client", "bokeh", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    nanny = logging.getLogger("distributed.nanny")  # each nanny keeps its own lines, and is asked how its worker ended
    nanny.setLevel(logging.INFO)
    nanny.propagate = False
