"""Workers of somebody else's scheduler: they are asked for their package versions, and others than ours are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from antennaopt.errors import ClusterError
from antennaopt.machine import installed

PACKAGES = ("antennaopt", "numpy", "numba", "scipy", "distributed", "cupy-cuda12x", "cupy-cuda13x")
"""What a worker computes and talks with."""


def versions_here() -> dict[str, str]:
    """Return this process's versions of what a worker computes with; asked of workers, too."""
    import antennaopt.evaluation._task  # noqa: F401 - what it cannot import, it cannot run

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
