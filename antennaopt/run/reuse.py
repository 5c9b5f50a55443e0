"""A farm with the evaluation cache: known antennas are not solved again, and solved antennas are added.

The driver looks up and writes; workers only rasterise, digest and recognise (`antennaopt.solve.recognition`). A
design that was solved before, to its last bit, is answered without any worker. An antenna whose cells are known is
recognised by the worker and answered here. Neither shows in the search: it counts as an evaluation like any other, so
that a run is the same with a full cache, an empty one, and none.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from antennaopt.farm.arriving import Arriving, Landed, together
from antennaopt.farm.batches import Job
from antennaopt.farm.interface import Farm, ForwardingFarm, Known, More
from antennaopt.run.known import MOST_SENT, Beginnings, Design, LookUp
from antennaopt.solve.arithmetic import arithmetic
from antennaopt.solve.outcome import REPEATABLE, Outcome
from antennaopt.solve.recognition import KNOWN, beginnings, take_identity
from antennaopt.store.cache import Entry, EvaluationCache
from antennaopt.unchecked import owned

WRITE_AFTER = 512
"""Number of entries that are written together, with the reply of the last of them."""

WRITE_AFTER_S = 5.0

FROM_CACHE, FROM_CELLS = "cache", "cells"

AGAIN = "~again"
"""Suffix of the key of an antenna that is sent a second time because its cache entry is lost."""


class ReusingFarm(ForwardingFarm):
    """A farm that answers what was solved before from the cache, and gives another farm the rest."""

    def __init__(
        self,
        farm: Farm,
        cache: EvaluationCache,
        *,
        family: str,
        plan: Mapping[str, Any],
        backend: str,
        told: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Stand in front of a farm.

        Args:
            farm: Solves; its workers are asked for their arithmetic class.
            cache: Open.
            family: Antenna family.
            plan: What all antennas share, unless `run` is given another.
            backend: What solves.
            told: Takes warnings about the cache.
            clock: Seconds.
        """
        super().__init__(farm)
        self._ask_workers = farm.ask
        self._cache, self._clock, self._told = cache, clock, told
        self._family, self._plan, self._backend = family, dict(plan), backend
        self._contexts: dict[str, list[str]] = {}
        self._fresh: dict[bytes, Entry] = {}
        self._names: dict[bytes, bytes] = {}
        self._used: set[bytes] = set()
        self._written = clock()
        self._here: set[bytes] = set()
        self._ready: deque[tuple[str, Outcome]] = deque()
        self._known = Beginnings()
        self._sent: dict[tuple[str, ...], Beginnings] = {}

    @property
    def dropped(self) -> int:
        """Damaged entries of the cache that were met and dropped."""
        return self._cache.damaged

    def run(
        self,
        batches: Iterable[Sequence[Job]],
        *,
        plan: Mapping[str, Any] | None = None,
        known: Known | None = None,
        more: More | None = None,
    ) -> Arriving:
        """Set to work on what is not known, then yield each individual's outcome once.

        What is solved now is known to the next batch that is sent.

        Args:
            batches: As for any farm.
            plan: Grid and times; the study's when None.
            known: Not used: what is known is the cache's.
            more: As for any farm.
        """
        plan = dict(self._plan if plan is None else plan)
        self._look_up = LookUp(self._family, self._ask(plan))
        self._known = self._beginnings(tuple(self._look_up.contexts))
        self._warn()
        self._frequencies = tuple(plan.get("frequencies", ()))
        self._ready.clear()
        self._under_way: dict[str, tuple[Design, list[bytes]]] = {}  # with keys, one a context
        left = self._as_they_come(batches) if isinstance(batches, Iterator) else self._unanswered(batches)
        solve = partial(self._farm.run, plan=plan, known=lambda: self._known.sent())
        if more is None:
            return Arriving(self._completed(solve(left)))

        def asked(grain: int) -> list[list[Job]]:
            batches = more(grain)
            return self._unanswered(batches) if batches else []

        solve = partial(solve, more=asked)
        return Arriving(self._completed(solve(left), lambda: solve(asked(1))))

    def _as_they_come(self, batches: Iterator[Sequence[Job]]) -> Iterator[list[Job]]:
        """Yield what is not known of the first batch before the others are taken."""
        yield from self._unanswered(islice(batches, 1))
        yield from self._unanswered(batches)

    def expect(self, antennas: int) -> None:
        """Prepare for a device's generations, each of this many antennas."""
        self._cache.expect(antennas)

    def close(self) -> None:
        """Write what waits, and say what went wrong; the farm behind stays open."""
        try:
            self._cache.close()
        finally:
            self._warn()

    def submit(self, batches: Iterable[Sequence[Job]]) -> None:
        """Add batches while outcomes are being read."""
        self._farm.submit(self._unanswered(batches))

    def _completed(
        self, outcomes: Iterator[tuple[str, Outcome]], again: Callable[[], Iterator[tuple[str, Outcome]]] | None = None
    ) -> Generator[Landed, None, None]:
        """Yield each outcome once: those of a reply together, and those that were answered together.

        Args:
            outcomes: Of the farm.
            again: Sets it to work once more, on what can be solved now that the last answers were read.
        """
        replies = together(outcomes)
        try:
            while True:
                answered = False
                while self._ready:
                    answered = True
                    ready = list(self._ready)
                    self._ready.clear()
                    yield ready
                landed = next(replies, None)
                if landed is not None:
                    if received := self._received(landed):
                        yield received
                elif not self._ready:
                    if again is None or not answered:
                        return
                    replies = together(again())
        finally:
            self._write()

    def _unanswered(self, batches: Iterable[Sequence[Job]]) -> list[list[Job]]:
        """Look designs up: answer those that are known, and return the others, in batches again."""
        began = self._clock()
        asked = [list(batch) for batch in batches]
        jobs = [job for batch in asked for job in batch]
        keys = self._look_up.all_keys([design for _, design in jobs])
        wanted = [key for some in keys for key in some]
        digests = {key: self._names[key] for key in wanted if key in self._names}
        digests |= self._cache.digests_of([key for key in wanted if key not in digests])
        if not digests:
            self._under_way |= {one: (design, some) for (one, design), some in zip(jobs, keys, strict=True)}
            return asked
        outcomes = self._find({*digests.values()})
        left, ready = [], []
        for (individual, design), some in zip(jobs, keys, strict=True):
            known = (digests[key] for key in some if key in digests)
            digest = next((one for one in known if one in outcomes), None)
            if digest is None:
                left.append((individual, design))
                self._under_way[individual] = design, some
            else:
                ready.append((individual, digest))
        each = (self._clock() - began) / max(len(jobs), 1)
        self._ready += [(one, self._answer(digest, outcomes[digest], each)) for one, digest in ready]
        return asked if not ready else self._farm.cut(left, self._batch_size)

    def _find(self, digests: set[bytes]) -> dict[bytes, Outcome]:
        """Return outcomes that wait to be written, or are in the cache, by digest."""
        found = {digest: self._fresh[digest].outcome for digest in digests if digest in self._fresh}
        left = list(digests - found.keys())
        return self._cache.find(left, self._frequencies) | found if left else found

    def _answer(self, digest: bytes, outcome: Outcome, seconds: float | None) -> Outcome:
        """Return a known outcome with the account of an antenna that was not solved."""
        self._used.add(digest)
        origin = FROM_CELLS if digest in self._here else FROM_CACHE
        about = {"origin": origin, "seconds": seconds, "stepping_seconds": 0.0, "worker": "cache", "attempt": 1}
        return outcome.changed(**about, batch_seconds=None, figures=None)

    def _received(self, landed: Landed) -> Landed:
        """Return the outcomes of a worker's reply, and submit the antennas whose outcome is not known."""
        if self._remember_all(landed):
            return landed
        known = {
            bytes.fromhex(one.identity["digest"])
            for _, one in landed
            if one.status == KNOWN and one.identity is not None
        }
        found = self._find(known) if known else {}
        received: list[tuple[str, Outcome]] = []
        lost: list[Job] = []
        for name, outcome in landed:
            individual = name.removesuffix(AGAIN)
            made = self._made(individual, outcome, found)
            if made is None:
                # The cache lost it, or it was another's digest that began in the same way: it is solved after all.
                lost.append((individual + AGAIN, self._under_way[individual][0]))
            else:
                self._under_way.pop(individual, None)
                received.append((individual, made))
        if lost:
            self._farm.submit([lost])
        self._write_many()
        return received

    def _remember_all(self, landed: Landed) -> bool:
        """Take in a reply of antennas that were all solved just now; return False, with nothing done, of any other."""
        under_way, taken = self._under_way, []
        for name, one in landed:
            if one.identity is None or one.origin is not None or one.status not in REPEATABLE or name not in under_way:
                return False
        about, contexts = landed[0][1].identity or {}, self._look_up.contexts
        context, solver = about["context"], about["solver"]
        if context not in contexts or any(one.identity["context"] != context for _, one in landed):  # type: ignore[index]
            return False
        at = contexts.index(context)
        for name, one in landed:
            digest = bytes.fromhex(take_identity(one)["digest"])
            taken.append(
                (digest, owned(Entry, {"digest": digest, "context": context, "solver": solver, "outcome": one}))
            )
            self._names[under_way.pop(name)[1][at]] = digest
        self._fresh.update(taken)
        digests = [digest for digest, _ in taken]
        self._here.update(digests)
        self._known.add_all(digests)
        self._write_many()
        return True

    def _write_many(self) -> None:
        """Write what waits, if it is much or waits for long; only between replies, whose arrays need no copy then."""
        if self._fresh and (len(self._fresh) >= WRITE_AFTER or self._clock() - self._written > WRITE_AFTER_S):
            self._write()

    def _made(self, individual: str, outcome: Outcome, found: Mapping[bytes, Outcome]) -> Outcome | None:
        """Return the outcome for a worker's answer; None where the worker must solve the antenna.

        Args:
            individual: Whose.
            outcome: As the worker sent it.
            found: What is known, by digest.
        """
        identity = outcome.identity
        if identity is None:
            return outcome
        outcome = outcome.without("identity")
        digest = bytes.fromhex(identity["digest"])
        if outcome.status == KNOWN:
            if digest not in found:
                self._known.forget(digest)
                return None
            outcome = self._answer(digest, found[digest], outcome.seconds)
        elif outcome.origin != FROM_CELLS and outcome.status in REPEATABLE:
            self._remember(digest, identity, outcome)
        self._name(individual, identity, digest)
        return outcome

    def _remember(self, digest: bytes, identity: Mapping[str, str], outcome: Outcome) -> None:
        about = {"context": identity["context"], "solver": identity["solver"]}
        self._here.add(digest)
        self._fresh[digest] = Entry(digest=digest, outcome=outcome, **about)
        self._known.add(digest)

    def _name(self, individual: str, identity: Mapping[str, str], digest: bytes) -> None:
        """Note which cells a design has."""
        asked = self._under_way.get(individual)
        if asked is not None:
            self._names[self._look_up.key_of(*asked, identity["context"])] = digest

    def _write(self) -> None:
        """Hand what waits to the cache. The names are kept while they wait."""
        if self._fresh or self._names or self._used:
            self._cache.add(self._fresh.values(), self._names.items(), self._used - self._fresh.keys())
        self._fresh, self._names, self._used = {}, {}, set()
        self._written = self._clock()
        self._warn()

    def _warn(self) -> None:
        while self._cache.warnings:
            self._told(self._cache.warnings.pop(0))

    def _beginnings(self, contexts: tuple[str, ...]) -> Beginnings:
        """Return the beginnings of known digests for batches of these contexts; they are read again when full."""
        if contexts not in self._sent or self._sent[contexts].is_full:
            each = MOST_SENT // 2 // len(contexts)
            recent = [digest for one in contexts for digest in self._cache.known(one, each)]
            self._sent[contexts] = Beginnings(beginnings(recent))
        return self._sent[contexts]

    def _ask(self, plan: Mapping[str, Any]) -> list[str]:
        """Return the contexts of the workers on a plan; the workers are queried once."""
        name = hashlib.sha256(repr(sorted(plan.items())).encode()).hexdigest()
        if name not in self._contexts:
            answers = self._ask_workers(arithmetic, plan, self._backend)
            self._contexts[name] = sorted({one.context for one in answers})
        return self._contexts[name]
