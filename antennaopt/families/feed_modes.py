"""Modes of the feed, an air-filled circular waveguide: cutoffs, and the first mode that the port does not measure."""

from __future__ import annotations

import math
from functools import lru_cache


@lru_cache
def cutoff_frequency(radius: float, order: int, kind: str) -> float:
    """Return the lowest cutoff of an air-filled circular waveguide's modes of one order and kind.

    Args:
        radius: Inner radius, m.
        order: Azimuthal order.
        kind: `TE` or `TM`.

    Returns:
        Frequency, Hz.

    References:
        Pozar, Microwave Engineering, 4th ed., section 3.4.
    """
    from scipy.constants import c
    from scipy.special import jn_zeros, jnp_zeros

    zero = (jnp_zeros if kind == "TE" else jn_zeros)(order, 1)[0]
    return float(zero * c / (2.0 * math.pi * radius))


def first_unmeasured(radius: float, order: int = 1) -> tuple[str, float]:
    """Return name and cutoff, Hz, of the second mode of an azimuthal order; the port measures the first, TE.

    The zeros of J_m and J_m' interlace, so it is always the first TM mode: TM11 for order 1.

    References:
        DLMF 10.21.2, https://dlmf.nist.gov/10.21.E2
    """
    return f"TM{order}1", cutoff_frequency(radius, order, "TM")
