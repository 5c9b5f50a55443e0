"""The run folder as the driver's store, and the conversion of stored rows to outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError, ResumeRefusedError
from antennaopt.run.handover import copies_of
from antennaopt.run.interfaces import Evaluation, Recalled, Store
from antennaopt.solve.outcome import Outcome
from antennaopt.store.damage import damage_lines
from antennaopt.store.evaluations import COPIED, write_evaluations
from antennaopt.store.files import check_run_folder, read_events
from antennaopt.store.generations import generation_of, restoring
from antennaopt.store.levels import coarse_text, coarser_plans, finest_rows, plan_of_row
from antennaopt.store.reading import crowned_best
from antennaopt.store.rows import modes_of_row, pattern_part
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import LEVEL, PARTS_OF_S11, RunColumns

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment
    from antennaopt.settings import SolverSettings


class FolderStore(Store):
    """Keeps evaluations in a run folder.

    Attributes:
        folder: Open for writing.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    def write_generation(self, generation: int, evaluations: Sequence[Evaluation]) -> None:
        """Write patterns, then rows: a row on disk always has its pattern."""
        write_evaluations(self.folder, generation, [one.row for one in evaluations], copies_of(evaluations))

    def history(self, generations: int) -> Iterator[tuple[str, tuple[float, ...], str]]:
        """Yield id, genome and status of all individuals of the first `generations` generations.

        Raises:
            ResumeRefusedError: The rows of a generation are missing.
        """
        missing = 0
        for generation, table in self.folder.generation_tables():
            if generation >= generations or generation > missing:
                break
            missing = generation + 1
            columns = (table[name].to_pylist() for name in ("individual", "genome", "status"))
            for individual, genome, status in zip(*columns, strict=True):
                yield individual, tuple(genome), status
        if missing < generations:
            raise ResumeRefusedError(
                f"{self.folder.path} has no rows of generation {missing}, which its checkpoint counts as done; "
                f"{restoring(self.folder.path)}"
            )

    def recall(self, individuals: Iterable[str]) -> Recalled:
        """Return genome and outcome (without patterns) of individuals; those that are not there are left out."""
        born: dict[int, set[str]] = {}
        for individual in individuals:
            born.setdefault(generation_of(individual), set()).add(individual)
        return {
            row["individual"]: (tuple(row["genome"]), outcome_of_row(self.folder.columns, row))
            for generation, names in born.items()
            for row in self.folder.read_generation(generation, names)
        }

    def patterns(self, individual: str) -> dict[str, Any]:
        """Return the pattern part of an individual's outcome, empty when it has none."""
        return pattern_part(self.folder.pattern_of(individual), self.folder.columns.frequencies)

    def checkpoint(self, generation: int, state: Mapping[str, Any]) -> None:
        """Write the state."""
        self.folder.save_checkpoint(generation, state)

    def completed(self, place: int, name: str, births: int) -> None:
        """Add a line to `logs/order.jsonl`."""
        self.folder.order.append(place, name, births)

    def order(self, place: int) -> list[tuple[str, int]]:
        """Return the order of completion from a place on, as far as it is recorded."""
        return self.folder.order.after(place)

    def log(self, event: str, **fields: Any) -> None:
        """Add a line to `logs/run.jsonl`."""
        self.folder.log(event, **fields)

    def seconds_before(self) -> float:
        """Return the wall time of earlier sessions; it is in the log so that checkpoints hold the search only."""
        last = 0.0
        for event in read_events(self.folder.path):
            with suppress(ValueError, TypeError, OverflowError):  # damaged
                seconds = float(event.get("run_seconds", 0.0))
                last = max(last, seconds if math.isfinite(seconds) else 0.0)
        return last


def outcome_of_row(columns: RunColumns, row: Mapping[str, Any]) -> Outcome:
    """Turn a stored row back into the outcome that it was made of, patterns left out.

    Args:
        columns: The run's columns.
        row: As `RunFolder.read_generation` returns it.

    Returns:
        An outcome of which the same row is made again.
    """
    found = {
        metric: values
        for metric, names in columns.metric_columns.items()
        if (values := [row[name] for name in names]) and (row["status"] == "ok" or values.count(None) < len(values))
    }
    real, imaginary = (found.pop(part, None) for part in PARTS_OF_S11)
    figures = {one.name: found.pop(one.name) for one in columns.figures if one.name in found}
    return Outcome(
        status=row["status"],
        **{name: row.get(name) for name in COPIED if name != "status"},
        origin=row["origin"] if row.get("origin") not in (None, "solved", "twin") else None,
        frequency_hz=list(columns.frequencies),
        s11=[list(pair) for pair in zip(real, imaginary, strict=True)] if real and imaginary else None,
        modes=modes_of_row(row.get("modes"), columns.frequencies),
        metrics=found,
        figures=figures or None,
    )


BEST = "best"


@dataclass(frozen=True, kw_only=True)
class Individual:
    """One row of a run, with what it takes to solve it again to the same bits.

    Attributes:
        run_id: The run folder's name.
        individual: Its id.
        experiment: The run's.
        design: Every parameter, SI, by dotted name.
        plan: Grid and steps that solved it: the run's, or those of its level.
        run_plan: The run's grid and steps, those of its finest level.
        settings: The solver's settings behind `plan`.
        coarse: Level on which it was solved, as text; empty for the finest.
        backend: What solved it.
        outcome: The row's metrics, with patterns where they are on disk.
        fitness: What was minimised.
        damage: Files of the run that cannot be read, one line each.
    """

    run_id: str
    individual: str
    experiment: Experiment
    design: dict[str, float]
    plan: dict[str, Any]
    run_plan: dict[str, Any]
    settings: SolverSettings
    coarse: str
    backend: str
    outcome: Outcome
    fitness: float
    damage: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Individual {self.individual} of {self.run_id}: {self.outcome.status}, fitness {self.fitness:.6g}>"


def recall(path: Path, individual: str, *, patterns: bool = True) -> Individual:
    """Read an individual of a run.

    Args:
        path: The run folder.
        individual: Its id, or `best`.
        patterns: With its patterns; where their file is damaged they are left out, see `Individual.damage`.

    Raises:
        ConfigurationError: There is no such individual.
        ResumeRefusedError: It is not a run folder, or the individual's row or the plan is damaged.
    """
    from antennaopt.experiment import Experiment
    from antennaopt.experiment.fidelity import settings_of_level
    from antennaopt.run.continuation import plan_to_resume
    from antennaopt.search import decode

    check_run_folder(path)
    folder = RunFolder.open(path, whole=False)
    plan, backend = plan_to_resume(folder)
    row = _row(folder, _best(folder) if individual == BEST else individual)
    experiment = Experiment.from_resolved(folder.resolved)
    if [gene.name for gene in experiment.genes] != [gene.name for gene in folder.columns.genes]:
        raise ResumeRefusedError(
            f"{path / 'resolved.json'} has other genes than the rows: it is damaged, or of another run; restore it "
            "from a copy"
        )
    outcome = outcome_of_row(folder.columns, row)
    if outcome.ok and patterns:
        outcome |= FolderStore(folder).patterns(row["individual"])
    return Individual(
        run_id=folder.run_id,
        individual=row["individual"],
        experiment=experiment,
        design=experiment.design(decode(experiment.genes, row["genome"])),
        plan=plan_of_row(folder.manifest, row, plan),
        run_plan=plan,
        settings=settings_of_level(experiment, row.get(LEVEL), coarser_plans(folder.manifest)),
        coarse=coarse_text(folder.manifest, row, plan),
        backend=backend,
        outcome=outcome,
        fitness=row["fitness"],
        damage=tuple(damage_lines(folder)),
    )


def _row(folder: RunFolder, individual: str) -> dict[str, Any]:
    try:
        generation = generation_of(str(individual))
    except ValueError as error:
        raise ConfigurationError(f"--individual: {error}") from None
    if generation in folder.generations():
        for row in folder.read_generation(generation, [individual]):
            return row
    lost = damage_lines(folder)
    if lost:
        raise ResumeRefusedError(f"--individual {individual} is in no file that can be read: {'; '.join(lost)}")
    raise ConfigurationError(f"--individual {individual} is not in {folder.path}; its ids are in the rows under evals/")


def _best(folder: RunFolder) -> str:
    rows = finest_rows(folder, ("fitness", "individual", "status"))
    ok = [(row["fitness"], row["individual"]) for row in rows]
    if not ok:
        raise ConfigurationError(f"--individual best: no antenna of {folder.path} is ok yet")
    return crowned_best(folder, min(ok)[1])
