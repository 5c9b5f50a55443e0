"""The yield of a run's antenna: made antennas are drawn, solved on the run's farm, and judged by the run's goals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from antennaopt.errors import ConfigurationError, Interrupted
from antennaopt.report.goals import goal_text
from antennaopt.run.interfaces import NOT_KEPT
from antennaopt.run.planning import plan_for
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress, notable
from antennaopt.run.reuse import ReusingFarm
from antennaopt.run.session import MIXED, Workplace, is_mixed
from antennaopt.run.start import Means, Options
from antennaopt.run.stores import BEST, Individual, recall
from antennaopt.search.perturbations import deviations, impossible, perturbed
from antennaopt.search.yields import Account, account, meets
from antennaopt.solve.figures import planned, with_figures
from antennaopt.solve.outcome import Outcome
from antennaopt.store.files import write_text
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.samples import goal_columns, read_samples, sample_row, samples_folder, write_samples
from antennaopt.store.schema import GeneColumn

if TYPE_CHECKING:
    import pandas as pd

    from antennaopt.experiment import Experiment
    from antennaopt.farm.interface import Solving
    from antennaopt.search.objectives import Objective

SAMPLES = 1000
MOST_SAMPLES = 1_000_000
DESIGN = "sample-000000"
"""Key of the design itself."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be computed.

    Attributes:
        individual: Id, or `best`.
        samples: Made antennas.
        seed: Of the deviations; the run's when None.
        of: Tolerances in place of the run's, as `[tolerance.of]` has them; None for the run's.
        cluster: Entries of the run's `[cluster]` that are to differ.
    """

    individual: str = BEST
    samples: int = SAMPLES
    seed: int | None = None
    of: Mapping[str, Any] | None = None
    cluster: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class YieldStudy:
    """The made antennas of a design, solved.

    Attributes:
        run: The run folder.
        individual: Id of the design.
        seed: Of the deviations.
        tolerance: What was perturbed, as `[tolerance.of]` of a resolved file.
        samples: Made antennas.
        account: What came of them.
        file: Parquet file with a row an antenna; `sample` 0 is the design itself.
        plot: Drawing of the goals' spreads.
    """

    run: Path
    individual: str
    seed: int
    tolerance: Mapping[str, Any]
    samples: int
    account: Account
    file: Path
    plot: Path

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
            "yield": self.account.share.to_dict(),
            "statuses": self.account.statuses,
            "not_solved": self.account.origins,
            "goals": [{**_named(one.goal), **one.to_dict()} for one in self.account.goals],
            "influences": [
                {"deviation": one.deviation, "correlations": list(one.correlations)} for one in self.account.influences
            ],
        }


def tolerance(path: Path | str, request: Request, **options: Unpack[Options]) -> YieldStudy:
    """Compute the yield of an antenna of a run, and write rows, data and a drawing into `tolerance/` of its folder.

    What is solved is in the evaluation cache: the same call after an interruption goes on there.

    Args:
        path: The run folder; another process may be writing to it.
        request: What to compute.
        options: See `Means`.

    Returns:
        The yield, with the spread of each goal.

    Raises:
        ConfigurationError: No run folder, no such individual, or no tolerances.
        ClusterError: No worker.
        StorageError: The folder cannot be written.
        Interrupted: A signal came.
    """
    run = Path(path)
    if not 1 <= request.samples <= MOST_SAMPLES:
        raise ConfigurationError(f"samples = {request.samples} must be a whole number from 1 to {MOST_SAMPLES}")
    one = recall(run, request.individual, patterns=False)
    experiment, plan, notes = _prepared(one, request)
    means = Means(**options)
    told = means.progress or Progress()
    seed = experiment.seed if request.seed is None else request.seed
    assert experiment.tolerance is not None  # noqa: S101 - `_prepared` refuses it
    drawn = deviations(experiment.tolerance, request.samples, seed)
    made = [one.design, *(perturbed(experiment.tolerance, one.design, row) for row in drawn)]
    for note in notes:
        told.note(note)
    with (
        StopSignals(opening=True) as signals,
        means.workplace(experiment, plan, means.backend or one.backend, told) as place,
    ):
        outcomes = _solved(experiment, made, place, signals)
    found = account(experiment.tolerance.deviations, drawn, outcomes[1:], outcomes[0], experiment.goals)
    folder = samples_folder(run)
    study = YieldStudy(
        run=run,
        individual=one.individual,
        seed=seed,
        tolerance=experiment.tolerance.to_dict()["of"],
        samples=request.samples,
        account=found,
        file=folder / f"{one.individual}.parquet",
        plot=folder / f"{one.individual}.svg",
    )
    _write(study, experiment, made, outcomes)
    return study


def _prepared(one: Individual, request: Request) -> tuple[Experiment, dict[str, Any], list[str]]:
    """Return the experiment with the tolerances that count, a lattice with room for them, and notes for people.

    The plan has no limits of making: they are rules for drawings, which a made antenna may miss by its tolerance.

    Raises:
        ConfigurationError: There are no tolerances, or they do not fit the antenna.
    """
    from antennaopt.experiment.tolerance import spreads_of

    own, plan, notes = one.experiment.tolerance, dict(one.plan), []
    if own is None and request.of is None:
        raise ConfigurationError(
            f"{one.run_id} has no [tolerance]; give one with --of, for example --of 'lens.radii=0.02 mm'"
        )
    if all(goal.aim is not None for goal in one.experiment.goals):
        raise ConfigurationError(
            f"{one.run_id} has no goal with a bound, which an antenna meets or misses; the yield needs an "
            "[[objective]] or [[constraint]] with at_least or at_most"
        )
    experiment = one.experiment.changed(cluster=request.cluster) if request.cluster else one.experiment
    if request.of is not None:
        spreads = spreads_of(request.of, experiment.antenna)
        table = {"samples": own.samples if own else 0, "of": {each.name: each.to_dict() for each in spreads}}
        experiment = experiment.changed(tolerance=None).changed(tolerance=table)
        if experiment.tolerance is not None and (own is None or experiment.tolerance.of != own.of):
            plan = planned(plan_for(experiment), experiment.figures)
            notes.append(
                f"other tolerances than the run's: all are solved on a lattice with room for them, "
                f"{plan['nr']} x {plan['nz']} cells of {plan['cell'] * 1e3:.4g} mm"
            )
    plan.pop("limits", None)
    return experiment, plan, notes


def _solved(
    experiment: Experiment, made: Sequence[Mapping[str, float]], place: Workplace, signals: StopSignals
) -> list[Outcome]:
    """Solve antennas on the farm; return their outcomes in order, without patterns.

    Raises:
        Interrupted: A signal came.
    """
    farm, told = place.farm, place.progress
    solving = _in_front(experiment, place)
    signals.on_request, signals.opening = farm.drain, False
    farm.on_event = lambda event, **details: _tell(told, event, details)
    assert experiment.tolerance is not None  # noqa: S101 - `_prepared` refuses it
    faults = [None if at == 0 else impossible(experiment.tolerance, one) for at, one in enumerate(made)]
    found = {_key(at): Outcome(status="infeasible", error=fault) for at, fault in enumerate(faults) if fault}
    jobs = [(_key(at), dict(one)) for at, one in enumerate(made) if faults[at] is None]
    designs, met = dict(jobs), 0
    told.sampling_started(len(made))
    try:
        for name, outcome in solving.run(solving.cut(jobs, experiment.cluster.batch_size)):
            one = with_figures([Outcome.of(outcome)], [designs[name]], experiment.figures, experiment.kind)[0]
            found[name] = one.without(*NOT_KEPT)
            met += name != DESIGN and meets(one, experiment.goals) is True
            told.sampled(one, done=len(found), met=met)
    except KeyboardInterrupt:
        signals.request()
    finally:
        told.close()
    if len(found) < len(made):
        kept = "the same command goes on" if place.cache is not None else "without the evaluation cache nothing is kept"
        raise Interrupted(
            f"interrupted after {len(found)} of {len(made)} antennas; {kept}", exit_code=signals.exit_code or 130
        )
    return [found[_key(at)] for at in range(len(made))]


def _in_front(experiment: Experiment, place: Workplace) -> Solving:
    """Return the farm behind the evaluation cache, where there is one."""
    if is_mixed(place.farm):
        place.progress.note(MIXED.format(" and ".join(place.farm.backends)))
        return place.farm
    if place.cache is None:
        return place.farm
    return ReusingFarm(
        place.farm,
        place.cache,
        family=experiment.family,
        plan=place.plan,
        backend=place.backend,
        told=place.progress.note,
    )


def _tell(told: Progress, event: str, details: dict[str, Any]) -> None:
    line = notable(event, details)
    if line:
        told.note(line)


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
