"""Any stencil's batch on a device, ready to be stepped by one of its schemes: for benchmarks and the autotuner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fdtd.axisymmetric.problem import Problem
from fdtd.backends.cuda.device import Device, DryDevice
from fdtd.backends.cuda.planar import PLANAR_SCHEMES, PlanarBatch, prepare
from fdtd.backends.cuda.stepping import Batch
from fdtd.backends.cuda.text import flatten
from fdtd.errors import ConfigError
from fdtd.planar.problem import JacobiProblem, PlanarProblem
from fdtd.schemes import AnyProblem
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import Limits
from fdtd.schemes.rates import check_pair
from fdtd.stencils import BOR


@dataclass(frozen=True, kw_only=True)
class Marching:
    """A batch in device memory.

    Attributes:
        advance: Starts the launches of so many more steps; does not wait.
        fields: State now, (problems, ...), padding left out.
        cells: Of all problems together.
    """

    advance: Callable[[int], None]
    fields: Callable[[], np.ndarray]
    cells: int


def schemes_of(stencil: str) -> tuple[str, ...]:
    """Names of the schemes that have a kernel for a stencil."""
    return tuple(SCHEMES if stencil == "bor" else PLANAR_SCHEMES)


def marching(
    problem: AnyProblem,
    device: Device,
    scheme: str,
    *,
    precision: str = "float32",
    copies: int = 1,
    macros: Mapping[str, int] | None = None,
    **choice: Any,
) -> Marching:
    """Plan, upload, compile.

    Args:
        problem: What to step.
        device: Where.
        scheme: One of `schemes_of` its stencil.
        precision: "float32" or "float64".
        copies: How often the problem's batch is stepped side by side.
        macros: More settings of the kernel text, for ablations.
        choice: What the plan is told.

    Raises:
        ConfigError: There is no such scheme.
        DeviceError: The device has too little memory.
        KernelBuildError: A kernel does not compile.
        Unsuitable: The scheme cannot step this problem on this device.
    """
    make: Any = _antennas if problem.stencil is BOR else _planar
    return make(problem, device, scheme, precision, copies, macros or {}, choice)


def _antennas(
    problem: Problem, device: Device, scheme: str, precision: str, copies: int, macros: Mapping[str, int],
    choice: Mapping[str, Any],
) -> Marching:  # fmt: skip
    check_pair("bor", scheme)
    if scheme not in SCHEMES:
        raise ConfigError(f"scheme = {scheme!r} has no kernel for bor (allowed: {', '.join(SCHEMES)})")
    made = SCHEMES[scheme](problem, precision, device.limits, **choice)
    made = replace(made, macros={**made.macros, **macros})
    antennas, nr = Batch(device, problem, made, precision, copies), problem.grid.nr
    return Marching(
        advance=lambda steps: antennas.advance(antennas.steps + steps),
        fields=lambda: np.moveaxis(antennas.fetch("fields")[..., made.lead : made.lead + nr], 2, 1),
        cells=problem.grid.cells * antennas.size,
    )


def _planar(
    problem: PlanarProblem | JacobiProblem, device: Device, scheme: str, precision: str, copies: int,
    macros: Mapping[str, int], choice: Mapping[str, Any],
) -> Marching:  # fmt: skip
    batch = PlanarBatch(device, problem, precision, copies)
    batch.stencil = replace(batch.stencil, macros={**batch.stencil.macros, **macros})
    return Marching(
        advance=prepare(batch, scheme, **choice), fields=batch.fields, cells=batch.rows * batch.columns * batch.count
    )


def kernel_texts(
    problem: AnyProblem,
    limits: Limits,
    scheme: str,
    *,
    steps: int,
    precision: str = "float32",
    copies: int = 1,
    macros: Mapping[str, int] | None = None,
    **choice: Any,
) -> list[str]:
    """The texts that `marching` and its first steps compile; arguments and errors as there."""
    if problem.stencil is BOR:
        antennas: Any = problem
        made = SCHEMES[scheme](antennas, precision, limits, **choice)
        real = {"float32": "float", "float64": "double"}[precision]
        settings = {"REAL": real, **made.macros, **(macros or {})}
        return [flatten(made.text, settings), flatten("kernels/axisymmetric/looks.cu", {"REAL": real})]
    device = DryDevice(limits)
    marching(problem, device, scheme, precision=precision, copies=copies, macros=macros, **choice).advance(steps)
    return device.texts
