"""Plans of the planar schemes, in whole numbers; and how their rows are stored."""

LEAD = 32
"""Zero columns before the first in memory, so that a row starts on a cache line in either precision."""

ROW_LEAD = 4
"""The same on chip, where 16 bytes are enough."""


def pitch(columns: int) -> int:
    """Stored numbers of a row in memory: zeros before and after, whole cache lines."""
    return -(-(LEAD + columns + 1) // LEAD) * LEAD


def row_numbers(columns: int) -> int:
    """Numbers of a row on chip: zeros before and after, whole vectors of 16 bytes."""
    return -(-(ROW_LEAD + columns + 1) // 4) * 4
