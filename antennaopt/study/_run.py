"""`run` and `resume`: from an experiment to a run folder with its best antenna and its report."""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from antennaopt.errors import Interrupted
from antennaopt.evolution import Evolution, EvolutionSettings
from antennaopt.objectives import build
from antennaopt.results import RunColumns, RunFolder
from antennaopt.study._best import antenna_toml, result_object, to_json
from antennaopt.study._driver import Driver
from antennaopt.study._interrupt import StopSignals
from antennaopt.study._parties import Farm
from antennaopt.study._planning import Evaluate, plan_for, standard_evaluate
from antennaopt.study._progress import Progress, Quiet
from antennaopt.study._resuming import experiment_to_resume
from antennaopt.study._store import FolderStore
from antennaopt.study._summary import RunSummary, summarise

OpenFarm = Callable[..., AbstractContextManager[Farm]]


def open_farm(
    experiment: Any,
    *,
    plan: Mapping[str, Any] | None = None,
    backend: str = "cpu",
    scheduler: str | None = None,
    evaluate: Evaluate | None = None,
) -> AbstractContextManager[Farm]:
    """Start the experiment's cluster, or connect to a scheduler.

    Args:
        experiment: From `load_experiment`.
        plan: What all antennas share; planned here when None.
        backend: What solves.
        scheduler: Address of a running scheduler; the experiment's cluster when None.
        evaluate: Module-level function that solves a batch; by FDTD when None.

    Raises:
        ClusterError: No scheduler, no worker.
    """
    from antennaopt.evaluation.farm import Farm as DaskFarm

    cluster = experiment.cluster
    address = scheduler or (cluster.address if cluster.kind == "address" else None)
    return DaskFarm(
        evaluate or standard_evaluate(),
        family=experiment.family,
        plan=plan or plan_for(experiment),
        backend=backend,
        workers=cluster.workers,
        address=address,
    )


def run(
    experiment: Any,
    *,
    root: Path | str = "results",
    source: str = "",
    overrides: Sequence[str] = (),
    scheduler: str | None = None,
    backend: str = "cpu",
    progress: Progress | None = None,
    evaluate: Evaluate | None = None,
    plan: Mapping[str, Any] | None = None,
    farm: OpenFarm = open_farm,
    report: bool = True,
    now: datetime | None = None,
) -> RunSummary:
    """Carry an experiment out in a new run folder.

    Args:
        experiment: From `load_experiment`.
        root: Where run folders go: `<root>/<experiment>/<run>/`.
        source: Text of the experiment file, kept as given.
        overrides: What `--set` changed in it.
        scheduler: Address of a running Dask scheduler.
        backend: What solves.
        progress: Tells people.
        evaluate: Solves a batch; by FDTD when None.
        plan: What all antennas share; planned from the genes' ranges when None.
        farm: Opens the farm.
        report: Whether to write the report at the end.
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
    with (
        StopSignals() as signals,
        farm(experiment, plan=shared, backend=backend, scheduler=scheduler, evaluate=evaluate) as workers,
        _new_folder(experiment, root, source, overrides, backend, shared, now) as folder,
    ):
        told.note(f"run folder {folder.path}")
        study = _Study(experiment, folder, workers, told, signals, backend, evaluate, shared)
        return study.carry_out(report=report)


def resume(
    path: Path | str,
    *,
    overrides: Sequence[str] = (),
    scheduler: str | None = None,
    backend: str | None = None,
    progress: Progress | None = None,
    evaluate: Evaluate | None = None,
    farm: OpenFarm = open_farm,
    report: bool = True,
) -> RunSummary:
    """Go on with a run exactly where its last checkpoint is.

    Args:
        path: The run folder.
        overrides: Changes to budget and cluster, `a.b=v`.
        scheduler: Address of a running Dask scheduler.
        backend: What solves; the run's own when None.
        progress: Tells people.
        evaluate: Solves a batch; by FDTD when None.
        farm: Opens the farm.
        report: Whether to write the report at the end.

    Returns:
        What it came to.

    Raises:
        ResumeRefusedError: No run folder, damaged, or what decides its numbers has changed.
        RunInUseError: Another process writes to it.
        Interrupted: A signal came.
    """
    told = progress or Quiet()
    with StopSignals() as signals, RunFolder.open(path, write=True) as folder:
        experiment, notes = experiment_to_resume(folder, overrides, backend)
        checkpoint = folder.load_checkpoint()
        for note in (*notes, *(checkpoint.notes if checkpoint else ())):
            told.note(note)
        plan = folder.manifest["plan"]
        solver = backend or str(folder.manifest["backend"])
        with farm(experiment, plan=plan, backend=solver, scheduler=scheduler, evaluate=evaluate) as workers:
            study = _Study(experiment, folder, workers, told, signals, solver, evaluate, plan)
            if checkpoint is not None:
                study.driver.restore(checkpoint.state)
            folder.log("resumed", generation=study.driver.evolution.generation)
            return study.carry_out(report=report)


class _Study:
    """One session of a run."""

    def __init__(
        self,
        experiment: Any,
        folder: RunFolder,
        farm: Farm,
        progress: Progress,
        signals: StopSignals,
        backend: str,
        evaluate: Evaluate | None,
        plan: Mapping[str, Any],
    ) -> None:
        resolved = experiment.resolved()
        self.experiment, self.folder, self.farm, self.progress = experiment, folder, farm, progress
        self.backend, self.evaluate, self.plan = backend, evaluate, dict(plan)
        self.solver = resolved["solver"]
        self.objectives = build(resolved["objectives"])
        self.store = FolderStore(folder)
        settings = EvolutionSettings.from_dict(resolved["evolution"])
        self.driver = Driver(
            evolution=Evolution(settings, experiment.genes, experiment.seed, experiment.evolution.start),
            objectives=self.objectives,
            design=experiment.design,
            farm=farm,
            store=self.store,
            progress=progress,
            signals=signals,
            batch_size=experiment.cluster.batch_size,
            seconds_before=self.store.seconds_before(),
        )
        signals.on_request = farm.drain
        link = getattr(farm, "dashboard_link", None)
        if link:
            progress.note(f"dashboard {link}")

    def carry_out(self, *, report: bool) -> RunSummary:
        """Run to a stop, then write the best antenna and the report."""
        began = time.monotonic()
        try:
            reason = self.driver.run()
        except KeyboardInterrupt:
            raise Interrupted("interrupted; the last whole generation is saved") from None
        finally:
            self.progress.close()
        summary = summarise(
            self.driver,
            experiment=self.experiment,
            objectives=self.objectives,
            folder=self.folder.path,
            reason=reason,
            search_seconds=time.monotonic() - began,
            worker_count=self.farm.worker_count,
        )
        self.folder.log(
            "stopped",
            reason=reason,
            run_seconds=summary.wall_seconds,
            search_seconds=summary.search_seconds,
            solver_fraction=summary.solver_fraction,
            counts=summary.counts,
        )
        self._write_best(summary)
        return _with_report(summary, self._write_report()) if report else summary

    def _write_best(self, summary: RunSummary) -> None:
        best = summary.best
        if best is None:
            return
        title = self.experiment.title or self.experiment.name
        text = antenna_toml(
            title=f"{title}: best of {self.folder.run_id}",
            family=self.experiment.family,
            design=best.design,
            solver=self.solver,
            comment=f"Individual {best.individual} of run {self.folder.run_id}, fitness {best.fitness:.6g}.",
        )
        self.folder.write_text("best/antenna.toml", text)
        outcome = {**best.outcome, **self.store.patterns(best.individual)}
        result = result_object(
            outcome,
            backend=self.backend,
            run=self.folder.run_id,
            individual=best.individual,
            fitness=best.fitness,
            shortfalls_db=list(best.shortfalls),
            family=self.experiment.family,
            design=best.design,
            cells=self.plan["nr"] * self.plan["nz"],
        )
        self.folder.write_text("best/result.json", to_json(result))

    def _write_report(self) -> Path | None:
        """Write the report; the run is complete without it, so a fault in it is told and not fatal."""
        try:
            from antennaopt.reports import write_report

            return Path(cast(Any, write_report)(self.folder.path))
        except Exception as error:  # whatever goes wrong with a picture must not cost the run
            self.folder.log("report_failed", error=traceback.format_exc())
            self.progress.note(
                f"the report could not be written ({type(error).__name__}: {error}); the run itself is complete, "
                f"`antennaopt report {self.folder.path}` tries again"
            )
            return None


def _with_report(summary: RunSummary, report: Path | None) -> RunSummary:
    from dataclasses import replace

    return replace(summary, report=report)


def _new_folder(
    experiment: Any,
    root: Path | str,
    source: str,
    overrides: Sequence[str],
    backend: str,
    plan: Mapping[str, Any],
    now: datetime | None,
) -> RunFolder:
    resolved = experiment.resolved()
    return RunFolder.create(
        root,
        name=experiment.name,
        source=source,
        resolved=resolved,
        config_hash=experiment.config_hash,
        columns=RunColumns.of(
            experiment.genes, resolved["solver"]["frequencies"], [one.name for one in build(resolved["objectives"])]
        ),
        manifest={
            "title": experiment.title,
            "family": experiment.family,
            "seed": experiment.seed,
            "backend": backend,
            "precision": resolved["solver"].get("precision"),
            "physics_hash": experiment.physics_hash,
            "overrides": list(overrides),
            "source_sha256": hashlib.sha256(source.encode()).hexdigest(),
            "plan": dict(plan),
        },
        now=now,
    )
