"""Which designs are known already: 24 bytes each, however long the search."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from antennaopt.search import individual_id

MOST_LOOSE = 8192
"""Entries that are kept loose, some 250 bytes each, before they are sorted into the table."""

REST = np.dtype([("low", np.uint64), ("generation", np.uint32), ("slot", np.uint32)])

Digest = bytes


def design_digest(values: Mapping[str, float]) -> Digest:
    """Return what two genomes share exactly when they stand for the same antenna: 16 bytes of a design's values.

    Args:
        values: Gene values, SI, by name, always in the order of the genes.
    """
    packed = np.fromiter(values.values(), "<f8", len(values)) + 0.0  # -0.0 is 0.0
    return hashlib.blake2b(packed.tobytes(), digest_size=16).digest()


class KnownDesigns:
    """Who was the first with a design. A sorted table and a few loose entries that are sorted in now and then."""

    def __init__(self) -> None:
        self._loose: dict[Digest, tuple[int, int]] = {}
        self._high = np.empty(0, dtype=np.uint64)  # of the digests, in order
        self._rest = np.empty(0, dtype=REST)

    def __len__(self) -> int:
        return len(self._loose) + len(self._high)

    def add(self, digest: Digest, individual: str) -> None:
        """Note who has a design, unless somebody had it before."""
        if digest in self._loose or self._is_in_table(digest):
            return
        generation, slot = individual.removeprefix("g").split("-s")
        self._loose[digest] = int(generation), int(slot)
        if len(self._loose) >= MOST_LOOSE:
            self._sort_in()

    def find(self, digests: Sequence[Digest]) -> list[str | None]:
        """Return who was the first with each of some designs, or None."""
        found = self._in_table(digests)
        for place, digest in enumerate(digests):
            born = self._loose.get(digest)
            if born is not None:
                found[place] = individual_id(*born)
        return found

    def _is_in_table(self, digest: Digest) -> bool:
        high = np.uint64(int.from_bytes(digest[:8], "big"))
        at = self._high.searchsorted(high)
        if at == len(self._high) or self._high[at] != high:  # nearly always
            return False
        return self._in_table([digest])[0] is not None

    def _in_table(self, digests: Sequence[Digest]) -> list[str | None]:
        found: list[str | None] = [None] * len(digests)
        if not len(self._high) or not digests:
            return found
        high, low = _halves(digests)
        first = np.searchsorted(self._high, high)
        last = np.minimum(first, len(self._high) - 1)
        for place in np.flatnonzero(self._high[last] == high):
            at = int(first[place])
            while at < len(self._high) and self._high[at] == high[place]:
                if self._rest["low"][at] == low[place]:
                    found[place] = individual_id(int(self._rest["generation"][at]), int(self._rest["slot"][at]))
                at += 1
        return found

    def _sort_in(self) -> None:
        high, low = _halves(list(self._loose))
        order = np.argsort(high, kind="stable")
        rest = np.empty(len(high), dtype=REST)
        rest["low"] = low
        rest["generation"], rest["slot"] = np.array(list(self._loose.values()), dtype=np.uint32).T
        at = np.searchsorted(self._high, high[order])
        self._high, self._rest = np.insert(self._high, at, high[order]), np.insert(self._rest, at, rest[order])
        self._loose = {}


def _halves(digests: Sequence[Digest]) -> tuple[np.ndarray, np.ndarray]:
    """Return both halves of digests as numbers."""
    pairs = np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return pairs[:, 0].copy(), pairs[:, 1].copy()
