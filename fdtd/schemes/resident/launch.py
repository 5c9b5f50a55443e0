"""Launches of `resident` for antennas: all steps up to the next look in one launch of clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fdtd.schemes.resident.plan import plan
from fdtd.schemes.scheme import Launch, Scheme, Target


def make(target: Target, **tuning: Any) -> Scheme:
    """Plan a cluster an antenna."""
    made = plan(target.work, **tuning)

    def launches(batch: int, step: int, end: int) -> Iterator[Launch]:
        yield Launch(
            kernel="resident", grid=(made.cluster, batch), threads=made.threads, arguments=(step, end - step),
            shared=made.shared_bytes, cluster=made.cluster,
        )  # fmt: skip

    return target.scheme("resident", "schemes/resident/kernel.cu", made, launches, records=True)
