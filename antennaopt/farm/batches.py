"""Batches and the fate of failed ones: the driver's records.

A batch of several that fails is cut in two, so that the antenna to blame ends up alone and the others are kept. A batch
of one is tried again as often as its kind of failure deserves and then ends as a typed outcome.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from antennaopt.solve.outcome import Outcome

Job = tuple[str, Mapping[str, float]]
"""An individual's key and its full design, SI."""

SOLO_ATTEMPTS = {"error": 2, "timeout": 2, "lost": 3}
"""How often an antenna may fail all by itself, by the kind of the last failure, before that is its outcome."""

LARGEST_BATCH = 64
"""Antennas a task of a worker without a device."""

ROUNDS = 4
"""Batches that a worker has of a generation; a device has more of a large one."""

SHORT = 2
"""Waves of the first batch of a large generation, and of the last."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Antennas that are solved together.

    Attributes:
        jobs: At least one.
        attempt: From 1; one more after every failure of this batch or of the one it was cut from.
        solo_failures: How often this antenna failed by itself; 0 for a batch of several.
        kills: How often in a row its worker was killed from outside, which is not held against it.
    """

    jobs: tuple[Job, ...]
    attempt: int = 1
    solo_failures: int = 0
    kills: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the individuals."""
        return tuple(key for key, _ in self.jobs)

    @property
    def designs(self) -> list[dict[str, float]]:
        """Designs as plain dictionaries, in the order of the keys."""
        return [dict(design) for _, design in self.jobs]

    def after_failure(self, kind: str, *, alone: bool = True) -> list[Batch]:
        """Return what is to be tried next after a failure of kind `error`, `timeout` or `lost`; nothing is final.

        Args:
            kind: Of failure.
            alone: No other batch shared its worker; else it may not be to blame, and is tried again by itself.
        """
        if len(self.jobs) > 1:
            middle = len(self.jobs) // 2
            halves = (self.jobs[:middle], self.jobs[middle:])
            return [Batch(jobs=half, attempt=self.attempt + 1) for half in halves]
        failures = self.solo_failures + (1 if alone else 0)
        if alone and failures >= SOLO_ATTEMPTS[kind]:
            return []
        return [Batch(jobs=self.jobs, attempt=self.attempt + 1, solo_failures=failures)]

    def after_kill(self) -> Batch:
        """Return the same batch to be tried again: something else killed its worker, nothing is held against it."""
        return replace(self, attempt=self.attempt + 1, kills=self.kills + 1)

    def failed_outcome(self, kind: str, reason: str) -> Outcome:
        """Return the outcome of an antenna whose attempts are used up."""
        return Outcome(status=kind, error=reason, attempt=self.attempt)


def cut(jobs: Sequence[Job], worker_count: int, batch_size: int | str = "auto") -> list[list[Job]]:
    """Cut jobs into batches.

    Args:
        jobs: All of a generation.
        worker_count: How many batches are solved at a time.
        batch_size: Antennas a batch, or `auto`: about four rounds a worker, so that no slow one holds up the others
            for long, never more than `LARGEST_BATCH`, and as many batches for one worker as for another: sizes differ
            by one at most, the smaller ones last.
    """
    size = usual_size(len(jobs), worker_count, batch_size)
    if batch_size != "auto":
        return [list(jobs[first : first + size]) for first in range(0, len(jobs), size)]
    workers = max(worker_count, 1)
    count = min(-(-len(jobs) // (size * workers)) * workers, len(jobs))
    small, larger = divmod(len(jobs), max(count, 1))
    ends = accumulate(small + (place < larger) for place in range(count))
    return [list(jobs[begin:end]) for begin, end in pairwise((0, *ends))]


def usual_size(count: int, worker_count: int, batch_size: int | str) -> int:
    """Return how many of `count` antennas a worker without a device gets at a time; see `cut`."""
    if batch_size == "auto":
        return min(max(count // (ROUNDS * max(worker_count, 1)), 1), LARGEST_BATCH)
    return max(int(batch_size), 1)


def cut_into_waves(
    jobs: Sequence[Job],
    device_count: int,
    batch_size: int | str = "auto",
    *,
    wave: int,
    most: int,
    at_once: int | None = None,
    around: tuple[int, int] = (0, 0),
    short_ends: bool = True,
) -> list[list[Job]]:
    """Cut jobs into batches for devices.

    Args:
        jobs: All of a generation, or a part.
        device_count: Devices.
        batch_size: Antennas a batch, or `auto`: as many batches for one device as for another, of a wave or more, in
            four rounds if there are waves enough, so that a batch is prepared and looked at while the one before or
            after is stepped. Of large generations the first and the last rounds are of two waves, of smaller ones of
            one where `at_once` is less than a wave: a device waits while its first batch is bred and prepared, and
            while its last one comes back.
        wave: Antennas that keep a device busy.
        most: Antennas that a device has room for in one batch.
        at_once: Antennas that a device steps at the same time, of which a batch has whole multiples; `wave` when None.
        around: Antennas of the generation that were cut before, and that will be cut later: these get their part of the
            generation's batches.
        short_ends: Whether large generations begin and end with short batches. Next to cores they do not: what cores
            take is counted in launches of equal batches.
    """
    sent, left = around
    grain, count = at_once or wave, sent + len(jobs) + left
    if batch_size != "auto" or most < grain:
        size = usual_waves(count, device_count, batch_size, wave=wave, most=most)
        return _pieces(jobs, range(size, count + size, size), sent)
    grains = -(-count // grain)
    rounds = min(max(-(-count // (device_count * wave)), 1), ROUNDS)
    rounds = max(rounds, -(-grains // (device_count * (most // grain))))
    pieces = max(min(rounds * device_count, grains), 1)
    sizes = _alike(grains, pieces)
    if short_ends:
        parts = max(round(wave / grain), 1)
        for short in (SHORT * parts, parts)[: min(parts, 2)]:
            if found := _short_at_the_ends(grains, device_count, short, most // grain):
                sizes = found
                break
    found = _pieces(jobs, accumulate(grain * size for size in sizes), sent)
    if len(found) > 1 and len(found[0]) < grain and len(found[0]) + len(found[1]) <= most:
        return [found[0] + found[1], *found[2:]]  # fewer were sent before than the first batches had room for
    return found


def _alike(count: int, pieces: int) -> list[int]:
    """Return sizes that differ by one at most, the smaller ones last."""
    small, larger = divmod(count, pieces)
    return [small + (place < larger) for place in range(pieces)]


def _short_at_the_ends(grains: int, devices: int, short: int, most: int) -> list[int]:
    """Return the sizes of the batches of a large generation; none of one whose four rounds are short enough.

    Args:
        grains: Of the generation.
        devices: That get as many batches each.
        short: Grains of a device's first batch and of its last; each one before is at most twice as large.
        most: Grains of a batch.
    """
    if grains < (ROUNDS + 1) * short * devices or short > most:
        return []
    ends, middle = [short], ROUNDS - 1
    while grains / devices - short - sum(ends) >= 4 * middle * ends[0] and 2 * ends[0] <= most:
        ends.insert(0, 2 * ends[0])
    left = grains - devices * (short + sum(ends))
    middle = max(middle, -(-left // (devices * most)))
    return [short] * devices + _alike(left, middle * devices) + [size for size in ends for _ in range(devices)]


def _pieces(jobs: Sequence[Job], ends: Iterable[int], sent: int) -> list[list[Job]]:
    """Cut jobs at ends that count from as many before the first; empty pieces are left out."""
    places = (min(max(end - sent, 0), len(jobs)) for end in ends)
    return [list(jobs[begin:end]) for begin, end in pairwise((0, *places)) if begin < end]


def usual_waves(count: int, device_count: int, batch_size: int | str, *, wave: int, most: int) -> int:
    """Return how many of `count` antennas a device gets at a time; see `cut_into_waves`."""
    if batch_size == "auto":
        waves = -(-count // wave)
        return min(max(-(-waves // (ROUNDS * device_count)), 1) * wave, most)
    return max(int(batch_size), 1)


class Queue:
    """Batches that wait for a worker; those that failed go first, so that they do not hold up the end."""

    def __init__(self) -> None:
        self._waiting: deque[Batch] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, batches: Iterable[Sequence[Job]]) -> None:
        """Append new batches; empty ones are left out."""
        self._waiting.extend(Batch(jobs=tuple(batch)) for batch in batches if batch)

    def put_back(self, batches: Sequence[Batch]) -> None:
        """Put batches in front, in their order."""
        self._waiting.extendleft(reversed(batches))

    @property
    def antennas(self) -> int:
        """How many antennas wait."""
        return sum(len(batch.jobs) for batch in self._waiting)

    def next(self, most: int | None = None) -> Batch:
        """Take the next batch, or as many of its antennas; one that failed before is taken whole."""
        batch = self._waiting.popleft()
        if most is None or batch.attempt > 1 or len(batch.jobs) <= most:
            return batch
        self._waiting.appendleft(replace(batch, jobs=batch.jobs[most:]))
        return replace(batch, jobs=batch.jobs[:most])

    def take_from_end(self, most: int, among: int) -> Batch:
        """Take antennas from the end of a batch that never failed: of the last `among` ones the largest."""
        fresh = [place for place, batch in enumerate(self._waiting) if batch.attempt == 1][-among:]
        place = max(fresh, key=lambda at: (len(self._waiting[at].jobs), at))
        batch = self._waiting[place]
        if len(batch.jobs) <= most:
            del self._waiting[place]
            return batch
        self._waiting[place] = replace(batch, jobs=batch.jobs[:-most])
        return replace(batch, jobs=batch.jobs[-most:])

    def first_fresh(self) -> Job | None:
        """Return the first antenna of the first batch that never failed; None when there is none."""
        return next((batch.jobs[0] for batch in self._waiting if batch.attempt == 1), None)

    @property
    def is_suspect(self) -> bool:
        """Whether the next batch failed before, or is of one that did."""
        return bool(self._waiting) and self._waiting[0].attempt > 1

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()
