"""A batch of outcomes as sent: its numbers as arrays, for operations on all outcomes at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class Sent:
    """Numbers of a batch as they are sent in a message; its antennas have the same angles and frequencies.

    Attributes:
        frequency_hz: Hz.
        theta_deg: Degrees, float32, (angles,).
        planes: E plane and H plane, complex64, (antennas, frequencies, angles); without cuts (antennas, 0, 0).
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

    def without_cuts(self) -> Sent:
        """Return the batch without its cuts, which take most of its memory."""
        none = np.empty((len(self.planes[0]), 0, 0), np.complex64)
        return replace(self, planes=(none, none), computed={})


class NumbersOfOne(Mapping[str, Sequence[Any]]):
    """Metrics of one antenna of a batch, by key: lists that are made when they are asked for.

    A search looks at whole batches. Fifteen lists and their numbers for each antenna would cost more than all else that
    an outcome is made of.

    Attributes:
        columns: Of the batch.
        others: What is no row of these.
    """

    __slots__ = ("_place", "columns", "others")

    def __init__(self, columns: Mapping[str, np.ndarray], place: int, others: Mapping[str, Sequence[Any]]) -> None:
        """Take a row of each column.

        Args:
            columns: Of the batch, float64, (antennas, frequencies).
            place: Of the antenna.
            others: What is no row of these.
        """
        self.columns, self._place, self.others = columns, place, others

    def __getitem__(self, key: str) -> Sequence[Any]:
        column = self.columns.get(key)
        return self.others[key] if column is None else column[self._place].tolist()

    def __iter__(self) -> Iterator[str]:
        yield from self.columns
        yield from self.others

    def __len__(self) -> int:
        return len(self.columns) + len(self.others)

    def __repr__(self) -> str:
        return repr(dict(self))
