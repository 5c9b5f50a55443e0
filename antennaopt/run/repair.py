"""Solve the antennas of damaged files again: replay the search from its seed with the undamaged rows.

Each generation is bred as it was. An antenna whose row can be read gets the outcome of that row, the others are solved.
So the replay must come to the genomes of every whole file, and to the state of the checkpoint: that is checked before
anything is written.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ResumeRefusedError
from antennaopt.farm.batches import Job
from antennaopt.farm.interface import ForwardingFarm, Known, More, Solving
from antennaopt.run.continuation import genomes_of, of_this_run
from antennaopt.run.driver import Driver
from antennaopt.run.interfaces import NOT_KEPT, Evaluation, Interfaces, Recalled, Store
from antennaopt.run.levels import at_levels, plans_of
from antennaopt.run.planning import figuring, search_of
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.run.sampling import sampling_of
from antennaopt.run.stores import outcome_of_row
from antennaopt.search import individual_id
from antennaopt.solve.outcome import REPEATABLE, STATUSES, Outcome
from antennaopt.store.checkpoint import Checkpoint, canonical
from antennaopt.store.damage import Damage, damaged_files
from antennaopt.store.generations import SINGLE, first_generation, generation_of
from antennaopt.store.made import made_rows, of_sample_key, sample_key, write_made
from antennaopt.store.run_folder import RunFolder

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment


def repair(
    folder: RunFolder,
    checkpoint: Checkpoint | None,
    *,
    experiment: Experiment,
    farm: Solving,
    signals: StopSignals,
    told: Callable[[str], None],
    exact: bool,
) -> list[Damage]:
    """Solve the generations of damaged files again and write these files.

    Args:
        folder: Open for writing.
        checkpoint: The newest whole one, None before the first.
        experiment: The run's.
        farm: Solves.
        signals: Say when to stop.
        told: Takes lines of text.
        exact: Whether the arithmetic is that of the run, so that all must come out to the bit.

    Returns:
        What was damaged.

    Raises:
        ResumeRefusedError: What is solved here does not lead to the rows that are whole; nothing was written.
        Interrupted: After a signal; nothing was written.
    """
    done, begun = 0, False
    if checkpoint is not None:
        with of_this_run(checkpoint):
            done = int(checkpoint.state["evolution"]["generation"])
            begun = bool(checkpoint.state.get("block"))
    found = damaged_files(folder, done, begun=begun)
    if not found:
        told("nothing to repair: every file of rows and patterns is whole")
        return []
    for one in found:
        told(f"to repair: {one}")
    solved: dict[int, Sequence[Evaluation]] = {}
    if checkpoint is not None and any(one.generations for one in found):
        replay = _Replay(folder, found, done, experiment=experiment, exact=exact)
        solved = replay.carry_out(checkpoint, farm=farm, signals=signals)
    _write(folder, found, solved)
    folder.log("repaired", files=[str(one) for one in found], generations=sorted(solved), exact=exact)
    told(f"repaired: {len(found)} file{'' if len(found) == 1 else 's'}, {_listed(solved)} solved again")
    return found


def _write(folder: RunFolder, found: Sequence[Damage], solved: Mapping[int, Sequence[Evaluation]]) -> None:
    """Write what was solved, patterns first. A file of several generations, or of none that counts, goes before."""
    for one in found:
        if first_generation(one.path) >= SINGLE or not one.generations:
            one.path.unlink(missing_ok=True)
    evals, patterns, samples = (_generations(found, kind) for kind in ("evals", "patterns", "samples"))
    for number, evaluations in sorted(solved.items()):
        if number in samples:
            write_made(folder, number, {one.candidate.individual: one.samples for one in evaluations})
        if number in patterns:
            folder.write_patterns(
                number,
                {one.candidate.individual: one.row.outcome for one in evaluations if one.copy_of is None},
                {one.candidate.individual: one.copy_of for one in evaluations if one.copy_of is not None},
            )
        if number in evals:
            folder.write_rows(number, [one.row for one in evaluations])


class _Replay(Store):
    """A search carried out again on recorded rows. It is the store of its driver too, and writes nothing."""

    def __init__(
        self, folder: RunFolder, found: Sequence[Damage], done: int, *, experiment: Experiment, exact: bool
    ) -> None:
        self._folder, self._experiment, self._exact, self._done = folder, experiment, exact, done
        self._evals, self._patterns = (_generations(found, kind) for kind in ("evals", "patterns"))
        self._samples = _generations(found, "samples")
        self._lost = self._evals | self._patterns | self._samples
        self._failed = _failures(folder) if self._evals else {}
        self._population = experiment.evolution.population
        self._order = list(folder.order.after(0))
        self._places = {name: place for place, (name, _) in enumerate(self._order)}
        self._rows: tuple[int, dict[str, dict[str, Any]]] = (-1, {})
        self._made: tuple[int, dict[str, Outcome]] = (-1, {})
        self._solved: dict[int, Sequence[Evaluation]] = {}
        self._state: Mapping[str, Any] | None = None

    def carry_out(
        self, checkpoint: Checkpoint, *, farm: Solving, signals: StopSignals
    ) -> dict[int, Sequence[Evaluation]]:
        """Replay all generations that are done; return those of damaged files."""
        plans = plans_of(self._folder.manifest, self._folder.manifest["plan"])
        search = search_of(self._experiment, genomes_of(self._folder), plans)
        if search.climb is not None:
            search.climb.recorded = checkpoint.state["evolution"]["climb"]["begins"]
        if search.polish is not None:
            search.polish.replayed = checkpoint.state["evolution"]["polish"]["begins"] or 0
        interfaces = Interfaces(
            objectives=self._experiment.goals,
            design=self._experiment.design,
            figured=figuring(self._experiment),
            farm=_RecordedFarm(at_levels(farm, plans, search), self._recorded),
            store=self,
            progress=Progress(),
            signals=signals,
            batch_size=self._experiment.cluster.batch_size,
            sampling=sampling_of(self._experiment, plans[-1]),
        )
        driver = Driver(search, interfaces)
        try:
            if search.by_order:
                self._refuse_without_order()
                driver.run()
            else:
                for _ in range(self._done):
                    driver.generation()
        except (LookupError, ValueError) as problem:
            raise self._refusal(f"{type(problem).__name__}: {problem}") from problem
        missing = sorted(self._lost - self._solved.keys())
        if missing or self._state is None:
            raise self._refusal(f"the search does not come to {_listed(missing or [self._done - 1])} any more")
        self._refuse_other_state(self._state, checkpoint.state)
        return self._solved

    def _refuse_without_order(self) -> None:
        due = self._done * self._population
        if len(self._order) < due:
            raise self._refusal(f"logs/order.jsonl holds the order of {len(self._order)} antennas, not of {due}")

    def _refuse_other_state(self, here: Mapping[str, Any], there: Mapping[str, Any]) -> None:
        """Refuse when the replay has come elsewhere than the checkpoint; one in the midst of a block is further on."""
        if there.get("block"):
            return
        states = [here, there["evolution"]]
        if not self._exact:
            states = [[entry["candidate"]["individual"] for entry in state["population"]] for state in states]
        if canonical(states[0]) != canonical(states[1]):
            raise self._refusal("it ends in another population than the checkpoint's")

    def _refusal(self, why: str) -> ResumeRefusedError:
        how = "" if self._exact else "with other arithmetic than the run's "
        return ResumeRefusedError(
            f"{_listed(self._lost)} of {self._folder.path} cannot be solved again {how}({why}); "
            "nothing was written. Restore the files from a copy, or start a new run from this one with --fork"
        )

    def _recorded(self, name: str) -> tuple[Outcome | None, bool]:
        """Return the outcome that a row, or the log of failures, has of an antenna; and whether it is to be solved."""
        individual, sample = of_sample_key(name) or (name, None)
        if sample is not None:
            outcome = self._made_of(generation_of(individual)).get(name)
            return outcome, outcome is None
        if name in self._places:
            place = self._places[name]
            individual = individual_id(place // self._population, place % self._population)
        elif name.startswith("b"):
            return None, False
        number = generation_of(individual)
        if number >= self._done:
            return None, False
        if number in self._evals:
            failed = self._failed.get(individual)
            return failed, failed is None
        row = self._rows_of(number).get(individual)
        if row is None:
            raise self._refusal(f"there is no row of {individual}")
        if number in self._patterns and row["status"] == "ok":
            return None, True
        return outcome_of_row(self._folder.columns, row), False

    def _rows_of(self, number: int) -> dict[str, dict[str, Any]]:
        if self._rows[0] != number:
            self._rows = number, {row["individual"]: row for row in self._folder.read_generation(number)}
        return self._rows[1]

    def _made_of(self, number: int) -> dict[str, Outcome]:
        """Return the recorded outcomes of a generation's samples by their keys; none where they are damaged."""
        if self._made[0] != number:
            rows = () if number in self._samples else made_rows(self._folder, number)
            columns = self._folder.columns
            found = {sample_key(row["individual"], row["sample"]): outcome_of_row(columns, row) for row in rows}
            self._made = number, found
        return self._made[1]

    def write_generation(self, generation: int, evaluations: Sequence[Evaluation]) -> None:
        """Keep what belongs to a damaged file; compare with the rows of one that is whole."""
        if generation >= self._done:
            return
        if generation in self._lost:
            self._solved[generation] = list(evaluations)
        if generation not in self._evals:
            rows = self._rows_of(generation)
            same = len(rows) == len(evaluations) and all(self._is_row(one, rows) for one in evaluations)
            if not same:
                raise self._refusal(f"it does not lead to the rows of generation {generation}")

    def _is_row(self, one: Evaluation, rows: Mapping[str, Mapping[str, Any]]) -> bool:
        row = rows.get(one.candidate.individual)
        if row is None or tuple(row["genome"]) != one.candidate.genome:
            return False
        return not self._exact or (row["fitness"], row["status"]) == (one.fitness, one.outcome.status)

    def recall(self, individuals: Iterable[str]) -> Recalled:
        """Return genome and outcome of individuals, from rows or as solved again."""
        found: Recalled = {}
        for name in individuals:
            number = generation_of(name)
            if number in self._evals:
                one = next((one for one in self._solved.get(number, ()) if one.candidate.individual == name), None)
                if one is not None:
                    found[name] = one.candidate.genome, one.outcome.without(*NOT_KEPT)
            elif (row := self._rows_of(number).get(name)) is not None:
                found[name] = tuple(row["genome"]), outcome_of_row(self._folder.columns, row)
        return found

    def checkpoint(self, generation: int, state: Mapping[str, Any]) -> None:
        """Keep the state after the last generation."""
        if generation == self._done - 1:
            self._state = state["evolution"]

    def order(self, place: int) -> list[tuple[str, int]]:
        """Return the recorded order of completion."""
        return self._order[place:]


class _RecordedFarm(ForwardingFarm):
    """A farm that answers from records, and gives another farm the rest."""

    def __init__(self, farm: Solving, recorded: Callable[[str], tuple[Outcome | None, bool]]) -> None:
        super().__init__(farm)
        self._recorded = recorded
        self._ready: deque[tuple[str, Outcome]] = deque()

    def run(
        self,
        batches: Iterable[Sequence[Job]],
        *,
        plan: Mapping[str, Any] | None = None,
        known: Known | None = None,
        more: More | None = None,
    ) -> Iterator[tuple[str, Outcome]]:
        asked = list(batches)
        self._ready.clear()
        left = self._unrecorded(asked)
        return self._outcomes(self._farm.run(left, plan=plan) if left or not asked else iter(()))

    def submit(self, batches: Iterable[Sequence[Job]]) -> None:
        left = self._unrecorded(batches)
        if left:
            self._farm.submit(left)

    def _unrecorded(self, batches: Iterable[Sequence[Job]]) -> list[list[Job]]:
        left: list[Job] = []
        for name, design in (job for batch in batches for job in batch):
            outcome, to_solve = self._recorded(name)
            if outcome is not None:
                self._ready.append((name, outcome))
            elif to_solve:
                left.append((name, design))
        return self._farm.cut(left, self._batch_size) if left else []

    def _outcomes(self, solved: Iterator[tuple[str, Outcome]]) -> Iterator[tuple[str, Outcome]]:
        while True:
            while self._ready:
                yield self._ready.popleft()
            landed = next(solved, None)
            if landed is not None:
                yield landed
            elif not self._ready:
                return


def _generations(found: Iterable[Damage], kind: str) -> frozenset[int]:
    return frozenset(number for one in found if one.kind == kind for number in one.generations)


def _failures(folder: RunFolder) -> dict[str, Outcome]:
    """Return the outcomes, by individual, that were the farm's fault; solved again they might be others."""
    found: dict[str, Outcome] = {}
    with suppress(OSError):
        for line in (folder.path / "failures.jsonl").read_text("utf-8", "replace").splitlines():
            with suppress(ValueError, TypeError, RecursionError):
                entry = json.loads(line)
                name, status = entry.pop("individual"), entry.get("status")
                if status in STATUSES and status not in REPEATABLE and isinstance(name, str):
                    about = {key: value for key, value in entry.items() if key not in ("values", "generation", "time")}
                    found[name] = Outcome.of(about)
    return found


def _listed(generations: Iterable[int]) -> str:
    numbers = sorted(generations)
    word = "generation" if len(numbers) == 1 else "generations"
    shown = ", ".join(map(str, numbers[:8]))
    return f"{word} {shown}" + (f" and {len(numbers) - 8} more" if len(numbers) > 8 else "") if numbers else "nothing"
