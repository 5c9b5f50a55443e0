"""Storage of a running search: full generations with the state after them, and parts of a generation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from antennaopt.run.interfaces import Evaluation, Interfaces, for_checkpoint
from antennaopt.run.memory import Memory, Paces, by_slot, generation_report
from antennaopt.run.unmet import Unmet
from antennaopt.search import Search
from antennaopt.solve.outcome import Outcome


class Saving:
    """Stores generations, or blocks, and checkpoints; reports a generation once it is stored."""

    def __init__(self, search: Search, memory: Memory, interfaces: Interfaces) -> None:
        self._search, self._memory, self._with = search, memory, interfaces
        self._store, self._progress = interfaces.store, interfaces.progress
        self._unmet = Unmet(memory, interfaces, search.settings.population)
        self._paces = Paces()
        self._unsaved: tuple[Sequence[Evaluation], int, float] | None = None

    def hold(self, block: Sequence[Evaluation], number: int, seconds: float) -> None:
        """Hold a full generation, or block, in any order, and the seconds that it took, until `save` stores them."""
        self._unsaved = block, number, seconds

    def save(self, run_seconds: float) -> None:
        """Store the generation that is held and the state after it, and report it, unless that was done already."""
        unsaved, self._unsaved = self._unsaved, None
        if unsaved is None:
            return
        held, number, seconds = unsaved
        block = by_slot(held)
        report = generation_report(self._search, number, block, seconds, self._paces)
        self._memory.keep(block)
        self._store.write_generation(report.generation, block)
        self._store.checkpoint(report.generation, self._state(()))
        self._store.log("generation", **asdict(report), run_seconds=run_seconds)
        self._progress.generation_done(report)
        self._unmet.take(report.generation, block)
        best = next((one for one in block if one.candidate.individual == report.individual), None)
        if best is not None:
            self._progress.best_found(best.candidate.individual, best.values, best.outcome)

    def save_part(self, block: Mapping[str, Evaluation], partial: Mapping[str, Outcome]) -> None:
        """Store the outcomes so far of an incomplete generation or block.

        Args:
            block: Evaluations by individual.
            partial: Outcomes of the generation that a checkpoint had.
        """
        search = self._search
        if not search.by_order:
            outcomes = {name: one.outcome for name, one in block.items() if not one.cached}
            plain = ((name, for_checkpoint(outcome)) for name, outcome in (dict(partial) | outcomes).items())
            kept = {name: outcome for name, outcome in plain if outcome is not None}
            held = {} if self._with.sampling is None else {"samples": self._with.sampling.held()}
            self._store.checkpoint(search.generation, {"evolution": search.state(), "partial": kept, **held})
        elif block:
            rows = list(block.values())
            self._store.write_generation(search.generation, rows)
            self._store.checkpoint(search.generation, self._state(rows))
            self._memory.keep(rows)

    def _state(self, block: Iterable[Evaluation]) -> dict[str, Any]:
        """Return the state of the search, with the rows of a block under way."""
        rows = list(block)
        state: dict[str, Any] = {"evolution": self._search.state()}
        if self._search.by_order:
            state["block"] = [{"scored": one.scored.to_dict(), "twin": one.copy_of} for one in rows]
        return state | {"partial": {one.candidate.individual: one.outcome.to_dict(compact=True) for one in rows}}
