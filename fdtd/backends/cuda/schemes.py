"""The schemes that step the axisymmetric stencil on a device: plan, kernel text, launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fdtd.axisymmetric.problem import Problem
from fdtd.backends.cuda.device import Program
from fdtd.backends.cuda.stepping import Advance, Scheme
from fdtd.errors import Unsuitable
from fdtd.schemes.machine import Limits, clusters_at_once
from fdtd.schemes.one_step import plan as one_step
from fdtd.schemes.pace import Plan, at_once, pace
from fdtd.schemes.resident import plan as resident
from fdtd.schemes.trapezoidal import plan as trapezoidal
from fdtd.schemes.wavefront import plan as wavefront
from fdtd.schemes.workload import Workload
from fdtd.stencils import BOR, Stencil

_BYTES = {"float32": 4, "float64": 8}


def _planned(
    name: str,
    text: str,
    plan: Plan,
    advance: Advance,
    where: tuple[Problem, str, Limits],
    *,
    records: bool,
    doubled: bool = False,
) -> Scheme:
    """A scheme whose settings and layout are its plan's, for a problem, a precision and a device."""
    problem, precision, limits = where
    return Scheme(
        name=name,
        text=text,
        macros=plan.macros,
        lead=plan.lead,
        pitch=plan.pitch,
        advance=advance,
        records=records,
        doubled=doubled,
        at_once=at_once(plan, limits),
        pace=pace(plan, problem.grid.nr, problem.grid.nz, _BYTES[precision], limits),
    )


def _work(problem: Problem, precision: str, limits: Limits) -> Workload[Stencil]:
    """Return what plans need to know of a problem."""
    grid = problem.grid
    return Workload(
        stencil=BOR,
        rows=grid.nz,
        columns=grid.nr,
        size=_BYTES[precision],
        limits=limits,
        batch=problem.media.batch,
        layer=problem.radial_layer.cells,
        axial=tuple((*layer.rows, layer.columns) for layer in problem.axial_layers),
        record_every=problem.sampling.record_every,
        coupled=problem.media.coupling is not None,
    )


def _one_step(problem: Problem, precision: str, limits: Limits, *, launches: int = 2, **tuning: int) -> Scheme:
    """One time step after the other, in two launches a step or in one."""
    work = _work(problem, precision, limits)
    if launches == 1:
        whole = one_step.plan_whole(work, **tuning)

        def advance_whole(program: Program, batch: int, step: int, end: int) -> None:
            for n in range(step, end):
                program.launch("whole_step", (batch,), whole.threads, n, shared=whole.shared_bytes)

        return _planned(
            "one_step", "schemes/one_step/whole.cu", whole, advance_whole, (problem, precision, limits), records=False
        )
    if launches != 2:
        raise Unsuitable(f"one_step takes launches = 1 or 2 a step, not {launches}")
    plan = one_step.plan(work, **tuning)

    def advance(program: Program, batch: int, step: int, end: int) -> None:
        for n in range(step, end):
            for kernel in ("e_step", "h_step"):
                program.launch(kernel, (plan.blocks, batch), plan.threads, n)

    return _planned(
        "one_step", "schemes/one_step/kernel.cu", plan, advance, (problem, precision, limits), records=False
    )


def _wavefront(problem: Problem, precision: str, limits: Limits, **tuning: int) -> Scheme:
    """All steps up to the next look in one launch."""
    plan = wavefront.plan(
        _work(problem, precision, limits),
        reach=_last(problem.media.spans.filled_columns),
        cut_reach=_last(problem.media.spans.cut_columns),
        coupled=problem.media.spans.coupled,
        **tuning,
    )

    def advance(program: Program, batch: int, step: int, end: int) -> None:
        count = end - step
        iterations = plan.iterations(problem.grid.nz, count)
        program.launch("wavefront", (batch,), plan.threads, step, count, iterations, shared=plan.shared_bytes)

    return _planned(
        "wavefront", "schemes/wavefront/kernel.cu", plan, advance, (problem, precision, limits), records=True
    )


def _trapezoidal(problem: Problem, precision: str, limits: Limits, **tuning: Any) -> Scheme:
    """A launch every few steps, from one buffer to the other and back."""
    plan = trapezoidal.plan(_work(problem, precision, limits), **tuning)

    def advance(program: Program, batch: int, step: int, end: int) -> None:
        clusters = max(1, min(clusters_at_once(limits.multiprocessors, plan.cluster), batch * plan.tiles))
        for odd, count in enumerate(plan.launches(end - step)):
            program.launch(
                "trapezoidal", (clusters * plan.cluster,), plan.threads, step, count, odd % 2,
                shared=limits.shared_bytes, cluster=plan.cluster,
            )  # fmt: skip
            step += count

    return _planned(
        "trapezoidal",
        "schemes/trapezoidal/kernel.cu",
        plan,
        advance,
        (problem, precision, limits),
        records=False,
        doubled=True,
    )


def _resident(problem: Problem, precision: str, limits: Limits, **tuning: Any) -> Scheme:
    """All steps up to the next look in one launch of clusters."""
    plan = resident.plan(_work(problem, precision, limits), **tuning)

    def advance(program: Program, batch: int, step: int, end: int) -> None:
        program.launch(
            "resident", (plan.cluster, batch), plan.threads, step, end - step, shared=plan.shared_bytes,
            cluster=plan.cluster,
        )  # fmt: skip

    return _planned("resident", "schemes/resident/kernel.cu", plan, advance, (problem, precision, limits), records=True)


def _last(columns: np.ndarray) -> int:
    """Columns, from the axis, up to the last one that is marked."""
    return int(columns.nonzero()[0].max()) + 1 if columns.any() else 0


Maker = Callable[..., Scheme]
"""Plans a scheme for a problem, a precision and a device's limits; keywords are the plan's own. Raises `Unsuitable`."""

SCHEMES: dict[str, Maker] = {
    "one_step": _one_step,
    "wavefront": _wavefront,
    "trapezoidal": _trapezoidal,
    "resident": _resident,
}
