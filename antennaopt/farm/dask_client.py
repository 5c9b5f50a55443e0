"""Dask clients of a scheduler, with deadlines: any program may answer, and an answer may never end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin

import dask.config
from distributed import Client
from distributed.security import Security

from antennaopt.errors import ClusterError
from antennaopt.farm.dashboard import PAGE, add_page, add_watch

PAUSE_S = 0.5

ANSWER_S = 10.0
"""How long a scheduler may take to answer a question."""


def connect(address: str, timeout_s: float, security: Security | None = None, loop: Any = None) -> Client:
    """Return a client of the scheduler at an address.

    Raises:
        TimeoutError, OSError, ValueError: No answer, or not an address.
    """
    # A client whose constructor raised is still half alive, and the garbage collector closing it at some later moment
    # can deadlock with the making of the next one; so it is kept in hand and closed here.
    client = Client.__new__(Client)
    try:
        with dask.config.set({"distributed.comm.timeouts.connect": f"{timeout_s:g}s"}):
            client.__init__(address, timeout=timeout_s, set_as_default=False, security=security, loop=loop)
    except BaseException:
        within(5.0, lambda: client.close(timeout=3))
        raise
    return client


def connect_inside(cluster: Any, timeout_s: float) -> Client:
    """Return a client of a cluster whose scheduler is in this process, which it talks to without a socket.

    Raises:
        TimeoutError, OSError, ValueError: No answer.
    """
    cluster.sync(cluster.scheduler.listen, "inproc://")
    return connect(cluster.scheduler.listeners[-1].contact_address, timeout_s, cluster.security, cluster.loop)


def connect_in_time(address: str, timeout_s: float, security: Security | None = None) -> Client:
    """Connect to a scheduler's address under a deadline of our own.

    Dask's time limit covers its own protocol; something else that listens there can hold the handshake for ever.

    Raises:
        TimeoutError: No scheduler's answer within the limit and two seconds.
        Exception: What the attempt ended in.
    """
    outcome: list[Any] = []

    def attempt() -> None:
        try:
            outcome.append(connect(address, timeout_s, security))
        except Exception as problem:
            outcome.append(problem)

    if not within(timeout_s + 2.0, attempt) or not outcome:
        raise TimeoutError(f"{address} holds the connection without speaking Dask's protocol")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def threads_of(client: Any, seconds: float = ANSWER_S) -> dict[str, int]:
    """Return the threads of each worker by its address, as the scheduler knows them.

    Args:
        client: Of the scheduler.
        seconds: How long it may take to answer.

    Raises:
        ClusterError: The scheduler does not answer, or went that moment.
    """
    try:
        return dict(client.sync(client.scheduler.ncores, workers=None, callback_timeout=seconds))
    except OSError as problem:  # a timeout too
        raise ClusterError(
            f"the scheduler did not list its workers within {seconds:g} s ({type(problem).__name__}); restart it, then "
            "run `antennaopt resume`"
        ) from problem


def within(seconds: float, action: Any) -> bool:
    """Run an action that might hang in a thread; return whether it ended in time. Its own errors do not matter."""
    if not action:
        return True
    thread = in_thread(action)
    thread.join(seconds)
    return not thread.is_alive()


def in_thread(action: Callable[[], Any]) -> threading.Thread:
    """Run an action in a thread of its own, which keeps no program alive; its errors do not matter."""

    def run() -> None:
        with suppress(Exception):
            action()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def page_link(client: Client, dashboard: str | None, *, later: bool = False) -> str | None:
    """Put our page on a scheduler's dashboard and return its link; the dashboard's own where it cannot be put.

    Args:
        client: Of the scheduler.
        dashboard: Where it is; None where there is none.
        later: Whether the scheduler puts the page there itself, when it is first requested.
    """
    served: list[Any] = []
    within(5.0, lambda: served.append(client.run_on_scheduler(add_watch if later else add_page)))
    return urljoin(dashboard, PAGE) if dashboard and (later or served == [True]) else dashboard


def publish(client: Client, topic: str, event: Mapping[str, Any]) -> None:
    """Send an event to the scheduler and do not wait for it: the page may miss one, the driver must not hang."""
    scheduler: Any = client.scheduler
    loop: Any = client.loop

    async def send() -> None:
        with suppress(Exception):
            await scheduler.log_event(topic=topic, msg=dict(event))

    with suppress(RuntimeError, AttributeError):  # it has ended
        loop.add_callback(send)


class SchedulerWatch:
    """Notices a scheduler or workers that are gone for good."""

    def __init__(
        self, client: Any, *, where: str, patience_s: float, ended: Callable[[], bool], queue_s: float = 0.0
    ) -> None:
        """Watch a client's cluster.

        Args:
            client: Dask's.
            where: The scheduler's address or `this machine`, for messages.
            patience_s: How long all workers, or the scheduler, may be gone.
            ended: Whether the scheduler is known to have ended, so that no wait helps.
            queue_s: How long all workers may be gone where a queue brings others, if longer.
        """
        self.patience_s, self._queue_s = patience_s, queue_s
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
        patience_s = max(self.patience_s, self._queue_s)
        if now - self._alone_since > patience_s:
            raise ClusterError(
                f"all workers of {self._where} have been gone for {patience_s:g} s; "
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
