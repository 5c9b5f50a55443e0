"""The yield of an antenna of a run: draw made antennas, solve them on the run's farm, compare them with the goals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from antennaopt.errors import ConfigurationError
from antennaopt.run.incidents import notable
from antennaopt.run.planning import plan_for
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.run.reuse import ReusingFarm
from antennaopt.run.session import MIXED, Workplace, is_mixed
from antennaopt.run.start import Means, Options
from antennaopt.run.stores import BEST, Individual, recall
from antennaopt.run.studies import Bench, YieldStudy, study_of
from antennaopt.solve.figures import planned
from antennaopt.solve.lattices import lattice_text

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment
    from antennaopt.farm.interface import Solving

SAMPLES = 1000
MOST_SAMPLES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Request:
    """Settings of a yield study.

    Attributes:
        individual: Id, or `best`.
        samples: Number of made antennas.
        seed: Seed of the deviations; that of the run if None.
        of: Tolerances in the form of `[tolerance.of]`; those of the run if None.
        cluster: Changed entries of the run's `[cluster]`.
    """

    individual: str = BEST
    samples: int = SAMPLES
    seed: int | None = None
    of: Mapping[str, Any] | None = None
    cluster: Mapping[str, Any] = field(default_factory=dict)


def tolerance(path: Path | str, request: Request, **options: Unpack[Options]) -> YieldStudy:
    """Compute the yield of an antenna of a run, and write rows, data and a drawing into `tolerance/` of its folder.

    Solved antennas are in the evaluation cache, so the same call continues after an interruption.

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
        Interrupted: After a signal.
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
    for note in notes:
        told.note(note)
    with (
        StopSignals(opening=True) as signals,
        means.workplace(experiment, plan, means.backend or one.backend, told) as place,
    ):
        farm = place.farm
        signals.on_request, signals.opening = farm.drain, False
        farm.on_event = lambda event, **details: _tell(told, event, details)
        solving = _in_front(experiment, place)
        bench = Bench(farm=solving, signals=signals, told=told, keeps=place.cache is not None)
        try:
            return study_of(run, experiment, one.individual, one.design, (request.samples, seed), bench)
        finally:
            if isinstance(solving, ReusingFarm):
                solving.close()


def _prepared(one: Individual, request: Request) -> tuple[Experiment, dict[str, Any], list[str]]:
    """Return the experiment with the tolerances that count, a lattice with room for them, and notes for the user.

    The plan has no limits of making: they are rules for drawings, which a made antenna may miss by its tolerance.

    Raises:
        ConfigurationError: There are no tolerances, or they do not fit the antenna.
    """
    from antennaopt.experiment.tolerance import spreads_of

    own, plan, notes = one.experiment.tolerance, dict(one.run_plan), []
    if own is None and request.of is None:
        raise ConfigurationError(
            f"{one.run_id} has no [tolerance]; give one with --of, for example --of 'lens.radii=0.02 mm'"
        )
    if all(goal.aim is not None for goal in one.experiment.goals):
        raise ConfigurationError(
            f"{one.run_id} has no goal with a bound, which an antenna meets or misses; the yield needs an "
            "[[objective]] or [[constraint]] with at_least or at_most"
        )
    if one.coarse:
        notes.append(f"{one.individual} was {one.coarse}; here it and all made of it are solved on the finest")
    experiment = one.experiment.changed(cluster=request.cluster) if request.cluster else one.experiment
    if request.of is not None:
        spreads = spreads_of(request.of, experiment.antenna)
        table = {"samples": own.samples if own else 0, "of": {each.name: each.to_dict() for each in spreads}}
        experiment = experiment.changed(tolerance=None).changed(tolerance=table)
        if experiment.tolerance is not None and (own is None or experiment.tolerance.of != own.of):
            plan = planned(plan_for(experiment), experiment.figures, experiment.polarisation)
            notes.append(
                f"other tolerances than the run's: all are solved on a lattice with room for them, {lattice_text(plan)}"
            )
    plan.pop("limits", None)
    return experiment, plan, notes


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
