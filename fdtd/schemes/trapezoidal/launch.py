"""Launches of `trapezoidal` for antennas: one every few steps, from one buffer to the other and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fdtd.schemes.machine import clusters_at_once
from fdtd.schemes.scheme import Launch, Scheme, Target
from fdtd.schemes.trapezoidal.plan import plan


def make(target: Target, **tuning: Any) -> Scheme:
    """Plan tiles with halos."""
    limits = target.limits
    made = plan(target.work, **tuning)

    def launches(batch: int, step: int, end: int) -> Iterator[Launch]:
        clusters = max(1, min(clusters_at_once(limits.multiprocessors, made.cluster), batch * made.tiles))
        for odd, count in enumerate(made.launches(end - step)):
            yield Launch(
                kernel="trapezoidal", grid=(clusters * made.cluster,), threads=made.threads,
                arguments=(step, count, odd % 2), shared=limits.shared_bytes, cluster=made.cluster,
            )  # fmt: skip
            step += count

    return target.scheme("trapezoidal", "schemes/trapezoidal/kernel.cu", made, launches, doubled=True)
