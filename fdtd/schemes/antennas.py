"""The schemes that step the axisymmetric stencil on a device, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fdtd.axisymmetric.problem import Problem
from fdtd.schemes.machine import Limits
from fdtd.schemes.one_step import launch as one_step
from fdtd.schemes.resident import launch as resident
from fdtd.schemes.scheme import Scheme, Target
from fdtd.schemes.trapezoidal import launch as trapezoidal
from fdtd.schemes.wavefront import launch as wavefront

Maker = Callable[..., Scheme]
"""Plan a scheme for a problem, a precision and a device's limits; keywords are the plan's own. Raises `Unsuitable`."""


def _maker(make: Callable[..., Scheme]) -> Maker:
    def made(problem: Problem, precision: str, limits: Limits, **tuning: Any) -> Scheme:
        return make(Target(problem=problem, precision=precision, limits=limits), **tuning)

    return made


SCHEMES: dict[str, Maker] = {
    name: _maker(scheme.make)
    for name, scheme in (
        ("one_step", one_step), ("wavefront", wavefront), ("trapezoidal", trapezoidal), ("resident", resident),
    )
}  # fmt: skip
