"""Array library of an array, so that the same code serves NumPy and device arrays.

Functions of NumPy applied to device arrays are carried out there (NEP 13 and 18); only new arrays must be made with the
right library.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def library(array: Any) -> Any:
    """The library of an array: numpy, or the one that made it."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def on_host(array: Any) -> np.ndarray:
    """The array itself, or a copy of a device's."""
    fetch = getattr(array, "get", None)
    return np.asarray(array) if fetch is None else fetch()


def kept(xp: Any, array: np.ndarray) -> Any:
    """Return a copy in an array library that any stream of a device may read: the host waits until it is there."""
    copy = xp.asarray(array)
    if xp is not np:
        xp.cuda.get_current_stream().synchronize()
    return copy


def together_on_host(*arrays: Any) -> tuple[np.ndarray, ...]:
    """Return arrays of one library on the host; a device's in one copy, for the host waits for each."""
    xp = library(arrays[0])
    if xp is np:
        return arrays
    flat = [xp.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in arrays]
    parts = np.split(on_host(xp.concatenate(flat)), np.cumsum([one.size for one in flat])[:-1])
    return tuple(part.copy().view(one.dtype).reshape(one.shape) for part, one in zip(parts, arrays, strict=True))


def product(x: np.ndarray, y: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return x y of complex arrays from products of real numbers.

    Those of complex arrays round differently for other shapes, and an antenna must have the same bits in any batch.

    Args:
        x: Complex.
        y: Complex, of a shape that fits.
        out: Complex and contiguous, of the result's shape, which is written there; a new array if None.
    """
    found = np.empty(np.broadcast_shapes(x.shape, y.shape), dtype=complex) if out is None else out
    parts = found.view(float).reshape(*found.shape, 2)
    pairs = np.ascontiguousarray(x).view(float).reshape(*x.shape, 2)
    turned = pairs * np.imag(y)[..., None]  # b d and a d; both parts at a time, as they lie in memory
    np.multiply(pairs, np.real(y)[..., None], out=parts)
    parts[..., 0] -= turned[..., 1]
    parts[..., 1] += turned[..., 0]
    return found


def quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return x / y as `product` does; of y neither so large nor so small that |y|^2 is infinite or 0."""
    return product(x, y.conj()) / modulus_squared(y)


def modulus_squared(x: np.ndarray) -> np.ndarray:
    """Return |x|^2, with the same bits in an array of any shape."""
    return np.real(x) ** 2 + np.imag(x) ** 2
