"""The driver's memory of a run: known designs, and the outcomes that may still be needed."""

from __future__ import annotations

import hashlib
import statistics
import struct
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from antennaopt.errors import TooManyFailuresError
from antennaopt.families.making import same_fault
from antennaopt.run.interfaces import NOT_KEPT, Evaluation, Recalled, Store
from antennaopt.run.progress import GenerationReport
from antennaopt.search import Scored, Search, decode, individual_id
from antennaopt.solve.outcome import REPEATABLE, Outcome
from antennaopt.store.generations import generation_of

MOST_LOOSE = 8192
"""Entries that are kept loose, some 250 bytes each, before they are sorted into the table."""

MOST_COMPARED = 512
"""Antennas of a generation from which the time steps of the next are guessed."""

_AT_ONCE = 64
"""Antennas whose distances are computed at a time: for larger products BLAS starts threads, which costs more."""

MOST_FAILED = 0.5
"""Share of a generation that may be `lost`, `timeout` or `error` before the run gives up."""

PACED = 5
"""Generations from whose mean pace the time left follows."""

REST = np.dtype([("low", np.uint64), ("generation", np.uint32), ("slot", np.uint32)])

Digest = bytes

_FORGOTTEN = dict.fromkeys(NOT_KEPT)


def design_digest(values: Mapping[str, float], level: int = 0) -> Digest:
    """Return what two genomes share exactly when they stand for the same antenna: 16 bytes of a design's values.

    Args:
        values: Gene values, SI, by name, always in the order of the genes.
        level: Of the cells: an antenna on finer ones is another one.
    """
    packed = struct.pack(f"<{len(values)}d", *[one + 0.0 for one in values.values()])  # -0.0 is 0.0
    return hashlib.blake2b(packed + b"+" * level, digest_size=16).digest()


def design_digests(values: np.ndarray, level: int = 0) -> list[Digest]:
    """Return `design_digest` of many designs.

    Args:
        values: Gene values, SI, shape (designs, genes).
        level: Of the cells.
    """
    rows = (values + 0.0).astype("<f8", order="C")  # -0.0 is 0.0
    packed, size, more = rows.tobytes(), rows.itemsize * rows.shape[1], b"+" * level
    hashed = (packed[first : first + size] + more for first in range(0, size * len(rows), size))
    return [hashlib.blake2b(one, digest_size=16).digest() for one in hashed]


class KnownDesigns:
    """The first individual with each design. A sorted table and a few loose entries that are sorted in now and then."""

    def __init__(self) -> None:
        self._loose: dict[Digest, str] = {}
        self._high = np.empty(0, dtype=np.uint64)  # of the digests, in order
        self._rest = np.empty(0, dtype=REST)

    def add(self, digest: Digest, individual: str) -> None:
        """Note an individual with a design, unless an earlier one has it."""
        self.add_all([(digest, individual)])

    def add_all(self, named: Iterable[tuple[Digest, str]]) -> None:
        """Note individuals with their designs."""
        note = self._loose.setdefault
        for digest, individual in named:
            note(digest, individual)
        if len(self._loose) >= MOST_LOOSE:
            self._sort_in()

    def find(self, digests: Sequence[Digest]) -> list[str | None]:
        """Return the first individual with each of some designs, or None."""
        loose = self._loose
        return [one or loose.get(digest) for one, digest in zip(self._in_table(digests), digests, strict=True)]

    def _in_table(self, digests: Sequence[Digest]) -> list[str | None]:
        found: list[str | None] = [None] * len(digests)
        if not len(self._high) or not digests:
            return found
        high, low = _halves(digests)
        first = np.searchsorted(self._high, high)
        last = np.minimum(first, len(self._high) - 1)
        for place in np.flatnonzero(self._high[last] == high):
            at = int(first[place])
            while at < len(self._high) and self._high[at] == high[place]:
                if self._rest["low"][at] == low[place]:
                    found[place] = individual_id(int(self._rest["generation"][at]), int(self._rest["slot"][at]))
                at += 1
        return found

    def _sort_in(self) -> None:
        known = self._in_table(list(self._loose))
        new = {digest: name for (digest, name), one in zip(self._loose.items(), known, strict=True) if one is None}
        self._loose = {}
        if not new:
            return
        high, low = _halves(list(new))
        order = np.argsort(high, kind="stable")
        rest = np.empty(len(high), dtype=REST)
        rest["low"] = low
        born = " ".join(new.values()).replace("g", "").replace("-s", " ")
        rest["generation"], rest["slot"] = np.fromstring(born, dtype=np.int64, sep=" ").reshape(-1, 2).T
        at = np.searchsorted(self._high, high[order])
        self._high, self._rest = np.insert(self._high, at, high[order]), np.insert(self._rest, at, rest[order])


def by_slot(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Return a generation in the order of slots."""
    return sorted(evaluations, key=lambda one: one.candidate.slot)


class StepCounts:
    """Time steps until solved antennas had settled, and estimates for others."""

    def __init__(self) -> None:
        self._known: list[tuple[tuple[float, ...], int]] = []
        self._latest: Sequence[Evaluation] = ()

    def learn(self, evaluations: Sequence[Evaluation]) -> None:
        """Take the antennas of a generation in place of those before; they are looked at when the next is guessed."""
        self._latest = evaluations

    def _look(self) -> None:
        """Look at the antennas of the last generation that were not looked at yet."""
        latest, self._latest = by_slot(one for one in self._latest if one.outcome.steps), ()
        known = [(one.candidate.genome, one.outcome.steps or 0) for one in latest]
        self._known = known[:MOST_COMPARED] or self._known

    def most_first(self, names: Sequence[str], genomes: Sequence[Sequence[float]]) -> list[str]:
        """Return antennas in the order of the steps that they will take by a guess, most first.

        Antennas that are stepped together then settle at about the same time, and the last ones of a generation are
        short. Shepard's interpolation (1968) between the known genomes, with the eighth power of the distance; as given
        where nothing is known.

        Args:
            names: Of the antennas.
            genomes: Theirs, shape (antennas, genes).
        """
        self._look()
        if not self._known or len(names) < 2:
            return list(names)
        known = np.array([genome for genome, _ in self._known], dtype=np.float32)
        steps, lengths = np.array([one for _, one in self._known], dtype=np.float32), np.sum(known**2, axis=1)
        asked, guessed = np.array(genomes, dtype=np.float32), np.empty(len(names))
        for first in range(0, len(names), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            far = asked[some] @ (-2.0 * known.T)  # to the eighth power of the distance, in place
            far += np.sum(asked[some] ** 2, axis=1)[:, None] + lengths
            np.maximum(far, 1e-4, out=far)
            far *= far
            far *= far
            weights = np.reciprocal(far, out=far)
            guessed[some] = weights @ steps / weights.sum(axis=1)
        return [names[int(place)] for place in np.argsort(-guessed, kind="stable")]


def _halves(digests: Sequence[Digest]) -> tuple[np.ndarray, np.ndarray]:
    """Return both halves of digests as numbers."""
    pairs = np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def _without_patterns(
    known: tuple[tuple[float, ...], Outcome] | None,
) -> tuple[tuple[float, ...], Outcome] | None:
    """Return genome and outcome without what the driver forgets of it."""
    return known and (known[0], known[1].changed(**_FORGOTTEN))


class Memory:
    """What is known of the individuals so far: of all of them their designs, of the best their outcomes.

    Attributes:
        counts: Individuals so far by status.
        reused: Antennas of this session that were not solved, by their origin: `cache`, `cells`.
        designs: Which designs are known.
    """

    def __init__(self, search: Search, store: Store) -> None:
        """Begin with nothing.

        Args:
            search: Whose population and best are kept.
            store: Has all others.
        """
        self._search, self._store = search, store
        self.counts: Counter[str] = Counter()
        self.reused: Counter[str] = Counter()
        self.designs = KnownDesigns()
        self._kept: Recalled = {}
        self._latest: Recalled = {}  # of those kept the last ones, with patterns

    def recall(self, individuals: Iterable[str]) -> Recalled:
        """Return genome and outcome, patterns left out, of individuals so far; unknown ones are left out."""
        names = list(individuals)
        known = {name: self._kept.get(name) or _without_patterns(self._latest.get(name)) for name in names}
        absent = [name for name, one in known.items() if one is None]
        found = self._store.recall(absent) if absent else {}
        for name, one in known.items():
            if one is not None:
                genome, outcome = one
                found[name] = genome, outcome.changed(metrics=dict(outcome.metrics))  # plain, as of a row
        return {name: found[name] for name in names if name in found}

    def keep(self, evaluations: Sequence[Evaluation]) -> None:
        """Keep the outcomes of the population and of the best, and count those that were not solved.

        Patterns of newcomers are left out a generation later, of those that are kept then: most are not.
        """
        self.reused.update(one.outcome.origin for one in evaluations if one.outcome.origin and not one.cached)
        wanted = {one.candidate.individual for one in (*self._search.population, *self._search.hall_of_fame)}
        born = {one.candidate.individual: (one.candidate.genome, one.outcome) for one in evaluations}
        old = wanted - born.keys()
        before = {name: self._kept.get(name) or _without_patterns(self._latest.get(name)) for name in old}
        self._kept = {name: one for name, one in before.items() if one is not None}
        self._latest = {name: one for name, one in born.items() if name in wanted}

    def note(self, individual: str, design: Digest, status: str) -> None:
        """Count an individual, and know its design from now on."""
        self.counts[status] += 1
        if status in REPEATABLE:
            self.designs.add(design, individual)

    def note_all(self, evaluations: Iterable[Evaluation], designs: Iterable[Digest]) -> None:
        """Count individuals, and know their designs from now on."""
        noted = [
            (digest, one.candidate.individual, one.outcome.status)
            for one, digest in zip(evaluations, designs, strict=True)
        ]
        self.counts.update([status for _, _, status in noted])
        self.designs.add_all((digest, name) for digest, name, status in noted if status in REPEATABLE)

    def read_again(self, block: Iterable[Scored] = ()) -> None:
        """Read the known designs from the store, and check the individuals of a restored search against it.

        Args:
            block: What is not there yet, in a block under way.

        Raises:
            ValueError: An individual is not there, or is another one.
        """
        search = self._search
        wanted = {one.candidate.individual: one for one in (*search.population, *search.hall_of_fame)}
        for individual, genome, status in self._store.history(search.generation):
            one = wanted.pop(individual, None)
            if one is not None and (one.candidate.genome, one.ok) != (genome, status == "ok"):
                raise ValueError(f"{individual} has another genome or status in its row")
            level = search.level_of(generation_of(individual))
            self.note(individual, design_digest(decode(search.genes, genome), level), status)
        for scored in block:
            if wanted.pop(scored.candidate.individual, scored) != scored:
                raise ValueError(f"{scored.candidate.individual} is not the one of the block under way")
        if wanted:
            raise ValueError(f"{min(wanted)} has no row")


class Paces:
    """Seconds an antenna takes, over the last generations on the same cells."""

    def __init__(self) -> None:
        self._level: str | None = None
        self._last: deque[tuple[int, float]] = deque(maxlen=PACED)

    def seconds_each(self, level: str | None, solved: int, seconds: float) -> float | None:
        """Return the mean with one more generation; None where nothing was solved.

        Args:
            level: Of the cells.
            solved: Antennas of this generation.
            seconds: Its wall time.
        """
        if level != self._level:
            self._level = level
            self._last.clear()
        self._last.append((solved, seconds))
        total = sum(count for count, _ in self._last)
        return sum(spent for _, spent in self._last) / total if total else None


def generation_report(
    search: Search, number: int, evaluations: Sequence[Evaluation], seconds: float, paces: Paces
) -> GenerationReport:
    """Sum a generation up.

    Args:
        search: After the generation.
        number: Of the generation, from 0.
        evaluations: Its newcomers.
        seconds: Its wall time.
        paces: Of the generations before; this one is added.
    """
    best = search.best()
    solved = sum(not one.cached for one in evaluations)
    samples = sum(len(one.samples) for one in evaluations)
    rate = (solved + samples) / max(seconds, 1e-9)
    left = max(search.settings.most_evaluations - search.evaluations, 0)
    ok = [one.fitness for one in evaluations if one.outcome.ok]
    level = None if search.climb is None else search.climb.name_of(number)
    each = paces.seconds_each(level, solved, seconds)
    return GenerationReport(
        generation=number,
        generations=search.settings.generations,
        best=best.fitness if best else None,
        individual=best.candidate.individual if best else None,
        median=statistics.median(ok) if ok else None,
        solved=solved,
        cached=len(evaluations) - solved,
        reused=sum(one.outcome.origin is not None and not one.cached for one in evaluations),
        failed=len(evaluations) - len(ok),
        evaluations=search.evaluations,
        evaluations_per_s=rate,
        seconds_left=None if each is None else left * each,
        seconds=seconds,
        hypervolume=search.hypervolume,
        level=level,
        samples=samples,
    )


def refuse_failures(store: Store, number: int, evaluations: Sequence[Evaluation]) -> None:
    """End the run after a generation with too many failures; its rows are stored first.

    Raises:
        TooManyFailuresError: More than half are the farm's fault, or nothing of the first generation is `ok`.
    """
    statuses = Counter([one.outcome.status for one in evaluations])
    lost = sum(count for status, count in statuses.items() if status not in REPEATABLE)
    nothing_ok = number == 0 and evaluations and not statuses["ok"]
    if not nothing_ok and lost <= MOST_FAILED * len(evaluations):
        return
    failed = [one.outcome for one in evaluations if not one.outcome.ok]
    store.write_generation(number, by_slot(evaluations))
    alike = Counter((one.status, same_fault(_reason(one))) for one in failed)
    (status, fault), count = alike.most_common(1)[0]
    reason = next(_reason(one) for one in failed if (one.status, same_fault(_reason(one))) == (status, fault))
    store.log("too_many_failures", generation=number, failed=len(failed), of=len(evaluations))
    raise TooManyFailuresError(
        f"{len(failed)} of {len(evaluations)} evaluations of generation {number} failed; the commonest reason "
        f"({count} times) is {status}: {reason}"
    )


def _reason(outcome: Outcome) -> str:
    """Return the first line of an outcome's error."""
    text = (outcome.error or "no reason given").strip()
    return text.splitlines()[-1 if text.startswith("Traceback") else 0]
