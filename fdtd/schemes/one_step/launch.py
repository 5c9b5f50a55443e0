"""Launches of `one_step` for antennas: two a step, or one."""

from __future__ import annotations

from collections.abc import Iterator

from fdtd.errors import Unsuitable
from fdtd.schemes.one_step.plan import plan, plan_whole
from fdtd.schemes.scheme import Launch, Scheme, Target


def make(target: Target, *, launches: int = 2, **tuning: int) -> Scheme:
    """Plan one time step after the other, in `launches` launches a step."""
    if launches == 1:
        whole = plan_whole(target.work, **tuning)

        def whole_steps(batch: int, step: int, end: int) -> Iterator[Launch]:
            for n in range(step, end):
                yield Launch(
                    kernel="whole_step", grid=(batch,), threads=whole.threads, arguments=(n,), shared=whole.shared_bytes
                )

        return target.scheme("one_step", "schemes/one_step/whole.cu", whole, whole_steps)
    if launches != 2:
        raise Unsuitable(f"one_step takes launches = 1 or 2 a step, not {launches}")
    made = plan(target.work, **tuning)

    def half_steps(batch: int, step: int, end: int) -> Iterator[Launch]:
        for n in range(step, end):
            for kernel in ("e_step", "h_step"):
                yield Launch(kernel=kernel, grid=(made.blocks, batch), threads=made.threads, arguments=(n,))

    return target.scheme("one_step", "schemes/one_step/kernel.cu", made, half_steps)
