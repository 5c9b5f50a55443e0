"""One session of a run: the driver on a run folder, and what is written when the search is over."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from antennaopt.certificate import account, crowned
from antennaopt.errors import Interrupted
from antennaopt.evolution import SteadyState
from antennaopt.objectives import build
from antennaopt.results import RunFolder, stepping_of
from antennaopt.results.cache import EvaluationCache
from antennaopt.study._arithmetic import is_mixed
from antennaopt.study._best import antenna_toml, result_object, to_json
from antennaopt.study._certification import certify_best
from antennaopt.study._driver import Driver
from antennaopt.study._fork import genomes_of
from antennaopt.study._incidents import incidents
from antennaopt.study._interrupt import StopSignals
from antennaopt.study._parties import Farm
from antennaopt.study._planning import halved_plan
from antennaopt.study._progress import Progress, device_line
from antennaopt.study._reuse import ReusingFarm
from antennaopt.study._search import search_of
from antennaopt.study._steady import SteadyDriver
from antennaopt.study._store import FolderStore
from antennaopt.study._summary import Finalist, RunSummary, finalist, summarise
from antennaopt.study._telling import Telling
from antennaopt.study._write_behind import WriteBehind

MIXED = (
    "mixed hardware ({}): who solves an antenna decides its last bits, so the seed does not repeat this run to the "
    "bit; each row's device says who did, and the rows replay it. The evaluation cache is left alone"
)


class Session:
    """From a run folder, new or with a checkpoint, to its best antenna and report.

    Attributes:
        driver: The search; restore it before `carry_out` to go on from a checkpoint.
    """

    def __init__(
        self,
        *,
        experiment: Any,
        folder: RunFolder,
        farm: Farm,
        progress: Progress,
        signals: StopSignals,
        backend: str,
        plan: Mapping[str, Any],
        cache: EvaluationCache | None = None,
    ) -> None:
        """Put a driver on the folder.

        Args:
            experiment: From `load_experiment`.
            folder: Open for writing.
            farm: Solves antennas.
            progress: Tells people.
            signals: Says when to stop.
            backend: What solves.
            plan: What all antennas share.
            cache: Of evaluations, open; None to solve everything.
        """
        resolved = experiment.resolved()
        progress = Telling(progress, log=folder.log, show=getattr(farm, "show", None))
        self._experiment, self._folder, self._farm, self._progress = experiment, folder, farm, progress
        self._backend, self._plan = backend, dict(plan)
        self._signals = signals
        self._solver = resolved["solver"]
        self._objectives = build(resolved["objectives"])
        self._store = FolderStore(folder)
        self._behind = WriteBehind(self._store)
        self._solving = farm
        if is_mixed(farm):
            progress.note(MIXED.format(" and ".join(farm.backends)))  # type: ignore[attr-defined]
            folder.log("mixed_hardware", backends=list(farm.backends))  # type: ignore[attr-defined]
        elif cache is not None:
            self._solving = ReusingFarm(
                farm, cache, family=experiment.family, plan=plan, backend=backend, told=self._warn_of_cache
            )
        evolution = search_of(experiment, genomes_of(folder))
        parties: dict[str, Any] = {
            "objectives": self._objectives,
            "design": experiment.design,
            "farm": self._solving,
            "store": self._behind,
            "progress": progress,
            "signals": signals,
            "batch_size": experiment.cluster.batch_size,
            "seconds_before": self._store.seconds_before(),
        }
        self.driver: Driver | SteadyDriver = (
            SteadyDriver(evolution=evolution, **parties)
            if isinstance(evolution, SteadyState)
            else Driver(evolution=evolution, **parties)
        )
        signals.on_request, signals.opening = farm.drain, False
        farm.on_event = incidents(folder, progress)
        link = getattr(farm, "dashboard_link", None)
        if link:
            progress.note(f"dashboard {link}")
        if farm.device is not None:
            progress.note(device_line(farm.device))
            folder.log("device", **farm.device)

    def carry_out(self, *, report: bool = True) -> RunSummary:
        """Run to a stop, then write the best antenna, its field and the report.

        Args:
            report: Whether to draw the field and write the report.

        Raises:
            Interrupted: A signal came; everything solved so far is saved.
            TooManyFailuresError: The search has nothing to go on.
        """
        try:
            summary = self._certify(self._search())
            self._log_stop(summary)
            if summary.best is not None:
                self._write_best(summary.best, summary.certificates.get(summary.best.individual))
            if not report:
                return summary
            if summary.best is not None:
                best = summary.best
                self._attempt("the field map", lambda: self._write_field(best))
            return replace(summary, report=self._attempt("the report", self._write_report))
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; {self._folder.path} can be resumed") from None
        finally:
            self._behind.close()
            self._signals.closing = True
            self._progress.close()

    def _warn_of_cache(self, line: str) -> None:
        self._progress.note(line)
        self._folder.log("cache_warning", text=line)

    def _search(self) -> RunSummary:
        began = time.monotonic()
        reason = self.driver.run()
        stepping = stepping_of(self._folder)
        summary = summarise(
            self.driver,
            experiment=self._experiment,
            objectives=self._objectives,
            folder=self._folder.path,
            reason=reason,
            search_seconds=time.monotonic() - began,
            worker_count=self._farm.worker_count,
        )
        return replace(summary, stepping_fraction=stepping.share if stepping else None)

    def _log_stop(self, summary: RunSummary) -> None:
        self._folder.log(
            "stopped",
            reason=summary.reason,
            run_seconds=summary.wall_seconds,
            search_seconds=summary.search_seconds,
            solver_fraction=summary.solver_fraction,
            stepping_fraction=summary.stepping_fraction,
            counts=summary.counts,
            crowned=summary.best.individual if summary.best else None,
        )

    def _certify(self, summary: RunSummary) -> RunSummary:
        """Certify the hall of fame and crown one of it, as the experiment's mode says."""
        mode = self._experiment.certificate.mode
        if summary.best is None or mode == "off":
            return summary
        hall = [
            finalist(self.driver, self._experiment, self._objectives, one.candidate.individual)
            for one in self.driver.evolution.hall_of_fame
        ]
        certificates = certify_best(
            hall,
            driver=self.driver,
            folder=self._folder,
            farm=self._solving,
            plan=halved_plan(self._experiment, self._plan),
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
            certificate=account(certificates, mode),
        )

    def _write_best(self, best: Finalist, certificate: Mapping[str, Any] | None) -> None:
        title = self._experiment.title or self._experiment.name
        text = antenna_toml(
            title=f"{title}: best of {self._folder.run_id}",
            family=self._experiment.family,
            design=best.design,
            solver=self._solver,
            comment=f"Individual {best.individual} of run {self._folder.run_id}, fitness {best.fitness:.6g}"
            + (f", {certificate['verdict']}." if certificate else "."),
        )
        self._folder.write_text("best/antenna.toml", text)
        result = result_object(
            {**best.outcome, **self._store.patterns(best.individual)},
            backend=self._backend,
            run=self._folder.run_id,
            individual=best.individual,
            fitness=best.fitness,
            shortfalls_db=list(best.shortfalls),
            family=self._experiment.family,
            design=best.design,
            cells=self._plan["nr"] * self._plan["nz"],
            **({"certificate": dict(certificate)} if certificate else {}),
        )
        self._folder.write_text("best/result.json", to_json(result))

    def _write_field(self, best: Finalist) -> Path | None:
        """Solve the best antenna once more, now with its field: in a worker, where the device is."""
        from antennaopt.exports import write_field_map

        outcome = self._farm.solve_alone(best.design, self._plan, fields=True)
        if "field" not in outcome:
            return None
        return write_field_map(self._folder.path / "best" / "field.npz", outcome, individual=best.individual)

    def _write_report(self) -> Path:
        from antennaopt.reports import write_report

        return Path(write_report(self._folder.path))

    def _attempt(self, what: str, action: Callable[[], Path | None]) -> Path | None:
        """Do what the run is complete without: a fault in it is told and logged, and costs nothing else."""
        try:
            return action()
        except Exception as error:
            self._folder.log("failed", what=what, error=traceback.format_exc())
            self._progress.note(
                f"{what} could not be written ({type(error).__name__}: {error}); the run itself is complete, "
                f"`antennaopt report {self._folder.path}` tries again"
            )
            return None
