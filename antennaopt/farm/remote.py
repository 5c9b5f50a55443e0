"""Where batches go: a scheduler that runs already, with workers that somebody else started."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from distributed.security import Security

from antennaopt.errors import ClusterError
from antennaopt.farm.compatibility import refuse_other_scheduler, refuse_other_versions, versions_here
from antennaopt.farm.connection import ANSWER_S, connect_in_time, page_link, threads_of, within
from antennaopt.farm.local import prepare_processes

ASK_AGAIN_S = 30.0
"""After which one that did not is asked again."""


class RemoteScheduler:
    """Workers that somebody else started, behind a scheduler's address. Attributes as of `OwnScheduler`."""

    here = False
    grows = True

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
        with suppress(ClusterError):  # whoever needs it more will notice
            return max(sum(threads_of(self.client).values()), 1)
        return 1

    def workers(self) -> dict[str, int]:
        """Threads of each worker, by its address."""
        return threads_of(self.client)

    @property
    def scheduler_is_gone(self) -> bool:
        """False: another connection to it is all that can be tried, and Dask's client does."""
        return False

    def want(self, batches: int) -> None:
        """Do nothing: who started the workers knows how many there shall be."""

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
        said = {worker: answer for worker, answer in answers.items() if isinstance(answer, dict)}
        problem = next((answer for answer in answers.values() if isinstance(answer, Exception)), None)
        if problem is not None and not said and not self._accepted:
            raise ClusterError(
                f"the workers of {self._address} cannot run antennaopt ({type(problem).__name__}: {problem}); "
                "install the same version there"
            ) from problem
        refuse_other_versions(self._address, said, self._accepted.values())
        self._accepted |= said
        return {worker: count for worker, count in threads.items() if worker in self._accepted}

    def _check_scheduler(self) -> None:
        """Ask the scheduler for its versions.

        Raises:
            ClusterError: They are not ours.
        """
        found: dict[str, Any] = {}
        within(ANSWER_S, lambda: found.update(self.client.sync(self.client.scheduler.versions, packages=None)))
        refuse_other_scheduler(self._address, found.get("packages", {}))

    def mend(self) -> list[tuple[str, str]]:
        """Do nothing: other people's processes are theirs."""
        return []

    def kill_worker(self, address: str) -> bool:
        """Do nothing: other people's processes are theirs; their watchdog and the scheduler's time limit remain."""
        return False

    def close(self) -> None:
        """Disconnect; the scheduler and its workers live on."""
        client, self.client = self.client, None
        within(5.0, client and (lambda: client.close(timeout=3)))
