"""Launches of `wavefront`: all steps up to the next look in one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fdtd.schemes.scheme import Launch, Scheme, Target
from fdtd.schemes.wavefront.plan import plan


def make(target: Target, **tuning: int) -> Scheme:
    """Plan a block an antenna."""
    problem, spans = target.problem, target.problem.media.spans
    made = plan(
        target.work,
        reach=_last(spans.filled_columns),
        cut_reach=_last(spans.cut_columns),
        coupled=spans.coupled,
        **tuning,
    )

    def launches(batch: int, step: int, end: int) -> Iterator[Launch]:
        count = end - step
        yield Launch(
            kernel="wavefront", grid=(batch,), threads=made.threads, shared=made.shared_bytes,
            arguments=(step, count, made.iterations(problem.grid.nz, count)),
        )  # fmt: skip

    return target.scheme("wavefront", "schemes/wavefront/kernel.cu", made, launches, records=True)


def _last(columns: np.ndarray) -> int:
    """Columns, from the axis, up to the last one that is marked."""
    return int(columns.nonzero()[0].max()) + 1 if columns.any() else 0
