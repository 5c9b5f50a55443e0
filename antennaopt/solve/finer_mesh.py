"""The second mesh that an extrapolation needs."""

from __future__ import annotations

FINER = 2 / 3
"""Its cell over that of the first: 0.3 mm and 0.2 mm."""


def finer_cell(cell: float, feed_radius: float, ratio: float = FINER) -> float:
    """The second mesh's cell, m: `ratio` of the first one's, nearly, with the feed's wall on both lattices or on none.

    Args:
        cell: Of the first mesh, m.
        feed_radius: Inner radius of the feed, m.
        ratio: Finer cell over cell, below 1.
    """
    across = feed_radius / cell
    if abs(across - round(across)) > 1e-6:
        return ratio * cell
    return float(f"{feed_radius / max(round(across / ratio), round(across) + 1):.12g}")
