"""Workers that a queue brings, jobs or pods: a scheduler of our own that asks for as many as there is work for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from antennaopt.farm.connection import threads_of
from antennaopt.farm.local import OwnScheduler


class HiredWorkers(OwnScheduler):
    """A scheduler of our own for workers that a queue of jobs or pods brings: as many as there is work for."""

    here = False
    grows = True

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
            timeout_s: How long to wait for the first worker.
            none_came: What it means that there is none.
            not_begun: What it means that the cluster cannot be made.

        Raises:
            ClusterError: No worker came in time.
        """
        self.worker_count = self._most = most
        self._least = least or most
        super().__init__(cluster, dashboard=dashboard, timeout_s=timeout_s, none_came=none_came, not_begun=not_begun)

    def workers(self) -> dict[str, int]:
        """Threads of each worker by its address; of those that are there, the others may be queued for hours."""
        return threads_of(self.client)

    def want(self, batches: int) -> None:
        """Keep as many workers as there are batches, within the bounds; those that ended are asked for anew."""
        self._cluster.scale(min(max(batches, self._least), self._most))
