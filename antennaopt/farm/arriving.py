"""Order in which a farm returns outcomes: one by one, or all outcomes of a reply together."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence

from antennaopt.solve.outcome import Outcome

Landed = Sequence[tuple[str, Outcome]]
"""Keys and outcomes that came together, at least one."""


class Arriving(Iterator[tuple[str, Outcome]]):
    """Yields keys and outcomes in order of completion; `together` takes what came in one reply at once."""

    def __init__(self, replies: Generator[Landed, None, None]) -> None:
        """Take what yields the outcomes of a reply at a time."""
        self._replies = replies
        self._left: Iterator[tuple[str, Outcome]] = iter(())

    def __next__(self) -> tuple[str, Outcome]:
        while True:
            for one in self._left:
                return one
            self._left = iter(next(self._replies))

    def next_together(self) -> Landed | None:
        """Return what is left of a reply, or wait for the next one; None after the last."""
        return list(self._left) or next(self._replies, None)

    def close(self) -> None:
        """Abandon what is in flight; no more is yielded."""
        self._left = iter(())
        self._replies.close()


def together(outcomes: Iterable[tuple[str, Outcome]]) -> Iterator[Landed]:
    """Yield outcomes by the reply in which they came; one by one where that is not known."""
    if not isinstance(outcomes, Arriving):
        for one in outcomes:
            yield [one]
        return
    while (landed := outcomes.next_together()) is not None:
        yield landed
