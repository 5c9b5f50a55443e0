"""Size of the next batch of a worker; no input or output.

`greedy`: a free worker gets the next batch, of the usual size for its kind. `assignment`: each worker's speed S is
measured, and it is given what keeps it busy for a target time T, F = S x T. With both, batches become smaller when
little is left, in proportion to the speeds (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers
C-36 (1987) 1425), and a worker that would take longer for its smallest batch than all others take for the rest gets
none, unless its speed is that of a first batch, which compiled kernels.

Cores next to devices get antennas only where that ends the generation earlier. A device's launch takes as long with
fewer antennas, so cores help only if what they take saves whole launches. `plan_for_cores` looks for the shortest time
in which devices, by whole launches, and cores together solve what waits. If that is not shorter than the devices' own
time, the cores get nothing; else they get the difference, and devices leave it to them. So devices are cut the same
batches with cores next to them as without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antennaopt.farm.batches import LARGEST_BATCH, usual_size
from antennaopt.farm.interface import Worker
from antennaopt.solve.capacity import BATCHES_AT_A_TIME, largest_batch

LEAST_S = 0.5
"""A batch is not made shorter than this: sending it and fetching it takes a hundredth of that."""

FORGETTING = 0.5
"""Weight of the last batch in a worker's speed."""

CAUTION = 0.8
"""Part of its measured speed with which a core is planned next to devices: it must not be what a generation ends on."""

GAIN = 0.98
"""Largest time with cores, as a part of the devices' own, at which cores get antennas."""

KNOWN_CORE = 2
"""Batches after which a core's speed is known; the first compiled kernels."""

MOST_TRIALS = 4
"""Trial batches of a core, at most."""

WHOLE = 2**31
"""More antennas than any batch has."""


@dataclass(kw_only=True)
class WorkerState:
    """A worker as the dispatcher sees it.

    Attributes:
        address: Of the worker.
        backend: What it solves with.
        places: Batches that it takes at a time.
        grain: Antennas that keep it busy; its batches are whole numbers of them.
        at_once: Antennas that it steps at the same time: with fewer of them a launch takes as long.
        most: Largest batch.
        usual: Antennas of a batch while many wait.
        speed: Antennas/s as last measured, or None.
        measured: Batches that this rests on.
        batches: Number of its batches in flight.
        antennas: Number of antennas in those.
        trials: Trial batches that were sent to it.
    """

    address: str
    backend: str = "cpu"
    places: int = 1
    grain: int = 1
    at_once: int = 1
    most: int = LARGEST_BATCH
    usual: int = LARGEST_BATCH
    speed: float | None = None
    measured: int = 0
    batches: int = 0
    antennas: int = 0
    trials: int = 0

    def learn(self, antennas: int, seconds: float) -> None:
        """Update the speed from a batch.

        Args:
            antennas: That were solved in it.
            seconds: Of work. Where batches share the worker each takes as much longer as there are of them.
        """
        if antennas < 1 or seconds <= 0.0:
            return
        whole = -(-antennas // self.at_once) * self.at_once
        speed = whole * max(self.batches, 1) / seconds
        self.measured += 1
        if self.speed is None or self.measured == 2:  # the first batch compiled kernels
            self.speed = speed
        else:
            self.speed += FORGETTING * (speed - self.speed)

    @property
    def left(self) -> float:
        """Antennas in flight that are not solved yet: the first batch of several is taken to be half done."""
        return self.antennas * (1.0 - 0.5 / self.batches) if self.batches else 0.0

    def within(self, seconds: float) -> int:
        """Return how many more antennas a worker of known speed solves in a time: a device whole launches."""
        if self.backend == "cuda":
            launches = (seconds * (self.speed or 0.0) - self.left) / self.at_once
            return max(math.floor(launches + 1e-6), 0) * self.at_once
        return max(math.floor(CAUTION * seconds * (self.speed or 0.0) - self.antennas + 1e-6), 0)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A dispatch policy.

    Attributes:
        name: `greedy` or `assignment`.
        target_s: T of `assignment`, s.
    """

    name: str = "greedy"
    target_s: float = 10.0

    def share(
        self,
        worker: WorkerState,
        workers: Iterable[WorkerState],
        waiting: int,
        *,
        plan: tuple[float, int] | None = None,
        must_take: bool = False,
    ) -> int:
        """Return how many antennas a worker gets next; 0 to let it wait.

        Args:
            worker: With a free place.
            workers: All workers.
            waiting: Antennas that wait for a worker, at least one.
            plan: Of `plan_for_cores`, where it is known.
            must_take: Nothing that is still needed is in flight: it is not to wait for others.
        """
        everyone = list(workers)
        devices = [one for one in everyone if one.backend == "cuda"]
        if devices and len(devices) < len(everyone) and not must_take:
            seconds, for_cores = plan or plan_for_cores(everyone, waiting)
            if worker.backend != "cuda":
                if not for_cores or worker.measured < KNOWN_CORE:
                    return 0
                part = min(for_cores, worker.within(seconds), worker.most)
                return min(part, max(-(-part // 2), round(LEAST_S * (worker.speed or 0.0))))
            waiting -= for_cores
            if not waiting:
                return 0
            everyone = devices
        others = [one for one in everyone if one is not worker]
        smallest_s = worker.grain / worker.speed if worker.speed and worker.measured > 1 else 0.0
        if smallest_s > _seconds_for(others, waiting) and any(one.batches for one in others) and not must_take:
            return 0
        wanted = float(worker.usual)
        if self.name == "assignment":
            wanted = worker.speed * self.target_s if worker.speed else worker.grain
        if others and worker.speed and all(one.speed for one in others):
            part = worker.speed / (worker.speed + sum(one.speed or 0.0 for one in others))
            wanted = min(wanted, max(0.5 * part * waiting, LEAST_S * worker.speed))
        each = -(-waiting // max(worker.places - worker.batches, 1))  # its other places are to have some too
        wanted = min(wanted, max(each, LEAST_S * (worker.speed or 0.0)))
        whole = max(round(wanted / worker.grain), 1) * worker.grain
        return min(whole, max(worker.most, 1), waiting)


def plan_for_cores(workers: Sequence[WorkerState], waiting: int) -> tuple[float, int]:
    """Return in which time, s, devices and cores solve what waits, and how many antennas the cores take of it.

    Args:
        workers: Devices and cores.
        waiting: Antennas that wait for a worker.

    Returns:
        0 antennas where the devices alone take no longer, or where speeds are not known yet.
    """
    devices = [one for one in workers if one.backend == "cuda"]
    cores = [one for one in workers if one.backend != "cuda" and one.measured >= KNOWN_CORE]
    if not cores or any(one.measured <= one.places for one in devices):
        return math.inf, 0
    alone = _shortest(lambda seconds: sum(one.within(seconds) for one in devices), waiting)
    both = _shortest(lambda seconds: sum(one.within(seconds) for one in (*devices, *cores)), waiting)
    if both > GAIN * alone:
        return math.inf, 0
    return both, max(waiting - sum(one.within(both) for one in devices), 0)


def _shortest(solved: Callable[[float], int], waiting: int) -> float:
    """Return the shortest time in which `waiting` antennas are solved, to a thousandth of it."""
    low, high = 0.0, 1.0
    while solved(high) < waiting:
        low, high = high, 2.0 * high
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if solved(middle) >= waiting else (middle, high)
    return high


def _seconds_for(workers: Sequence[WorkerState], waiting: int) -> float:
    """How long workers, all measured, take for what they have and all that waits."""
    if not workers or not all(one.speed for one in workers):
        return math.inf
    return (waiting + sum(one.antennas for one in workers)) / sum(one.speed or 0.0 for one in workers)


class Dispatcher:
    """The workers of a farm by address: what each takes, how fast it is, and which gets the next batch."""

    def __init__(
        self,
        workers: Mapping[str, Worker],
        *,
        policy: Policy,
        mixed: bool = False,
        streams: int = BATCHES_AT_A_TIME,
    ) -> None:
        """Begin with the workers that are there.

        Args:
            workers: As their pool describes them.
            policy: How much each gets.
            mixed: Whether workers of several backends may come.
            streams: Batches that a device takes at a time, at most.
        """
        self.policy, self.mixed = policy, mixed
        self.workers: dict[str, WorkerState] = {}
        self._streams = streams
        self._jobs, self._batch_size = 0, "auto"
        self.refresh(workers)

    def refresh(self, workers: Mapping[str, Worker]) -> None:
        """Take note of the workers that are there."""
        for address in self.workers.keys() - workers.keys():
            del self.workers[address]
        if new := workers.keys() - self.workers.keys():
            for address in new:
                self.workers[address] = self._state(address, workers[address])
            self.prepare(self._jobs, self._batch_size)

    def prepare(self, jobs: int, batch_size: int | str) -> None:
        """Settle how many antennas each worker usually gets at a time.

        Args:
            jobs: Antennas of a generation.
            batch_size: Of a batch, or `auto`.
        """
        self._jobs, self._batch_size = jobs, batch_size
        cores = sum(one.places for one in self.workers.values() if one.backend != "cuda")
        for one in self.workers.values():
            if self.cut_beforehand and (one.backend == "cuda" or not self.mixed):
                one.usual = one.most = WHOLE
            elif one.backend != "cuda":
                one.usual = usual_size(jobs, cores + self.device_count, batch_size)
                one.most = LARGEST_BATCH if batch_size == "auto" else max(int(batch_size), 1)

    @property
    def device_count(self) -> int:
        """Number of workers with a device."""
        return sum(1 for one in self.workers.values() if one.backend == "cuda")

    @property
    def worker_count(self) -> int:
        """Number of batches that are stepped at a time: one a core, or one a device."""
        return sum(1 if one.backend == "cuda" else one.places for one in self.workers.values())

    @property
    def places(self) -> int:
        """Number of batches that may be in flight; cores next to devices do not count, as devices cut the batches."""
        devices = [one for one in self.workers.values() if one.backend == "cuda"]
        return max(sum(one.places for one in devices or self.workers.values()), 1)

    @property
    def has_free_place(self) -> bool:
        """Whether any worker could take another batch."""
        return any(one.batches < one.places for one in self.workers.values())

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends of the workers."""
        return tuple(sorted({one.backend for one in self.workers.values()}))

    @property
    def cut_beforehand(self) -> bool:
        """Whether a generation is cut before it is sent: all get the same batches, or devices do."""
        return self.policy.name == "greedy" and (not self.mixed or self.device_count > 0)

    def next(self, waiting: int, *, one_each: bool, nothing_in_flight: bool) -> tuple[WorkerState, int] | None:
        """Return the worker that gets antennas next, and how many; None when none is free.

        Args:
            waiting: Antennas that wait for a worker.
            one_each: No worker is to have two batches.
            nothing_in_flight: All that workers still have was given up: then one gets more behind that.
        """
        workers = list(self.workers.values())
        plan = None
        if self.mixed and self.device_count and not nothing_in_flight:
            plan = plan_for_cores(workers, waiting)
        free = [one for one in workers if one.batches < (1 if one_each else one.places)]
        if not free and nothing_in_flight:
            free = workers
        for one in sorted(free, key=lambda one: (one.batches / one.places, -(one.speed or 0.0), one.address)):
            share = self.policy.share(one, workers, waiting, plan=plan, must_take=nothing_in_flight)
            if share and self.cut_beforehand and one.backend == "cuda":
                # The rest of a batch that was cut for devices would be a launch of its own.
                share = waiting - plan[1] if plan else WHOLE
            if share:
                return one, share
        return None

    def unmeasured(self) -> list[str]:
        """Return the free cores next to devices whose speed is not known.

        They are measured by trial batches that nothing waits for: a core may be a hundred times slower than a device.
        """
        if not self.device_count:
            return []
        return [
            one.address
            for one in self.workers.values()
            if one.backend != "cuda" and not one.batches and one.measured < KNOWN_CORE and one.trials < MOST_TRIALS
        ]

    def is_core_by_devices(self, worker: WorkerState) -> bool:
        """Whether a worker is a core next to devices: it gets single antennas of what was cut for these."""
        return worker.backend != "cuda" and self.device_count > 0

    def sent(self, address: str, antennas: int, *, trial: bool = False) -> None:
        """Note that a batch is on its way."""
        one = self.workers.get(address)
        if one is not None:
            one.batches, one.antennas, one.trials = one.batches + 1, one.antennas + antennas, one.trials + trial

    def landed(self, address: str, antennas: int, solved: int = 0, seconds: float = 0.0) -> None:
        """Note that a batch is no longer in flight, and learn the worker's speed from it.

        Args:
            address: Worker that it was sent to.
            antennas: In it.
            solved: Of them solved, not refused or known.
            seconds: That this took.
        """
        one = self.workers.get(address)
        if one is not None:
            one.learn(solved, seconds)
            one.batches, one.antennas = max(one.batches - 1, 0), max(one.antennas - antennas, 0)

    def all_landed(self, but: Collection[str] = ()) -> None:
        """Note that nothing is in flight any more, except trial batches of some workers."""
        for one in self.workers.values():
            if one.address not in but:
                one.batches = one.antennas = 0

    def _state(self, address: str, worker: Worker) -> WorkerState:
        capacity = worker.device
        if worker.backend != "cuda" or capacity is None:
            return WorkerState(address=address, places=1 if self.mixed else worker.threads)
        wave: Any = capacity["wave"]
        return WorkerState(
            address=address,
            backend="cuda",
            places=min(self._streams, worker.threads),
            grain=wave,
            at_once=capacity.get("at_once") or wave,
            most=largest_batch(capacity["antennas"], self._streams),
        )
