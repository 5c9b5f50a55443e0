"""The schemes that step the axisymmetric stencil on a device: plan, kernel text, launches."""

from __future__ import annotations

from collections.abc import Callable

from fdtd.backends.cuda.device import Program
from fdtd.backends.cuda.stepping import Scheme
from fdtd.problem import Problem
from fdtd.stencils import BOR
from fdtd.tiling import one_step, wavefront
from fdtd.tiling.limits import Limits

_BYTES = {"float32": 4, "float64": 8}


def _one_step(problem: Problem, precision: str, limits: Limits, **tuning: int) -> Scheme:
    """Two launches a step."""
    del limits
    grid = problem.grid
    plan = one_step.plan(BOR, grid.nr, grid.nz, layer=problem.radial_layer.cells, size=_BYTES[precision], **tuning)

    def advance(program: Program, batch: int, step: int, end: int) -> None:
        for n in range(step, end):
            for kernel in ("e_step", "h_step"):
                program.launch(kernel, (plan.blocks, batch), plan.threads, n)

    return Scheme(
        name="one_step",
        text="one_step.cu",
        macros=plan.macros,
        lead=plan.lead,
        pitch=plan.pitch,
        advance=advance,
        records=False,
    )


def _wavefront(problem: Problem, precision: str, limits: Limits, **tuning: int) -> Scheme:
    """All steps up to the next look in one launch."""
    grid, size = problem.grid, _BYTES[precision]
    plan = wavefront.plan(
        BOR,
        grid.nr,
        grid.nz,
        layer=problem.radial_layer.cells,
        record_every=problem.sampling.record_every,
        size=size,
        limits=limits,
        **tuning,
    )

    def advance(program: Program, batch: int, step: int, end: int) -> None:
        program.launch("wavefront", (batch,), plan.threads, step, end - step, shared=plan.shared_bytes)

    return Scheme(
        name="wavefront",
        text="wavefront.cu",
        macros=plan.macros,
        lead=plan.lead,
        pitch=plan.pitch,
        advance=advance,
        records=True,
    )


Maker = Callable[..., Scheme]
"""Plans a scheme for a problem, a precision and a device's limits; keywords are the plan's own. Raises `Unsuitable`."""

SCHEMES: dict[str, Maker] = {"one_step": _one_step, "wavefront": _wavefront}
