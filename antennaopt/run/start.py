"""`run` and `resume`: from an experiment to a run folder with its best antenna and its report."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from antennaopt.farm.interface import Farm
from antennaopt.run.cache_writer import RunCache
from antennaopt.run.continuation import Ancestry, experiment_to_resume, plan_digest, plan_to_resume, restore, written
from antennaopt.run.levels import choose, plans_of
from antennaopt.run.planning import Evaluate, plan_for, standard_evaluate
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.run.rehearsal import rehearse
from antennaopt.run.session import Session, Workplace, is_mixed
from antennaopt.run.summary import RunSummary
from antennaopt.search.objectives import Ranking
from antennaopt.solve.arithmetic import arithmetic_class, class_changes, run_class
from antennaopt.solve.device import AS_THE_WORKER
from antennaopt.solve.figures import planned
from antennaopt.solve.planes import planes_of
from antennaopt.store.cache import EvaluationCache, usual_folder
from antennaopt.store.manifest import ExperimentRecord
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import GeneColumn, RunColumns
from antennaopt.terminal import one_line

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

OpenFarm = Callable[..., AbstractContextManager[Farm]]

QUEUES = {
    "slurm": "waiting for the first job of SLURM; `squeue --me` lists the jobs",
    "kubernetes": "waiting for the first pod of Kubernetes; `kubectl get pods` lists the pods",
}
"""Message of a run before it waits in a queue, by kind of cluster."""


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
    from antennaopt.farm.clusters import ClusterSettings
    from antennaopt.farm.dask_pool import DaskFarm

    return DaskFarm(
        evaluate or standard_evaluate(experiment.family),
        family=experiment.family,
        plan=plan or plan_for(experiment),
        backend=backend,
        cluster=ClusterSettings.of(experiment.cluster, scheduler=scheduler, insecure=insecure),
    )


@contextmanager
def shared_farm() -> Iterator[OpenFarm]:
    """Return what opens one farm for several runs of one plan: for the first of them, until this context ends."""
    with ExitStack() as stack:
        opened: list[Farm] = []

        def opening(experiment: Experiment, **how: Any) -> AbstractContextManager[Farm]:
            if not opened:
                opened.append(stack.enter_context(open_farm(experiment, **how)))
            return nullcontext(opened[0])

        yield opening


class Options(TypedDict, total=False):
    """How a run is carried out, whatever its experiment; see `Means`."""

    scheduler: str | None
    insecure: bool
    backend: str | None
    progress: Progress | None
    evaluate: Evaluate | None
    farm: OpenFarm
    report: bool
    cache: Path | str | None
    rehearse: bool


@dataclass(frozen=True, kw_only=True)
class Means:
    """What a run is carried out with.

    Attributes:
        scheduler: Address of a running Dask scheduler.
        insecure: Whether connections to other machines may be open.
        backend: What solves; when None a new run takes the CPU, and a resumed one its own.
        progress: Shows progress.
        evaluate: Solves a batch; by FDTD when None.
        farm: Opens the farm.
        report: Whether to draw the best antenna's field and write the report at the end.
        cache: Folder of the evaluation cache, or `off`; as environment and experiment say when None.
        rehearse: Whether workers with devices prepare for the study before its first batch, also with an `evaluate`
            of one's own, which must solve by FDTD then.
    """

    scheduler: str | None = None
    insecure: bool = False
    backend: str | None = None
    progress: Progress | None = None
    evaluate: Evaluate | None = None
    farm: OpenFarm = open_farm
    report: bool = True
    cache: Path | str | None = None
    rehearse: bool = False

    @contextmanager
    def workplace(
        self, experiment: Experiment, plan: Mapping[str, Any], backend: str, told: Progress
    ) -> Iterator[Workplace]:
        """Open the farm and the evaluation cache, and say before connecting what the run connects to.

        The file may be another person's.
        """
        destination = experiment.cluster.destination(self.scheduler)
        if destination is not None:
            told.note(f"cluster {one_line(destination)}")
        if self.scheduler is None and experiment.cluster.kind in QUEUES:
            told.note(QUEUES[experiment.cluster.kind])
        insecure = {"insecure": True} if self.insecure else {}
        with (
            self.farm(
                experiment,
                plan=plan,
                backend=backend,
                scheduler=self.scheduler,
                evaluate=self.evaluate,
                **insecure,
            ) as workers,
            self._open_cache(experiment) as evaluations,
        ):
            rehearses = self.evaluate is None or self.rehearse
            if rehearses:
                rehearse(experiment, workers, plan, known=evaluations is not None)
            about = {"backend": backend, "plan": plan, "progress": told, "rehearses": rehearses}
            yield Workplace(farm=workers, cache=evaluations, **about)

    def _open_cache(self, experiment: Experiment) -> AbstractContextManager[EvaluationCache | None]:
        """Open the evaluation cache.

        Only for the evaluation by FDTD, unless a folder is given.
        """
        folder = usual_folder(self.cache) if experiment.cluster.cache or self.cache else None
        if folder is None or (self.evaluate is not None and self.cache is None):
            return nullcontext()
        return RunCache(folder)


def run(
    experiment: Experiment,
    *,
    root: Path | str = "results",
    source: str = "",
    overrides: Sequence[str] = (),
    plan: Mapping[str, Any] | None = None,
    ancestry: Ancestry | None = None,
    now: datetime | None = None,
    **options: Unpack[Options],
) -> RunSummary:
    """Carry an experiment out in a new run folder.

    Args:
        experiment: From `load_experiment`.
        root: Where run folders go: `<root>/<experiment>/<run>/`.
        source: Text of the experiment file, kept as given.
        overrides: What `--set` changed in it.
        plan: What all antennas share, as `plan_for` returns it; planned from the genes' ranges when None. One for an
            `evaluate` of the caller's may hold anything but needs a `cell`. Levels of fidelity differ from it in `cell`
            and, with `fidelity.decay_db`, in `decay`, energy over its peak at the stop.
        ancestry: The population of another run to begin with, from `fork_of`.
        now: Time for the run folder's name; the clock's when None.
        options: See `Means`.

    Returns:
        Summary of the run.

    Raises:
        ConfigurationError: The experiment cannot be solved.
        ClusterError: No worker.
        StorageError: The folder cannot be written.
        Interrupted: After a signal; `resume` continues.
        TooManyFailuresError: The search has nothing to go on.
    """
    means, shared = Means(**options), planned(plan or plan_for(experiment), experiment.figures, experiment.polarisation)
    told = means.progress or Progress()
    with (
        StopSignals(opening=True) as signals,
        means.workplace(experiment, shared, means.backend or "cpu", told) as place,
    ):
        levels = choose(experiment, place.farm, shared, made_up=plan is not None and means.evaluate is not None)
        place = replace(place, coarser=levels.plans)
        evolution = experiment.evolution
        if evolution.chosen:
            told.note(f'algorithm = "auto": {evolution.algorithm} ({evolution.chosen})')
        for line in levels.lines():
            told.note(line)
        files, lineage = written(ancestry)
        about = {
            "overrides": list(overrides),
            "source_sha256": hashlib.sha256(source.encode()).hexdigest(),
            **_about(experiment, place),
            **lineage,
            **levels.entries(),
        }
        record = ExperimentRecord(
            name=experiment.name,
            source=source,
            resolved=experiment.resolved(),
            config_hash=experiment.config_hash,
        )
        texts = {**files, **experiment.antenna.profiles}
        with RunFolder.create(
            root,
            record,
            columns=_columns(experiment, levels=1 + len(levels.plans)),
            manifest=about,
            texts=texts,
            now=now,
        ) as folder:
            told.folder = folder.path
            told.note(f"run folder {folder.path}")
            for line in ancestry.lines(experiment.evolution.population) if ancestry else ():
                told.note(line)
            return Session(experiment, folder, place, signals).carry_out(report=means.report)


def resume(
    path: Path | str, *, overrides: Sequence[str] = (), repair: bool = False, **options: Unpack[Options]
) -> RunSummary:
    """Go on with a run exactly where its last checkpoint is.

    Args:
        path: The run folder.
        overrides: Changes to budget and cluster, `a.b=v`.
        repair: Whether to solve the generations of damaged files again first.
        options: See `Means`.

    Returns:
        Summary of the run.

    Raises:
        ResumeRefusedError: No run folder, damaged, or what decides its numbers has changed.
        RunInUseError: Another process writes to it.
        Interrupted: After a signal.
    """
    means = Means(**options)
    told = means.progress or Progress()
    with StopSignals(opening=True) as signals, RunFolder.open(path, write=True) as folder:
        experiment = experiment_to_resume(folder, overrides)
        checkpoint = folder.load_checkpoint()
        for note in checkpoint.notes if checkpoint else ():
            told.note(note)
        plan, recorded = plan_to_resume(folder)
        coarser = plans_of(folder.manifest, plan)[:-1]
        with means.workplace(experiment, plan, means.backend or recorded, told) as place:
            place = replace(place, coarser=coarser)
            session = Session(experiment, folder, place, signals)
            changes = class_changes(
                folder.manifest.get("arithmetic"), _class_of(place, folder.manifest.get("precision"))
            )
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
                if repair and session.driver.search.by_order:
                    session.driver.save_part()  # a run that has stopped does not come to write it
            folder.log("resumed", generation=session.driver.search.generation, arithmetic_changes=changes)
            return session.carry_out(report=means.report)


def _class_of(place: Workplace, precision: str | None) -> dict[str, str]:
    """Ask the workers for the arithmetic class that a run is in."""
    backend = AS_THE_WORKER if is_mixed(place.farm) else place.backend
    return run_class(place.farm.ask(arithmetic_class, backend, precision))


def _columns(experiment: Experiment, levels: int) -> RunColumns:
    bounds = experiment.reach()
    narrowest, widest = (bound.get("feed.inner_radius") for bound in bounds)  # none where a port feeds the antenna
    thinnest, filled = (bound.get("feed.permittivity", 1.0) for bound in bounds)
    planes = () if widest is None else planes_of(experiment.solver.settings, widest, filled)
    return RunColumns.of(
        experiment.genes,
        experiment.solver.frequencies,
        [one.name for one in experiment.goals],
        feed_radius=narrowest,
        feed_permittivity=thinnest,
        figures=experiment.figures,
        outline=experiment.antenna.digest,
        modes=bool(planes),
        constraints=len(experiment.constraints),
        aims=Ranking.of(experiment.goals).aims,
        fidelity=levels > 1,
        sampled=sampled_columns(experiment),
    )


def sampled_columns(experiment: Experiment) -> tuple[GeneColumn, ...]:
    """Return the parameters in which samples of a search differ; none of a search without samples."""
    tolerance, kind = experiment.tolerance, experiment.kind
    entries = tolerance.entries if tolerance is not None and tolerance.samples else ()
    return tuple(GeneColumn(name=name, dimension=kind.parameter(name).dimension) for name in entries)


def _about(experiment: Experiment, place: Workplace) -> dict[str, Any]:
    """Return the entries of a manifest on an experiment and on its solver."""
    device, precision = place.farm.device, experiment.solver.precision
    return {
        "title": experiment.title,
        "family": experiment.family,
        "seed": experiment.seed,
        "backend": place.backend,
        "device": dict(device) if device else None,
        "precision": precision,
        "arithmetic": _class_of(place, precision),
        "physics_hash": experiment.physics_hash,
        "plan": dict(place.plan),
        "plan_sha256": plan_digest(place.plan),
    }
