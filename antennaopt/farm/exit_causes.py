"""Exit cause of a worker process, by itself or killed from outside, from the log of its nanny.

What no nanny can tell counts as the process's own doing, so that an antenna that always crashes is found in the end; a
nanny that is gone too went down with its host.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

WATCHDOG_STATUS = 1
"""Exit status with which the watchdog of `antennaopt.farm.task` ends a process."""

UNWATCHED = "ended, and it has no nanny that saw how"

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
"""What the system sends a process for what it did itself; all others come from outside."""

CLOSING = "Closing Nanny"
"""In the log of a nanny that was asked to go."""

ENDED = re.compile(r"Worker process (\d+) (?:exited with status (\d+)|was killed by (?:signal (\d+)|unknown signal))")


@dataclass(frozen=True, kw_only=True)
class ExitCause:
    """How a worker process ended.

    Attributes:
        words: As in `was killed by SIGSEGV`.
        outside: Something else ended it, so that what it was solving is not to blame.
        status: Its exit status, negative for a signal; None when it is not known.
    """

    words: str
    outside: bool
    status: int | None = None


def exit_cause(status: int, *, memory_was_short: bool = False) -> ExitCause:
    """Judge an exit status.

    Args:
        status: As `subprocess` gives it, negative for a signal.
        memory_was_short: Whether the system killed processes for their memory meanwhile.
    """
    if status >= 0:
        return ExitCause(words=f"ended with exit status {status}", outside=False, status=status)
    if -status == signal.SIGKILL and memory_was_short:
        return ExitCause(words="was killed by the system, which ran out of memory", outside=False, status=status)
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return ExitCause(words=f"was killed by {name}", outside=-status not in OWN_SIGNALS, status=status)


def reported(lines: Iterable[str], pid: int) -> int | None:
    """Find the exit status of a process in a nanny's log, None when it does not stand there."""
    for line in lines:
        match = ENDED.search(line)
        if match and int(match[1]) == pid:
            return int(match[2]) if match[2] else -int(match[3]) if match[3] else 255
    return None


def cause_from_log(lines: Sequence[str], pid: int, memory_is_short: Callable[[], bool]) -> ExitCause:
    """Judge by the log of the nanny that watched a process.

    Args:
        lines: Of the log.
        pid: Of the process.
        memory_is_short: Whether the system killed processes for their memory meanwhile; asked after a SIGKILL.
    """
    status = reported(lines, pid)
    if status is None and any(CLOSING in line for line in lines):
        return ExitCause(words="was closed by its nanny", outside=True)
    if status is None:
        return ExitCause(words="ended without an error, or stopped answering", outside=False)
    return exit_cause(status, memory_was_short=status == -signal.SIGKILL and memory_is_short())


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
