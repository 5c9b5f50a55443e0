"""The driver: ask a search for candidates, leave out duplicates, solve, store, tell, checkpoint.

With generations, all of one is solved before the next is bred. Its state is taken and stored, with its rows, once the
first batches of the next are sent. A process that is killed before leaves the checkpoint before: the same follows. With
`evolution.overlap` places that are free meanwhile solve those of the next that follow from what is known
(`Search.ask_ahead`); their outcomes wait until the next generation asks for these designs.

Where the order of completion decides what is bred (`Search.by_order`), a child is bred whenever a place at the farm is
free. That order is recorded, each at the moment it is complete, and a block of `population` individuals as a generation
is, with the state after it: who is complete, and what was bred and is under way. A resume sends those off again, takes
what comes back in the recorded order and breeds when it was bred then: the same bits. Then arrival decides.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from antennaopt.errors import ClusterError, Interrupted
from antennaopt.farm.arriving import Arriving, Landed, together
from antennaopt.farm.batches import Job
from antennaopt.farm.interface import More
from antennaopt.run.interfaces import Evaluation, Interfaces
from antennaopt.run.memory import Memory, StepCounts, design_digest, refuse_failures
from antennaopt.run.order import Order, sizes
from antennaopt.run.overlap import Overlap
from antennaopt.run.process import rare_collections, short_turns
from antennaopt.run.saving import Saving
from antennaopt.run.under_way import Copies, UnderWay
from antennaopt.run.whole_replies import Taken, WholeReplies
from antennaopt.search import Candidate, Scored, Search, decode, individual_id
from antennaopt.solve.outcome import REPEATABLE, Outcome
from antennaopt.store.generations import generation_of


class Driver:
    """Carries one search through.

    What is kept in memory does not grow with the number of generations, but for the 24 bytes that a known design takes.

    Attributes:
        search: New; `restore` goes back to a checkpoint.
        memory: Of the individuals so far.
        solver_seconds: Time that the antennas solved in this session took, summed over the workers.
    """

    def __init__(self, search: Search, interfaces: Interfaces) -> None:
        self.search = search
        self.memory = Memory(search, interfaces.store)
        self.solver_seconds = 0.0
        self._with = interfaces
        self._farm, self._store, self._progress = interfaces.farm, interfaces.store, interfaces.progress
        self._signals, self._clock = interfaces.signals, interfaces.clock
        self._start = self._clock() - interfaces.seconds_before
        self._began = self._clock()
        self._reason: str | None = None
        self._batch = self._capacity = 1
        self._outcomes: Iterator[tuple[str, Outcome]] | None = None
        self._block: dict[str, Evaluation] = {}
        self._steps = StepCounts()
        self._overlap = Overlap(search, self.memory.designs, interfaces.design)
        self._under_way = UnderWay(search, self.memory, interfaces, self._overlap)
        self._whole = WholeReplies(search, self._under_way, interfaces)
        self._order = Order(search, interfaces.store)
        self._saving = Saving(search, self.memory, interfaces)

    @property
    def seconds(self) -> float:
        """Wall time of the run, earlier sessions included."""
        return self._clock() - self._start

    def restore(self, state: Mapping[str, Any]) -> list[Evaluation]:
        """Go back to a checkpoint; which designs are known is read from the store.

        Args:
            state: What was given to `Store.checkpoint`.

        Returns:
            What it held of a generation under way. With generations their genomes are bred again, and are not those.

        Raises:
            ValueError, TypeError, LookupError, ArithmeticError, AttributeError: It is not what was given.
        """
        self.search.restore(state["evolution"])
        if self.search.by_order:
            return self._restore_block(state["block"], state["partial"])
        self.memory.read_again()
        outcomes = {name: Outcome.of(plain) for name, plain in state["partial"].items()}
        self._under_way.restore(outcomes)
        if self._with.sampling is not None:
            self._with.sampling.restore(state.get("samples", {}))
        number, genome = self.search.generation, (0.5,) * len(self.search.genes)
        slots = {individual_id(number, slot): slot for slot in range(self.search.settings.population)}
        values = decode(self.search.genes, genome)
        bred = [Candidate(individual=one, generation=number, slot=slots[one], genome=genome) for one in outcomes]
        return [self._evaluation(one, values, outcomes[one.individual]) for one in bred]

    def run(self) -> str:
        """Go on until a stop; return its reason.

        Raises:
            Interrupted: After a signal; everything is saved.
            TooManyFailuresError: The search has nothing to go on.
        """
        with rare_collections(), short_turns():
            try:
                while not self._is_over():
                    if self._signals.requested:
                        raise self._interrupted()
                    if not self._round():
                        break
            finally:
                try:
                    self._end_outcomes()
                finally:
                    self._save()
                    self._store.flush()
        return self._reason or "nothing was left to be solved"

    def generation(self) -> None:
        """Carry one generation through, up to its checkpoint."""
        self._round()
        self._save()
        self._store.flush()

    def _is_over(self) -> bool:
        self._reason = self._reason or self.search.stopped(self.seconds)
        return self._reason is not None

    def _round(self) -> bool:
        """Solve a generation, or all that is left where there are none; return whether there was anything to do."""
        by_order = self.search.by_order
        self._began = self._clock()
        done, whole = self.search.completed, False
        try:
            outcomes = self._send_first()
            self._proceed()
            for landed in together(outcomes):
                self._take(landed)
                if self._overlap.is_under_way and len(self._block) == len(self.search.under_way):
                    break  # what else comes is of the next generation
            if by_order and not self._signals.requested:
                self._order.leave()
                self._proceed()
            whole = by_order or self._take_samples()
        except KeyboardInterrupt:
            self._signals.request()
        except ClusterError:
            self.save_part()
            raise
        if by_order or (not whole and self._signals.requested):
            self.save_part()
            if self._signals.requested:
                raise self._interrupted()
            self.search.close()
        elif not whole:
            missing = sorted(self.search.under_way.keys() - self._block.keys())
            raise RuntimeError(f"the farm lost {len(missing)} individuals without an outcome: {missing[:5]}")
        elif self._block:
            self.search.tell(self._whole.results(self._block.values()))
            self._close_block()
        return self.search.completed > done

    def _take_samples(self) -> bool:
        """Solve the made copies of a complete generation that are left; return whether all are solved."""
        sampling, whole = self._with.sampling, self._block.keys() == self.search.under_way.keys()
        if sampling is None or not whole:
            return whole
        while not self._signals.requested:
            batches = self._copies(1)
            if sampling.over:
                self._block = sampling.finished(self._block)
                return True
            if not batches:
                return False
            for landed in together(self._farm.run(batches, plan=sampling.plan, more=self._copies)):
                self._take(landed)
        return False

    def _end_outcomes(self) -> None:
        """Abandon what is in flight, if anything is."""
        if isinstance(self._outcomes, Arriving | Generator):
            self._outcomes.close()
        self._outcomes = None

    def _next_ones(self, grain: int) -> list[list[Job]]:
        """Return batches of the next generation that can be solved now; see `antennaopt.farm.interface.More`."""
        if self._signals.requested or len(self._block) == len(self.search.under_way):
            return []
        due = self._overlap.due(self._block, self._under_way.first)
        return self._farm.cut(due, self._with.batch_size) if due else []

    def _copies(self, grain: int) -> list[list[Job]]:
        """Return batches of made copies that can be solved now; see `antennaopt.farm.interface.More`."""
        sampling, under_way = self._with.sampling, self.search.under_way
        if sampling is None or self._signals.requested:
            return []
        due = sampling.due(self._block, len(under_way), grain)
        if due:
            self._progress.samples_started(len(due))
        return self._farm.cut(due, self._with.batch_size) if due else []

    def _take_copies(self, landed: Landed) -> bool:
        """Take in outcomes of made copies; return whether there are any."""
        outcomes = [] if self._with.sampling is None else self._with.sampling.take(landed)
        if outcomes:
            self._count(outcomes)
        return bool(outcomes)

    def _count(self, outcomes: Sequence[Outcome]) -> None:
        """Count antennas as solved."""
        for outcome in outcomes:
            self.solver_seconds += outcome.seconds or 0.0
        self._progress.evaluated_together(outcomes)

    def _send_first(self) -> Iterator[tuple[str, Outcome]]:
        """Set the farm to work: on a generation, or on what a search without them begins with."""
        search = self.search
        if not search.by_order:
            return self._send_generation()
        self._batch, self._capacity = sizes(search, self._farm, self._with.batch_size)
        self._progress.generation_started(search.generation, search.settings.population)
        self._outcomes = self._farm.run([])
        self._order.begin()
        births = list(search.under_way.values())
        if not search.births and not self._order.is_followed:
            births = search.ask(search.settings.population)
        self._set_to_work(births)
        return self._outcomes

    def _send_generation(self) -> Iterator[tuple[str, Outcome]]:
        """Breed a generation and set the farm to work on it: on its first batches before the others are bred."""
        search = self.search
        copies: Copies = []
        self._under_way.begin_generation()
        self._overlap.begin()
        goes_on = self._overlap.is_under_way
        ahead = 0 if goes_on else self._farm.ahead(search.settings.population, self._with.batch_size)
        batches = self._batches(ahead, copies)
        given = batches if ahead else list(batches)
        if goes_on:
            self._farm.submit(given)
        else:
            self._end_outcomes()
            more = self._more
            self._outcomes = self._farm.run(given) if more is None else self._farm.run(given, more=more)
        self._under_way.forget_others()
        self._save()
        self._progress.generation_started(search.generation, len(self._under_way.sent))
        self._under_way.land(copies, self._block)
        for name, outcome in self._overlap.claimed():
            self._arrived(name, outcome)
        return self._outcomes or iter(())

    @property
    def _more(self) -> More | None:
        """What a farm may ask for while a generation is under way."""
        if self.search.settings.overlap:
            return self._next_ones if self._farm.device is None else None
        sampling = self._with.sampling
        return self._copies if sampling is not None and sampling.plan is None else None

    def _batches(self, ahead: int, copies: Copies) -> Iterator[list[Job]]:
        """Yield the batches of a generation as it is bred: first those of some antennas, then all others.

        Of the others those come first that will take the most steps.
        """
        jobs_of, sent = self._under_way.jobs, self._under_way.sent
        first = jobs_of(self.search.ask(ahead), copies) if ahead else []
        if first:
            yield from self._farm.cut(first, self._with.batch_size, left=self.search.settings.population - ahead)
        rest = dict(jobs_of(self.search.ask(), copies))
        solved = len(sent) - len(first) - len(rest)
        names = self._steps.most_first([*rest], [self.search.under_way[name].genome for name in rest])
        jobs = [(name, rest[name]) for name in names]
        yield from self._farm.cut(jobs, self._with.batch_size, sent=len(first) + solved)

    def _set_to_work(self, candidates: Sequence[Candidate]) -> None:
        """Send off those whose antenna is not known; duplicates land with their original."""
        copies: Copies = []
        jobs = self._under_way.jobs(candidates, copies)
        self._farm.submit([jobs[at : at + self._batch] for at in range(0, len(jobs), self._batch)])
        self._under_way.land(copies, self._block)

    def _take(self, landed: Landed) -> None:
        """Take in the outcomes of one reply, as a batch where possible."""
        if self._take_copies(landed):
            landed = [(name, outcome) for name, outcome in landed if self._under_way.awaits(name)]
        taken = self._whole.take(landed)
        if taken is None:
            for name, outcome in landed:
                self._arrived(name, outcome)
        else:
            self._take_whole(taken)
        if self._signals.requested:
            self._farm.drain()

    def _take_whole(self, taken: Taken) -> None:
        """Take in a reply's evaluations, and all that has landed with it."""
        self._block |= taken.ones
        self.memory.note_all(taken.ones.values(), taken.digests)
        self._count([one.outcome for one in taken.ones.values()])
        for name, followers in taken.followers.items():
            self._under_way.land_followers(followers, taken.ones[name].outcome, name)
        while self._under_way.landed:
            self._finish(next(iter(self._under_way.landed)))

    def _arrived(self, name: str, outcome: Outcome) -> None:
        """Take in an outcome, and breed for the place that is free now."""
        owner = self._overlap.take(name, outcome)
        if owner is None:  # of the next generation
            return
        name = owner
        if not self._under_way.awaits(name):
            return
        outcome = self._with.figured(Outcome.of(outcome), self._under_way.values_of(name))
        self.solver_seconds += outcome.seconds or 0.0
        self._progress.evaluated(outcome)
        self._under_way.landed[name] = outcome, None
        if self.search.by_order:
            self._proceed()
            if self._is_over() and not self._order.is_followed:
                self._farm.drain()
        else:
            landed = self._under_way.landed  # it, then its duplicates
            while landed:
                self._finish(next(iter(landed)))
        if self._signals.requested:
            self._farm.drain()

    def _proceed(self) -> None:
        """Complete all that can be; without generations breed whole batches for as many places as are free then."""
        landed, sent = self._under_way.landed, self._under_way.sent
        while True:
            while landed or self._order.is_followed:
                name = self._order.next(landed, self._set_to_work)
                if name is None:
                    break
                self._finish(name)
            full = self._capacity - len(sent) < self._batch or self._order.is_followed
            if not self.search.by_order or full or self._signals.requested or self._is_over():
                return
            births = self.search.ask(self._batch)
            if not births:
                return
            self._set_to_work(births)

    def _finish(self, name: str) -> None:
        """Complete a candidate that landed; its duplicates land with it."""
        outcome, original, values, digest, followers = self._under_way.take(name)
        here = self._block.get(original or "")
        copy_of = original if here is None else here.copy_of
        candidate = self.search.under_way[name]
        one = self._evaluation(candidate, values, outcome, cached=original is not None, copy_of=copy_of)
        if self.search.by_order:
            one = self._order.complete(one)
        self._record(one, digest)
        if outcome.status in REPEATABLE or not self.search.by_order:
            self._under_way.land_followers(followers, outcome, one.candidate.individual)
        else:  # the farm's fault: they are solved for themselves
            self._set_to_work(followers)
        if self.search.by_order and len(self._block) == self.search.settings.population:
            self._close_block()

    def _evaluation(self, candidate: Candidate, values: dict[str, float], outcome: Outcome, **about: Any) -> Evaluation:
        return Evaluation.of(
            self.search, self._with.objectives, candidate=candidate, values=values, outcome=outcome, **about
        )

    def _record(self, one: Evaluation, digest: bytes) -> None:
        """Note a row of the generation, or block, under way."""
        individual = one.candidate.individual
        self._block[individual] = one
        self.memory.note(individual, digest, one.outcome.status)

    def _close_block(self) -> None:
        """Hand a full generation, or block, over to be stored with the state after it."""
        number, now = self.search.generation - 1, self._clock()
        block = list(self._block.values())
        seconds = now - self._began
        self._block, self._under_way.partial, self._began = {}, {}, now
        refuse_failures(self._store, number, block)
        self._steps.learn(block)
        self._saving.hold(block, number, seconds)
        if self.search.by_order:
            self._save()
            if number + 1 < self.search.settings.generations:
                self._progress.generation_started(number + 1, self.search.settings.population)

    def _save(self) -> None:
        self._saving.save(self.seconds)

    def save_part(self) -> None:
        """Store the outcomes so far of an incomplete generation or block; a resumed run solves the others."""
        self._save()
        self._saving.save_part(self._block, self._under_way.partial)

    def _restore_block(self, entries: Sequence[Mapping[str, Any]], outcomes: Mapping[str, Any]) -> list[Evaluation]:
        block = [Scored.from_dict(entry["scored"]) for entry in entries]
        number = self.search.generation
        complete = self.search.completed - number * self.search.settings.population
        if [one.candidate.individual for one in block] != [individual_id(number, slot) for slot in range(complete)]:
            raise ValueError(f"the block under way is not of {complete} who are complete")
        self.memory.read_again(block)
        for scored, entry in zip(block, entries, strict=True):
            candidate, original = scored.candidate, entry["twin"]
            if original is not None and generation_of(original) >= number:
                raise ValueError(f"{original} is of no earlier block")
            values, outcome = decode(self.search.genes, candidate.genome), Outcome.of(outcomes[candidate.individual])
            one = self._evaluation(candidate, values, outcome, cached=scored.cached, copy_of=original)
            self._record(one, design_digest(values))
        rows = list(self._block.values())
        if [one.scored for one in rows] != block:
            raise ValueError("the block under way has outcomes of another fitness or status")
        return rows

    def _interrupted(self) -> Interrupted:
        self._store.log("interrupted", generation=self.search.generation, run_seconds=self.seconds)
        return Interrupted(
            f"interrupted in generation {self.search.generation + 1}; what was solved is saved",
            exit_code=self._signals.exit_code or 130,
        )
