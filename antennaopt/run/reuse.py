"""A farm in front of the farm: what is in the evaluation cache is not solved again, and what is solved goes into it.

The driver looks up and writes; workers only rasterise, digest and recognise (`antennaopt.solve.recognition`). A
design that was solved before, to its last bit, is answered without any worker. An antenna whose cells are known is
recognised by the worker and answered here. Neither shows in the search: it counts as an evaluation like any other, so
that a run is the same with a full cache, an empty one, and none.
"""

from __future__ import annotations

import hashlib
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from antennaopt.farm.batches import Job
from antennaopt.farm.interface import Farm, ForwardingFarm, Known, More
from antennaopt.solve.arithmetic import arithmetic
from antennaopt.solve.outcome import REPEATABLE, Outcome
from antennaopt.solve.recognition import KNOWN, beginnings
from antennaopt.store.cache import Entry, EvaluationCache

MOST_SENT = 32_768
"""Digests that travel with every batch, eight bytes each; those used last."""

WRITE_AFTER = 512
"""Entries that wait for one transaction, at most."""

WRITE_AFTER_S = 5.0

FROM_CACHE, FROM_CELLS = "cache", "cells"

AGAIN = "~again"
"""Ending of the key of an antenna that is sent a second time, because the cache lost what it had."""


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
            told: Is told what is wrong with the cache.
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
        self._known = b""

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
    ) -> Iterator[tuple[str, Outcome]]:
        """Set to work on what is not known, then yield each individual's outcome once.

        What is solved now is known to the next batch that is sent.

        Args:
            batches: As for any farm.
            plan: Grid and times; the study's when None.
            known: Not used: what is known is the cache's.
            more: As for any farm.
        """
        plan = dict(self._plan if plan is None else plan)
        self._look_up = _LookUp(self._family, self._ask(plan))
        self._known = beginnings(self._recent())
        self._warn()
        self._frequencies = tuple(plan.get("frequencies", ()))
        self._ready.clear()
        self._under_way = {}
        left = self._as_they_come(batches) if isinstance(batches, Iterator) else self._unanswered(batches)
        solve = partial(self._farm.run, plan=plan, known=lambda: self._known)
        if more is None:
            return self._completed(solve(left))

        def asked(grain: int) -> list[list[Job]]:
            batches = more(grain)
            return self._unanswered(batches) if batches else []

        solve = partial(solve, more=asked)
        return self._completed(solve(left), lambda: solve(asked(1)))

    def _as_they_come(self, batches: Iterator[Sequence[Job]]) -> Iterator[list[Job]]:
        """Yield what is not known of the first batch before the others are taken."""
        yield from self._unanswered(islice(batches, 1))
        yield from self._unanswered(batches)

    def submit(self, batches: Iterable[Sequence[Job]]) -> None:
        """Add batches while outcomes are being read."""
        self._farm.submit(self._unanswered(batches))

    def _completed(
        self, outcomes: Iterator[tuple[str, Outcome]], again: Callable[[], Iterator[tuple[str, Outcome]]] | None = None
    ) -> Iterator[tuple[str, Outcome]]:
        """Yield each outcome once.

        Args:
            outcomes: Of the farm.
            again: Sets it to work once more, on what can be solved now that the last answers were read.
        """
        try:
            while True:
                answered = False
                while self._ready:
                    answered = True
                    yield self._ready.popleft()
                landed = next(outcomes, None)
                if landed is None:
                    if self._ready:
                        continue
                    if again is None or not answered:
                        return
                    outcomes = again()
                    continue
                individual = landed[0].removesuffix(AGAIN)
                received = self._received(individual, landed[1])
                if received is None:
                    # The cache lost it, or it was another's digest that began in the same way: it is solved after all.
                    self._farm.submit([[(individual + AGAIN, self._under_way[individual])]])
                else:
                    self._under_way.pop(individual, None)
                    yield individual, received
        finally:
            self._write()

    def _unanswered(self, batches: Iterable[Sequence[Job]]) -> list[list[Job]]:
        """Look designs up: answer those that are known, and return the others, in batches again."""
        began = self._clock()
        asked = [list(batch) for batch in batches]
        jobs = [job for batch in asked for job in batch]
        keys = {individual: self._look_up.keys(design) for individual, design in jobs}
        digests = self._cache.digests_of([key for some in keys.values() for key in some])
        digests |= {key: digest for key, digest in self._names.items() if key not in digests}
        wanted = list({*digests.values()} - self._fresh.keys())
        outcomes = self._cache.find(wanted, self._frequencies) if digests else {}
        outcomes |= {digest: entry.outcome for digest, entry in self._fresh.items()}
        left, ready = [], []
        for individual, design in jobs:
            known = (digests[key] for key in keys[individual] if key in digests)
            digest = next((one for one in known if one in outcomes), None)
            if digest is None:
                left.append((individual, design))
            else:
                ready.append((individual, digest))
        each = (self._clock() - began) / max(len(jobs), 1)
        self._ready += [(one, self._answer(digest, outcomes[digest], each)) for one, digest in ready]
        self._under_way |= left
        return asked if len(left) == len(jobs) else self._farm.cut(left, self._batch_size)

    def _answer(self, digest: bytes, outcome: Outcome, seconds: float | None) -> Outcome:
        """Return a known outcome with the account of an antenna that was not solved."""
        self._used.add(digest)
        origin = FROM_CELLS if digest in self._here else FROM_CACHE
        return outcome.changed(origin=origin, seconds=seconds, stepping_seconds=0.0, worker="cache", attempt=1)

    def _received(self, individual: str, outcome: Outcome) -> Outcome | None:
        """Return the outcome that a worker's reply stands for; None when it has to solve the antenna after all."""
        identity = outcome.identity
        if identity is None:
            return outcome
        outcome = outcome.without("identity")
        digest = bytes.fromhex(identity["digest"])
        if outcome.status == KNOWN:
            entry = self._fresh.get(digest)
            found = entry.outcome if entry else self._cache.find([digest], self._frequencies).get(digest)
            if found is None:
                self._forget(digest)
                return None
            self._name(individual, identity, digest)
            return self._answer(digest, found, outcome.seconds)
        if outcome.origin != FROM_CELLS and outcome.status in REPEATABLE:
            self._remember(digest, identity, outcome)
        self._name(individual, identity, digest)
        return outcome

    def _remember(self, digest: bytes, identity: Mapping[str, str], outcome: Outcome) -> None:
        kept = outcome.without("batch_seconds", "origin", "figures")
        self._here.add(digest)
        self._fresh[digest] = Entry(digest=digest, context=identity["context"], solver=identity["solver"], outcome=kept)
        self._known = _with(self._known, digest)
        if len(self._fresh) >= WRITE_AFTER or self._clock() - self._written > WRITE_AFTER_S:
            self._write()

    def _name(self, individual: str, identity: Mapping[str, str], digest: bytes) -> None:
        """Note which cells a design has."""
        if individual in self._under_way:
            self._names[self._look_up.key(identity["context"], self._under_way[individual])] = digest

    def _forget(self, digest: bytes) -> None:
        known = np.frombuffer(self._known, dtype="<u8")
        self._known = known[known != np.frombuffer(digest[:8], dtype="<u8")].tobytes()

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

    def _recent(self) -> list[bytes]:
        contexts = self._look_up.contexts
        return [digest for one in contexts for digest in self._cache.known(one, MOST_SENT // len(contexts))]

    def _ask(self, plan: Mapping[str, Any]) -> list[str]:
        """Return the contexts of the workers on a plan; they are asked once."""
        name = hashlib.sha256(repr(sorted(plan.items())).encode()).hexdigest()
        if name not in self._contexts:
            answers = self._ask_workers(arithmetic, plan, self._backend)
            self._contexts[name] = sorted({one.context for one in answers})
        return self._contexts[name]


class _LookUp:
    """Keys of designs in each of the workers' contexts."""

    def __init__(self, family: str, contexts: Sequence[str]) -> None:
        self.contexts = contexts
        self._family = family

    def keys(self, design: Mapping[str, float]) -> list[bytes]:
        """One key a context."""
        return [self.key(context, design) for context in self.contexts]

    def key(self, context: str, design: Mapping[str, float]) -> bytes:
        """Of a design in a context."""
        about = "\n".join((context, self._family, *design)).encode()
        values = struct.pack(f"<{len(design)}d", *design.values())
        return hashlib.sha256(about + values).digest()[:16]


def _with(known: bytes, digest: bytes) -> bytes:
    """Sorted beginnings with one more; the oldest are not known here, so a full table takes no more."""
    numbers = np.frombuffer(known, dtype="<u8")
    one = np.frombuffer(digest[:8], dtype="<u8")
    if len(numbers) >= MOST_SENT:
        return known
    return np.insert(numbers, np.searchsorted(numbers, one), one).tobytes()
