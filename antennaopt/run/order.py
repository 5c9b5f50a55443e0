"""The order of completion, for searches whose offspring depend on it: recorded, replayed by a resume, or by arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from antennaopt.farm.interface import Solving
from antennaopt.run.interfaces import Evaluation, Store
from antennaopt.search import Candidate, Search


class Order:
    """Decides which individual is complete next."""

    def __init__(self, search: Search, store: Store) -> None:
        self._search, self._store = search, store
        self._recorded: deque[tuple[str, int]] = deque()

    def begin(self) -> None:
        """Read what an earlier session recorded."""
        self._recorded = deque(self._store.order(self._search.completed))

    @property
    def is_followed(self) -> bool:
        """Whether the record decides which individual is next."""
        return bool(self._recorded)

    def next(self, landed: Collection[str], breed: Callable[[Sequence[Candidate]], Any]) -> str | None:
        """Return what is next to be complete: by the record while there is one, else what landed first.

        Args:
            landed: Individuals whose outcome is known, the first that landed first; it may grow by what is bred.
            breed: Sends off offspring that were bred before, by the record.
        """
        if self._recorded:
            name, births = self._recorded[0]
            missing = births - self._search.births
            if missing > 0:
                breed(self._search.ask(missing))
            if births == self._search.births and name in self._search.under_way:
                return name if name in landed else None
            self.leave()
        return next(iter(landed), None)

    def leave(self) -> None:
        """Follow the record no further: it is of another search, or the farm did not solve all of it."""
        if self._recorded:
            self._store.log("order_left", completed=self._search.completed, left=len(self._recorded))
            self._recorded.clear()

    def complete(self, one: Evaluation) -> Evaluation:
        """Give an evaluation the next place in the order of completion."""
        if self._recorded:
            self._recorded.popleft()
        else:
            self._store.completed(self._search.completed, one.candidate.individual, self._search.births)
        (scored,) = self._search.tell([one.result])
        return replace(one, candidate=scored.candidate)


def sizes(search: Search, farm: Solving, batch_size: int | str) -> tuple[int, int]:
    """Return how many children are bred at a time, and how many antennas keep the farm busy.

    Of a farm without devices a place is an antenna's. Devices take whole batches.

    Args:
        search: By order.
        farm: That solves.
        batch_size: Antennas of a batch; "auto" leaves it to the farm.
    """
    population, places = search.settings.population, max(farm.places, 1)
    if batch_size != "auto":
        batch = max(int(batch_size), 1)
    elif farm.device is None:
        batch = 1
    else:
        batch = len(farm.cut(range(population))[0])  # type: ignore[arg-type]
        batch = min(batch, max(population // (2 * places), 1))
    return batch, batch * places
