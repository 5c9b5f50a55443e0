"""The driver without generations: whenever a place at the farm is free, a child is bred for it.

What is recorded is the order of completion: each at the moment it is complete, and a block of `population` individuals
as a generation is, with the state after it: who is complete, and who was bred and is under way. A resume sends those
off again and takes what comes back in the recorded order, breeding when it was bred then, so that all of it comes out
as it had, to the bit. Where the record ends the order is that of arrival again, and is recorded just as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from antennaopt.errors import ClusterError
from antennaopt.run.bookkeeping import Bookkeeping, listed
from antennaopt.run.garbage import rare_collections
from antennaopt.run.interfaces import Evaluation, Job, Outcome
from antennaopt.run.known_designs import design_digest
from antennaopt.search import Birth, Scored, SteadyState, decode, individual_id
from antennaopt.search.objectives import score
from antennaopt.solve.outcome import REPEATABLE
from antennaopt.store import generation_of


class SteadyDriver(Bookkeeping):
    """Carries one search through, whose children are bred as places become free."""

    evolution: SteadyState

    def __init__(self, *, evolution: SteadyState, **interfaces: Any) -> None:
        """Put the interfaces together; see `Bookkeeping`.

        Args:
            evolution: New; `restore` goes back to a checkpoint.
            interfaces: All others.
        """
        super().__init__(evolution=evolution, **interfaces)
        self._batch = 1
        self._capacity = 1
        self._block: list[Evaluation] = []
        self._here: dict[str, Evaluation] = {}
        self._values: dict[str, dict[str, float]] = {}
        self._sent: dict[str, bytes] = {}
        self._first: dict[bytes, str] = {}
        self._followers: dict[str, list[Birth]] = {}
        self._landed: dict[str, tuple[Outcome, str | None]] = {}
        self._recorded: deque[tuple[str, int]] = deque()
        self._reason: str | None = None
        self._began = self._clock()

    def restore(self, state: Mapping[str, Any]) -> list[Evaluation]:
        """Go back to a checkpoint; which designs are known is read from the store.

        Args:
            state: What was given to `Store.checkpoint`.

        Returns:
            What it held of a block under way.

        Raises:
            ValueError, TypeError, LookupError, ArithmeticError, AttributeError: It is not what was given.
        """
        self.evolution.restore(state["evolution"])
        block = [Scored.from_dict(entry["scored"]) for entry in state["block"]]
        number, population = self.evolution.generation, self.evolution.settings.population
        due = [individual_id(number, slot) for slot in range(self.evolution.completed - number * population)]
        if [one.candidate.individual for one in block] != due:
            raise ValueError(f"the block under way is not of {len(due)} who are complete")
        self._know_again(block)
        for scored, entry in zip(block, state["block"], strict=True):
            original = entry["twin"]
            if original is not None and generation_of(original) >= number:
                raise ValueError(f"{original} is of no earlier block")
            self._record(scored, state["partial"][scored.candidate.individual], original)
        if [_scored(one) for one in self._block] != block:
            raise ValueError("the block under way has outcomes of another fitness or status")
        return list(self._block)

    def run(self) -> str:
        """Go on until a stop; return its reason.

        Raises:
            Interrupted: A signal came; everything is saved.
            TooManyFailuresError: The search has nothing to go on.
        """
        self._reason = self.evolution.stopped(self.seconds)
        with rare_collections():
            try:
                if self._reason is None:
                    self._go_on()
            finally:
                self._store.flush()
        return self._reason or "nothing was left to be solved"

    def _go_on(self) -> None:
        self._batch, self._capacity = self._sizes()
        self._began = self._clock()
        self._progress.generation_started(self.evolution.generation, self.evolution.settings.population)
        try:
            outcomes = self._farm.run([])
            self._recorded = deque(self._store.order(self.evolution.completed))
            births = list(self.evolution.under_way.values())
            if not births and not self._recorded:
                births = self.evolution.ask(self.evolution.settings.population)
            self._set_to_work(births)
            self._proceed()
            for name, outcome in outcomes:
                self._arrived(name, outcome)
            if not self._signals.requested:
                self._leave_record()
                self._proceed()
        except KeyboardInterrupt:
            self._signals.request()
        except ClusterError:
            self.save_block()
            raise
        self.save_block()
        if self._signals.requested:
            raise self._interrupted(self._signals.exit_code or 130)
        self.evolution.close()
        self._reason = self._reason or self.evolution.stopped(self.seconds)

    def _sizes(self) -> tuple[int, int]:
        """Return how many children are bred at a time, and how many antennas keep the farm busy.

        Of a farm without devices a place is an antenna's. Devices take whole batches.
        """
        population, places = self.evolution.settings.population, max(self._farm.places, 1)
        if self._batch_size != "auto":
            batch = max(int(self._batch_size), 1)
        elif self._farm.device is None:
            batch = 1
        else:
            batch = len(self._farm.cut(range(population))[0])  # type: ignore[arg-type]
            batch = min(batch, max(population // (2 * places), 1))
        return batch, batch * places

    def _arrived(self, name: str, outcome: Outcome) -> None:
        """Take in an outcome, and breed for the place that is free now."""
        if name not in self._sent or name in self._landed:
            return
        self.solver_seconds += float(outcome.get("seconds") or 0.0)
        self._progress.evaluated(outcome)
        self._landed[name] = outcome, None
        self._proceed()
        if self._signals.requested or (self._is_over() and not self._recorded):
            self._farm.drain()

    def _proceed(self) -> None:
        """Complete whoever can be, and breed whole batches for as many places as are free then."""
        while True:
            while (name := self._next()) is not None:
                self._finish(name)
            full = self._capacity - len(self._sent) < self._batch
            if full or self._recorded or self._is_over() or not (births := self.evolution.ask(self._batch)):
                return
            self._set_to_work(births)

    def _next(self) -> str | None:
        """Return who is next to be complete: by the record while there is one, else who landed first."""
        if self._recorded:
            name, births = self._recorded[0]
            missing = births - self.evolution.births
            if missing > 0:
                self._set_to_work(self.evolution.ask(missing))
            if births == self.evolution.births and name in self.evolution.under_way:
                return name if name in self._landed else None
            self._leave_record()
        return next(iter(self._landed), None)

    def _leave_record(self) -> None:
        """Follow the record no further: it is of another search, or the farm did not solve all of it."""
        if self._recorded:
            self._store.log("order_left", completed=self.evolution.completed, left=len(self._recorded))
            self._recorded.clear()

    def _finish(self, name: str) -> None:
        """Complete somebody who landed; whoever is the same antenna has landed with it."""
        outcome, original = self._landed.pop(name)
        if self._recorded:
            self._recorded.popleft()
        else:
            self._store.completed(self.evolution.completed, name, self.evolution.births)
        if name in self._sent:
            self._first.pop(self._sent.pop(name), None)
        individual = self._complete(name, outcome, copied_from=original)
        followers = self._followers.pop(name, [])
        if outcome["status"] in REPEATABLE:
            self._landed |= {one.name: (outcome, individual) for one in followers}
        else:  # the farm's fault: they are solved for themselves
            self._set_to_work(followers)

    def _is_over(self) -> bool:
        self._reason = self._reason or self.evolution.stopped(self.seconds)
        return self._signals.requested or self._reason is not None

    def _set_to_work(self, births: Sequence[Birth]) -> None:
        """Send off those whose antenna is not known; duplicates land with their original."""
        jobs: list[Job] = []
        duplicates: list[tuple[Birth, str]] = []
        digests = []
        for one in births:
            self._values[one.name] = decode(self.evolution.genes, one.genome)
            digests.append(design_digest(self._values[one.name]))
        for one, digest, original in zip(births, digests, self._known.find(digests), strict=True):
            first = self._first.get(digest)
            if original is not None:
                duplicates.append((one, original))
            elif first is not None:
                self._followers.setdefault(first, []).append(one)
            else:
                self._first[digest] = one.name
                self._sent[one.name] = digest
                jobs.append((one.name, self._design(self._values[one.name])))
        self._farm.submit([jobs[at : at + self._batch] for at in range(0, len(jobs), self._batch)])
        self._landed |= {one.name: (self._outcome_of(original), original) for one, original in duplicates}

    def _outcome_of(self, individual: str) -> Outcome:
        here = self._here.get(individual)
        return here.outcome if here is not None else self.recall([individual])[individual][1]

    def _complete(self, name: str, outcome: Outcome, *, copied_from: str | None = None) -> str:
        """Give somebody the next place in the order of completion, and return who it is from now on."""
        _, fitness = score(outcome, self._objectives)
        ok = outcome["status"] == "ok"
        scored = self.evolution.tell(name, fitness=fitness, ok=ok, cached=copied_from is not None)
        here = self._here.get(copied_from or "")
        self._record(scored, outcome, here.copy_of if here is not None else copied_from, self._values.pop(name))
        if len(self._block) == self.evolution.settings.population:
            self._close_block()
        return scored.candidate.individual

    def _record(
        self, scored: Scored, outcome: Outcome, copy_of: str | None, values: dict[str, float] | None = None
    ) -> None:
        """Note a row of the block under way."""
        candidate = scored.candidate
        values = decode(self.evolution.genes, candidate.genome) if values is None else values
        one = replace(self._evaluation(candidate, values, outcome), cached=scored.cached, copy_of=copy_of)
        self._block.append(one)
        self._here[candidate.individual] = one
        self._note(candidate.individual, design_digest(values), outcome["status"])

    def _close_block(self) -> None:
        """Store a full block and the state after it."""
        number = self.evolution.generation - 1
        block, now = self._block, self._clock()
        report = self._report(number, block, now - self._began)
        self._block, self._here, self._began = [], {}, now
        self._keep_outcomes(block)
        self._refuse_failures(number, block)
        self._store.write_generation(number, block)
        self._store.checkpoint(number, self._state(()))
        self._store.log("generation", **asdict(report), run_seconds=self.seconds)
        self._progress.generation_done(report)
        if number + 1 < self.evolution.settings.generations:
            self._progress.generation_started(number + 1, self.evolution.settings.population)

    def save_block(self) -> None:
        """Store the rows of a block that is not full, and the state; a resume fills it up."""
        if not self._block:
            return
        self._store.write_generation(self.evolution.generation, self._block)
        self._store.checkpoint(self.evolution.generation, self._state(self._block))
        self._keep_outcomes(self._block)

    def _state(self, block: Iterable[Evaluation]) -> dict[str, Any]:
        rows = list(block)
        return {
            "evolution": self.evolution.state(),
            "block": [{"scored": _scored(one).to_dict(), "twin": one.copy_of} for one in rows],
            "partial": {one.candidate.individual: listed(one.outcome) for one in rows},
        }


def _scored(one: Evaluation) -> Scored:
    return Scored(candidate=one.candidate, fitness=one.fitness, ok=one.outcome["status"] == "ok", cached=one.cached)
