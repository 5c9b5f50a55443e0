"""The transform of a port's record is the sum that it stands for.

Its exponentials are products of two. Both, and the sum, are rounded: some units in the last place of the terms, times
the phase in radians for the exponentials of either way. Measured: below 1e-13 of the sum of magnitudes.
"""

from __future__ import annotations

import numpy as np
import pytest

from fdtd.yee.ports import transform


@pytest.mark.parametrize("count", [0, 1, 2, 97, 100, 12317])
@pytest.mark.parametrize("offset", [0.5, 1.0])
def test_transform(count: int, offset: float) -> None:
    samples, dt = np.random.default_rng(count).standard_normal(count), 0.5e-12
    frequencies = np.array([0.0, 5.8e9, 31e9])
    phase = -2j * np.pi * np.outer(frequencies, np.arange(count) + offset) * dt
    expected = (np.exp(phase) * samples).sum(axis=1) * dt
    found = transform(samples, dt, offset, frequencies)
    assert found.shape == (3,)
    assert np.abs(found - expected).max() <= 1e-13 * np.abs(samples).sum() * dt
