"""Records continued as damped waves: rates, amplitudes and the rest of a transform of known sums."""

from __future__ import annotations

import numpy as np
import pytest

from fdtd.yee.ringing import continued, rest_of_transform, ringing_rates

INTERVAL = 20e-12
RATES = np.array([-2e8 + 2j * np.pi * 5.8e9, -6e8 + 2j * np.pi * 7.1e9])


def ringing(count: int, interval: float = INTERVAL) -> np.ndarray:
    times = np.arange(count) * interval
    return sum((np.exp(rate * times) * (1 + 0.5j)).real for rate in RATES)  # type: ignore[return-value]


def test_rates_of_two_resonances() -> None:
    noise = 1e-5 * np.random.default_rng(0).standard_normal(150)
    found = ringing_rates(ringing(150) + noise, INTERVAL)
    for rate in (*RATES, *RATES.conj()):
        assert np.abs(found - rate).min() < 1e-3 * abs(rate)
    assert (found.real < 0).all()


def test_rest_of_a_transform() -> None:
    """What 60 samples say of the next 4,000."""
    every, frequencies = ringing(4060), np.array([5.5e9, 5.8e9, 6.5e9])
    times = np.arange(4000) * INTERVAL
    expected = np.exp(-2j * np.pi * np.outer(frequencies, times)) @ every[60:] * INTERVAL
    rates = ringing_rates(every[:60], INTERVAL)
    found = rest_of_transform(rates, INTERVAL, 60, frequencies) @ every[:60]
    assert found == pytest.approx(expected, rel=1e-6)


def test_records_are_continued() -> None:
    every = ringing(3000)
    found = continued(every[:200], INTERVAL, ringing_rates(every[:200], INTERVAL), 100)
    assert 1000 < len(found) < 3000
    assert found == pytest.approx(every[: len(found)], abs=1e-6)


def test_nothing_that_grows_or_stays_is_continued() -> None:
    growing = np.exp(np.arange(200) * 0.01) * np.cos(np.arange(200))
    assert len(ringing_rates(growing, INTERVAL)) == 0
    assert len(ringing_rates(np.ones(200), INTERVAL)) == 0
    assert len(ringing_rates(np.zeros(200), INTERVAL)) == 0
    assert len(ringing_rates(np.ones(5), INTERVAL)) == 0
    short = ringing(40)
    assert continued(short, INTERVAL, RATES[:0], 20) is short


def test_what_has_fallen_by_120_db_is_not_continued() -> None:
    """An antenna stepped long after it has decayed: single precision leaves noise, of which a pencil made 22 waves."""
    noise = 1e-8 * np.random.default_rng(0).standard_normal(400)
    ended = np.concatenate([ringing(200), noise])
    assert len(ringing_rates(ended, INTERVAL)) > 0
    assert len(ringing_rates(ended, INTERVAL, largest=float(np.abs(ended).max()))) == 0
    assert len(ringing_rates(1e-5 * ringing(300), INTERVAL, largest=1.0)) > 0
