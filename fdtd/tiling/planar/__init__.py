"""Plans of the planar schemes, in whole numbers. Rows are stored with `LEAD` zero columns before the first."""

LEAD = 4


def pitch(columns: int) -> int:
    """Stored numbers of a row: zeros before and after, a multiple of 16 bytes."""
    return -(-(LEAD + columns + 1) // 4) * 4
