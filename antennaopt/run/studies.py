"""Yield studies: made antennas of a design are solved on a farm, compared with the goals, and stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.errors import Interrupted
from antennaopt.farm.interface import Solving
from antennaopt.report.goals import goal_text
from antennaopt.run.interfaces import NOT_KEPT
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.search.perturbations import deviations, impossible, perturbed
from antennaopt.search.yields import Account, account, meets
from antennaopt.solve.figures import with_figures
from antennaopt.solve.outcome import Outcome
from antennaopt.store.files import write_text
from antennaopt.store.generations import generation_of
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.samples import goal_columns, read_samples, sample_row, samples_folder, write_samples
from antennaopt.store.schema import GeneColumn

if TYPE_CHECKING:
    import pandas as pd

    from antennaopt.experiment import Experiment
    from antennaopt.search.objectives import Objective

DESIGN = "sample-000000"
"""Key of the design itself."""


@dataclass(frozen=True, kw_only=True)
class YieldStudy:
    """The made antennas of a design, solved.

    Attributes:
        run: The run folder.
        individual: Id of the design.
        seed: Of the deviations.
        tolerance: What was perturbed, as `[tolerance.of]` of a resolved file.
        samples: Made antennas.
        account: Their results.
        file: Parquet file with a row an antenna; `sample` 0 is the design itself.
        plot: Drawing of the goals' spreads.
        estimate: What the search made of its own samples of the design: the share that meets all goals, and how many
            there were; None of a search without samples, and of a design that it took none of.
    """

    run: Path
    individual: str
    seed: int
    tolerance: Mapping[str, Any]
    samples: int
    account: Account
    file: Path
    plot: Path
    estimate: tuple[float, int] | None = None

    @property
    def value(self) -> float | None:
        """The yield: the share of made antennas that meet all goals; None where none could be judged."""
        return self.account.share.value

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the yield."""
        return self.account.share.low, self.account.share.high

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row an antenna."""
        return read_samples(self.file)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data: what `antennaopt tolerance --json` writes."""
        return {
            "run": self.run.name,
            "individual": self.individual,
            "seed": self.seed,
            "samples": self.samples,
            "tolerance": dict(self.tolerance),
            **({"in_the_search": dict(zip(("share", "samples"), self.estimate, strict=True))} if self.estimate else {}),
            "yield": self.account.share.to_dict(),
            "statuses": self.account.statuses,
            "not_solved": self.account.origins,
            "goals": [{**_named(one.goal), **one.to_dict()} for one in self.account.goals],
            "influences": [
                {"deviation": one.deviation, "correlations": list(one.correlations)} for one in self.account.influences
            ],
        }


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What solves made antennas.

    Attributes:
        farm: Solves, with the evaluation cache where there is one.
        signals: Says when to stop.
        told: Shows progress.
        keeps: Whether what is solved is kept in the evaluation cache.
        plan: In place of the farm's; None for that.
    """

    farm: Solving
    signals: StopSignals
    told: Progress
    keeps: bool
    plan: Mapping[str, Any] | None = None


def study_of(
    run: Path,
    experiment: Experiment,
    individual: str,
    design: Mapping[str, float],
    drawing: tuple[int, int],
    bench: Bench,
) -> YieldStudy:
    """Solve made antennas of a design, and write rows, data and a drawing.

    Args:
        run: The run folder.
        experiment: With tolerances, and with a goal that has a bound.
        individual: Id of the design.
        design: Every parameter, SI.
        drawing: Number of made antennas, and the seed of their deviations.
        bench: Solves them.

    Raises:
        Interrupted: After a signal.
    """
    tolerance, (samples, seed) = experiment.tolerance, drawing
    assert tolerance is not None  # noqa: S101 - the caller looks
    drawn = deviations(tolerance, samples, seed)
    made = [dict(design), *(perturbed(tolerance, design, row) for row in drawn)]
    outcomes = _solved(experiment, made, bench)
    folder = samples_folder(run)
    study = YieldStudy(
        run=run,
        individual=individual,
        seed=seed,
        tolerance=tolerance.to_dict()["of"],
        samples=samples,
        account=account(tolerance.deviations, drawn, outcomes[1:], outcomes[0], experiment.goals),
        file=folder / f"{individual}.parquet",
        plot=folder / f"{individual}.svg",
        estimate=estimate_of(run, individual),
    )
    _write(study, experiment, made, outcomes)
    return study


def estimate_of(run: Path, individual: str) -> tuple[float, int] | None:
    """Return what a search made of its samples of an individual: share that meets all goals, and how many."""
    folder = RunFolder.open(run, whole=False)
    if not folder.columns.sampled:
        return None
    for row in folder.read_generation(generation_of(individual), [individual]):
        if row["sample_yield"] is not None:
            return row["sample_yield"], row["samples"]
    return None


def _solved(experiment: Experiment, made: Sequence[Mapping[str, float]], bench: Bench) -> list[Outcome]:
    """Solve antennas on the farm; return their outcomes in order, without patterns.

    Raises:
        Interrupted: After a signal.
    """
    solving, told = bench.farm, bench.told
    assert experiment.tolerance is not None  # noqa: S101 - `_prepared` refuses it
    faults = [None if at == 0 else impossible(experiment.tolerance, one) for at, one in enumerate(made)]
    found = {_key(at): Outcome(status="infeasible", error=fault) for at, fault in enumerate(faults) if fault}
    jobs = [(_key(at), dict(one)) for at, one in enumerate(made) if faults[at] is None]
    designs, met = dict(jobs), 0
    told.sampling_started(len(made))
    try:
        for name, outcome in solving.run(solving.cut(jobs, experiment.cluster.batch_size), plan=bench.plan):
            one = with_figures([Outcome.of(outcome)], [designs[name]], experiment.figures, experiment.kind)[0]
            found[name] = one.without(*NOT_KEPT)
            met += name != DESIGN and meets(one, experiment.goals) is True
            told.sampled(one, done=len(found), met=met)
    except KeyboardInterrupt:
        bench.signals.request()
    finally:
        told.close()
    if len(found) < len(made):
        kept = "the same command goes on" if bench.keeps else "without the evaluation cache nothing is kept"
        raise Interrupted(
            f"interrupted after {len(found)} of {len(made)} antennas; {kept}", exit_code=bench.signals.exit_code or 130
        )
    return [found[_key(at)] for at in range(len(made))]


def _named(goal: Objective) -> dict[str, Any]:
    """Return what a goal and its values are called in tables."""
    about = goal.about
    return {"goal": goal_text(goal), "title": about.title, "heading": about.heading, "decimals": about.decimals}


def _key(place: int) -> str:
    return f"sample-{place:06d}"


def _write(
    study: YieldStudy, experiment: Experiment, made: Sequence[Mapping[str, float]], outcomes: Sequence[Outcome]
) -> None:
    """Write rows, then the drawing, then the data that the report reads."""
    from antennaopt.report.tolerance import draw_spreads

    folder = RunFolder.open(study.run, whole=False)
    assert experiment.tolerance is not None  # noqa: S101 - `_prepared` refuses it
    parameters = [
        GeneColumn(name=name, dimension=experiment.kind.parameter(name).dimension)
        for name in experiment.tolerance.entries
    ]
    rows = []
    for place, (design, outcome) in enumerate(zip(made, outcomes, strict=True)):
        row: dict[str, Any] = {"sample": place, "individual": study.individual, "met": meets(outcome, experiment.goals)}
        row |= sample_row(folder.columns, parameters, design, outcome)
        for at, goal in enumerate(experiment.goals):
            one = goal.standing(outcome) if outcome.ok else None
            value, margin = goal_columns(at, goal.name)
            row |= {value: one.value if one else None, margin: one.margin if one else None}
        rows.append(row)
    write_samples(study.file, rows, config_hash=folder.config_hash)
    values = [
        np.array([row[goal_columns(at, goal.name)[0]] for row in rows[1:]], dtype=float)
        for at, goal in enumerate(experiment.goals)
    ]
    draw_spreads(study.plot, study.to_dict(), values, title=f"{study.individual} of {study.run.name}")
    write_text(study.file.with_suffix(".json"), json.dumps(study.to_dict(), indent=1, allow_nan=False) + "\n")
