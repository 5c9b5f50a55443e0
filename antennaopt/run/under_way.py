"""Individuals that were bred and are not complete: their designs, copies of the same design, and known outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from antennaopt.farm.batches import Job
from antennaopt.run.interfaces import Evaluation, Interfaces
from antennaopt.run.memory import Memory, design_digests
from antennaopt.run.overlap import Overlap
from antennaopt.search import Candidate, Search
from antennaopt.search.candidate import decode_all
from antennaopt.solve.outcome import Outcome

Copies = list[tuple[str, str]]
"""Individuals with an earlier one of the same design each."""


class Landed(NamedTuple):
    """An individual whose outcome is known.

    Attributes:
        outcome: Of its design.
        original: The earlier individual of the same design; None for one that was solved.
        values: Of its genes, SI, by name.
        digest: Of its design.
        followers: Individuals of the same design that wait for it.
    """

    outcome: Outcome
    original: str | None
    values: dict[str, float]
    digest: bytes
    followers: list[Candidate]


class Together(NamedTuple):
    """Solved individuals whose outcomes are of one reply.

    Attributes:
        values: Of their genes, SI, by name.
        digests: Of their designs.
        followers: Individuals of the same design that wait, by the one that was solved.
    """

    values: list[dict[str, float]]
    digests: list[bytes]
    followers: dict[str, list[Candidate]]


class UnderWay:
    """Individuals between their birth and their completion.

    Attributes:
        sent: Digests of those whose antenna has to be solved.
        first: The individual that is solved, by the digest of its design.
        landed: Outcome and original of those that can be complete.
        partial: Outcomes of a generation under way that a checkpoint had.
    """

    def __init__(self, search: Search, memory: Memory, interfaces: Interfaces, overlap: Overlap) -> None:
        self.sent: dict[str, bytes] = {}
        self.first: dict[bytes, str] = {}
        self.landed: dict[str, tuple[Outcome, str | None]] = {}
        self.partial: dict[str, Outcome] = {}
        self._level = 0  # of `partial`
        self._search, self._memory, self._with, self._overlap = search, memory, interfaces, overlap
        self._values: dict[str, dict[str, float]] = {}
        self._digests: dict[str, bytes] = {}
        self._followers: dict[str, list[Candidate]] = {}

    def restore(self, outcomes: Mapping[str, Outcome]) -> None:
        """Take outcomes of the generation under way from a checkpoint."""
        self.partial, self._level = dict(outcomes), self._search.level_of(self._search.generation)

    def begin_generation(self) -> None:
        """Know no design of a generation yet; outcomes of another level are of no use to it."""
        self.first = {}
        if self._search.level_of(self._search.generation) != self._level:
            self.partial = {}

    def forget_others(self) -> None:
        """Drop outcomes of individuals that are not under way: with a smaller budget there are fewer."""
        self.partial = {one: outcome for one, outcome in self.partial.items() if one in self._search.under_way}

    def values_of(self, name: str) -> dict[str, float]:
        """Return gene values of an individual, SI."""
        return self._values[name]

    def awaits(self, name: str) -> bool:
        """Return whether the outcome of an individual is to come."""
        return name in self.sent and name not in self.landed

    def jobs(self, candidates: Sequence[Candidate], copies: Copies) -> list[Job]:
        """Return those whose antenna has to be solved; add to `copies` whose original is of an earlier generation."""
        jobs: list[Job] = []
        decoded = decode_all(genes := self._search.genes, [one.genome for one in candidates])
        digests = design_digests(decoded, self._search.level_of(candidates[0].generation) if candidates else 0)
        names = [gene.name for gene in genes]
        born = [one.individual for one in candidates]
        values = [dict(zip(names, row, strict=True)) for row in decoded.tolist()]
        self._values.update(zip(born, values, strict=True))
        self._digests.update(zip(born, digests, strict=True))
        originals, seen, partial, sent = self._memory.designs.find(digests), self.first, self.partial, self.sent
        claim, design = self._overlap.claim, self._with.design
        for place, (name, digest, original) in enumerate(zip(born, digests, originals, strict=True)):
            if original is not None:
                copies.append((name, original))
            elif digest in seen:
                self._followers.setdefault(seen[digest], []).append(candidates[place])
            else:
                seen[digest] = name
                if name in partial:
                    self.landed[name] = partial[name], None
                else:
                    sent[name] = digest
                    if not claim(name, digest):
                        jobs.append((name, design(values[place])))
        return jobs

    def land(self, copies: Copies, block: Mapping[str, Evaluation]) -> None:
        """Give copies the outcomes of their originals, of the block under way or earlier."""
        earlier = self._memory.recall({one for _, one in copies if one not in block})
        for name, original in copies:
            here = block.get(original)
            self.landed[name] = (earlier[original][1] if here is None else here.outcome), original

    def land_followers(self, followers: Sequence[Candidate], outcome: Outcome, original: str) -> None:
        """Give individuals of the same design the outcome of the one that was solved."""
        for each in followers:
            self.landed[each.individual] = outcome, original

    def take_together(self, names: Sequence[str]) -> Together | None:
        """Return and remove the individuals of one reply; None if one was not awaited."""
        sent = self.sent
        if self.landed or not all(name in sent for name in names):
            return None
        first, values, digests = self.first, self._values, self._digests
        for name in names:
            first.pop(sent.pop(name), None)
        followers = {name: self._followers.pop(name) for name in names if name in self._followers}
        return Together([values.pop(name) for name in names], [digests.pop(name) for name in names], followers)

    def take(self, name: str) -> Landed:
        """Return an individual that landed, and forget it."""
        outcome, original = self.landed.pop(name)
        self.first.pop(self.sent.pop(name, b""), None)
        values, digest = self._values.pop(name), self._digests.pop(name)
        return Landed(outcome, original, values, digest, self._followers.pop(name, []))
