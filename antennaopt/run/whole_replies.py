"""Convert the outcomes of one reply to evaluations together, in half the time of one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from antennaopt.farm.arriving import Landed
from antennaopt.run.interfaces import Evaluation, Interfaces
from antennaopt.run.under_way import UnderWay
from antennaopt.search import Candidate, Result, Scored, Search
from antennaopt.solve.outcome import Outcome


class Taken(NamedTuple):
    """What became of a reply.

    Attributes:
        ones: Evaluations by individual.
        digests: Of their designs, in the same order.
        followers: Individuals of the same design that wait, by the one that was solved.
    """

    ones: dict[str, Evaluation]
    digests: list[bytes]
    followers: dict[str, list[Candidate]]


class WholeReplies:
    """Takes replies of a generation, where the order of completion decides nothing."""

    def __init__(self, search: Search, under_way: UnderWay, interfaces: Interfaces) -> None:
        self._search, self._under_way, self._with = search, under_way, interfaces
        self._alone = search.by_order or search.settings.overlap
        self._ranks = not self._alone and not search.wants_misses
        self._ranked: dict[str, Scored] = {}

    def take(self, landed: Landed) -> Taken | None:
        """Return a reply's evaluations; None where its outcomes have to be taken in one by one."""
        if self._alone or len(landed) < 2:
            return None
        search, figured, names = self._search, self._with.figured, [name for name, _ in landed]
        taken = self._under_way.take_together(names)
        if taken is None:
            return None
        outcomes = [figured(Outcome.of(one), values) for (_, one), values in zip(landed, taken.values, strict=True)]
        candidates = [search.under_way[name] for name in names]
        ones = Evaluation.of_all(search, self._with.objectives, candidates, taken.values, outcomes)
        if self._ranks and self._with.sampling is None:
            self._rank(ones)
        return Taken(dict(zip(names, ones, strict=True)), taken.digests, taken.followers)

    def results(self, evaluations: Iterable[Evaluation]) -> list[Result | Scored]:
        """Return a generation's evaluations for the search; ranks that `take` made are used once."""
        block = list(evaluations)
        if self._ranks and self._with.sampling is not None:  # fitness is known now
            self._rank([one for one in block if not one.cached])
        ranked, self._ranked = self._ranked, {}
        return [ranked.get(one.candidate.individual) or one.result for one in block]

    def _rank(self, ones: Sequence[Evaluation]) -> None:
        """Rank antennas that were solved."""
        candidates = [one.candidate for one in ones]
        statuses, missed = [one.outcome.status for one in ones], [one.shortfalls for one in ones]
        ranked = self._search.rank(candidates, statuses, missed, [one.fitness for one in ones])
        self._ranked.update(zip([one.individual for one in candidates], ranked, strict=True))
