"""Coefficients of the planar formulas (`fdtd.stencils.maxwell`) for a batch of media and conductors."""

from __future__ import annotations

import numpy as np
from scipy.constants import epsilon_0

from fdtd.planar.problem import PlanarProblem, inverse_or_zero
from fdtd.stencils import COUPLED_TEZ, TMZ, PlanarStencil


def coefficients(problem: PlanarProblem, stencil: PlanarStencil) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of each cell, zero where nothing is stepped.

    Args:
        problem: Batch.
        stencil: `TMZ`, `TEZ` or `COUPLED_TEZ`.

    Returns:
        Planes in the order of the formula's coefficients, (batch, coefficients, ny + 1, nx + 1); and the gains of the E
        components alone, (batch, E components, ny + 1, nx + 1).
    """
    grid, media, live, courant = problem.grid, problem.media, problem.live(), problem.grid.courant_number
    electric = live[:, :1] if stencil is TMZ else live[:, 1:]
    loss = media.conductivity * grid.time_step / (2 * media.permittivity * epsilon_0)
    keep = np.where(electric, (1 - loss) / (1 + loss), 0.0)
    gain = np.where(electric, courant / (media.permittivity * (1 + loss)), 0.0)
    x, y = media.open_x[:, None], media.open_y[:, None]
    if stencil is TMZ:
        # What dy e_z adds to h_x and dx e_z to h_y.
        planes = [-courant * inverse_or_zero(y) * live[:, 1:2], courant * inverse_or_zero(x) * live[:, 2:], keep, gain]
    else:
        planes = [-courant * inverse_or_zero(media.open_area[:, None]) * live[:, :1], x, y, keep, gain]
    if stencil is COUPLED_TEZ:
        planes.append(_coupling(problem)[:, None] * courant / 4)
    return np.concatenate(planes, axis=1), gain


def _coupling(problem: PlanarProblem) -> np.ndarray:
    """The nodes' coupling, without those in the walls, which reach no field."""
    inside = problem.media.coupling.copy()
    inside[:, 0] = inside[:, :, 0] = 0.0
    return inside
