"""Wanted and unwanted component of a far field: linear along x, or circular of either sense.

Time convention exp(+jwt). With E along x on the axis (Ludwig's third definition) the linear components are those along

    u_x = theta cos(phi) - phi sin(phi),    u_y = theta sin(phi) + phi cos(phi)

(theta and phi for the unit vectors). A right-handed wave has E along u_x - j u_y = (theta - j phi) exp(-j phi): its y
component is 90 degrees behind, so that E turns from x to y, clockwise as seen along the wave (IEEE Std 145). Its
amplitude is

    E_R = (E_theta + j E_phi) exp(j phi) / sqrt(2)

and that of a left-handed one its mirror image, E_L = (E_theta - j E_phi) exp(-j phi) / sqrt(2). Both are smooth on the
axis, and |E_R|^2 + |E_L|^2 = |E_theta|^2 + |E_phi|^2.

References:
    IEEE Std 145-2013, "sense of polarization", "axial ratio"; Ludwig, IEEE Trans. Antennas Propag. 21 (1973) 116.
"""

from __future__ import annotations

import numpy as np

from fdtd.errors import ConfigError

LINEAR, CIRCULAR = "linear", ("rhcp", "lhcp")
POLARISATIONS = (LINEAR, *CIRCULAR)
"""Along x; right-hand circular; left-hand circular."""

LARGEST_DB = 120.0
"""Axial ratio of linear polarisation, which is infinite."""


def components(
    e_theta: np.ndarray, e_phi: np.ndarray, phi: np.ndarray | float, polarisation: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the co- and the cross-polar amplitude of a far field, complex, the same shape.

    Args:
        e_theta: Complex, (...).
        e_phi: Complex, (...).
        phi: Angle of each direction, rad; broadcasts with them. A direction at a negative theta has the phi of its
            plane.
        polarisation: One of `POLARISATIONS`, the wanted one.

    Raises:
        ConfigError: It is none of them.
    """
    if polarisation not in POLARISATIONS:
        raise ConfigError(f"polarisation = {polarisation!r} is unknown (allowed: {', '.join(POLARISATIONS)})")
    cosine, sine = np.cos(phi), np.sin(phi)
    if polarisation == LINEAR:
        return e_theta * cosine - e_phi * sine, e_theta * sine + e_phi * cosine
    right = (e_theta + 1j * e_phi) * (cosine + 1j * sine) / np.sqrt(2)
    left = (e_theta - 1j * e_phi) * (cosine - 1j * sine) / np.sqrt(2)
    return (right, left) if polarisation == "rhcp" else (left, right)


def axial_ratio_of_db(ratio: np.ndarray) -> np.ndarray:
    """Axial ratio from the unwanted amplitude over the wanted circular one, dB, the same shape.

    20 log10 (1 + q) / (1 - q); `LARGEST_DB` for linear polarisation, q = 1, and for the other sense, q > 1.
    """
    q = np.minimum(ratio, 1.0)
    floor = 10 ** (-LARGEST_DB / 20) * (1 + q)
    return np.minimum(20 * np.log10((1 + q) / np.maximum(1 - q, floor)), LARGEST_DB)
