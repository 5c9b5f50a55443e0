"""Which designs are known already: 24 bytes each, however long the search."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence

import numpy as np

from antennaopt.evolution import individual_id

MOST_LOOSE = 65_536
"""Entries that are kept loose, before they are sorted into the table."""

Digest = bytes


def design_digest(values: Mapping[str, float]) -> Digest:
    """Return what two genomes share exactly when they stand for the same antenna: 16 bytes of a design's values.

    Args:
        values: Gene values, SI, by name, always in the order of the genes.
    """
    packed = struct.pack(f"<{len(values)}d", *(value + 0.0 for value in values.values()))  # -0.0 is 0.0
    return hashlib.blake2b(packed, digest_size=16).digest()


class KnownDesigns:
    """Who was the first with a design. A sorted table and a few loose entries that are sorted in now and then."""

    def __init__(self) -> None:
        self._loose: dict[Digest, tuple[int, int]] = {}
        self._table = np.empty(0, dtype=[("high", ">u8"), ("low", ">u8"), ("generation", "u4"), ("slot", "u4")])
        self._high = np.empty(0, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._loose) + len(self._table)

    def add(self, digest: Digest, individual: str) -> None:
        """Note who has a design, unless somebody had it before."""
        if digest in self._loose or self._in_table([digest])[0] is not None:
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

    def _in_table(self, digests: Sequence[Digest]) -> list[str | None]:
        found: list[str | None] = [None] * len(digests)
        if not len(self._table) or not digests:
            return found
        wanted = np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2)
        first = np.searchsorted(self._high, wanted[:, 0].astype(np.uint64))
        last = np.minimum(first, len(self._table) - 1)
        for place in np.flatnonzero(self._table["high"][last] == wanted[:, 0]):
            at = int(first[place])
            while at < len(self._table) and self._table["high"][at] == wanted[place, 0]:
                if self._table["low"][at] == wanted[place, 1]:
                    found[place] = individual_id(int(self._table["generation"][at]), int(self._table["slot"][at]))
                at += 1
        return found

    def _sort_in(self) -> None:
        more = np.empty(len(self._loose), dtype=self._table.dtype)
        halves = np.frombuffer(b"".join(self._loose), dtype=">u8").reshape(-1, 2)
        more["high"], more["low"] = halves[:, 0], halves[:, 1]
        born = np.array(list(self._loose.values()), dtype=np.uint32)
        more["generation"], more["slot"] = born[:, 0], born[:, 1]
        table = np.concatenate([self._table, more])
        self._table = table[np.argsort(table["high"].astype(np.uint64), kind="stable")]
        self._high = self._table["high"].astype(np.uint64)
        self._loose = {}
