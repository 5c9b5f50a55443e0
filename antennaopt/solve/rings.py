"""Means over phi of an antenna in space (`fdtd.farfield.rings`) as an outcome has them: one text a frequency.

Text goes as it is through messages, the evaluation cache and checkpoints, and has the same bits everywhere.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from fdtd.farfield.rings import Rings

_ROWS = 5  # real and imaginary part of `co`, `cross`, `power`, `order_one`
_MORE = {"circular": ("ratio",), "levels": ("least", "most")}
"""Words at the beginning of a text, in this order, and the rows that each adds."""


def texts_of(rings: Rings, *, levels: bool = False) -> list[str]:
    """Return the numbers of one antenna, (F, T), as a text a frequency: float32 in base64.

    Args:
        rings: Of the antenna.
        levels: Whether to keep the smallest and largest co-polar powers.
    """
    rows = [np.real(rings.co), np.imag(rings.co), rings.cross, rings.power, rings.order_one]
    words = [word for word, wanted in (("circular", rings.ratio is not None), ("levels", levels)) if wanted]
    rows += [getattr(rings, name) for word in words for name in _MORE[word]]
    coded = (base64.b64encode(one.astype("<f4").tobytes()).decode() for one in np.stack(rows, axis=1))
    return [" ".join([*words, one]) for one in coded]


def rings_from(each: Sequence[Sequence[str]]) -> Rings:
    """Return the numbers of a batch from the texts of its antennas, (B, F, T).

    Raises:
        ValueError: They are none, or differ in length.
    """
    rows = np.stack([np.stack([_rows(text) for text in one]) for one in each])
    real, imaginary, cross, power, order_one, *more = map(np.ascontiguousarray, np.moveaxis(rows, 2, 0))
    names = _names(each[0][0].split(" ")[:-1])
    return Rings(
        co=real + 1j * imaginary, cross=cross, power=power, order_one=order_one, **dict(zip(names, more, strict=True))
    )


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


def _names(words: Sequence[str]) -> list[str]:
    """Return the rows that words add.

    Raises:
        ValueError: A word is unknown.
    """
    if odd := [word for word in words if word not in _MORE]:
        raise ValueError(f"{odd[0]!r:.40} is no part of rings")
    return [name for word in words for name in _MORE[word]]


def _rows(text: str) -> np.ndarray:
    *words, coded = text.split(" ")
    count = _ROWS + len(_names(words))
    found = np.frombuffer(base64.b64decode(coded, validate=True), "<f4").astype(float)
    if found.size < 3 * count or found.size % count:
        raise ValueError(f"{found.size} numbers are no rings")
    return found.reshape(count, -1)
