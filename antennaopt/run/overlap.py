"""Antennas of the next generation that are solved before the current one is complete."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice

from antennaopt.farm.batches import Job
from antennaopt.run.interfaces import Evaluation
from antennaopt.run.memory import Digest, KnownDesigns, design_digests
from antennaopt.search import Search
from antennaopt.search.candidate import decode_all
from antennaopt.solve.outcome import Outcome


class Overlap:
    """Antennas sent ahead, by design, with their outcomes.

    Of several individuals with one design the first by slot is solved. So an outcome may be another individual's than
    the one whose antenna was sent; the next generation claims outcomes by design.
    """

    def __init__(
        self, search: Search, designs: KnownDesigns, design: Callable[[Mapping[str, float]], dict[str, float]]
    ) -> None:
        """Begin with none.

        Args:
            search: Whose generations overlap.
            designs: Those of complete individuals, which are not solved again.
            design: Turns gene values into a full design, SI.
        """
        self._search, self._designs, self._design = search, designs, design
        self._shown = 0  # evaluations of the generation under way that the search was shown
        self._keys: dict[Digest, str] = {}  # of antennas that are not claimed
        self._names: dict[str, str] = {}  # of those that are, and that are in flight
        self._landed: dict[str, Outcome] = {}
        self._claimed: list[tuple[str, Outcome]] = []
        self._in_flight: set[str] = set()

    @property
    def is_under_way(self) -> bool:
        """Whether the farm has any of them."""
        return bool(self._in_flight)

    def due(self, block: Mapping[str, Evaluation], under_way: Collection[Digest]) -> list[Job]:
        """Return antennas to be sent ahead now.

        Args:
            block: Evaluations of the generation under way, in the order in which they were made.
            under_way: Designs that are being solved for it.
        """
        new, self._shown = list(islice(block.values(), self._shown, None)), len(block)
        found = self._search.ask_ahead([one.result for one in new]) if new else []
        if not found:
            return []
        genes, jobs = self._search.genes, []
        decoded = decode_all(genes, [one.genome for one in found])
        digests = design_digests(decoded)
        for one, row, digest, original in zip(
            found, decoded.tolist(), digests, self._designs.find(digests), strict=True
        ):
            if original is None and digest not in under_way and digest not in self._keys:
                values = {gene.name: value for gene, value in zip(genes, row, strict=True)}
                self._keys[digest] = one.individual
                jobs.append((one.individual, self._design(values)))
        self._in_flight |= {key for key, _ in jobs}
        return jobs

    def begin(self) -> None:
        """Begin the next generation."""
        self._shown = 0

    def claim(self, name: str, digest: Digest) -> bool:
        """Give an individual the antenna of its design that was sent ahead; return whether there is one."""
        key = self._keys.pop(digest, None)
        if key in self._landed:
            self._claimed.append((name, self._landed.pop(key)))
        elif key is not None:
            self._names[key] = name
        return key is not None

    def claimed(self) -> Sequence[tuple[str, Outcome]]:
        """Return the individuals whose antennas were solved before they were claimed, once, with the outcomes."""
        found, self._claimed = self._claimed, []
        return found

    def take(self, key: str, outcome: Outcome) -> str | None:
        """Take an outcome by its key at the farm.

        Returns:
            The individual that it is for: itself, unless another one with the same design claimed it; None of an
            antenna that was sent ahead and is not claimed yet.
        """
        if not self._in_flight and not self._names:
            return key
        was_ahead = key in self._in_flight
        self._in_flight.discard(key)
        if was_ahead and key not in self._names:
            self._landed[key] = outcome
            return None
        return self._names.pop(key, key)
