"""Workers as SLURM jobs, through dask-jobqueue: one process with one GPU per job, or one process per core."""

from __future__ import annotations

import asyncio
import logging
import shlex
import signal
import sys
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import dask.config
from distributed.core import Status
from distributed.deploy.cluster import Cluster

from antennaopt.errors import ClusterError, ConfigurationError
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.local import DASHBOARD_PORT, WORKER_ENVIRONMENT, QueuedWorkers
from antennaopt.farm.security import LOOPBACK, TlsFiles, host_and_port, security_for_listening
from antennaopt.farm.servers import PRELOAD, FiguresScheduler
from antennaopt.solve.capacity import BATCHES_AT_A_TIME

QUEUE_S = 86400.0
"""How long jobs may wait in the queue while no worker is there."""

LOOK_S = 1.0
"""How often it is looked whether SLURM takes the jobs."""

LOST_S = 60.0
"""How often the queue is looked at, and how long a job may be without a worker, or refused, before another replaces
it. A nanny starts a worker again sooner."""

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


async def numbers_in_queue(name: str | None = None) -> set[str] | None:
    """Return the numbers of this user's jobs that wait or run; None where `squeue` does not list them.

    Args:
        name: Of the jobs; all when None.
    """
    from dask_jobqueue.slurm import SLURMJob

    named = [] if name is None else [f"--name={name}"]
    try:
        return set((await SLURMJob._call(["squeue", "--me", "--noheader", "--format=%A", *named])).split())
    except (OSError, RuntimeError):
        return None


def slurm_cluster(settings: ClusterSettings, *, backend: str) -> Any:
    """Return dask-jobqueue's cluster with its first jobs handed in.

    Args:
        settings: Of kind `slurm`.
        backend: With "cuda" every job asks for a GPU.

    Raises:
        ConfigurationError: Other machines could come in without certificates.
        ClusterError: dask-jobqueue is missing.
    """
    cluster = _noting(_classes())
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
    _classes()
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


@dataclass(kw_only=True)
class Entries:
    """What became of the jobs that were handed in.

    Attributes:
        taken: How many SLURM took.
        refused: Its words for each that it did not.
        unclear: What to do about a job of which it is not known whether SLURM took it; empty without.
    """

    taken: int = 0
    refused: list[str] = field(default_factory=list)
    unclear: str = ""


def _noting(cluster: Any) -> Any:
    """Return dask-jobqueue's cluster with `entries`, and with jobs that are replaced.

    By itself it reports neither what came of a submission nor the end of a job with several processes, and submits a
    refused job never again.
    """
    noted = Entries()
    numbers = count()

    class Job(cluster.job_cls):
        """A job that notes whether it was taken, and when it had a worker last; all of `time.monotonic`."""

        begun_at = 0.0
        refused_at: float | None = None
        seen_at: float | None = None

        async def _submit_job(self, script_filename: str) -> Any:
            self.begun_at = time.monotonic()
            own = f"{self.job_name}-{uuid.uuid4().hex[:12]}"
            try:
                answer = await self._call([*shlex.split(self.submit_command), f"--job-name={own}", script_filename])
            except FileNotFoundError as problem:
                self._refuse(f"there is no {problem.filename} on this machine; start the run where jobs are")
                raise
            except RuntimeError as problem:
                answer = await self._found(own, str(problem).strip().splitlines()[-1], problem)
            try:
                self._job_id_from_submit_output(answer)
            except ValueError as problem:
                reason = f"sbatch gave no number of a job: {answer.strip() or 'it printed nothing'}"
                answer = await self._found(own, reason, problem)
            noted.taken += 1
            return answer

        async def _found(self, own: str, reason: str, problem: Exception) -> str:
            """Return what sbatch prints of a job that is in the queue under its own name; refuse it if it is not."""
            waiting = await numbers_in_queue(own)
            if waiting:
                return f"Submitted batch job {min(waiting)}"
            if waiting is None and isinstance(problem, ValueError):
                reason += (
                    "; `squeue` does not list jobs, so it is not known whether SLURM took it. Cancel it with "
                    f"`scancel --me --name={own}`, then start or resume the run"
                )
                noted.unclear = reason
            self._refuse(reason)
            raise problem

        def _refuse(self, reason: str) -> None:
            self.refused_at = self.begun_at
            noted.refused.append(reason)

        async def close(self) -> None:
            """Cancel it, and say so: a cluster that closes is not content with less."""
            await super().close()
            self.status = Status.closed

    class SLURMCluster(cluster):
        """A cluster of such jobs."""

        job_cls = Job
        entries = noted

        def _new_worker_name(self, worker_number: int) -> str:
            """Give no name twice: the scheduler may still know the worker of a job that ended."""
            return f"{self._name}-{next(numbers)}"

        def _update_worker_status(self, op: str, msg: Any) -> None:
            """Leave the job of a worker that goes: Dask would cancel it later, also one that SLURM has queued again."""
            Cluster._update_worker_status(self, op, msg)

        def scale(self, n: int | None = None, jobs: int = 0, **limits: Any) -> Any:
            """Cancel jobs without a worker before others: of jobs with several processes Dask takes any."""
            surplus = max(len(self.worker_spec) - jobs, 0) if n is None else 0
            names = {str(one["name"]) for one in self.scheduler_info["workers"].values()}
            for name in [one for one in reversed(self.worker_spec) if not _has_worker(one, names)][:surplus]:
                del self.worker_spec[name]
            return super().scale(n, jobs, **limits)

        def note_workers(self, workers: Collection[str], now: float) -> bool:
            """Note which jobs have workers now, by the workers' names; return whether any has."""
            seen = [job for name, job in self.workers.items() if _has_worker(name, workers)]
            for job in seen:
                job.seen_at = now
            return bool(seen)

        def without_worker(self, now: float) -> list[Any]:
            """Return the jobs that have been without a worker for long: they wait in the queue, or have ended."""
            return [one for one in self.workers.values() if now - (one.seen_at or one.begun_at) > LOST_S]

        def forget_ended(self, jobs: Sequence[Any], queue: Collection[str] | None) -> list[Any]:
            """Forget those jobs that have ended or were refused; the next `scale` submits others.

            Args:
                jobs: Of `without_worker`.
                queue: Numbers of those that wait or run; None where that is not known. Then jobs have ended that had a
                    worker.
            """
            ended = [
                one
                for one in jobs
                if one.refused_at is not None
                or (one.job_id not in queue if queue is not None else one.seen_at is not None)
            ]
            for job in ended:
                self.workers.pop(job.name, None)
                self.worker_spec.pop(job.name, None)
                self._futures.add(asyncio.ensure_future(job.close()))
            return ended

    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it would print the traceback of each
    return SLURMCluster


def _has_worker(job: Any, workers: Collection[str]) -> bool:
    """Whether a job, by its name, has one of the workers; those of several processes have numbers behind that."""
    return any(one == job or one.startswith(f"{job}-") for one in workers)


def _classes() -> Any:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        raise ClusterError(
            "cluster.kind = \"slurm\" needs dask-jobqueue, which is not installed; pip install 'antennaopt[slurm]'"
        ) from None
    finally:
        for number, handler in handlers.items():  # its import takes Ctrl-C for itself
            with suppress(ValueError):  # not the main thread
                signal.signal(number, handler)
    return SLURMCluster
