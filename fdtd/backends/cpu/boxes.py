"""Stencils in space on the CPU, in a closed box and on one core: loops from formulas (`box_loops.py`), called in turn.

The box has walls of perfect metal (Yee's lattice) or a rim that keeps its values (heat). There are no absorbing layers,
sources or records here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fdtd.backends.cpu import box_loops
from fdtd.backends.cpu.loops import function_name
from fdtd.errors import ConfigError
from fdtd.stencils import Formula


def step_box(
    formula: Formula,
    state: np.ndarray,
    steps: int,
    *,
    media: np.ndarray | None = None,
    spacings: np.ndarray | None = None,
    weights: tuple[float, ...] = (),
) -> np.ndarray:
    """Step the components of a formula in place.

    Args:
        formula: One in space.
        state: Components in the formula's order, (components, nz, ny, nx), contiguous, float32 or float64; where old
            and new values need an array each, two equal planes.
        steps: Time steps.
        media: Coefficients in the formula's order, (coefficients, nz, ny, nx).
        spacings: Inverse distances in the formula's order, times the time step, (spacings, longest axis).
        weights: In the formula's order.

    Returns:
        The components after the last step, (kept components, nz, ny, nx), a view of `state`.

    Raises:
        ConfigError: An array does not have the formula's shape.
    """
    kept, dtype = len(formula.kept), state.dtype
    planes = 2 if formula.exchanged else kept
    if state.ndim != 4 or len(state) != planes or not state.flags.c_contiguous:
        raise ConfigError(
            f"state of {formula.name} has shape {state.shape} (needs ({planes}, nz, ny, nx), contiguous); reshape it"
        )
    wanted = {
        "media": (media, len(formula.coefficients), (len(formula.coefficients), *state.shape[1:])),
        "spacings": (spacings, len(formula.spacings), (len(formula.spacings), max(state.shape[1:]))),
        "weights": (np.asarray(weights), len(formula.weights), (len(formula.weights),)),
    }
    given: dict[str, np.ndarray] = {}
    for name, (array, count, shape) in wanted.items():
        if count and (array is None or array.shape != shape):
            raise ConfigError(f"{name} of {formula.name} must have shape {shape}; pass an array of that shape")
        empty = np.zeros((1,) * (4 if name == "media" else len(shape)))
        given[name] = np.ascontiguousarray(array if count and array is not None else empty, dtype=dtype)
    phases: list[Any] = [getattr(box_loops, function_name(formula, phase)) for phase in range(len(formula.phases))]
    for step in range(steps):
        for phase in phases:
            phase(state, given["media"], given["spacings"], given["weights"], step % 2)
    return state[steps % 2 :][:1] if formula.exchanged else state
