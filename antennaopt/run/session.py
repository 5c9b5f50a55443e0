"""One session of a run: the driver on a run folder, and the files written after the search."""

from __future__ import annotations

import logging
import shlex
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from antennaopt.errors import Interrupted
from antennaopt.farm.interface import Farm
from antennaopt.report.front import front_of, front_values
from antennaopt.report.goals import findings_of, origins_of
from antennaopt.run.ahead import Ahead, Drawer, load_drawing
from antennaopt.run.certification import best_of, certify_best
from antennaopt.run.continuation import genomes_of
from antennaopt.run.driver import Driver
from antennaopt.run.incidents import incidents
from antennaopt.run.interfaces import Interfaces
from antennaopt.run.levels import at_levels
from antennaopt.run.live import best_event
from antennaopt.run.planning import figuring, halved_plan, search_of
from antennaopt.run.process import Noise, StopSignals
from antennaopt.run.progress import Progress, device_line
from antennaopt.run.publisher import EventPublisher
from antennaopt.run.rehearsal import rehearse_field
from antennaopt.run.repair import repair
from antennaopt.run.reuse import ReusingFarm
from antennaopt.run.sampling import sampling_of
from antennaopt.run.studies import Bench
from antennaopt.run.summary import Finalist, RunSummary, antenna_toml, finalist, summarise, to_json
from antennaopt.run.write_behind import WriteBehind
from antennaopt.run.yields import FINALISTS, final_yields, yields_in
from antennaopt.search import ALL_GOALS_MET
from antennaopt.search.fronts import Front, hypervolume
from antennaopt.solve.certificate import account, crowned
from antennaopt.solve.lattices import cell_count
from antennaopt.solve.outcome import result_object
from antennaopt.store.cache import EvaluationCache
from antennaopt.store.checkpoint import Checkpoint
from antennaopt.store.levels import level_accounts
from antennaopt.store.made import made_table
from antennaopt.store.reading import read_certificates
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.stepping import stepping_of

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

MIXED = (
    "mixed hardware ({}): the worker that solves an antenna decides its last bits, so the seed does not repeat "
    "this run to the bit; each row's device names it, and the rows replay it. The evaluation cache is left alone"
)


LOGGED = (
    "reason", "search_seconds", "solver_fraction", "stepping_fraction", "cell_steps_per_s", "counts", "cache_dropped",
    "levels",
)  # fmt: skip
"""Entries of a summary that the log's event `stopped` has."""


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """What solves a run, and where.

    Attributes:
        farm: Solves antennas.
        cache: Of evaluations, open; None to solve everything.
        backend: What solves.
        plan: What all antennas share.
        coarser: The same of the levels below the finest, the coarsest first; empty with one level.
        progress: Shows progress.
        rehearses: Whether workers with devices prepare for what comes next.
    """

    farm: Farm
    cache: EvaluationCache | None
    backend: str
    plan: Mapping[str, Any]
    progress: Progress
    coarser: Sequence[Mapping[str, Any]] = ()
    rehearses: bool = False


class Session:
    """From a run folder, new or with a checkpoint, to its best antenna and report.

    Attributes:
        driver: The search; restore it before `carry_out` to go on from a checkpoint.
    """

    def __init__(self, experiment: Experiment, folder: RunFolder, place: Workplace, signals: StopSignals) -> None:
        """Put a driver on the folder.

        Args:
            experiment: From `load_experiment`.
            folder: Open for writing.
            place: What solves.
            signals: Says when to stop.
        """
        farm, cache = place.farm, place.cache
        about = partial(best_event, experiment)
        progress = EventPublisher(place.progress, log=folder.log, show=farm.show, about=about)
        self._experiment, self._folder, self._farm, self._progress = experiment, folder, farm, progress
        self._backend, self._plan = place.backend, dict(place.plan)
        self._rehearses = place.rehearses
        self._signals = signals
        self._store = WriteBehind(folder)
        self._ahead: Ahead | None = None
        self._drawer: Drawer | None = None
        self._solving = farm
        if is_mixed(farm):
            progress.note(MIXED.format(" and ".join(farm.backends)))
            folder.log("mixed_hardware", backends=list(farm.backends))
        elif cache is not None:
            self._solving = ReusingFarm(
                farm, cache, family=experiment.family, plan=place.plan, backend=place.backend, told=self._warn_of_cache
            )
        plans = [*place.coarser, place.plan]
        search = search_of(experiment, genomes_of(folder), plans)
        self._seconds_before = self._store.seconds_before()
        interfaces = Interfaces(
            objectives=experiment.goals,
            design=experiment.design,
            figured=figuring(experiment),
            farm=at_levels(self._solving, plans, search),
            store=self._store,
            progress=progress,
            signals=signals,
            batch_size=experiment.cluster.batch_size,
            seconds_before=self._seconds_before,
            sampling=sampling_of(experiment, place.plan),
        )
        self.driver = Driver(search, interfaces)
        signals.on_request, signals.opening = farm.drain, False
        farm.on_event = incidents(folder, progress)
        if farm.dashboard_link:
            progress.note(f"dashboard {farm.dashboard_link}")
        if farm.device is not None:
            progress.note(device_line(farm.device))
            folder.log("device", **farm.device)

    def repair(self, checkpoint: Checkpoint | None, *, exact: bool) -> None:
        """Solve the generations of damaged files again; see `antennaopt.run.repair`.

        Args:
            checkpoint: That the session is restored from afterwards.
            exact: Whether the arithmetic is that of the run.

        Raises:
            ResumeRefusedError: They cannot be solved again; nothing was written.
        """
        repair(
            self._folder,
            checkpoint,
            experiment=self._experiment,
            farm=self._solving,
            signals=self._signals,
            told=self._progress.note,
            exact=exact and not is_mixed(self._farm),
        )

    def carry_out(self, *, report: bool = True) -> RunSummary:
        """Run to a stop, then write the best antenna, its field and the report.

        Args:
            report: Whether to draw the field and write the report.

        Raises:
            Interrupted: After a signal; everything solved so far is saved.
            TooManyFailuresError: The search has nothing to go on.
        """
        noise = Noise(self._folder.log)
        logging.getLogger().addHandler(noise)
        if report:
            Thread(target=load_drawing, name="drawing").start()
            if self._farm.device is not None:  # its generations keep this process's interpreter busy
                self._drawer = Drawer()
        if self._farm.device is not None:
            self._store.expect(self._experiment.evolution.population)
            if isinstance(self._solving, ReusingFarm):
                self._solving.expect(self._experiment.evolution.population)
        try:
            finished = self.driver.search.stopped(self.driver.seconds)
            if finished is not None:
                self._progress.note(f"nothing is left to solve: {finished}; {_how_to_go_on(finished, self._folder)}")
            stored = None if finished is None else self._stored()
            found = self._search()
            if report and found.best is not None:
                self._ahead = Ahead(self._folder.path, self._drawer)
                if self._rehearses:
                    rehearse_field(self._experiment, self._farm, self._plan, found.best.design)
            summary = self._with_yields(self._with_findings(self._certify(found)))
            if stored is not None and self._stored() == stored:  # nothing was solved: no time of the run
                summary = replace(summary, wall_seconds=self._seconds_before)
            summary = replace(summary, cache_dropped=getattr(self._solving, "dropped", 0))
            self._log_stop(summary)
            if summary.best is not None:
                self._write_best(summary, summary.best)
            if not report:
                return summary
            if summary.best is not None:
                best = summary.best
                in_space = self._experiment.kind.spatial is not None  # such a solver records no field map
                if not in_space and (finished is None or not self._has_field(best)):
                    self._attempt("the field map", lambda: self._write_field(best))
            return replace(summary, report=self._attempt("the report", self._write_report))
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; {self._folder.path} can be resumed") from None
        finally:
            for drawing in (self._drawer, self._ahead):
                if drawing is not None:
                    drawing.close()
            try:
                if isinstance(self._solving, ReusingFarm):
                    self._solving.close()
            finally:
                self._close(noise)

    def _close(self, noise: Noise) -> None:
        """Write pending data to the run folder, and close the progress display."""
        try:
            self._store.close()
        finally:
            logging.getLogger().removeHandler(noise)
            self._signals.closing = True
            self._progress.close()

    def _warn_of_cache(self, line: str) -> None:
        self._progress.note(line)
        self._folder.log("cache_warning", text=line)

    def _stored(self) -> tuple[Any, Any]:
        """Return what sessions store of the antennas that they solve after the search: certificates and yields."""
        return read_certificates(self._folder), yields_in(self._folder.path)

    def _search(self) -> RunSummary:
        began = time.monotonic()
        reason = self.driver.run()
        stepping = stepping_of(self._folder)
        summary = summarise(
            self.driver,
            experiment=self._experiment,
            folder=self._folder.path,
            reason=reason,
            search_seconds=time.monotonic() - began,
            worker_count=self._farm.worker_count,
        )
        samples = made_table(self._folder, ["sample"]).num_rows
        summary = replace(summary, levels=level_accounts(self._folder), samples=samples)
        if stepping is None:
            return summary
        return replace(summary, stepping_fraction=stepping.share, cell_steps_per_s=stepping.cell_steps_per_s)

    def _log_stop(self, summary: RunSummary) -> None:
        self._folder.log(
            "stopped",
            **{name: getattr(summary, name) for name in LOGGED},
            run_seconds=summary.wall_seconds,
            crowned=summary.best.individual if summary.best else None,
        )

    def _certify(self, summary: RunSummary) -> RunSummary:
        """Certify the best antennas and select the winner by the experiment's mode."""
        mode = self._experiment.certificate.mode
        if summary.best is None or mode == "off":
            return summary
        self._store.flush()
        hall = best_of(self.driver, self._experiment, self._folder)
        certificates = certify_best(
            hall,
            driver=self.driver,
            folder=self._folder,
            farm=self._solving,
            plans=({**self._plan, "losses": True}, halved_plan(self._experiment, self._plan)),
            backend=self._backend,
            signals=self._signals,
            progress=self._progress,
        )
        winner = crowned(certificates, mode)
        return replace(
            summary,
            best=next(one for one in hall if one.individual == winner),
            wall_seconds=self.driver.seconds,
            certificates=certificates,
            certificate=account(certificates, mode, experiment=self._experiment.resolved()),
        )

    def _with_findings(self, summary: RunSummary) -> RunSummary:
        found = findings_of(self._folder, summary.best.individual) if summary.best else None
        search, front = self.driver.search, None
        if search.hypervolume is not None and search.reference is not None:
            rows = front_of(self._folder.path)
            values = front_values(self._folder, rows)
            front = Front(
                antennas=len(rows),
                hypervolume=hypervolume(values, search.reference),
                values=tuple(map(tuple, values.tolist())),
                reference=search.reference,
            )
        return replace(summary, origins=origins_of(self._folder), findings=found, front=front)

    def _with_yields(self, summary: RunSummary) -> RunSummary:
        """Compute the yield of the crowned antenna and the best others, where the search took samples."""
        if summary.best is None:
            return summary
        best = summary.best
        hall = [one.candidate.individual for one in self.driver.search.hall_of_fame]
        others = [finalist(self.driver, self._experiment, name) for name in hall[:FINALISTS] if name != best.individual]
        bench = Bench(
            farm=self._solving,
            signals=self._signals,
            told=self._progress,
            keeps=self._solving is not self._farm,
            plan={name: value for name, value in self._plan.items() if name != "limits"},
        )
        self._store.flush()
        yields = final_yields(self._folder.path, self._experiment, [best, *others], bench)
        return replace(summary, yields=yields, wall_seconds=self.driver.seconds)

    def _write_best(self, summary: RunSummary, best: Finalist) -> None:
        certificate, outcome = summary.certificates.get(best.individual), best.outcome
        if certificate and certificate.get("power_balance"):  # with losses, which the search leaves out
            outcome = outcome.changed(metrics={**outcome.metrics, "power_balance": certificate["power_balance"]})
        title = self._experiment.title or self._experiment.name
        text = antenna_toml(
            title=f"{title}: best of {self._folder.run_id}",
            family=self._experiment.kind,
            design=best.design,
            solver=self._experiment.solver.settings.to_dict(),
            comment=f"Individual {best.individual} of run {self._folder.run_id}, fitness {best.fitness:.6g}"
            + (f", {certificate['verdict']}." if certificate else "."),
            polarisation=self._experiment.polarisation,
        )
        self._folder.write_text("best/antenna.toml", text)
        result = result_object(
            outcome.changed(**self._store.patterns(best.individual)),
            backend=self._backend,
            run=self._folder.run_id,
            individual=best.individual,
            fitness=best.fitness,
            shortfalls_db=list(best.shortfalls),
            **(summary.findings.to_dict() if summary.findings else {}),
            family=self._experiment.family,
            design=best.design,
            cells=cell_count(self._plan),
            **({"certificate": dict(certificate)} if certificate else {}),
        )
        self._folder.write_text("best/result.json", to_json(result))

    def _has_field(self, best: Finalist) -> bool:
        from antennaopt.report.field_data import read_field_map

        found = read_field_map(self._folder.path / "best" / "field.npz")
        return found is not None and found.individual == best.individual

    def _write_field(self, best: Finalist) -> Path | None:
        """Solve the best antenna once more, now with its field: in a worker, where the device is."""
        from antennaopt.report.field_data import write_field_map

        outcome = self._farm.solve_alone(best.design, self._plan, fields=True)
        if "field" not in outcome:
            return None
        return write_field_map(self._folder.path / "best" / "field.npz", outcome, individual=best.individual)

    def _write_report(self) -> Path:
        from antennaopt.report.page import write_report

        return Path(write_report(self._folder.path, self._ahead and self._ahead.drawn))

    def _attempt(self, what: str, action: Callable[[], Path | None]) -> Path | None:
        """Carry out an optional step of the run: a fault in it is reported and logged, and nothing else is lost."""
        try:
            return action()
        except Exception as error:
            self._folder.log("failed", what=what, error=traceback.format_exc())
            self._progress.note(
                f"{what} could not be written ({type(error).__name__}: {error}); the run itself is complete, "
                f"`antennaopt report {self._folder.path}` tries again"
            )
            return None


def _how_to_go_on(finished: str, folder: RunFolder) -> str:
    """Return what to do with a run that is resumed after its end."""
    if finished == ALL_GOALS_MET:
        return f"`antennaopt resume {shlex.quote(str(folder.path))} --set evolution.stop.goals=false` goes on"
    return "raise evolution.generations or evolution.stop with --set to go on"


def is_mixed(farm: Farm) -> bool:
    """Whether a farm's workers solve with several backends."""
    return len(farm.backends) > 1
