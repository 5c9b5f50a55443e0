"""The schemes that step the axisymmetric stencil on a device: plan, kernel text, launches."""

from __future__ import annotations

from collections.abc import Callable

from fdtd.backends.cuda.device import Program
from fdtd.backends.cuda.stepping import Scheme
from fdtd.problem import Problem
from fdtd.stencils import BOR
from fdtd.tiling import one_step, wavefront
from fdtd.tiling.limits import Limits


def _one_step(problem: Problem, precision: str, limits: Limits) -> Scheme:
    """Two launches a step."""
    del precision, limits
    grid, batch = problem.grid, problem.media.batch
    plan = one_step.plan(BOR, grid.nr, grid.nz)

    def advance(program: Program, step: int, end: int) -> None:
        for n in range(step, end):
            for kernel in ("e_step", "h_step"):
                program.launch(kernel, (*plan.blocks, batch), plan.columns, n)

    return Scheme(
        name="one_step",
        text="one_step.cu",
        macros=plan.macros,
        lead=plan.lead,
        pitch=plan.pitch,
        advance=advance,
        records=False,
    )


def _wavefront(problem: Problem, precision: str, limits: Limits) -> Scheme:
    """All steps up to the next look in one launch."""
    grid, batch = problem.grid, problem.media.batch
    size = {"float32": 4, "float64": 8}[precision]
    plan = wavefront.plan(BOR, grid.nr, grid.nz, layer=problem.radial_layer.cells, size=size, limits=limits)

    def advance(program: Program, step: int, end: int) -> None:
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


Maker = Callable[[Problem, str, Limits], Scheme]
"""Plans a scheme for a problem, a precision and a device; raises `Unsuitable`."""

SCHEMES: dict[str, Maker] = {"one_step": _one_step, "wavefront": _wavefront}
