"""The data of a run for its report: read once from the files of the run folder, never from live objects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from antennaopt.errors import ConfigurationError, ResumeRefusedError
from antennaopt.experiment import Experiment
from antennaopt.families import Family
from antennaopt.figures import LINEAR
from antennaopt.machine import read_regular
from antennaopt.report.field_data import FieldMap, read_field_map
from antennaopt.report.front import front_rows, is_front
from antennaopt.report.goals import Findings, findings_of, goals_of, reused
from antennaopt.report.patterns import Cuts
from antennaopt.search.objectives import Objective, Standing
from antennaopt.solve.certificate import crowned
from antennaopt.store import load
from antennaopt.store.damage import damage_lines
from antennaopt.store.files import read_events
from antennaopt.store.levels import coarser_plans, stops_of
from antennaopt.store.reading import certificate_mode, certified
from antennaopt.store.rows import pattern_frame
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import LEVEL

Row = Mapping[str, Any]

Frame = Any
"""A `pandas.DataFrame`; its type hints are too vague to be of help."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """All that a report is made of.

    Attributes:
        folder: The run.
        frame: Every evaluation, in order of generation and slot.
        resolved: What `resolved.json` holds.
        source: The experiment file as given.
        events: Lines of `logs/run.jsonl` that could be read.
        warnings: What was found damaged or missing, for the reader.
    """

    folder: RunFolder
    frame: Frame
    resolved: Mapping[str, Any]
    source: str
    events: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...] = field(default=())

    @property
    def frequencies(self) -> tuple[float, ...]:
        """Hz, in the solver's order."""
        return self.folder.columns.frequencies

    @cached_property
    def goals(self) -> tuple[Objective, ...]:
        """Of the experiment, in order."""
        return goals_of(self.resolved)

    @property
    def polarisation(self) -> str:
        """Of the experiment: `linear`, `rhcp`, `lhcp`."""
        return str(self.resolved.get("polarisation", LINEAR))

    @cached_property
    def ok(self) -> Frame:
        """The evaluations that succeeded; of a run on several lattices those on the finest that has any."""
        ok = self.all_ok
        return ok[ok[LEVEL] == ok[LEVEL].max()] if self.cells else ok

    @property
    def all_ok(self) -> Frame:
        """The evaluations that succeeded, of all levels: fitness is compared within a level only."""
        return self.frame[self.frame["status"] == "ok"]

    @cached_property
    def cells(self) -> tuple[float, ...]:
        """Cell of each level, m, the coarsest first; empty of a run on one lattice."""
        coarser = coarser_plans(self.folder.manifest) if LEVEL in self.frame else []
        return tuple(float(one["cell"]) for one in (*coarser, self.folder.manifest["plan"])) if coarser else ()

    @cached_property
    def stops(self) -> tuple[float | None, ...]:
        """Energy over its peak at which each level stops, dB; None for each where all stop at the same."""
        return tuple(stops_of([*coarser_plans(self.folder.manifest), self.folder.manifest["plan"]][: len(self.cells)]))

    @cached_property
    def best(self) -> Row | None:
        """The best antenna's row: lowest fitness, the earliest of equals, unless the certificates crown another.

        None while nothing was `ok`.
        """
        crown = crowned(self.certificates, self.certificate_mode)
        found = self.ok[self.ok["individual"] == crown]
        return lowest(self.ok if found.empty else found)

    @cached_property
    def front(self) -> Frame | None:
        """The rows of the front, in order of the first objective; None of a run that searched for none."""
        return front_rows(self.folder, self.frame) if is_front(self.resolved) else None

    @property
    def certificate_mode(self) -> str:
        """The experiment's setting `certificate.mode`."""
        return certificate_mode(self.folder)

    @cached_property
    def certificates(self) -> Mapping[str, Mapping[str, Any]]:
        """Of the best antennas, the best by fitness first; empty when there are none that count."""
        first = lowest(self.ok)
        return {} if first is None else certified(self.folder, str(first["individual"]))

    @cached_property
    def leaders(self) -> list[tuple[int, Any]]:
        """(generation, row) of the best antenna up to each generation that has an `ok` one."""
        rows = self.ok.sort_values(["generation", "slot"], kind="stable")
        leader: Any = None
        holders = []
        for generation, group in rows.groupby("generation", sort=True):
            candidate = group.loc[group["fitness"].idxmin()]
            if leader is None or candidate["fitness"] < leader["fitness"]:
                leader = candidate
            holders.append((int(generation), leader))  # type: ignore[arg-type]
        return holders

    @cached_property
    def first_best(self) -> Row | None:
        """The best row of the first generation."""
        return lowest(self.ok[self.ok["generation"] == self.frame["generation"].min()])

    @cached_property
    def field_map(self) -> FieldMap | None:
        """The best antenna's field map; None when there is none, or when it is another antenna's."""
        found = read_field_map(self.folder.path / "best" / "field.npz")
        if found is None or self.best is None:
            return None
        return found if found.individual in ("", self.best["individual"]) else None

    @cached_property
    def findings(self) -> Findings | None:
        """Remarks in addition to the best antenna's figures; None without a best antenna."""
        return None if self.best is None else findings_of(self.folder, str(self.best["individual"]), self.resolved)

    @cached_property
    def best_antenna(self) -> tuple[Family, dict[str, float]] | None:
        """Family and design, SI, of the best antenna; None without one, or where this version cannot read it."""
        if self.best is None:
            return None
        values = {gene.name: float(self.best[gene.column]) / gene.scale for gene in self.folder.columns.genes}
        try:
            experiment = Experiment.from_resolved(self.resolved)
            design = experiment.design(values)
            return experiment.kind.of(design), design
        except ConfigurationError:
            return None

    def standing(self, goal: Objective) -> Standing | None:
        """Return how the best antenna stands to a goal; None without a best antenna."""
        return None if self.findings is None else self.findings.goals[self.goals.index(goal)]

    @property
    def generations(self) -> int:
        """How many generations are on disk."""
        return int(self.frame["generation"].nunique())

    @property
    def generations_planned(self) -> int | None:
        """The most that the experiment allows."""
        planned = (self.resolved.get("evolution") or {}).get("generations")
        return int(planned) if planned is not None else None

    @property
    def evaluated(self) -> int:
        """Antennas solved or taken from the evaluation cache; copies of duplicates are left out."""
        return int((~self.frame["cached"].astype(bool)).sum())

    @property
    def reused(self) -> dict[str, int]:
        """How many outcomes were not solved, by where they are from; copies of duplicates are left out."""
        return reused(self.frame["origin"].tolist()) if "origin" in self.frame else {}

    @property
    def wall_seconds(self) -> float | None:
        """The run's wall time as far as its log has it, s."""
        times = [float(event["run_seconds"]) for event in self.events if is_number(event.get("run_seconds"))]
        return max(times, default=None)

    @property
    def stop_reason(self) -> str | None:
        """Why the run ended, from its log; None when that has no reason, or when the run was resumed after it."""
        reason = None
        for event in self.events:
            if event.get("event") == "generation":
                reason = None
            reason = event.get("reason") or reason
        return None if reason is None else str(reason)

    def metric(self, row: Row, metric: str, frequencies: Sequence[float] = ()) -> list[float | None]:
        """Return a row's metric at the frequencies (all of them when empty), None where it is not defined.

        The power balance of a certified lossy antenna, which its row lacks, is its certificate's.
        """
        columns = self.folder.columns
        wanted = [
            hz
            for hz in self.frequencies
            if not frequencies or any(math.isclose(hz, other, rel_tol=1e-9) for other in frequencies)
        ]
        found = [value_of(row, columns.metric_column(metric, hz)) for hz in wanted]
        measured = self.certificates.get(str(row["individual"]), {}).get("power_balance")
        if metric == "power_balance" and measured and not any(found):
            by_frequency = dict(zip(columns.frequencies, measured, strict=True))
            found = [by_frequency[hz] for hz in wanted]
        return found

    def cuts(self, row: Row) -> list[Cuts]:
        """Return a row's patterns in order of frequency; empty when none are on disk."""
        return self.cuts_of([str(row["individual"])])[0]

    def cuts_of(self, individuals: Sequence[str]) -> list[list[Cuts]]:
        """Return `cuts` of each individual, in order; each file is read once."""
        return [
            [
                Cuts(
                    frequency_hz=float(hz),  # type: ignore[arg-type]
                    theta_deg=part["theta_deg"].tolist(),
                    e_plane_dbi=part["e_plane_dbi"].tolist(),
                    h_plane_dbi=part["h_plane_dbi"].tolist(),
                    **polar_parts(part["theta_deg"], *(part.get(plane) for plane in ("e_plane", "h_plane"))),
                )
                for hz, part in pattern_frame(table).groupby("frequency_hz", sort=True)
            ]
            for table in self.folder.patterns_of(individuals).values()
        ]


def polar_parts(theta_deg: Any, e_plane: Any, h_plane: Any) -> dict[str, list[float]]:
    """Return `co_dbi` and `cross_dbi` of amplitudes in both planes, complex or pairs; nothing without them.

    Nothing either where the cuts are those of both sides of the axis: of an antenna that is no body of revolution two
    planes say nothing about the one between them.
    """
    if e_plane is None or h_plane is None or float(np.asarray(theta_deg)[0]) < 0.0:
        return {}
    given = [np.asarray(plane) for plane in (e_plane, h_plane)]
    e, h = (one if one.ndim == 1 else one[..., 0] + 1j * one[..., 1] for one in given)
    parts = {"co_dbi": (e + h) / 2, "cross_dbi": (e - h) / 2}
    return {name: (20.0 * np.log10(np.maximum(np.abs(part), 1e-6))).tolist() for name, part in parts.items()}


def read_run(path: Path | str) -> RunRecord:
    """Read a run, finished or not.

    Damaged files of rows and patterns are left out; `damage_lines` of its folder names them, once they were read.

    Raises:
        ResumeRefusedError: It is not a run folder, has no row that can be read, or another file of it is damaged.
    """
    folder = RunFolder.open(Path(path), whole=False)
    frame = load(folder)
    if frame.empty and folder.left_out:
        raise ResumeRefusedError(f"no rows of {folder.path} can be read: {'; '.join(damage_lines(folder))}")
    if frame.empty:
        raise ResumeRefusedError(f"{folder.path} has no evaluations yet; there is nothing to report")
    warnings: list[str] = []
    try:
        checkpoint = folder.load_checkpoint()
        warnings += checkpoint.notes if checkpoint else ()
    except ResumeRefusedError as problem:
        warnings.append(str(problem))
    return RunRecord(
        folder=folder,
        frame=frame,
        resolved=folder.resolved,
        source=_source(folder.path / "experiment.toml"),
        events=tuple(read_events(folder.path)),
        warnings=tuple(warnings),
    )


def _source(path: Path) -> str:
    """Return the experiment file as given, whatever its bytes; empty when it is not there.

    Raises:
        ResumeRefusedError: It cannot be read, or is too large to be one.
    """
    try:
        return read_regular(path).decode("utf-8", errors="replace").replace("\r\n", "\n")
    except FileNotFoundError:
        return ""
    except OSError as problem:
        raise ResumeRefusedError(f"{path} cannot be read ({problem.strerror}); restore it from a copy") from None


def lowest(rows: Frame) -> Row | None:
    """Return the row of lowest fitness, the first of equals, or None of nothing."""
    if rows.empty:
        return None
    return rows.loc[rows["fitness"].idxmin()].to_dict()


def value_of(row: Row, column: str) -> float | None:
    """Return a cell as a float, None when it is empty or not a number."""
    value = row.get(column)
    return float(value) if is_number(value) else None


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a real number (NaN is not)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
