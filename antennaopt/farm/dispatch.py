"""How many antennas a worker is given next: pure book-keeping, which knows no Dask.

`greedy`: whoever is free gets the next batch, of the size that its kind of worker gets. `assignment`: each worker's
speed S is measured, and it is given what should keep it busy for a target time T, F = S x T. With both, batches become
smaller when little is left, in proportion to the speeds (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans.
Computers C-36 (1987) 1425), and a worker that would take longer for its smallest batch than all others take for the
rest gets none, unless its speed is that of a first batch, which compiled kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

POLICIES = ("greedy", "assignment")

LEAST_S = 0.5
"""A batch is not made shorter than this: handing it out and fetching it takes a hundredth of that."""

FORGETTING = 0.5
"""Weight of the last batch in a worker's speed."""


@dataclass(kw_only=True)
class Hand:
    """A worker as the dispatcher sees it.

    Attributes:
        address: Of the worker.
        backend: What it solves with.
        places: Batches that it takes at a time.
        grain: Antennas that it steps at the same time; its batches are whole numbers of them.
        most: Antennas that a batch has room for.
        usual: Antennas of a batch while there are plenty.
        speed: Antennas/s as last measured, or None.
        measured: Batches that this rests on.
        batches: Of it under way.
        antennas: In those.
    """

    address: str
    backend: str = "cpu"
    places: int = 1
    grain: int = 1
    most: int = 64
    usual: int = 64
    speed: float | None = None
    measured: int = 0
    batches: int = 0
    antennas: int = 0

    def learn(self, antennas: int, seconds: float) -> None:
        """Take in what a batch took.

        Args:
            antennas: That were solved in it.
            seconds: Of work. Where batches share the worker each takes as much longer as there are of them.
        """
        if antennas < 1 or seconds <= 0.0:
            return
        speed = antennas * max(self.batches, 1) / seconds
        self.measured += 1
        if self.speed is None or self.measured == 2:  # the first batch compiled kernels
            self.speed = speed
        else:
            self.speed += FORGETTING * (speed - self.speed)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """One of `POLICIES`.

    Attributes:
        name: Which.
        target_s: T of `assignment`, s.
    """

    name: str = "greedy"
    target_s: float = 10.0

    def share(self, hand: Hand, hands: Iterable[Hand], waiting: int, *, somebody_must: bool = False) -> int:
        """Return how many antennas a worker gets next; 0 to let it wait.

        Args:
            hand: Has a free place.
            hands: All workers.
            waiting: Antennas that nobody has yet, at least one.
            somebody_must: Nobody is at work on anything that is still wanted: it is not to wait for others.
        """
        others = [one for one in hands if one is not hand]
        rest_s = _seconds_for_the_rest(others, waiting)
        smallest_s = hand.grain / hand.speed if hand.speed and _is_known(hand, others) else 0.0
        if smallest_s > rest_s and any(one.batches for one in others) and not somebody_must:
            return 0
        wanted = float(hand.usual)
        if self.name == "assignment":
            wanted = hand.speed * self.target_s if hand.speed else hand.grain
        if others and hand.speed and all(one.speed for one in others):
            part = hand.speed / (hand.speed + sum(one.speed or 0.0 for one in others))
            wanted = min(wanted, max(0.5 * part * waiting, LEAST_S * hand.speed))
        each = -(-waiting // max(hand.places - hand.batches, 1))  # its other places are to have some too
        wanted = min(wanted, max(each, LEAST_S * (hand.speed or 0.0)))
        whole = max(round(wanted / hand.grain), 1) * hand.grain
        return min(whole, max(hand.most, 1), waiting)


def _is_known(hand: Hand, others: Iterable[Hand]) -> bool:
    """Whether a worker's speed may hold work back from it.

    Its first batch compiled kernels, and that alone would keep small generations away from it for good. Only of a core
    beside devices, which may be a hundred times slower, is it taken at its word.
    """
    return hand.measured > 1 or (hand.backend != "cuda" and any(one.backend == "cuda" for one in others))


def _seconds_for_the_rest(others: Iterable[Hand], waiting: int) -> float:
    """How long the others, all measured, would take for what they have and all that waits."""
    hands = list(others)
    if not hands or not all(one.speed for one in hands):
        return math.inf
    antennas = waiting + sum(one.antennas for one in hands)
    return antennas / sum(one.speed or 0.0 for one in hands)
