"""The driver's loop: ask, leave out duplicates, solve, score, store, tell, checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from typing import Any

from antennaopt.errors import ClusterError
from antennaopt.run.bookkeeping import Bookkeeping, listed
from antennaopt.run.garbage import rare_collections
from antennaopt.run.interfaces import Evaluation, Job, Outcome
from antennaopt.run.known_designs import Digest, design_digest
from antennaopt.run.progress import GenerationReport
from antennaopt.search import Candidate, Evolution, Scored, decode, individual_id


class Driver(Bookkeeping):
    """Carries one search through, generation by generation.

    A generation's rows are made and stored while the next one is solved: between two generations only what the next
    one needs is done. What is kept in memory does not grow with the number of generations, but for the 24 bytes that a
    known design takes.
    """

    evolution: Evolution

    def __init__(self, *, evolution: Evolution, **interfaces: Any) -> None:
        """Put the interfaces together; see `Bookkeeping`.

        Args:
            evolution: New; `restore` goes back to a checkpoint.
            interfaces: All others.
        """
        super().__init__(evolution=evolution, **interfaces)
        self._partial: dict[str, Outcome] = {}
        self._unsaved: tuple[Sequence[Evaluation], Evolution, GenerationReport] | None = None

    def restore(self, state: Mapping[str, Any]) -> list[Evaluation]:
        """Go back to a checkpoint; which designs are known is read from the store.

        Args:
            state: What was given to `Store.checkpoint`.

        Returns:
            What it held of a generation under way; whose genomes are bred anew, and are not those.

        Raises:
            ValueError, TypeError, LookupError, ArithmeticError, AttributeError: It is not what was given.
        """
        self.evolution.restore(state["evolution"])
        self._know_again()
        self._partial = dict(state["partial"])
        number, genome = self.evolution.generation, (0.5,) * len(self.evolution.genes)
        slots = {individual_id(number, slot): slot for slot in range(self.evolution.settings.population)}
        values = decode(self.evolution.genes, genome)
        return [
            self._evaluation(
                Candidate(individual=name, generation=number, slot=slots[name], genome=genome), values, outcome
            )
            for name, outcome in self._partial.items()
        ]

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
        before = copy(self.evolution)  # `Evolution` replaces what it knows, so this stays as it is
        candidates = self.evolution.ask()
        values = {one.individual: decode(self.evolution.genes, one.genome) for one in candidates}
        digests = {individual: design_digest(of_it) for individual, of_it in values.items()}
        duplicates = self._duplicates(digests)
        jobs = [(one.individual, self._design(values[one.individual])) for one in candidates]
        jobs = [job for job in jobs if job[0] not in duplicates and job[0] not in self._partial]
        by_name = {one.individual: one for one in candidates}
        # With a smaller budget than when they were solved, not all of them are asked for.
        self._partial = {name: outcome for name, outcome in self._partial.items() if name in by_name}
        done: dict[str, Evaluation] = {}

        def arrived(individual: str, outcome: Outcome) -> None:
            done[individual] = self._evaluation(by_name[individual], values[individual], outcome)

        self._solve(number, jobs, before, arrived)
        self._copy_duplicates(duplicates, done, by_name, values)
        evaluations = [done[one.individual] for one in candidates]
        self._refuse_failures(number, evaluations)
        self.evolution.tell([_scored(one) for one in evaluations])
        for one in evaluations:
            individual = one.candidate.individual
            self._note(individual, digests[individual], one.outcome["status"])
        self._partial = {}
        report = self._report(number, evaluations, self._clock() - began)
        self._unsaved = evaluations, copy(self.evolution), report
        self._progress.generation_done(report)

    def _save(self) -> None:
        """Keep the last generation and the state after it, unless that was done already."""
        unsaved, self._unsaved = self._unsaved, None
        if unsaved is None:
            return
        evaluations, after, report = unsaved
        self._keep_outcomes(evaluations)
        self._store.write_generation(report.generation, evaluations)
        self._store.checkpoint(report.generation, {"evolution": after.state(), "partial": {}})
        self._store.log("generation", **asdict(report), run_seconds=self.seconds)

    def _duplicates(self, digests: Mapping[str, Digest]) -> dict[str, str]:
        """Find the candidates whose antenna is known or stands earlier in this generation: original by id."""
        known = self._known.find(list(digests.values()))
        duplicates: dict[str, str] = {}
        here: dict[bytes, str] = {}
        for (individual, digest), earlier in zip(digests.items(), known, strict=True):
            original = earlier or here.setdefault(digest, individual)
            if original != individual:
                duplicates[individual] = original
        return duplicates

    def _solve(
        self, number: int, jobs: Sequence[Job], before: Evolution, arrived: Callable[[str, Outcome], None]
    ) -> None:
        """Send what is to be solved to the farm and wait; on a signal or without workers save what came back."""
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
            self._keep(number, before, solved)
            raise
        if missing and self._signals.requested:
            self._keep(number, before, solved)
            raise self._interrupted(self._signals.exit_code or 130)
        if missing:
            raise RuntimeError(f"the farm lost {len(missing)} individuals without an outcome: {sorted(missing)[:5]}")

    def _keep(self, number: int, before: Evolution, solved: Mapping[str, Outcome]) -> None:
        """Store what came back of an unfinished generation; a resume solves the others."""
        self._save()
        plain = ((individual, listed(outcome)) for individual, outcome in solved.items())
        kept = {individual: outcome for individual, outcome in plain if _fits_json(outcome)}
        self._store.checkpoint(number, {"evolution": before.state(), "partial": kept})

    def _copy_duplicates(
        self,
        duplicates: Mapping[str, str],
        done: dict[str, Evaluation],
        candidates: Mapping[str, Candidate],
        values: Mapping[str, dict[str, float]],
    ) -> None:
        """Give every duplicate the outcome of the one that was solved."""
        earlier = self.recall({original for original in duplicates.values() if original not in candidates})
        for individual, original in duplicates.items():
            here = done.get(original)
            outcome = here.outcome if here is not None else earlier[original][1]
            copied = self._evaluation(candidates[individual], values[individual], outcome)
            done[individual] = replace(copied, cached=True, copy_of=None if here is not None else original)


def _scored(one: Evaluation) -> Scored:
    ok = one.outcome["status"] == "ok"
    return Scored(candidate=one.candidate, fitness=one.fitness, ok=ok, cached=one.cached)


def _fits_json(outcome: Outcome) -> bool:
    """Say whether an outcome survives JSON: one with numbers that are not finite is solved again instead."""
    try:
        json.dumps(outcome, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
