"""Pulses in time.

References:
    Nuttall, Some windows with very good sidelobe behavior, IEEE Trans. Acoust. Speech Signal Process. 29 (1981) 84.
    Lewitt, Multidimensional digital image representations using generalized Kaiser-Bessel window functions, J. Opt.
    Soc. Am. A 7 (1990) 1834: the window of order m and its spectrum.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import ive

_REACH = 5.0  # a Gaussian is cut at this many standard deviations: -109 dB
_DEVIATIONS = 3.7  # standard deviations from the carrier to cutoff: 59 dB below it
_BETA = 9.0
_ZERO = math.hypot(_BETA, 5.763459196894550)  # pi times duration times `width`; the second is the first zero of j2
_EDGE = 0.491  # of `width`: there the spectrum of a `KaiserPulse` is 10 dB below that at the carrier
_WIDEST = 0.37  # its `width` over the carrier


@dataclass(frozen=True, kw_only=True)
class Pulse(ABC):
    """A carrier sin(2 pi fc (t - t0)) in a window: odd about its centre, so without DC.

    Attributes:
        centre: Carrier fc, Hz.
        width: Of the spectrum, Hz; the classes say to where.
    """

    centre: float
    width: float

    @property
    @abstractmethod
    def duration(self) -> float:
        """From the first step to the last, s."""

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Standard deviation of the magnitude of a Gaussian spectrum as wide as this one, Hz."""

    @abstractmethod
    def window(self, t: np.ndarray) -> np.ndarray:
        """Values of the window at times from the pulse's centre, s; same shape."""

    def samples(self, time_step: float) -> np.ndarray:
        """Values at (n + 1/2) dt while the pulse lasts, shape (steps,)."""
        steps = int(np.ceil(self.duration / time_step))
        t = (np.arange(steps) + 0.5) * time_step - self.duration / 2
        return np.sin(2 * np.pi * self.centre * t) * self.window(t)


@dataclass(frozen=True, kw_only=True)
class GaussianPulse(Pulse):
    """Window exp(-t^2 / (2 tau^2)); `width` is the standard deviation of the spectrum's magnitude, 1 / (2 pi tau)."""

    @property
    def duration(self) -> float:
        """See `Pulse`."""
        return 2 * _REACH / (2 * np.pi * self.width)

    @property
    def deviation(self) -> float:
        """See `Pulse`."""
        return self.width

    def window(self, t: np.ndarray) -> np.ndarray:
        """See `Pulse`."""
        return np.exp(-((2 * np.pi * self.width * t) ** 2) / 2)


@dataclass(frozen=True, kw_only=True)
class KaiserPulse(Pulse):
    """Window u^2 I2(beta u) / I2(beta), u^2 = 1 - (2 t / duration)^2, beta = 9; `width`: to the spectrum's first zero.

    The window of Kaiser and Bessel, of order 2: its slope too is zero at both ends. Beyond the first zero its spectrum
    is at least 63 dB below that at the carrier, and falls with the third power of the distance.
    """

    @property
    def duration(self) -> float:
        """See `Pulse`."""
        return _ZERO / (np.pi * self.width)

    @property
    def deviation(self) -> float:
        """See `Pulse`."""
        return self.width / _DEVIATIONS

    def window(self, t: np.ndarray) -> np.ndarray:
        """See `Pulse`."""
        u = np.sqrt(np.clip(1 - (2 * t / self.duration) ** 2, 0.0, 1.0))
        return u**2 * ive(2, _BETA * u) * np.exp(_BETA * (u - 1)) / ive(2, _BETA)


def pulse_for(frequencies: np.ndarray, cutoff: float) -> GaussianPulse:
    """Return a pulse that covers the frequencies and leaves the guide's slow waves near cutoff alone.

    What the pulse has near cutoff crawls along the feed and hardly radiates: it decides how long a run takes (measured
    on a lens at 28.5-31.5 GHz: 8,000 steps with cutoff at 2.5 standard deviations, 2,400 at 3.7, the same results). So
    the width is a 3.7th of the distance to cutoff, but at least two thirds of half the band (-10 dB at its edges) and
    at most a tenth of the centre.

    Args:
        frequencies: Hz.
        cutoff: Of the feed's mode, Hz.
    """
    low, high = float(np.min(frequencies)), float(np.max(frequencies))
    centre = (low + high) / 2
    needed = (high - low) / 3
    return GaussianPulse(centre=centre, width=max(needed, min((centre - cutoff) / _DEVIATIONS, 0.1 * centre)))


def short_pulse_for(frequencies: np.ndarray, cutoff: float) -> KaiserPulse:
    """Return the shortest pulse that covers the frequencies and leaves the guide's slow waves near cutoff alone.

    Two fifths as long as that of `pulse_for`. The first zero of the spectrum lies at cutoff, at most 0.37 of the
    carrier away. The farther away the carrier, the shorter the pulse: it is above the middle of the band, so far that
    the lowest frequency is 10 dB below it. No frequency has less; for a wide band the zero moves below cutoff.

    Args:
        frequencies: Hz.
        cutoff: Of the feed's mode, Hz.
    """
    low, high = float(np.min(frequencies)), float(np.max(frequencies))
    middle = (low + high) / 2
    centre = max(middle, min((low - _EDGE * cutoff) / (1 - _EDGE), cutoff / (1 - _WIDEST)))
    return KaiserPulse(centre=centre, width=max((high - low) / 2 / _EDGE, min(centre - cutoff, _WIDEST * centre)))
