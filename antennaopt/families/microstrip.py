"""Closed forms of microstrip lines and patches: widths, effective permittivity, fringe, resistance at the edge."""

from __future__ import annotations

import math

import numpy as np
from scipy.constants import c, epsilon_0, mu_0


def line_width(permittivity: float, thickness: float, resistance: float) -> float:
    """Return the width of a microstrip line of a wave resistance, m.

    Args:
        permittivity: Of the substrate.
        thickness: Of it, m.
        resistance: Wave resistance, ohm.

    References:
        Hammerstad, as in Pozar, Microwave Engineering, 4th ed., eq. 3.197.
    """
    a = resistance / 60 * math.sqrt((permittivity + 1) / 2)
    a += (permittivity - 1) / (permittivity + 1) * (0.23 + 0.11 / permittivity)
    narrow = 8 * math.exp(a) / (math.exp(2 * a) - 2)
    if 0 < narrow <= 2:  # below 0 for the widest lines, where the formula does not hold
        return narrow * thickness
    b = math.pi * math.sqrt(mu_0 / epsilon_0) / (2 * resistance * math.sqrt(permittivity))
    wide = b - 1 - math.log(2 * b - 1)
    wide += (permittivity - 1) / (2 * permittivity) * (math.log(b - 1) + 0.39 - 0.61 / permittivity)
    return 2 / math.pi * wide * thickness


def effective_permittivity(permittivity: float, thickness: float, width: float) -> float:
    """Return the effective permittivity of a microstrip line.

    References:
        Balanis, Antenna Theory, 4th ed., eq. 14-1.
    """
    return (permittivity + 1) / 2 + (permittivity - 1) / 2 / math.sqrt(1 + 12 * thickness / width)


def fringe(permittivity: float, thickness: float, width: float) -> float:
    """Return how much longer than its metal a patch is at each end, m; `permittivity` is the effective one.

    References:
        Hammerstad; Balanis, Antenna Theory, 4th ed., eq. 14-2.
    """
    ratio = width / thickness
    return 0.412 * thickness * (permittivity + 0.3) * (ratio + 0.264) / ((permittivity - 0.258) * (ratio + 0.8))


def edge_resistance(length_m: float, width: float, frequency: float) -> float:
    """Return the resonant resistance at the edge of a patch, ohm, by the conductances of its two slots.

    References:
        Balanis, Antenna Theory, 4th ed., eqs. 14-12, 14-18 and 14-17 (with the mutual conductance).
    """
    from scipy.integrate import quad
    from scipy.special import j0

    k = 2 * math.pi * frequency / c

    def slot(angle: float) -> float:
        half = k * width / 2 * math.cos(angle)
        return (k * width / 2 * float(np.sinc(half / math.pi))) ** 2 * math.sin(angle) ** 3

    own = quad(slot, 0, math.pi)[0] / (120 * math.pi**2)
    mutual = quad(lambda angle: slot(angle) * j0(k * length_m * math.sin(angle)), 0, math.pi)[0] / (120 * math.pi**2)
    return 1 / (2 * (own + mutual))
