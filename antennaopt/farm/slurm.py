"""Workers as SLURM jobs, through dask-jobqueue: one process with one GPU per job, or one process per core."""

from __future__ import annotations

import logging
import shlex
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import dask.config

from antennaopt.errors import ClusterError, ConfigurationError
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.local import DASHBOARD_PORT, WORKER_ENVIRONMENT, QueuedWorkers
from antennaopt.farm.security import LOOPBACK, TlsFiles, host_and_port, security_for_listening
from antennaopt.farm.servers import PRELOAD, FiguresScheduler
from antennaopt.farm.slurm_jobs import LOST_S, jobqueue_class, noting, numbers_in_queue
from antennaopt.solve.capacity import BATCHES_AT_A_TIME

QUEUE_S = 86400.0
"""How long jobs may wait in the queue while no worker is there."""

LOOK_S = 1.0
"""How often it is looked whether SLURM takes the jobs."""

MOST_BARREN = 5
"""How many jobs in a row may end without bringing a worker."""


class SlurmWorkers(QueuedWorkers):
    """A scheduler in this process, and jobs that bring a worker each; jobs that end are followed by others."""

    def __init__(self, settings: ClusterSettings, *, backend: str) -> None:
        """Hand the jobs in and wait for the first worker.

        Args:
            settings: Of kind `slurm`.
            backend: With "cuda" every job asks for a GPU.

        Raises:
            ConfigurationError: Other machines could come in without certificates.
            ClusterError: dask-jobqueue is missing, SLURM takes no job, or none has begun in time.
        """
        self.where = "SLURM"
        self._each = int(job_settings(dict(settings.job or {}), None, backend)["processes"])
        self._jobs = settings.least or settings.count
        self._replaced: list[str] = []
        self._look_at, self._barren = time.monotonic() + LOST_S, 0
        super().__init__(
            partial(slurm_cluster, settings, backend=backend),
            most=settings.count,
            least=settings.least,
            dashboard=settings.dashboard,
            timeout_s=QUEUE_S,
            none_came=f"no job of SLURM brought a worker within {QUEUE_S:g} s; look at `squeue --me` and at the logs "
            "of the jobs, and whether their nodes can reach this one (cluster.slurm.interface, cluster.listen)",
            not_begun="no scheduler for the jobs of SLURM can be started here; look at cluster.slurm.interface and "
            "cluster.listen",
        )

    def _await_first(self, timeout_s: float) -> None:
        """Wait for the first job to begin.

        Raises:
            ClusterError: SLURM takes none, or they end without a worker.
            TimeoutError: None began in time.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self.client.wait_for_workers(1, timeout=LOOK_S)
                return
            except TimeoutError:
                entries = self._cluster.entries
                if entries.refused and not entries.taken:
                    raise ClusterError(f"SLURM takes no job: {entries.refused[-1]}") from None
                self.mend()
                if time.monotonic() > deadline:
                    raise

    def scale(self, batches: int) -> None:
        """Keep as many jobs as there are batches for, within the bounds.

        In the thread of scheduler and cluster, as `_mend_in_loop`: it looks through tables that change there.
        """
        self._jobs = min(max(-(-batches // self._each), self._least), self._most)
        self._cluster.loop.add_callback(self._cluster.scale, jobs=self._jobs)

    def mend(self) -> list[tuple[str, str]]:
        """Replace jobs that ended, at their wall time or with their node, and submit refused ones again.

        Raises:
            ClusterError: Too many ended without bringing a worker, or whether SLURM took one is not known.
        """
        if self._barren >= MOST_BARREN:
            raise ClusterError(
                f"{self._barren} jobs of SLURM in a row ended without bringing a worker; their logs say why: "
                "slurm-NUMBER.out in this folder, unless log-directory of dask-jobqueue names another. Then start or "
                "resume the run"
            )
        if self._cluster.entries.unclear:
            raise ClusterError(self._cluster.entries.unclear)
        done, self._replaced = self._replaced, []
        self._cluster.loop.add_callback(self._mend_in_loop)
        return [("worker_replaced", name) for name in done]

    async def _mend_in_loop(self) -> None:
        """Do it in the thread of scheduler and cluster, whose tables would change meanwhile in another."""
        now = time.monotonic()
        if self._cluster.note_workers({str(one.name) for one in self.scheduler.workers.values()}, now):
            self._barren = 0
        if now < self._look_at:
            return
        self._look_at = now + LOST_S
        waiting = self._cluster.without_worker(now)
        if not waiting:
            return
        queue = await numbers_in_queue()
        ended = self._cluster.forget_ended(waiting, queue)
        self._barren += sum(job.seen_at is None and job.refused_at is None for job in ended)
        self._replaced += [job.name for job in ended]
        if ended:
            self._cluster.scale(jobs=self._jobs)


def slurm_cluster(settings: ClusterSettings, *, backend: str) -> Any:
    """Return dask-jobqueue's cluster with its first jobs handed in.

    Args:
        settings: Of kind `slurm`.
        backend: With "cuda" every job asks for a GPU.

    Raises:
        ConfigurationError: Other machines could come in without certificates.
        ClusterError: dask-jobqueue is missing.
    """
    cluster = noting(jobqueue_class())
    table = dict(settings.job or {})
    host, port = host_and_port(settings.listen)
    interface = table.get("interface")
    reached = {"host": host, "port": port} if settings.listen else {"interface": interface, "port": port}
    if not settings.listen and not interface:
        raise ConfigurationError(
            'SLURM\'s nodes must reach this one, and nothing says by which way; add interface = "ib0" to '
            '[cluster.slurm], or listen = "10.0.0.5" to [cluster]'
        )
    security = security_for_listening(
        host if settings.listen else str(interface), settings.tls, insecure=settings.insecure
    )
    started = cluster(
        security=security,
        protocol="tls://" if security else "tcp://",
        scheduler_cls=FiguresScheduler,
        silence_logs=logging.CRITICAL,
        scheduler_options={
            **reached,
            "dashboard": settings.dashboard,
            "dashboard_address": f"{LOOPBACK}:{DASHBOARD_PORT}" if settings.dashboard else None,
            "dashboard_hosts": settings.dashboard_hosts,
        },
        **job_settings(table, settings.tls, backend),
    )
    started.scale(jobs=settings.least or settings.count)
    return started


def job_script(settings: ClusterSettings, *, backend: str) -> str:
    """Return the script of one job as it will be handed in, but for the scheduler's address and the job's name.

    Raises:
        ClusterError: dask-jobqueue is missing.
    """
    jobqueue_class()
    from dask_jobqueue.slurm import SLURMJob

    scheme = "tls" if settings.tls else "tcp"
    table = dict(settings.job or {})
    more = {"security": settings.tls.security(), "protocol": "tls://"} if settings.tls else {}
    job: Any = SLURMJob(
        f"{scheme}://SCHEDULER:8786", name="WORKER", **job_settings(table, settings.tls, backend), **more
    )
    return str(job.job_script())


def job_settings(table: Mapping[str, Any], tls: TlsFiles | None, backend: str) -> dict[str, Any]:
    """Return the settings of a job for dask-jobqueue.

    What a site needs in addition (modules, directives) it reads in `jobqueue.slurm` of Dask's own configuration: a line
    of shell does not belong into an experiment, which may come from another user.

    Args:
        table: `[cluster.slurm]`, resolved.
        tls: Certificates, which must lie where the nodes see them too.
        backend: With "cuda" a job is one process with one GPU, else one process a core.

    Raises:
        ConfigurationError: A path cannot stand in a job script.
    """
    for path in (tls.ca, tls.certificate, tls.key) if tls else ():
        if shlex.quote(str(path)) != str(path):
            raise ConfigurationError(
                f"{path} has letters that a job script cannot hold; move the certificates to a plain path"
            )
    own = dask.config.get("jobqueue.slurm.job-script-prologue", None) or []
    environment = {**WORKER_ENVIRONMENT, "DASK_DISTRIBUTED__WORKER__DAEMON": "True"}
    on_device = backend == "cuda"
    cores = int(table["cores"])
    return {
        "queue": table.get("partition"),
        "account": table.get("account"),
        "walltime": walltime(float(table["walltime"])),
        "cores": BATCHES_AT_A_TIME if on_device else cores,
        "processes": 1 if on_device else cores,
        "memory": str(table["memory"]).replace(" ", ""),
        "job_cpu": cores,
        "job_name": "antennaopt",
        "interface": table.get("interface"),
        "python": shlex.quote(sys.executable),
        "nanny": True,
        "job_script_prologue": [
            *own,
            *(f"export {name}={value}" for name, value in environment.items()),
            # Dask's own choice is one folder for all users of a node, and first where modules are looked for.
            "export DASK_TEMPORARY_DIRECTORY=$(mktemp -d)",
            "trap 'rm -rf \"$DASK_TEMPORARY_DIRECTORY\"' EXIT",
        ],
        "job_extra_directives": directives(table, on_device),
        "worker_extra_args": [
            *("--memory-limit", "0"),  # SLURM itself holds a job to its memory
            *("--no-dashboard", "--worker-class", f"{PRELOAD}.SilentWorker"),
            *("--preload", PRELOAD),
        ],
    }


def directives(table: Mapping[str, Any], on_device: bool) -> list[str]:
    """Return the lines of `#SBATCH` that dask-jobqueue has no name for."""
    lines = [f"--{name}={table[name]}" for name in ("qos", "constraint", "reservation") if table.get(name)]
    if on_device:
        kind = f"{table['gpu']}:" if table.get("gpu") else ""
        lines.append(f"--gpus-per-task={kind}1")
    own = dask.config.get("jobqueue.slurm.job-extra-directives", None) or []
    return [*own, *lines]


def walltime(seconds: float) -> str:
    """Write a span of time as SLURM reads it: `1-02:03:04`."""
    minutes, seconds_left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    text = f"{hours:02d}:{minutes:02d}:{seconds_left:02d}"
    return f"{days}-{text}" if days else text
