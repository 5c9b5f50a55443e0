"""Entries of the evaluation cache: keys of designs, and the partial digests that batches carry."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

MOST_SENT = 32_768
"""Digests that travel with every batch, eight bytes each, at most; half of them are those used last before."""

Design = Mapping[str, float]
"""Every parameter, SI, by dotted name."""


class LookUp:
    """Keys of designs in each of the workers' contexts."""

    def __init__(self, family: str, contexts: Sequence[str]) -> None:
        self.contexts = contexts
        self._family = family

    def all_keys(self, designs: Sequence[Design]) -> list[list[bytes]]:
        """Return the keys of designs, one a context."""
        found: list[list[bytes]] = [[] for _ in designs]
        by_names: dict[tuple[str, ...], list[int]] = {}
        for place, design in enumerate(designs):
            by_names.setdefault(tuple(design), []).append(place)
        for names, places in by_names.items():
            numbers = chain.from_iterable(designs[place].values() for place in places)
            values = np.fromiter(numbers, "<f8", len(names) * len(places)).tobytes()
            size = 8 * len(names)
            for context in self.contexts:
                begun = _begun("\n".join((context, self._family, *names)))
                for at, place in enumerate(places):
                    hashed = begun.copy()
                    hashed.update(values[at * size : (at + 1) * size])
                    found[place].append(hashed.digest()[:16])
        return found

    def key_of(self, design: Design, keys: Sequence[bytes], context: str) -> bytes:
        """Return the key in a context, also in that of a worker that came later."""
        if context in self.contexts:
            return keys[self.contexts.index(context)]
        ((key,),) = LookUp(self._family, [context]).all_keys([design])
        return key


@lru_cache(maxsize=64)
def _begun(about: str) -> hashlib._Hash:
    """Return SHA-256 of what all designs of a study share, to be copied."""
    return hashlib.sha256(about.encode())


class Beginnings:
    """First eight bytes of digests, sorted, as batches take them along; new ones are sorted in when they are sent."""

    def __init__(self, known: bytes = b"") -> None:
        self._known, self._new = known, list[bytes]()

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another."""
        return len(self._known) // 8 + len(self._new) >= MOST_SENT

    def add(self, digest: bytes) -> None:
        """Add one; the oldest are not known here, so a full table takes no more."""
        self.add_all([digest])

    def add_all(self, digests: Sequence[bytes]) -> None:
        """Add several, as far as there is room."""
        room = MOST_SENT - len(self._known) // 8 - len(self._new)
        self._new += [one[:8] for one in digests[: max(room, 0)]]

    def forget(self, digest: bytes) -> None:
        """Take one out."""
        known = np.frombuffer(self.sent(), dtype="<u8")
        self._known = known[known != np.frombuffer(digest[:8], dtype="<u8")].tobytes()

    def sent(self) -> bytes:
        """Return all."""
        if self._new:
            numbers, new = (np.frombuffer(one, dtype="<u8") for one in (self._known, b"".join(self._new)))
            new = np.sort(new)
            self._known = np.insert(numbers, np.searchsorted(numbers, new), new).tobytes()
            self._new = []
        return self._known
