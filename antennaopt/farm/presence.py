"""Who is there: the scheduler, the workers, and for how long they may be gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from antennaopt.errors import ClusterError
from antennaopt.farm.connection import threads_of

PAUSE_S = 0.5


class Presence:
    """Notices a scheduler or workers that are gone for good."""

    def __init__(self, client: Any, *, where: str, patience_s: float, ended: Callable[[], bool]) -> None:
        """Watch a client's cluster.

        Args:
            client: Dask's.
            where: The scheduler's address or `this machine`, for messages.
            patience_s: How long all workers, or the scheduler, may be gone.
            ended: Whether the scheduler is known to have ended, so that no wait helps.
        """
        self.patience_s = patience_s
        self._ended = ended
        self._client = client
        self._where = where
        self._alone_since: float | None = None

    def solved(self) -> None:
        """Note that a worker answered."""
        self._alone_since = None

    def workers(self) -> dict[str, int]:
        """Return the threads of each worker by its address.

        Raises:
            ClusterError: The scheduler is gone, or no worker has been there for too long.
        """
        threads = self._threads()
        if threads:
            self._alone_since = None
            return threads
        now = time.monotonic()
        self._alone_since = self._alone_since or now
        if now - self._alone_since > self.patience_s:
            raise ClusterError(
                f"all workers of {self._where} have been gone for {self.patience_s:g} s; "
                "what was solved is saved: start workers and resume"
            )
        return threads

    def _threads(self) -> dict[str, int]:
        """Ask the scheduler; when it goes that moment, wait for it to come back."""
        deadline = time.monotonic() + self.patience_s
        while (left := deadline - time.monotonic()) > 0.0:
            self.require_scheduler()
            with suppress(ClusterError):
                return threads_of(self._client, left)
            time.sleep(PAUSE_S)
        raise ClusterError(
            f"the scheduler at {self._where} has not answered for {self.patience_s:g} s; what was solved is saved: "
            "resume when it does"
        )

    def require_scheduler(self) -> None:
        """Wait for a lost connection to come back.

        Raises:
            ClusterError: It does not.
        """
        deadline = time.monotonic() + self.patience_s
        while (ended := self._ended()) or self._client.status != "running":
            if ended or self._client.status in ("closed", "closing") or time.monotonic() > deadline:
                raise ClusterError(
                    f"the scheduler at {self._where} is gone; what was solved is saved: start it again and resume"
                )
            time.sleep(PAUSE_S)
