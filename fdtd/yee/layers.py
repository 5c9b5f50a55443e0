"""Absorbing layers in front of the faces of a rectilinear lattice: the stretching of d/dx, d/dy and d/dz.

References:
    Roden & Gedney, Microw. Opt. Tech. Lett. 27 (2000) 334; Taflove & Hagness, 3rd ed., sec. 7.9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.constants import epsilon_0, speed_of_light

from fdtd.cpml import convolution
from fdtd.yee.grid import Grid


@dataclass(frozen=True, kw_only=True)
class Absorber:
    """Profile of all absorbing layers of a problem.

    Attributes:
        order: Polynomial grading of sigma and kappa - 1.
        strength: sigma at the wall over the optimum 0.8 (order + 1) / (eta0 d) (Taflove, eq. 7.67).
        kappa: Largest kappa.
        alpha: Pole shift at the layer's inner plane, S/m; falls linearly to zero at the wall.
    """

    order: float = 3.0
    strength: float = 0.9
    kappa: float = 3.0
    alpha: float = 0.03

    @classmethod
    def around(cls, frequency: float) -> Absorber:
        """Return the layers of a band with this middle, Hz.

        The pole is a tenth of it: waves well below the pole see no absorption, and one at 0 lets static charges stay.
        """
        return cls(alpha=0.1 * 2 * math.pi * frequency * epsilon_0)

    def filters(self, grid: Grid, axis: int, *, half: bool) -> np.ndarray:
        """Coefficients of 1/s along an axis.

        Args:
            grid: The lattice.
            axis: 0, 1, 2 for x, y, z.
            half: Between the planes (True) or on them.

        Returns:
            1/kappa, b and c, (3, cells + 1): (1/s) d -> d/kappa + psi with psi <- b psi + c d once a step; 1, 0, 0
            outside the layers and in the padding.
        """
        planes, spacing = grid.planes[axis], grid.spacing(axis)
        place = np.append((planes[1:] + planes[:-1]) / 2, planes[-1]) if half else planes
        out = np.zeros((3, len(place)))
        out[0] = 1.0
        for side, cells in enumerate(grid.layers[2 * axis : 2 * axis + 2]):
            if not cells:
                continue
            inner, outer = (planes[-1 - cells], planes[-1]) if side else (planes[cells], planes[0])
            depth = (place - inner) / (outer - inner)
            at = depth > 0
            if half:
                at[-1] = False
            depth = depth[at]
            step = spacing[-1] if side else spacing[0]
            peak = self.strength * 0.8 * (self.order + 1) * speed_of_light * grid.dt / step
            sigma, kappa = peak * depth**self.order, 1 + (self.kappa - 1) * depth**self.order
            alpha = self.alpha / epsilon_0 * grid.dt * (1 - depth)
            b, c = convolution(-sigma / kappa**2, sigma / kappa + alpha)
            out[:, at] = 1 / kappa, b, c
        return out
