"""Complex cuts of made-up antennas, from their levels."""

import numpy as np


def amplitudes_of(levels_dbi):
    """Return amplitudes with a phase that grows with the angle, as lists of pairs, which JSON holds.

    Args:
        levels_dbi: Directivity, dBi, (frequencies, angles).
    """
    levels = np.array(levels_dbi, dtype=float)
    values = 10 ** (levels / 20) * np.exp(0.1j * np.arange(levels.shape[-1]))
    return np.stack([values.real, values.imag], axis=-1).tolist()
