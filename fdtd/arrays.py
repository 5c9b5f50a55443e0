"""Library of an array: the same code serves NumPy's and a device's arrays.

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
