"""Spectra of a device's records, power through a contour: those of the host, the same bits alone and in a batch."""

from __future__ import annotations

import numpy as np
import pytest
from host_device import HostLauncher

from fdtd.axisymmetric.monitors import HuygensContour
from fdtd.backends.cuda.spectra import flux, spectra
from fdtd.farfield.axisymmetric import contour_power, flux_pairs

SAMPLES, COUNTS = 37, np.array([37, 0, 21, 1, 8], dtype=np.int32)


def _waves(frequencies: int) -> np.ndarray:
    phase = np.random.default_rng(1).uniform(0.0, 7.0, (SAMPLES, frequencies))
    return np.stack([np.cos(phase), -np.sin(phase)], axis=-1)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("numbers", "frequencies"), [(70, 3), (2, 1), (32, 9)])
@pytest.mark.parametrize("faded", [False, True])
def test_spectra_are_sums_over_what_was_recorded(precision, numbers, frequencies, faded):
    rng, waves = np.random.default_rng(2), _waves(frequencies)
    samples = rng.normal(size=(len(COUNTS), SAMPLES, numbers)).astype(precision)
    weights = rng.uniform(size=SAMPLES) if faded else None
    counted = np.arange(SAMPLES)[:, None] < COUNTS[:, None, None]
    terms = np.where(counted, samples.astype(float), 0.0) * (1.0 if weights is None else weights[:, None])
    expected = np.einsum("asn,sf->afn", terms, waves[..., 0] + 1j * waves[..., 1])
    found = spectra(samples, COUNTS, waves, weights, HostLauncher())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * SAMPLES)
    alone = spectra(samples[2:3].copy(), COUNTS[2:3].copy(), waves, weights, HostLauncher())
    np.testing.assert_array_equal(alone[0], found[2])


@pytest.mark.parametrize("column", [4, 63])
def test_the_power_through_a_contour_is_the_hosts(column):
    contour, rng = HuygensContour(column=column, bottom=3, top=9), np.random.default_rng(3)
    spectrum = rng.normal(size=(2, 3, contour.size)) + 1j * rng.normal(size=(2, 3, contour.size))
    found = flux(spectrum, flux_pairs(contour), HostLauncher())
    np.testing.assert_allclose(found, contour_power(contour, spectrum), rtol=0, atol=1e-13 * contour.size)
    np.testing.assert_array_equal(flux(spectrum[1:].copy(), flux_pairs(contour), HostLauncher())[0], found[1])
