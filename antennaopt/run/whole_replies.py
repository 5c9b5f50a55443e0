"""Outcomes of one reply, made evaluations of together: a row for itself takes twice as long."""

from __future__ import annotations

from collections.abc import Iterable
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
    """Takes replies of a generation, where neither order nor samples of it decide anything."""

    def __init__(self, search: Search, under_way: UnderWay, interfaces: Interfaces) -> None:
        self._search, self._under_way, self._with = search, under_way, interfaces
        self._alone = search.by_order or search.settings.overlap or interfaces.sampling is not None
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
        if not search.wants_misses:
            missed, fitness = [one.shortfalls for one in ones], [one.fitness for one in ones]
            ranked = search.rank(candidates, [one.status for one in outcomes], missed, fitness)
            self._ranked.update(zip(names, ranked, strict=True))
        return Taken(dict(zip(names, ones, strict=True)), taken.digests, taken.followers)

    def results(self, evaluations: Iterable[Evaluation]) -> list[Result | Scored]:
        """Return a generation's evaluations for the search; ranks that `take` made are used once."""
        ranked, self._ranked = self._ranked, {}
        return [ranked.get(one.candidate.individual) or one.result for one in evaluations]
