"""`run` and `resume`: from an experiment to a run folder with its best antenna and its report."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.run.continuation import experiment_to_resume, plan_digest, plan_to_resume, restore
from antennaopt.run.fork import Ancestry, written
from antennaopt.run.interfaces import Farm
from antennaopt.run.interrupt import StopSignals
from antennaopt.run.planning import Evaluate, plan_for, standard_evaluate
from antennaopt.run.progress import Progress, Quiet
from antennaopt.run.session import Session, is_mixed
from antennaopt.run.steady import SteadyDriver
from antennaopt.run.summary import RunSummary
from antennaopt.solve.arithmetic import arithmetic_class, class_changes, run_class
from antennaopt.solve.device import AS_THE_WORKER
from antennaopt.store import RunColumns, RunFolder
from antennaopt.store.cache import EvaluationCache, usual_folder
from antennaopt.terminal import one_line

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

OpenFarm = Callable[..., AbstractContextManager[Farm]]


def open_farm(
    experiment: Experiment,
    *,
    plan: Mapping[str, Any] | None = None,
    backend: str = "cpu",
    scheduler: str | None = None,
    evaluate: Evaluate | None = None,
    insecure: bool = False,
) -> AbstractContextManager[Farm]:
    """Start the experiment's cluster, or connect to a scheduler.

    Args:
        experiment: From `load_experiment`.
        plan: What all antennas share; planned here when None.
        backend: What solves.
        scheduler: Address of a running scheduler; the experiment's cluster when None.
        evaluate: Module-level function that solves a batch; by FDTD when None.
        insecure: Whether connections to other machines may be open.

    Raises:
        ConfigurationError: Connections to other machines would be open.
        ClusterError: No scheduler, no worker.
    """
    from antennaopt.farm.pool import Farm as DaskFarm
    from antennaopt.farm.settings import ClusterSettings

    return DaskFarm(
        evaluate or standard_evaluate(),
        family=experiment.family,
        plan=plan or plan_for(experiment),
        backend=backend,
        cluster=ClusterSettings.of(experiment.cluster, scheduler=scheduler, insecure=insecure),
    )


def run(
    experiment: Experiment,
    *,
    root: Path | str = "results",
    source: str = "",
    overrides: Sequence[str] = (),
    scheduler: str | None = None,
    insecure: bool = False,
    backend: str = "cpu",
    progress: Progress | None = None,
    evaluate: Evaluate | None = None,
    plan: Mapping[str, Any] | None = None,
    farm: OpenFarm = open_farm,
    report: bool = True,
    cache: Path | str | None = None,
    ancestry: Ancestry | None = None,
    now: datetime | None = None,
) -> RunSummary:
    """Carry an experiment out in a new run folder.

    Args:
        experiment: From `load_experiment`.
        root: Where run folders go: `<root>/<experiment>/<run>/`.
        source: Text of the experiment file, kept as given.
        overrides: What `--set` changed in it.
        scheduler: Address of a running Dask scheduler.
        insecure: Whether connections to other machines may be open.
        backend: What solves.
        progress: Tells people.
        evaluate: Solves a batch; by FDTD when None.
        plan: What all antennas share; planned from the genes' ranges when None.
        farm: Opens the farm.
        report: Whether to draw the best antenna's field and write the report at the end.
        cache: Folder of the evaluation cache, or `off`; as environment and experiment say when None.
        ancestry: The population of another run to begin with, from `fork_of`.
        now: Time for the run folder's name; the clock's when None.

    Returns:
        What it came to.

    Raises:
        ConfigurationError: The experiment cannot be solved.
        ClusterError: No worker.
        StorageError: The folder cannot be written.
        Interrupted: A signal came; `resume` goes on.
        TooManyFailuresError: The search has nothing to go on.
    """
    shared = dict(plan or plan_for(experiment))
    told = progress or Quiet()
    opened = _allowing(farm, insecure)
    _tell_destination(experiment, scheduler, told)
    with (
        StopSignals(opening=True) as signals,
        opened(experiment, plan=shared, backend=backend, scheduler=scheduler, evaluate=evaluate) as workers,
        _new_folder(experiment, root, source, overrides, backend, shared, workers, ancestry, now) as folder,
        _open_cache(experiment, cache, evaluate) as evaluations,
    ):
        told.note(f"run folder {folder.path}")
        for line in ancestry.lines(experiment.evolution.population) if ancestry else ():
            told.note(line)
        session = Session(
            experiment=experiment,
            folder=folder,
            farm=workers,
            progress=told,
            signals=signals,
            backend=backend,
            plan=shared,
            cache=evaluations,
        )
        return session.carry_out(report=report)


def resume(
    path: Path | str,
    *,
    overrides: Sequence[str] = (),
    scheduler: str | None = None,
    insecure: bool = False,
    backend: str | None = None,
    progress: Progress | None = None,
    evaluate: Evaluate | None = None,
    farm: OpenFarm = open_farm,
    report: bool = True,
    cache: Path | str | None = None,
    repair: bool = False,
) -> RunSummary:
    """Go on with a run exactly where its last checkpoint is.

    Args:
        path: The run folder.
        overrides: Changes to budget and cluster, `a.b=v`.
        scheduler: Address of a running Dask scheduler.
        insecure: Whether connections to other machines may be open.
        backend: What solves; the run's own when None.
        progress: Tells people.
        evaluate: Solves a batch; by FDTD when None.
        farm: Opens the farm.
        report: Whether to draw the best antenna's field and write the report at the end.
        cache: Folder of the evaluation cache, or `off`; as environment and experiment say when None.
        repair: Whether to solve the generations of damaged files again first.

    Returns:
        What it came to.

    Raises:
        ResumeRefusedError: No run folder, damaged, or what decides its numbers has changed.
        RunInUseError: Another process writes to it.
        Interrupted: A signal came.
    """
    told = progress or Quiet()
    with StopSignals(opening=True) as signals, RunFolder.open(path, write=True) as folder:
        experiment = experiment_to_resume(folder, overrides)
        checkpoint = folder.load_checkpoint()
        for note in checkpoint.notes if checkpoint else ():
            told.note(note)
        plan, recorded = plan_to_resume(folder)
        solver = backend or recorded
        opened = _allowing(farm, insecure)
        _tell_destination(experiment, scheduler, told)
        with (
            opened(experiment, plan=plan, backend=solver, scheduler=scheduler, evaluate=evaluate) as workers,
            _open_cache(experiment, cache, evaluate) as evaluations,
        ):
            session = Session(
                experiment=experiment,
                folder=folder,
                farm=workers,
                progress=told,
                signals=signals,
                backend=solver,
                plan=plan,
                cache=evaluations,
            )
            now = _class_of(workers, solver, folder.manifest.get("precision"))
            changes = class_changes(folder.manifest.get("arithmetic"), now)
            if changes:
                told.note("resumed with other arithmetic: the same bits as without an interruption are not claimed")
            for change in changes:
                told.note(f"  {change}")
            if repair:
                if changes:
                    told.note("rows that are repaired now are not claimed to be the same to the bit")
                session.repair(checkpoint, exact=not changes)
            if checkpoint is not None:
                restore(session, checkpoint, folder)
                if repair and isinstance(session.driver, SteadyDriver):
                    session.driver.save_block()  # a run that has stopped does not come to write it
            folder.log("resumed", generation=session.driver.evolution.generation, arithmetic_changes=changes)
            return session.carry_out(report=report)


def _tell_destination(experiment: Experiment, scheduler: str | None, told: Progress) -> None:
    """Say before connecting what the run connects to: the file may be another person's."""
    destination = experiment.cluster.destination(scheduler)
    if destination is not None:
        told.note(f"cluster {one_line(destination)}")


def _open_cache(
    experiment: Experiment, asked: Path | str | None, evaluate: Evaluate | None
) -> AbstractContextManager[EvaluationCache | None]:
    """Open the evaluation cache; only the evaluation by FDTD knows what it solves, unless a folder was asked for."""
    folder = usual_folder(asked) if experiment.cluster.cache or asked else None
    if folder is None or (evaluate is not None and asked is None):
        return nullcontext()
    return EvaluationCache(folder)


def _class_of(farm: Farm, backend: str, precision: str | None) -> dict[str, str]:
    """Ask the workers for the arithmetic class that a run is in."""
    return run_class(farm.ask(arithmetic_class, AS_THE_WORKER if is_mixed(farm) else backend, precision))


def _allowing(farm: OpenFarm, insecure: bool) -> OpenFarm:
    return partial(farm, insecure=True) if insecure else farm


def _new_folder(
    experiment: Experiment,
    root: Path | str,
    source: str,
    overrides: Sequence[str],
    backend: str,
    plan: Mapping[str, Any],
    farm: Farm,
    ancestry: Ancestry | None,
    now: datetime | None,
) -> RunFolder:
    device = farm.device
    texts, lineage = written(ancestry)
    return RunFolder.create(
        root,
        name=experiment.name,
        source=source,
        resolved=experiment.resolved(),
        config_hash=experiment.config_hash,
        columns=RunColumns.of(
            experiment.genes,
            experiment.solver.frequencies,
            [one.name for one in experiment.goals],
            feed_radius=experiment.bounds()[0]["feed.inner_radius"],
        ),
        manifest={
            "title": experiment.title,
            "family": experiment.family,
            "seed": experiment.seed,
            "backend": backend,
            "device": dict(device) if device else None,
            "precision": experiment.solver.precision,
            "arithmetic": _class_of(farm, backend, experiment.solver.precision),
            "physics_hash": experiment.physics_hash,
            "overrides": list(overrides),
            "source_sha256": hashlib.sha256(source.encode()).hexdigest(),
            "plan": dict(plan),
            "plan_sha256": plan_digest(plan),
            **lineage,
        },
        texts=texts,
        now=now,
    )
