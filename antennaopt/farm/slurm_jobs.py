"""Jobs in SLURM's queue: which were taken, have a worker, have ended, and are submitted again."""

from __future__ import annotations

import asyncio
import logging
import shlex
import signal
import time
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from distributed.core import Status
from distributed.deploy.cluster import Cluster

from antennaopt.errors import ClusterError

LOST_S = 60.0
"""How often the queue is looked at, and how long a job may be without a worker, or refused, before another replaces
it. A nanny starts a worker again sooner."""


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


@dataclass(kw_only=True)
class Entries:
    """Submissions so far.

    Attributes:
        taken: Number of jobs that SLURM took.
        refused: Error message of each job that it refused.
        unclear: Error message if SLURM may have taken a job without a number; empty otherwise.
    """

    taken: int = 0
    refused: list[str] = field(default_factory=list)
    unclear: str = ""


def noting(cluster: Any) -> Any:
    """Return dask-jobqueue's cluster with `entries`, and with jobs that are replaced.

    By itself it reports neither what came of a submission nor the end of a job with several processes, and submits a
    refused job never again.
    """
    noted = Entries()
    numbers = count()

    class Job(cluster.job_cls):
        """A job that notes whether it was taken, and when it had a worker last; all of `time.monotonic`.

        Attributes:
            unnumbered: Its name in the queue, of a job without a number: SLURM may still list it later.
        """

        unnumbered = ""
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
            self.unnumbered = own
            self._refuse(reason)
            raise problem

        def _refuse(self, reason: str) -> None:
            self.refused_at = self.begun_at
            noted.refused.append(reason)

        async def close(self) -> None:
            """Cancel it, and say so: a cluster that closes is not content with less."""
            await super().close()
            if self.unnumbered:
                with suppress(OSError, RuntimeError):
                    await self._call([*shlex.split(self.cancel_command), "--me", f"--name={self.unnumbered}"])
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


def jobqueue_class() -> Any:
    """Return dask-jobqueue's cluster of SLURM.

    Raises:
        ClusterError: It is not installed.
    """
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
