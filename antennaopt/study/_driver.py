"""The driver's loop: ask, leave out twins, solve, score, store, tell, checkpoint."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from antennaopt.errors import Interrupted, TooManyFailuresError
from antennaopt.evolution import Candidate, Evolution, Scored, decode, design_key
from antennaopt.objectives import Objective, fitness, shortfalls
from antennaopt.study._interrupt import StopSignals
from antennaopt.study._parties import NOT_KEPT, Evaluation, Farm, Job, Outcome, Store
from antennaopt.study._progress import GenerationReport, Progress, median

REPEATABLE = ("ok", "infeasible", "undecayed", "diverged")
"""Statuses that a twin would come to again; the others were the farm's fault and are solved anew."""

MOST_FAILED = 0.5
"""Share of a generation that may be `lost`, `timeout` or `error` before the run gives up."""


class Driver:
    """Carries one search through, generation by generation.

    Attributes:
        evolution: The search.
        outcomes: Outcome by individual, `NOT_KEPT` left out, of all individuals so far.
        genomes: Genome by individual.
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
            evolution: New, or restored together with `outcomes`.
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
        self.outcomes: dict[str, Outcome] = {}
        self.genomes: dict[str, tuple[float, ...]] = {}
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
        self._known: dict[tuple, str] = {}
        self._partial: dict[str, Outcome] = {}

    @property
    def seconds(self) -> float:
        """Wall time of the run, earlier sessions included."""
        return self._clock() - self._start

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a checkpoint; the outcomes so far are read from the store.

        Args:
            state: What was given to `Store.checkpoint`.
        """
        self.evolution.restore(state["evolution"])
        self._partial = dict(state["partial"])
        for individual, genome, outcome in self._store.history(self.evolution.generation):
            self._remember(individual, genome, decode(self.evolution.genes, genome), outcome)

    def run(self) -> str:
        """Go on until a stop; return its reason.

        Raises:
            Interrupted: A signal came; everything is saved.
            TooManyFailuresError: The search has nothing to go on.
        """
        while (reason := self.evolution.stopped(self.seconds)) is None:
            if self._signals.requested:
                raise self._interrupted(self._signals.exit_code or 130)
            self.generation()
        return reason

    def generation(self) -> None:
        """Carry one generation through, up to its checkpoint."""
        began = self._clock()
        number = self.evolution.generation
        state = self.evolution.state()
        candidates = self.evolution.ask()
        values = {one.individual: decode(self.evolution.genes, one.genome) for one in candidates}
        twins = self._twins(candidates, values)
        jobs = [(one.individual, self._design(values[one.individual])) for one in candidates]
        jobs = [job for job in jobs if job[0] not in twins and job[0] not in self._partial]
        solved = self._solve(number, jobs, state)
        evaluations = [
            self._evaluation(one, values[one.individual], twins.get(one.individual), solved) for one in candidates
        ]
        self._store.write_generation(number, evaluations)
        self._refuse_failures(number, evaluations)
        for one in evaluations:
            self._remember(one.candidate.individual, one.candidate.genome, one.values, one.outcome)
        self.evolution.tell(
            [
                Scored(
                    candidate=one.candidate, fitness=one.fitness, ok=one.outcome["status"] == "ok", cached=one.cached
                )
                for one in evaluations
            ]
        )
        self._partial = {}
        self._store.checkpoint(number, {"evolution": self.evolution.state(), "partial": {}})
        self._report(number, evaluations, self._clock() - began)

    def _twins(self, candidates: Sequence[Candidate], values: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
        """Find the candidates whose antenna is known or stands earlier in this generation: twin's id by id."""
        twins: dict[str, str] = {}
        here: dict[tuple, str] = {}
        for one in candidates:
            key = design_key(values[one.individual])
            twin = self._known.get(key) or here.setdefault(key, one.individual)
            if twin != one.individual:
                twins[one.individual] = twin
        return twins

    def _solve(self, number: int, jobs: Sequence[Job], state: Mapping[str, Any]) -> dict[str, Outcome]:
        """Send what is to be solved to the farm and wait for it; on a signal save what came back and stop."""
        solved = dict(self._partial)
        missing = {individual for individual, _ in jobs}
        draining = False
        self._progress.generation_started(number, len(jobs))
        try:
            for individual, outcome in self._farm.run(self._farm.cut(jobs, self._batch_size)):
                if individual not in missing:
                    continue
                missing.discard(individual)
                solved[individual] = outcome
                self.solver_seconds += float(outcome.get("seconds") or 0.0)
                self._progress.evaluated()
                if self._signals.requested and not draining:
                    self._farm.drain()
                    draining = True
        except KeyboardInterrupt:
            self._signals.request()
        if missing and self._signals.requested:
            kept = {individual: outcome for individual, outcome in solved.items() if _fits_json(outcome)}
            self._store.checkpoint(number, {"evolution": state, "partial": kept})
            raise self._interrupted(self._signals.exit_code or 130)
        if missing:
            raise RuntimeError(f"the farm lost {len(missing)} individuals without an outcome: {sorted(missing)[:5]}")
        return solved

    def _evaluation(
        self, candidate: Candidate, values: dict[str, float], twin: str | None, solved: Mapping[str, Outcome]
    ) -> Evaluation:
        if twin is None:
            outcome = solved[candidate.individual]
        elif twin in solved:
            outcome = solved[twin]
        else:
            outcome = {**self.outcomes[twin], **self._store.patterns(twin)}
        return Evaluation(
            candidate=candidate,
            values=values,
            outcome=outcome,
            shortfalls=shortfalls(outcome, self._objectives),
            fitness=fitness(outcome, self._objectives),
            cached=twin is not None,
        )

    def _remember(
        self, individual: str, genome: tuple[float, ...], values: Mapping[str, float], outcome: Outcome
    ) -> None:
        self.genomes[individual] = genome
        self.outcomes[individual] = {key: value for key, value in outcome.items() if key not in NOT_KEPT}
        if outcome["status"] in REPEATABLE:
            self._known.setdefault(design_key(values), individual)

    def _refuse_failures(self, number: int, evaluations: Sequence[Evaluation]) -> None:
        """Give up when a generation says nothing about the search."""
        statuses = Counter(one.outcome["status"] for one in evaluations)
        lost = sum(count for status, count in statuses.items() if status not in REPEATABLE)
        nothing_ok = number == 0 and evaluations and not statuses["ok"]
        if not nothing_ok and lost <= MOST_FAILED * len(evaluations):
            return
        failed = [one.outcome for one in evaluations if one.outcome["status"] != "ok"]
        (status, reason), count = Counter((one["status"], _reason(one)) for one in failed).most_common(1)[0]
        self._store.log("too_many_failures", generation=number, failed=len(failed), of=len(evaluations))
        raise TooManyFailuresError(
            f"{len(failed)} of {len(evaluations)} evaluations of generation {number} failed; the commonest reason "
            f"({count} times) is {status}: {reason}"
        )

    def _report(self, number: int, evaluations: Sequence[Evaluation], seconds: float) -> None:
        solved = sum(not one.cached for one in evaluations)
        rate = solved / max(seconds, 1e-9)
        left = max(self.evolution.settings.most_evaluations - self.evolution.evaluations, 0)
        best = self.evolution.best
        ok = [one.fitness for one in evaluations if one.outcome["status"] == "ok"]
        report = GenerationReport(
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
        self._store.log("generation", **asdict(report), run_seconds=self.seconds)
        self._progress.generation_done(report)

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


def _fits_json(outcome: Outcome) -> bool:
    """Say whether an outcome survives JSON: one with numbers that are not finite is solved again instead."""
    try:
        json.dumps(outcome, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
