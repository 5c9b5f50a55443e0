"""A batch of outcomes as it is sent: its numbers as arrays, for what is done with all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class Sent:
    """Numbers of a batch as they are sent in a message; its antennas have the same angles and frequencies.

    Attributes:
        frequency_hz: Hz.
        theta_deg: Degrees, float32, (angles,).
        planes: E plane and H plane, complex64, (antennas, frequencies, angles).
        metrics: By key those that are defined for all, float64, (antennas, frequencies).
        absent: Keys of metrics that are defined for none, at no frequency.
        s11: Real and imaginary part, float64, (antennas, frequencies, 2); None where one has none.
        computed: Results for the whole batch by the name of what they are, kept by those who computed them.
    """

    frequency_hz: Sequence[float]
    theta_deg: np.ndarray
    planes: tuple[np.ndarray, np.ndarray]
    metrics: Mapping[str, np.ndarray]
    absent: frozenset[str] = frozenset()
    s11: np.ndarray | None = None
    computed: dict[str, Any] = field(default_factory=dict)
