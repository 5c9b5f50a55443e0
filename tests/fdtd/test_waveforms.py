"""The pulse: no DC, nothing near cutoff, enough power at every frequency, no step at its start or end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import spherical_in, spherical_jn

from fdtd.waveforms import GaussianPulse, KaiserPulse, Pulse, pulse_for, short_pulse_for

CUTOFF = 24.401e9  # TE11 in 3.6 mm
STEP = 0.6e-12
BANDS = [(28.5e9, 31.5e9), (30e9, 30e9), (26e9, 40e9), (25e9, 27e9)]


def magnitude(pulse: Pulse, frequency: float) -> float:
    """Of the spectrum at a frequency, over that at the carrier."""
    samples = pulse.samples(STEP)
    times = np.arange(len(samples)) * STEP
    at, centre = (abs(np.sum(samples * np.exp(-2j * np.pi * f * times))) for f in (frequency, pulse.centre))
    return at / centre


@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("chosen", [pulse_for, short_pulse_for])
def test_no_direct_current(band: tuple[float, float], chosen: Callable[..., Pulse]) -> None:
    """Static charge left behind would never decay. The pulse is odd about its middle: below 1e-6."""
    assert magnitude(chosen(np.array(band), CUTOFF), 0.0) < 1e-6


@pytest.mark.parametrize("band", BANDS)
def test_covers_the_band(band: tuple[float, float]) -> None:
    """At most 1.5 standard deviations from the carrier to the band's edges: exp(-1.5^2 / 2) = 0.32, -10 dB."""
    pulse = pulse_for(np.array(band), CUTOFF)
    assert pulse.centre == pytest.approx(sum(band) / 2)
    assert all(magnitude(pulse, edge) > 0.32 for edge in band)


@pytest.mark.parametrize("band", BANDS)
def test_the_short_one_covers_the_band(band: tuple[float, float]) -> None:
    """No frequency is more than 10 dB below the carrier, which is not below the band's middle."""
    pulse = short_pulse_for(np.array(band), CUTOFF)
    assert pulse.centre >= sum(band) / 2
    assert all(magnitude(pulse, edge) > 0.315 for edge in band)


def test_spares_the_slow_waves() -> None:
    """At cutoff, 3.7 standard deviations away: exp(-3.7^2 / 2) = 1.1e-3, -59 dB."""
    assert magnitude(pulse_for(np.array(BANDS[0]), CUTOFF), CUTOFF) == pytest.approx(1.1e-3, rel=0.1)


def test_the_short_one_spares_the_slow_waves() -> None:
    """The first zero is at cutoff: below it at most -63 dB, 2 % above it, where the group velocity is 0.2 c, -51 dB."""
    pulse = short_pulse_for(np.array(BANDS[0]), CUTOFF)
    assert pulse.centre - pulse.width == pytest.approx(CUTOFF)
    assert magnitude(pulse, BANDS[0][0]) == pytest.approx(10**-0.5, rel=1e-2)
    assert magnitude(pulse, CUTOFF) < 1e-6
    assert max(magnitude(pulse, part * CUTOFF) for part in np.linspace(0.5, 1.0, 101)) < 7.1e-4
    assert magnitude(pulse, 1.02 * CUTOFF) < 3e-3


def test_how_much_shorter() -> None:
    """Two fifths of the usual one."""
    short, usual = (chosen(np.array(BANDS[0]), CUTOFF).duration for chosen in (short_pulse_for, pulse_for))
    assert short == pytest.approx(0.4 * usual, rel=0.02)


@pytest.mark.parametrize("part", [0.2, 0.491, 0.8, 1.3, 2.0])
def test_spectrum_is_that_of_the_window(part: float) -> None:
    """Lewitt: i2(y)/y^2 with y^2 = beta^2 - (pi f T)^2, spherical Bessel functions, j2 for it beyond beta."""
    pulse = KaiserPulse(centre=60e9, width=4e9)
    argument = 81.0 - (np.pi * pulse.duration * part * pulse.width) ** 2
    y = np.sqrt(abs(argument))
    shape = (spherical_in if argument > 0 else spherical_jn)(2, y) / y**2
    expected = abs(shape / (spherical_in(2, 9.0) / 81.0))
    assert magnitude(pulse, pulse.centre + part * pulse.width) == pytest.approx(expected, rel=2e-3, abs=1e-7)


def test_spectrum_is_gaussian() -> None:
    """Half a width off the carrier exp(-1/8), one off exp(-1/2): the width is the spectrum's, not the power's."""
    pulse = GaussianPulse(centre=30e9, width=2e9)
    for widths in (-1.0, -0.5, 0.5, 1.0):
        expected = np.exp(-(widths**2) / 2)
        assert magnitude(pulse, pulse.centre + widths * pulse.width) == pytest.approx(expected, rel=1e-3)


def test_begins_and_ends_softly() -> None:
    """Five standard deviations from the middle: exp(-12.5) = 3.7e-6 of the peak, -109 dB. The short one: its slope."""
    for pulse, most in (
        (GaussianPulse(centre=30e9, width=1.5e9), 4e-6),
        (KaiserPulse(centre=30e9, width=6e9), 1e-6),
    ):
        samples = pulse.samples(STEP)
        assert np.abs(samples[[0, 1, -2, -1]]).max() < most
        assert np.abs(samples).max() == pytest.approx(1.0, abs=0.02)
        assert len(samples) == pytest.approx(pulse.duration / STEP, abs=1)


def test_narrow_at_most_a_tenth() -> None:
    """Far above cutoff the width stays a tenth of the carrier."""
    assert pulse_for(np.array([60e9]), CUTOFF).width == pytest.approx(6e9)


def test_no_wider_than_needed() -> None:
    """Far above cutoff the zero stays 0.37 of the carrier away, unless the band is wider."""
    far = short_pulse_for(np.array([60e9]), CUTOFF)
    assert (far.centre, far.width) == (60e9, pytest.approx(22.2e9))
    wide = short_pulse_for(np.array([40e9, 80e9]), CUTOFF)
    assert wide.width == pytest.approx(20e9 / 0.491)
