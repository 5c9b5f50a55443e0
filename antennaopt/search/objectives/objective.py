"""What every kind of objective offers; a mask or another kind joins by offering the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from antennaopt.search.objectives.standing import Standing

WORST_SHORTFALL_DB = 200.0
"""No shortfall counts for more: float32 fields span less, and it keeps every `ok` fitness below every penalty."""

Outcome = Mapping[str, Any]


class Objective(Protocol):
    """One thing wanted of an antenna.

    Attributes:
        name: Short name for columns and reports, `directivity_dbi`.
        weight: Factor in the weighted sum, positive.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def weight(self) -> float: ...  # noqa: D102

    def shortfall(self, outcome: Outcome) -> float:
        """Return by how many dB an `ok` outcome misses the goal: 0 when met, at most `WORST_SHORTFALL_DB`."""
        ...

    def standing(self, outcome: Outcome) -> Standing:
        """Return how an `ok` outcome stands to the goal at the frequency where it is worst."""
        ...


def bounded(shortfall_db: float) -> float:
    """Clamp a shortfall to 0 ... `WORST_SHORTFALL_DB`; what is not a number is the worst."""
    if math.isnan(shortfall_db):
        return WORST_SHORTFALL_DB
    return min(max(shortfall_db, 0.0), WORST_SHORTFALL_DB)
