"""The pulse: no DC, nothing near cutoff, enough power at every frequency, no step at its start or end."""

from __future__ import annotations

import numpy as np
import pytest

from fdtd.waveforms import GaussianPulse, pulse_for

CUTOFF = 24.401e9  # TE11 in 3.6 mm
STEP = 0.6e-12
BANDS = [(28.5e9, 31.5e9), (30e9, 30e9), (26e9, 40e9), (25e9, 27e9)]


def magnitude(pulse: GaussianPulse, frequency: float) -> float:
    """Of the spectrum at a frequency, over that at the carrier."""
    samples = pulse.samples(STEP)
    times = np.arange(len(samples)) * STEP
    at, centre = (abs(np.sum(samples * np.exp(-2j * np.pi * f * times))) for f in (frequency, pulse.centre))
    return at / centre


@pytest.mark.parametrize("band", BANDS)
def test_no_direct_current(band: tuple[float, float]) -> None:
    """Static charge left behind would never decay. The pulse is odd about its middle: below 1e-6."""
    assert magnitude(pulse_for(np.array(band), CUTOFF), 0.0) < 1e-6


@pytest.mark.parametrize("band", BANDS)
def test_covers_the_band(band: tuple[float, float]) -> None:
    """At most 1.5 standard deviations from the carrier to the band's edges: exp(-1.5^2 / 2) = 0.32, -10 dB."""
    pulse = pulse_for(np.array(band), CUTOFF)
    assert pulse.centre == pytest.approx(sum(band) / 2)
    assert all(magnitude(pulse, edge) > 0.32 for edge in band)


def test_spares_the_slow_waves() -> None:
    """At cutoff, 3.7 standard deviations away: exp(-3.7^2 / 2) = 1.1e-3, -59 dB."""
    assert magnitude(pulse_for(np.array(BANDS[0]), CUTOFF), CUTOFF) == pytest.approx(1.1e-3, rel=0.1)


def test_spectrum_is_gaussian() -> None:
    """Half a width off the carrier exp(-1/8), one off exp(-1/2): the width is the spectrum's, not the power's."""
    pulse = GaussianPulse(centre=30e9, width=2e9)
    for widths in (-1.0, -0.5, 0.5, 1.0):
        expected = np.exp(-(widths**2) / 2)
        assert magnitude(pulse, pulse.centre + widths * pulse.width) == pytest.approx(expected, rel=1e-3)


def test_begins_and_ends_softly() -> None:
    """Five standard deviations from the middle: exp(-12.5) = 3.7e-6 of the peak, -109 dB."""
    pulse = GaussianPulse(centre=30e9, width=1.5e9)
    samples = pulse.samples(STEP)
    assert np.abs(samples[[0, -1]]).max() < 4e-6
    assert np.abs(samples).max() == pytest.approx(1.0, abs=0.02)
    assert len(samples) == pytest.approx(pulse.duration / STEP, abs=1)


def test_narrow_at_most_a_tenth() -> None:
    """Far above cutoff the width stays a tenth of the carrier."""
    assert pulse_for(np.array([60e9]), CUTOFF).width == pytest.approx(6e9)
