"""Somebody else's scheduler and its workers: they are asked for their versions, and others than ours are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from antennaopt.errors import ClusterError
from antennaopt.installed import installed

PACKAGES = ("antennaopt", "numpy", "numba", "scipy", "distributed", "cupy-cuda12x", "cupy-cuda13x")
"""What a worker computes and talks with."""

SCHEDULER_PACKAGES = ("dask", "distributed")
"""What a scheduler talks with; it computes nothing."""


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
