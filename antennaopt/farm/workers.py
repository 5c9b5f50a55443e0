"""The workers that are there: what each takes, how fast it is, and who gets the next batch."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from distributed import Client, Future

from antennaopt.farm.batches import LARGEST_BATCH, usual_size, usual_waves
from antennaopt.farm.devices import NO_ANSWER
from antennaopt.farm.dispatch import Hand, Policy
from antennaopt.solve.device import kind_of_worker
from antennaopt.solve.room import BATCHES_AT_A_TIME, batch_room

WHOLE = 2**31
"""More antennas than any batch has."""


class Crew:
    """Workers by address. They come and go; a new one on mixed hardware is asked what it is before it gets work."""

    def __init__(
        self,
        client: Client,
        threads: Mapping[str, int],
        *,
        policy: Policy,
        backend: str,
        device: Mapping[str, Any] | None,
        kinds: Mapping[str, Mapping[str, Any]] | None = None,
        plan: Mapping[str, Any],
        streams: int = BATCHES_AT_A_TIME,
    ) -> None:
        """Begin with the workers that are there.

        Args:
            client: Of the workers.
            threads: Of each, by address.
            policy: How much each gets.
            backend: What all solve with; with `kinds` each has its own.
            device: What a device takes, see `antennaopt.solve.device.room`; None without devices.
            kinds: On mixed hardware, the answers of `kind_of_worker` by address.
            plan: Of the study, for those that come later.
            streams: Batches that a device takes at a time, at most.
        """
        self.policy = policy
        self._client, self._plan = client, dict(plan)
        self._backend, self._device, self._streams = backend, device, streams
        self._mixed = kinds is not None
        self._kinds = dict(kinds or {})
        self._asked: dict[str, Future] = {}
        self._jobs, self._asked_size = 0, "auto"
        self.hands: dict[str, Hand] = {}
        self.refresh(threads)

    def refresh(self, threads: Mapping[str, int]) -> None:
        """Take note of who is there."""
        for address in self.hands.keys() - threads.keys():
            del self.hands[address]
        changed = False
        for address in threads.keys() - self.hands.keys():
            if not self._mixed or address in self._kinds:
                self.hands[address] = self._hand(address, threads[address])
                changed = True
            elif address not in self._asked:
                self._asked[address] = self._client.submit(
                    kind_of_worker, self._plan, workers=[address], allow_other_workers=False, pure=False, retries=0
                )
        for address, future in list(self._asked.items()):
            if future.done() or address not in threads:
                del self._asked[address]
                if future.status == "finished":
                    with suppress(*NO_ANSWER):  # it is asked again
                        self._kinds[address] = future.result(timeout=1.0)
        if changed:
            self.prepare(self._jobs, self._asked_size)

    def prepare(self, jobs: int, batch_size: int | str) -> None:
        """Settle how many antennas each worker usually gets at a time.

        Args:
            jobs: Antennas of a generation.
            batch_size: Of a batch, or `auto`.
        """
        self._jobs, self._asked_size = jobs, batch_size
        cores = sum(one.places for one in self.hands.values() if one.backend != "cuda")
        devices = sum(1 for one in self.hands.values() if one.backend == "cuda")
        for one in self.hands.values():
            if self.alike:
                one.usual = one.most = WHOLE  # as the generation was cut beforehand
            elif one.backend == "cuda":
                one.usual = usual_waves(jobs, devices, batch_size, wave=one.grain, most=one.most)
            else:
                one.usual = usual_size(jobs, cores + devices, batch_size)

    @property
    def worker_count(self) -> int:
        """How many batches are stepped at a time: one a core, or one a device."""
        return sum(1 if one.backend == "cuda" else one.places for one in self.hands.values())

    @property
    def places(self) -> int:
        """How many batches may be under way."""
        return max(sum(one.places for one in self.hands.values()), 1)

    @property
    def backends(self) -> tuple[str, ...]:
        """What the workers solve with."""
        return tuple(sorted({one.backend for one in self.hands.values()}))

    @property
    def is_asking(self) -> bool:
        """Whether a newcomer has not said yet what it is."""
        return bool(self._asked)

    @property
    def alike(self) -> bool:
        """Whether all get the same batches, so that a generation can be cut beforehand."""
        return not self._mixed and self.policy.name == "greedy"

    def next(self, waiting: int, *, one_each: bool, nothing_under_way: bool) -> tuple[Hand, int] | None:
        """Return who gets antennas next, and how many; None when nobody is free.

        Args:
            waiting: Antennas that nobody has yet.
            one_each: No worker is to have two batches.
            nothing_under_way: All that workers still have was given up: then one gets more behind that, or none would.
        """
        hands = self.hands.values()
        free = [one for one in hands if one.batches < (1 if one_each else one.places)]
        if not free and nothing_under_way:
            free = list(hands)
        for one in sorted(free, key=lambda one: (one.batches / one.places, -(one.speed or 0.0), one.address)):
            share = self.policy.share(one, hands, waiting, somebody_must=nothing_under_way)
            if share and self.alike and one.backend == "cuda":
                share = (
                    WHOLE  # cut so that devices have the same work; the rest of a batch would be a launch of its own
                )
            if share:
                return one, share
        return None

    def sent(self, address: str, antennas: int) -> None:
        """Note that a batch is on its way."""
        one = self.hands.get(address)
        if one is not None:
            one.batches, one.antennas = one.batches + 1, one.antennas + antennas

    def landed(self, address: str, antennas: int, solved: int = 0, seconds: float = 0.0) -> None:
        """Note that a batch is under way no more, and what it says of the worker's speed.

        Args:
            address: To whom it was sent.
            antennas: In it.
            solved: Of them solved, not refused or known.
            seconds: That this took.
        """
        one = self.hands.get(address)
        if one is not None:
            one.learn(solved, seconds)
            one.batches, one.antennas = max(one.batches - 1, 0), max(one.antennas - antennas, 0)

    def all_landed(self) -> None:
        """Note that nothing is under way any more."""
        for one in self.hands.values():
            one.batches = one.antennas = 0

    def lost(self, address: str) -> None:
        """Give a worker nothing any more, until it is seen again."""
        self.hands.pop(address, None)

    def _hand(self, address: str, threads: int) -> Hand:
        kind: Mapping[str, Any] = self._kinds.get(address) or {**(self._device or {}), "backend": self._backend}
        if kind["backend"] != "cuda":
            return Hand(address=address, places=1 if self._mixed else threads, most=LARGEST_BATCH)
        return Hand(
            address=address,
            backend="cuda",
            places=min(self._streams, threads),
            grain=kind["wave"],
            most=batch_room(kind["antennas"], self._streams),
        )
