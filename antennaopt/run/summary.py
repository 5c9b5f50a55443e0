"""What a run came to, for people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.report.goals import Findings
from antennaopt.run.bookkeeping import Bookkeeping
from antennaopt.run.interfaces import Outcome
from antennaopt.search import decode, individual_id
from antennaopt.search.objectives import Objective, fitness, shortfalls

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment


@dataclass(frozen=True, kw_only=True)
class Finalist:
    """One individual worth showing.

    Attributes:
        individual: Id.
        fitness: What was minimised.
        shortfalls: One an objective, dB.
        values: Genes, SI, by name.
        design: Every parameter, SI, by name.
        outcome: Metrics, without patterns.
    """

    individual: str
    fitness: float
    shortfalls: tuple[float, ...]
    values: dict[str, float]
    design: dict[str, float]
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """What a run came to.

    Attributes:
        folder: The run folder.
        reason: Why it stopped.
        best: The best individual, or None when nothing was `ok`.
        first_best: The best of the first generation.
        first_drawn: Whether that one was drawn at random, and not planted.
        generations: How many were done.
        evaluations: Antennas solved, or taken from the evaluation cache; copies of duplicates left out.
        counts: Individuals by status.
        reused: Antennas of this session that were not solved, by where the outcome came from.
        origins: The same of all sessions, as the rows say.
        findings: How the best antenna stands to the goals, and what else the rows say; None when nothing was `ok`.
        wall_seconds: Of the run, earlier sessions included.
        search_seconds: Of the generations of this session.
        stepping_fraction: Share of the workers' time, over all generations, that they stepped fields, from the rows;
            None where these do not say.
        cell_steps_per_s: Mean rate of a worker while it stepped, over the same; None where that is not known.
        solver_fraction: Share of the workers' time, while generations ran in this session, that solving took; at most
            1, also where a device's batches overlap.
        certificates: By individual, the best by fitness first; empty when none were asked for. The best antenna is
            the one that they crown.
        certificate: One line on them, empty without.
        report: The report, or None when it was not written.
        cache_dropped: Damaged entries of the evaluation cache that this session met and dropped.
    """

    folder: Path
    reason: str
    best: Finalist | None
    first_best: Finalist | None
    generations: int
    evaluations: int
    counts: dict[str, int]
    wall_seconds: float
    search_seconds: float
    solver_fraction: float
    stepping_fraction: float | None = None
    cell_steps_per_s: float | None = None
    first_drawn: bool = True
    certificates: dict[str, dict[str, Any]] = field(default_factory=dict)
    certificate: str = ""
    report: Path | None = None
    reused: dict[str, int] = field(default_factory=dict)
    origins: dict[str, int] = field(default_factory=dict)
    findings: Findings | None = None
    cache_dropped: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        data = asdict(self)
        data["folder"] = str(self.folder)
        data["report"] = str(self.report) if self.report else None
        data["findings"] = self.findings.to_dict() if self.findings else None
        return data


def summarise(
    driver: Bookkeeping,
    *,
    experiment: Experiment,
    objectives: Sequence[Objective],
    folder: Path,
    reason: str,
    search_seconds: float,
    worker_count: int,
) -> RunSummary:
    """Sum a run up.

    Args:
        driver: After its last generation.
        experiment: Whose run it was.
        objectives: What fitness is made of.
        folder: The run folder.
        reason: Why it stopped.
        search_seconds: Wall time of the generations of this session.
        worker_count: Antennas solved at a time.
    """
    best = driver.evolution.best
    available = search_seconds * worker_count
    first, drawn = _first_best(driver, experiment, objectives)
    return RunSummary(
        folder=folder,
        reason=reason,
        best=finalist(driver, experiment, objectives, best.candidate.individual) if best else None,
        first_best=first,
        first_drawn=drawn,
        generations=driver.evolution.generation,
        evaluations=driver.evolution.evaluations,
        counts=dict(sorted(driver.counts.items())),
        reused=dict(sorted(driver.reused.items())),
        wall_seconds=driver.seconds,
        search_seconds=search_seconds,
        solver_fraction=min(driver.solver_seconds / available, 1.0) if available > 0.0 else 0.0,
    )


def finalist(driver: Bookkeeping, experiment: Experiment, objectives: Sequence[Objective], individual: str) -> Finalist:
    """Return all that is known of an individual."""
    genome, outcome = driver.recall([individual])[individual]
    values = decode(driver.evolution.genes, genome)
    return Finalist(
        individual=individual,
        fitness=fitness(outcome, objectives),
        shortfalls=tuple(shortfalls(outcome, objectives)),
        values=values,
        design=experiment.design(values),
        outcome=outcome,
    )


def _first_best(
    driver: Bookkeeping, experiment: Experiment, objectives: Sequence[Objective]
) -> tuple[Finalist | None, bool]:
    """Return the best of the first generation, of those drawn at random if there are any; and whether it is one."""
    population = experiment.evolution.population
    first = driver.recall(individual_id(0, slot) for slot in range(population))
    ok = {name: outcome for name, (_, outcome) in first.items() if outcome["status"] == "ok"}
    planted = set(driver.evolution.planted)
    drawn = [name for name in ok if first[name][0] not in planted]
    if not ok:
        return None, False
    best = min(drawn or ok, key=lambda name: (fitness(ok[name], objectives), name))
    return finalist(driver, experiment, objectives, best), bool(drawn)
