"""A running cluster at a scheduler's address; other versions are refused."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from distributed.security import Security

from antennaopt.errors import ClusterError
from antennaopt.farm.dask_client import ANSWER_S, connect_in_time, page_link, threads_of, within
from antennaopt.farm.local import Cluster, prepare_processes
from antennaopt.machine import installed

ASK_AGAIN_S = 30.0
"""After which a worker that did not answer is asked again."""

PACKAGES = ("antennaopt", "numpy", "numba", "scipy", "distributed", "cupy-cuda12x", "cupy-cuda13x")
"""What a worker computes and talks with."""

SCHEDULER_PACKAGES = ("dask", "distributed")
"""What a scheduler talks with; it computes nothing."""


class RemoteScheduler(Cluster):
    """Workers that were started by other programs, behind a scheduler's address."""

    def __init__(
        self,
        address: str,
        *,
        security: Security | None = None,
        connect_timeout_s: float = 10.0,
        worker_timeout_s: float = 30.0,
    ) -> None:
        """Connect, wait for a worker and check that the workers can run this program.

        Args:
            address: `tls://host:8786`.
            security: Certificates; the caller has made sure that they are there where they must be.
            connect_timeout_s: How long the scheduler may take to answer.
            worker_timeout_s: How long to wait for a worker.

        Raises:
            ClusterError: No answer, no worker in time, or workers without this program; the message names the address.
        """
        prepare_processes()
        self.where = address
        self.client: Any = None
        try:
            self.client = connect_in_time(address, connect_timeout_s, security)
        except Exception as problem:  # what answers there may be anything at all
            raise ClusterError(
                f"no Dask scheduler answers at {address} within {connect_timeout_s:g} s; "
                "check the address, that `antennaopt scheduler` runs there and that no firewall is between"
                + (", and that both have certificates of the same authority" if security else "")
            ) from problem
        self.client._timeout = worker_timeout_s  # for connecting again: a scheduler may be away for as long as workers
        try:
            self.client.wait_for_workers(1, timeout=worker_timeout_s)
        except TimeoutError as problem:
            self.close()
            raise ClusterError(
                f"the scheduler at {address} has no workers (waited {worker_timeout_s:g} s); "
                f"start some with `antennaopt worker {address}` on every host"
            ) from problem
        self._address = address
        self._accepted: dict[str, dict[str, str]] = {}
        self._asked: dict[str, float] = {}
        try:
            self._check_scheduler()
            self.accepted(self.workers())
        except BaseException:
            self.close()
            raise
        self.dashboard_link = page_link(self.client, self.client.dashboard_link)

    @property
    def worker_count(self) -> int:
        """Threads of all workers; 1 while the scheduler does not say."""
        with suppress(ClusterError):  # the next one that needs it raises
            return max(sum(threads_of(self.client).values()), 1)
        return 1

    def workers(self) -> dict[str, int]:
        """Threads of each worker, by its address."""
        return threads_of(self.client)

    def accepted(self, threads: Mapping[str, int]) -> Mapping[str, int]:
        """Return those of the workers that are there which may get work; new ones are asked for their versions first.

        One that cannot say gets none, and is asked again after a while.

        Raises:
            ClusterError: One has other versions; or none of them can run this program.
        """
        now = time.monotonic()
        self._accepted = {worker: versions for worker, versions in self._accepted.items() if worker in threads}
        self._asked = {worker: when for worker, when in self._asked.items() if worker in threads}
        never = now - 2.0 * ASK_AGAIN_S
        new = [one for one in threads if one not in self._accepted and now - self._asked.get(one, never) > ASK_AGAIN_S]
        answers: dict[str, Any] = {}
        if new:
            self._asked |= dict.fromkeys(new, now)
            within(ANSWER_S, lambda: answers.update(self.client.run(versions_here, workers=new, on_error="return")))
        found = {worker: answer for worker, answer in answers.items() if isinstance(answer, dict)}
        problem = next((answer for answer in answers.values() if isinstance(answer, Exception)), None)
        if problem is not None and not found and not self._accepted:
            raise ClusterError(
                f"the workers of {self._address} cannot run antennaopt ({type(problem).__name__}: {problem}); "
                "install the same version there"
            ) from problem
        refuse_other_versions(self._address, found, self._accepted.values())
        self._accepted |= found
        return {worker: count for worker, count in threads.items() if worker in self._accepted}

    def _check_scheduler(self) -> None:
        """Ask the scheduler for its versions.

        Raises:
            ClusterError: They are not ours.
        """
        found: dict[str, Any] = {}
        within(ANSWER_S, lambda: found.update(self.client.sync(self.client.scheduler.versions, packages=None)))
        refuse_other_scheduler(self._address, found.get("packages", {}))

    def close(self) -> None:
        """Disconnect; the scheduler and its workers stay."""
        client, self.client = self.client, None
        within(5.0, client and (lambda: client.close(timeout=3)))


def versions_here() -> dict[str, str]:
    """Return this process's versions of what a worker computes with; asked of workers, too."""
    import antennaopt.farm.task  # noqa: F401 - what it cannot import, it cannot run

    return installed(PACKAGES)


def refuse_other_versions(address: str, answers: Mapping[str, Any], known: Iterable[Mapping[str, str]] = ()) -> None:
    """Refuse workers whose versions differ from ours, or from each other's in what we do not have.

    Args:
        address: Of their scheduler, for the message.
        answers: Of `versions_here`, by worker.
        known: Answers of workers that were accepted before.

    Raises:
        ClusterError: A version differs; results would not be the same to the bit.
    """
    expected: dict[str, str] = {}
    for accepted in known:
        expected |= accepted
    expected |= versions_here()
    for worker, there in answers.items():
        differing = [
            f"{name} {version} (here {expected[name]})"
            for name, version in there.items()
            if version != expected.setdefault(name, version)
        ]
        missing = [f"no {name}" for name in versions_here() if name not in there and not name.startswith("cupy")]
        if differing or missing:
            raise ClusterError(
                f"worker {worker} of {address} has {', '.join(differing + missing)}: its results would not be the same "
                "to the bit; install the same versions there and restart it"
            )


def refuse_other_scheduler(address: str, there: Mapping[str, Any]) -> None:
    """Refuse a scheduler of another Dask, whose messages may mean something else.

    Args:
        address: Of it, for the message.
        there: Its versions; what it does not tell is let pass.

    Raises:
        ClusterError: A version differs.
    """
    here = installed(SCHEDULER_PACKAGES)
    differing = [
        f"{name} {there[name]} (here {here[name]})" for name in here if there.get(name, here[name]) != here[name]
    ]
    if differing:
        raise ClusterError(
            f"the scheduler at {address} has {', '.join(differing)}; install the same versions there and start it "
            "again with `antennaopt scheduler`"
        )
