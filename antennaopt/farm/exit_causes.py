"""How a worker process ended: by itself, or killed from outside. The nanny that watches it knows, and is asked."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ASKING_S = 10.0
"""How long the nanny may take to say: on a busy machine it is told late."""

PAUSE_S = 0.05

OWN_SIGNALS = frozenset(
    {
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGSEGV,
        signal.SIGSYS,
        signal.SIGTRAP,
    }
)
"""What the system sends a process for what it did itself; all others come from somebody else."""

CLOSING = "Closing Nanny"
"""In the log of a nanny that was asked to go."""

ENDED = re.compile(r"Worker process (\d+) (?:exited with status (\d+)|was killed by (?:signal (\d+)|unknown signal))")


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a worker process ended.

    Attributes:
        words: For people: `was killed by SIGSEGV`.
        outside: Something else ended it, so that what it was solving is not to blame.
        status: Its exit status, negative for a signal; None when nobody knows.
    """

    words: str
    outside: bool
    status: int | None = None


def ending(status: int, *, memory_was_short: bool = False) -> Ending:
    """Judge an exit status.

    Args:
        status: As `subprocess` gives it, negative for a signal.
        memory_was_short: Whether the system killed processes for their memory meanwhile.
    """
    if status >= 0:
        return Ending(words=f"ended with exit status {status}", outside=False, status=status)
    if -status == signal.SIGKILL and memory_was_short:
        return Ending(words="was killed by the system, which ran out of memory", outside=False, status=status)
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return Ending(words=f"was killed by {name}", outside=-status not in OWN_SIGNALS, status=status)


def reported(lines: Iterable[str], pid: int) -> int | None:
    """Find the exit status of a process in a nanny's log, None when it does not stand there."""
    for line in lines:
        match = ENDED.search(line)
        if match and int(match[1]) == pid:
            return int(match[2]) if match[2] else -int(match[3]) if match[3] else 255
    return None


class Coroner:
    """Finds out how workers ended.

    What no nanny can tell counts as their own doing, so that one that always crashes is found in the end; a nanny that
    is gone too went down with its host.
    """

    def __init__(self, client: Any, *, here: bool) -> None:
        """Ask through a client.

        Args:
            client: Dask's.
            here: The workers run on this machine, whose account of memory is theirs.
        """
        self._client = client
        self._here = here
        self._memory_kills = memory_kills() if here else None

    async def ending_of(self, worker: Any) -> Ending:
        """Return how a worker ended, from what Dask knows of it (`KilledWorker.last_worker`)."""
        nanny, pid = getattr(worker, "nanny", None), int(getattr(worker, "pid", 0) or 0)
        if not nanny:
            return Ending(words="ended, and it has no nanny that saw how", outside=False)
        logs: list[Any] = []
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._ask(nanny, pid, logs), ASKING_S)
        if not logs:
            return Ending(words="is gone, and its nanny too", outside=True)
        lines = [text for _, text in logs[-1]]
        status = reported(lines, pid)
        if status is None and any(CLOSING in line for line in lines):
            return Ending(words="was closed by its nanny", outside=True)
        if status is None:
            return Ending(words="ended without an error, or stopped answering", outside=False)
        return ending(status, memory_was_short=status == -signal.SIGKILL and self._memory_ran_short())

    async def _ask(self, nanny: str, pid: int, logs: list[Any]) -> None:
        """Read the nanny's log until it tells of the process: Dask may notice the end before its parent does."""
        while not logs or reported((text for _, text in logs[-1]), pid) is None:
            logs.append(await self._client.rpc(nanny).get_logs(n=200))
            await asyncio.sleep(PAUSE_S)

    def _memory_ran_short(self) -> bool:
        before, self._memory_kills = self._memory_kills, memory_kills() if self._here else None
        return before is not None and self._memory_kills is not None and self._memory_kills > before


def memory_kills(root: Path = Path("/")) -> int | None:
    """Return how many processes the system has killed for their memory: of our control group, else of the machine.

    Args:
        root: Where `proc` and `sys` are.

    Returns:
        None where the system keeps no such account.
    """
    group = "/"
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text().splitlines()
        group = next((line[3:] for line in lines if line.startswith("0::")), "/")
    for path in (root / "sys/fs/cgroup" / group.lstrip("/") / "memory.events", root / "proc/vmstat"):
        with suppress(OSError, ValueError):
            for line in path.read_text().splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
    return None
