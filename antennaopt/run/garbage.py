"""Fewer passes of Python's garbage collector while a search runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = (100_000, 20, 20)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect a hundred times more rarely, and never look at what was there before, while the body runs.

    A generation makes hundreds of thousands of numbers, lists and dictionaries that no cycle holds; looking for cycles
    among them took a third of the driver's time in a run that solves nothing.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
