"""An antenna of a run, by its id."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError, ResumeRefusedError

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment
    from antennaopt.solve.outcome import Outcome

BEST = "best"


@dataclass(frozen=True, kw_only=True)
class Individual:
    """One row of a run, with what it takes to solve it again to the same bits.

    Attributes:
        run_id: The run folder's name.
        individual: Its id.
        experiment: The run's.
        design: Every parameter, SI, by dotted name.
        plan: The run's grid and steps.
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
    backend: str
    outcome: Outcome
    fitness: float
    damage: tuple[str, ...] = ()


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
    from antennaopt.run import FolderStore, outcome_of_row, plan_to_resume
    from antennaopt.search import decode
    from antennaopt.store import RunFolder, damage_lines
    from antennaopt.store.files import check_run_folder

    check_run_folder(path)
    folder = RunFolder.open(path, whole=False)
    plan, backend = plan_to_resume(folder)
    row = _row(folder, _best(folder) if individual == BEST else individual)
    experiment = Experiment.from_resolved(folder.resolved)
    outcome = outcome_of_row(folder.columns, row)
    if outcome["status"] == "ok" and patterns:
        outcome |= FolderStore(folder).patterns(row["individual"])
    return Individual(
        run_id=folder.run_id,
        individual=row["individual"],
        experiment=experiment,
        design=experiment.design(decode(experiment.genes, row["genome"])),
        plan=plan,
        backend=backend,
        outcome=outcome,
        fitness=row["fitness"],
        damage=tuple(damage_lines(folder)),
    )


def _row(folder: Any, individual: str) -> dict[str, Any]:
    from antennaopt.store import damage_lines, generation_of

    try:
        generation = generation_of(individual)
    except ValueError as error:
        raise ConfigurationError(f"--individual: {error}") from None
    if generation in folder.generations():
        for row in folder.read_generation(generation, [individual]):
            return row
    lost = damage_lines(folder)
    if lost:
        raise ResumeRefusedError(f"--individual {individual} is in no file that can be read: {'; '.join(lost)}")
    raise ConfigurationError(f"--individual {individual} is not in {folder.path}; its ids are in the rows under evals/")


def _best(folder: Any) -> str:
    from antennaopt.store import crowned_best

    ok = [
        (row["fitness"], row["individual"])
        for row in folder.all_rows(("fitness", "individual", "status")).to_pylist()
        if row["status"] == "ok"
    ]
    if not ok:
        raise ConfigurationError(f"--individual best: no antenna of {folder.path} is ok yet")
    return crowned_best(folder, min(ok)[1])
