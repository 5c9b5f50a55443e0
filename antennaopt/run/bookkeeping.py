"""What any driver of a search does beside driving: scoring, knowing designs, keeping outcomes, giving up, reporting."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from antennaopt.errors import Interrupted, TooManyFailuresError
from antennaopt.run.interfaces import NOT_KEPT, Evaluation, Farm, Outcome, Recalled, Store
from antennaopt.run.interrupt import StopSignals
from antennaopt.run.known_designs import Digest, KnownDesigns, design_digest
from antennaopt.run.progress import GenerationReport, Progress, median
from antennaopt.search import Candidate, Scored, Search, decode
from antennaopt.search.objectives import Objective, score
from antennaopt.solve.outcome import REPEATABLE

MOST_FAILED = 0.5
"""Share of a generation that may be `lost`, `timeout` or `error` before the run gives up."""


class Bookkeeping:
    """Between a search, a farm and a store.

    Attributes:
        evolution: The search.
        counts: Individuals so far by status.
        reused: Antennas of this session that were not solved, by their origin: `cache`, `cells`.
        solver_seconds: Time that the antennas solved in this session took, summed over the workers.
    """

    def __init__(
        self,
        *,
        evolution: Search,
        objectives: Sequence[Objective],
        design: Callable[[Mapping[str, float]], dict[str, float]],
        farm: Farm,
        store: Store,
        progress: Progress,
        signals: StopSignals,
        batch_size: int | str = "auto",
        clock: Callable[[], float] = time.monotonic,
        seconds_before: float = 0.0,
    ) -> None:
        """Put the interfaces together.

        Args:
            evolution: New; `restore` goes back to a checkpoint.
            objectives: What fitness is made of.
            design: Turns gene values into a full design, SI.
            farm: Solves antennas.
            store: Keeps what came out.
            progress: Tells people.
            signals: Says when to stop.
            batch_size: Antennas a batch, or `auto` to choose by the number of workers.
            clock: Seconds, for progress and `stop.wall_time`.
            seconds_before: Wall time of the sessions before this one.
        """
        self.evolution = evolution
        self.counts: Counter[str] = Counter()
        self.reused: Counter[str] = Counter()
        self.solver_seconds = 0.0
        self._objectives = objectives
        self._design = design
        self._farm = farm
        self._store = store
        self._progress = progress
        self._signals = signals
        self._batch_size = batch_size
        self._clock = clock
        self._start = clock() - seconds_before
        self._known = KnownDesigns()
        self._kept: Recalled = {}

    @property
    def seconds(self) -> float:
        """Wall time of the run, earlier sessions included."""
        return self._clock() - self._start

    def recall(self, individuals: Iterable[str]) -> Recalled:
        """Return genome and outcome, patterns left out, of individuals so far; unknown ones are left out."""
        names = list(individuals)
        absent = [name for name in names if name not in self._kept]
        found = self._kept | (self._store.recall(absent) if absent else {})
        return {name: found[name] for name in names if name in found}

    def _evaluation(self, candidate: Candidate, values: dict[str, float], outcome: Outcome) -> Evaluation:
        missed, fitness = score(outcome, self._objectives)
        return Evaluation(
            candidate=candidate, values=values, outcome=outcome, shortfalls=missed, fitness=fitness, cached=False
        )

    def _keep_outcomes(self, evaluations: Sequence[Evaluation]) -> None:
        """Keep the outcomes of the population and of the best, and count those that were not solved."""
        born: Recalled = {}
        for one in evaluations:
            if "origin" in one.outcome and not one.cached:
                self.reused[one.outcome["origin"]] += 1
            outcome = {key: value for key, value in one.outcome.items() if key not in NOT_KEPT}
            born[one.candidate.individual] = one.candidate.genome, outcome
        known = self._kept | born
        wanted = [one.candidate.individual for one in (*self.evolution.population, *self.evolution.hall_of_fame)]
        self._kept = {name: known[name] for name in wanted if name in known}

    def _know_again(self, block: Iterable[Scored] = ()) -> None:
        """Read in the store which designs are known, and find there whom a restored search goes on from.

        Args:
            block: Who is not there yet, in a block under way.

        Raises:
            ValueError: Somebody is not there, or is somebody else.
        """
        wanted = {one.candidate.individual: one for one in (*self.evolution.population, *self.evolution.hall_of_fame)}
        for individual, genome, status in self._store.history(self.evolution.generation):
            one = wanted.pop(individual, None)
            if one is not None and (one.candidate.genome, one.ok) != (genome, status == "ok"):
                raise ValueError(f"{individual} has another genome or status in its row")
            self._note(individual, design_digest(decode(self.evolution.genes, genome)), status)
        for scored in block:
            if wanted.pop(scored.candidate.individual, scored) != scored:
                raise ValueError(f"{scored.candidate.individual} is not the one of the block under way")
        if wanted:
            raise ValueError(f"{min(wanted)} has no row")

    def _note(self, individual: str, design: Digest, status: str) -> None:
        self.counts[status] += 1
        if status in REPEATABLE:
            self._known.add(design, individual)

    def _refuse_failures(self, number: int, evaluations: Sequence[Evaluation]) -> None:
        """Give up when a generation says nothing about the search."""
        statuses = Counter(one.outcome["status"] for one in evaluations)
        lost = sum(count for status, count in statuses.items() if status not in REPEATABLE)
        nothing_ok = number == 0 and evaluations and not statuses["ok"]
        if not nothing_ok and lost <= MOST_FAILED * len(evaluations):
            return
        failed = [one.outcome for one in evaluations if one.outcome["status"] != "ok"]
        self._store.write_generation(number, evaluations)
        (status, reason), count = Counter((one["status"], _reason(one)) for one in failed).most_common(1)[0]
        self._store.log("too_many_failures", generation=number, failed=len(failed), of=len(evaluations))
        raise TooManyFailuresError(
            f"{len(failed)} of {len(evaluations)} evaluations of generation {number} failed; the commonest reason "
            f"({count} times) is {status}: {reason}"
        )

    def _report(self, number: int, evaluations: Sequence[Evaluation], seconds: float) -> GenerationReport:
        solved = sum(not one.cached for one in evaluations)
        rate = solved / max(seconds, 1e-9)
        left = max(self.evolution.settings.most_evaluations - self.evolution.evaluations, 0)
        best = self.evolution.best
        ok = [one.fitness for one in evaluations if one.outcome["status"] == "ok"]
        return GenerationReport(
            generation=number,
            generations=self.evolution.settings.generations,
            best=best.fitness if best else None,
            individual=best.candidate.individual if best else None,
            median=median(ok),
            solved=solved,
            cached=len(evaluations) - solved,
            reused=sum("origin" in one.outcome and not one.cached for one in evaluations),
            failed=len(evaluations) - len(ok),
            evaluations=self.evolution.evaluations,
            evaluations_per_s=rate,
            seconds_left=left / rate if rate > 0.0 else None,
            seconds=seconds,
        )

    def _interrupted(self, exit_code: int) -> Interrupted:
        self._store.log("interrupted", generation=self.evolution.generation, run_seconds=self.seconds)
        return Interrupted(
            f"interrupted in generation {self.evolution.generation + 1}; what was solved is saved", exit_code=exit_code
        )


def _reason(outcome: Outcome) -> str:
    """Return the first line of an outcome's error."""
    text = str(outcome.get("error") or "no reason given").strip()
    return text.splitlines()[-1 if text.startswith("Traceback") else 0]


def listed(outcome: Outcome) -> Outcome:
    """Return an outcome with lists in place of arrays."""
    return {key: value.tolist() if hasattr(value, "tolist") else value for key, value in outcome.items()}
