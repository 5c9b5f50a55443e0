"""Means over phi of an antenna in space (`fdtd.farfield.rings`) as an outcome has them: one text a frequency.

Text goes as it is through messages, the evaluation cache and checkpoints, and has the same bits everywhere.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from fdtd.farfield.rings import Rings

_ROWS = 5  # real and imaginary part of `co`, `cross`, `power`, `order_one`; in circular polarisation `ratio` too
_CIRCULAR = "circular "
"""Beginning of a text that has `ratio`."""


def texts_of(rings: Rings) -> list[str]:
    """Return the numbers of one antenna, (F, T), as a text a frequency: float32 in base64."""
    rows = [np.real(rings.co), np.imag(rings.co), rings.cross, rings.power, rings.order_one]
    kind = "" if rings.ratio is None else _CIRCULAR
    rows += [] if rings.ratio is None else [rings.ratio]
    return [kind + base64.b64encode(one.astype("<f4").tobytes()).decode() for one in np.stack(rows, axis=1)]


def rings_from(each: Sequence[Sequence[str]]) -> Rings:
    """Return the numbers of a batch from the texts of its antennas, (B, F, T).

    Raises:
        ValueError: They are none, or differ in length.
    """
    rows = np.stack([np.stack([_rows(text) for text in one]) for one in each])
    real, imaginary, cross, power, order_one, *more = map(np.ascontiguousarray, np.moveaxis(rows, 2, 0))
    ratio = more[0] if more else None
    return Rings(co=real + 1j * imaginary, cross=cross, power=power, order_one=order_one, ratio=ratio)


def fault_of_rings(texts: Any, frequencies: int) -> str | None:
    """Return what is wrong with the texts of an outcome of a file; None with sound ones.

    Args:
        texts: What the file held.
        frequencies: Number of the outcome's frequencies.
    """
    if not isinstance(texts, list) or len(texts) != frequencies:
        return "its rings have not one text a frequency"
    try:
        sizes = {_rows(one).shape for one in texts}
    except (AttributeError, TypeError, ValueError):
        return "its rings are no numbers"
    return "its rings differ in length" if len(sizes) > 1 else None


def _rows(text: str) -> np.ndarray:
    coded = text.removeprefix(_CIRCULAR)
    count = _ROWS + (coded != text)
    found = np.frombuffer(base64.b64decode(coded, validate=True), "<f4").astype(float)
    if found.size < 3 * count or found.size % count:
        raise ValueError(f"{found.size} numbers are no rings")
    return found.reshape(count, -1)
