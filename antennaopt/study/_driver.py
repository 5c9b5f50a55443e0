"""The driver's loop: ask, leave out twins, solve, score, store, tell, checkpoint."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from antennaopt.errors import ClusterError, Interrupted, TooManyFailuresError
from antennaopt.evolution import Candidate, Evolution, Scored, decode
from antennaopt.objectives import Objective, score
from antennaopt.study._garbage import rare_collections
from antennaopt.study._interrupt import StopSignals
from antennaopt.study._known import KnownDesigns, design_digest
from antennaopt.study._parties import NOT_KEPT, Evaluation, Farm, Job, Outcome, Recalled, Store
from antennaopt.study._progress import GenerationReport, Progress, median

REPEATABLE = ("ok", "infeasible", "undecayed", "diverged")
"""Statuses that a twin would come to again; the others were the farm's fault and are solved anew."""

MOST_FAILED = 0.5
"""Share of a generation that may be `lost`, `timeout` or `error` before the run gives up."""


class Driver:
    """Carries one search through, generation by generation.

    A generation's rows are made and stored while the next one is solved: between two generations only what the next
    one needs is done. What is kept in memory does not grow with the number of generations, but for the 24 bytes that a
    known design takes.

    Attributes:
        evolution: The search.
        counts: Individuals so far by status.
        solver_seconds: Time that the antennas solved in this session took, summed over the workers.
    """

    def __init__(
        self,
        *,
        evolution: Evolution,
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
        """Put the parties together.

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
        self._partial: dict[str, Outcome] = {}
        self._state: dict[str, Any] | None = None
        self._unsaved: tuple[Sequence[Evaluation], dict[str, Any], GenerationReport] | None = None

    @property
    def seconds(self) -> float:
        """Wall time of the run, earlier sessions included."""
        return self._clock() - self._start

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a checkpoint; which designs are known is read from the store.

        Args:
            state: What was given to `Store.checkpoint`.
        """
        self.evolution.restore(state["evolution"])
        self._partial = dict(state["partial"])
        self._state = None
        for individual, genome, status in self._store.history(self.evolution.generation):
            self._note(individual, decode(self.evolution.genes, genome), status)

    def recall(self, individuals: Iterable[str]) -> Recalled:
        """Return genome and outcome, patterns left out, of individuals so far; unknown ones are left out."""
        names = list(individuals)
        absent = [name for name in names if name not in self._kept]
        found = self._kept | (self._store.recall(absent) if absent else {})
        return {name: found[name] for name in names if name in found}

    def run(self) -> str:
        """Go on until a stop; return its reason.

        Raises:
            Interrupted: A signal came; everything is saved.
            TooManyFailuresError: The search has nothing to go on.
        """
        with rare_collections():
            try:
                while (reason := self.evolution.stopped(self.seconds)) is None:
                    if self._signals.requested:
                        raise self._interrupted(self._signals.exit_code or 130)
                    self._generation()
            finally:
                self._save()
                self._store.flush()
        return reason

    def generation(self) -> None:
        """Carry one generation through, up to its checkpoint."""
        self._generation()
        self._save()
        self._store.flush()

    def _generation(self) -> None:
        """Carry one generation through, up to what the next one needs; the one before is saved meanwhile."""
        began = self._clock()
        number = self.evolution.generation
        state = self._state or self.evolution.state()
        candidates = self.evolution.ask()
        values = {one.individual: decode(self.evolution.genes, one.genome) for one in candidates}
        twins = self._twins(candidates, values)
        jobs = [(one.individual, self._design(values[one.individual])) for one in candidates]
        jobs = [job for job in jobs if job[0] not in twins and job[0] not in self._partial]
        by_name = {one.individual: one for one in candidates}
        done: dict[str, Evaluation] = {}

        def arrived(individual: str, outcome: Outcome) -> None:
            done[individual] = self._evaluation(by_name[individual], values[individual], outcome)

        self._solve(number, jobs, state, arrived)
        self._copy_twins(twins, done, by_name, values)
        evaluations = [done[one.individual] for one in candidates]
        self._refuse_failures(number, evaluations)
        self.evolution.tell([_scored(one) for one in evaluations])
        self._remember(evaluations)
        self._partial = {}
        self._state = self.evolution.state()
        report = self._report(number, evaluations, self._clock() - began)
        self._unsaved = evaluations, self._state, report
        self._progress.generation_done(report)

    def _save(self) -> None:
        """Store the last generation and the state after it, unless that was done already."""
        unsaved, self._unsaved = self._unsaved, None
        if unsaved is None:
            return
        evaluations, state, report = unsaved
        self._store.write_generation(report.generation, evaluations)
        self._store.checkpoint(report.generation, {"evolution": state, "partial": {}})
        self._store.log("generation", **asdict(report), run_seconds=self.seconds)

    def _twins(self, candidates: Sequence[Candidate], values: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
        """Find the candidates whose antenna is known or stands earlier in this generation: twin's id by id."""
        digests = {one.individual: design_digest(values[one.individual]) for one in candidates}
        known = self._known.find(list(digests.values()))
        twins: dict[str, str] = {}
        here: dict[bytes, str] = {}
        for (individual, digest), earlier in zip(digests.items(), known, strict=True):
            twin = earlier or here.setdefault(digest, individual)
            if twin != individual:
                twins[individual] = twin
        return twins

    def _solve(
        self, number: int, jobs: Sequence[Job], state: Mapping[str, Any], arrived: Callable[[str, Outcome], None]
    ) -> None:
        """Send what is to be solved to the farm and wait; on a signal or without workers save what came back, and stop."""
        solved = dict(self._partial)
        missing = {individual for individual, _ in jobs}
        draining = False
        self._progress.generation_started(number, len(jobs))
        try:
            outcomes = self._farm.run(self._farm.cut(jobs, self._batch_size))
            self._save()
            for individual, outcome in solved.items():
                arrived(individual, outcome)
            for individual, outcome in outcomes:
                if individual not in missing:
                    continue
                missing.discard(individual)
                solved[individual] = outcome
                arrived(individual, outcome)
                self.solver_seconds += float(outcome.get("seconds") or 0.0)
                self._progress.evaluated(outcome)
                if self._signals.requested and not draining:
                    self._farm.drain()
                    draining = True
        except KeyboardInterrupt:
            self._signals.request()
        except ClusterError:
            self._keep(number, state, solved)
            raise
        if missing and self._signals.requested:
            self._keep(number, state, solved)
            raise self._interrupted(self._signals.exit_code or 130)
        if missing:
            raise RuntimeError(f"the farm lost {len(missing)} individuals without an outcome: {sorted(missing)[:5]}")

    def _keep(self, number: int, state: Mapping[str, Any], solved: Mapping[str, Outcome]) -> None:
        """Store what came back of an unfinished generation; a resume solves the others."""
        self._save()
        plain = ((individual, _listed(outcome)) for individual, outcome in solved.items())
        kept = {individual: outcome for individual, outcome in plain if _fits_json(outcome)}
        self._store.checkpoint(number, {"evolution": state, "partial": kept})

    def _copy_twins(
        self,
        twins: Mapping[str, str],
        done: dict[str, Evaluation],
        candidates: Mapping[str, Candidate],
        values: Mapping[str, dict[str, float]],
    ) -> None:
        """Give every twin the outcome of the one that was solved."""
        earlier = self.recall({twin for twin in twins.values() if twin not in candidates})
        for individual, twin in twins.items():
            here = done.get(twin)
            outcome = here.outcome if here is not None else earlier[twin][1]
            copied = self._evaluation(candidates[individual], values[individual], outcome)
            done[individual] = replace(copied, cached=True, twin=None if here is not None else twin)

    def _evaluation(self, candidate: Candidate, values: dict[str, float], outcome: Outcome) -> Evaluation:
        missed, fitness = score(outcome, self._objectives)
        return Evaluation(
            candidate=candidate, values=values, outcome=outcome, shortfalls=missed, fitness=fitness, cached=False
        )

    def _remember(self, evaluations: Sequence[Evaluation]) -> None:
        """Note the designs that are known now, and keep the outcomes of the population and of the best."""
        born: Recalled = {}
        for one in evaluations:
            self._note(one.candidate.individual, one.values, one.outcome["status"])
            outcome = {key: value for key, value in one.outcome.items() if key not in NOT_KEPT}
            born[one.candidate.individual] = one.candidate.genome, outcome
        known = self._kept | born
        wanted = [one.candidate.individual for one in (*self.evolution.population, *self.evolution.hall_of_fame)]
        self._kept = {name: known[name] for name in wanted if name in known}

    def _note(self, individual: str, values: Mapping[str, float], status: str) -> None:
        self.counts[status] += 1
        if status in REPEATABLE:
            self._known.add(design_digest(values), individual)

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


def _scored(one: Evaluation) -> Scored:
    ok = one.outcome["status"] == "ok"
    return Scored(candidate=one.candidate, fitness=one.fitness, ok=ok, cached=one.cached)


def _reason(outcome: Outcome) -> str:
    """Return the first line of an outcome's error."""
    text = str(outcome.get("error") or "no reason given").strip()
    return text.splitlines()[-1 if text.startswith("Traceback") else 0]


def _listed(outcome: Outcome) -> Outcome:
    """Return an outcome with lists in place of arrays."""
    return {key: value.tolist() if hasattr(value, "tolist") else value for key, value in outcome.items()}


def _fits_json(outcome: Outcome) -> bool:
    """Say whether an outcome survives JSON: one with numbers that are not finite is solved again instead."""
    try:
        json.dumps(outcome, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
