"""Simulate one antenna on one or two meshes: the common part of `antennaopt simulate` and `antennaopt.simulate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError
from antennaopt.quantities import LENGTH, QuantityError, parse_quantity
from antennaopt.search.objectives import Standing, standings
from antennaopt.solve.certificate import certify, feed_of
from antennaopt.solve.device import check_devices
from antennaopt.solve.extrapolate import Meshes, ordered_as, plan_two_meshes, solve_on_two_meshes
from antennaopt.solve.figures import planned, with_figures
from antennaopt.solve.lattices import cell_count, lattice_text, shape_of
from antennaopt.solve.options import SolveOptions
from antennaopt.solve.outcome import Outcome, finite, result_object
from antennaopt.solve.port import port_of
from antennaopt.solve.solvers import evaluator_of, planner_of
from antennaopt.terminal import with_article

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment
    from antennaopt.figures import Figure
    from antennaopt.settings import SolverSettings

Working = Callable[[str, Mapping[str, Any]], AbstractContextManager[Callable[..., None] | None]]
"""Called with a line and a plan before each solution; its context yields the `watch` of `SolveOptions`."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One antenna to solve.

    Attributes:
        experiment: Its settings; no parameter is a range, or `design` has a value for each.
        design: Every parameter, SI, by dotted name.
        plan: Lattice and steps; the run's own for an antenna of a run, None for a lattice made for this antenna.
        settings: Of the solver behind `plan`; None for those of the experiment.
        backend: The run's own, or None.
        about: Further keys of the JSON object.
        asked: Figures that are asked for in addition to those of the experiment's objectives.
    """

    experiment: Experiment
    design: dict[str, float]
    plan: dict[str, Any] | None = None
    settings: SolverSettings | None = None
    backend: str | None = None
    about: dict[str, Any] = field(default_factory=dict)
    asked: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        """Refuse two figures of one name, and figures that the family has not.

        Raises:
            ConfigurationError: They differ, or it has not.
        """
        from antennaopt.experiment.spatial import figures_fault

        fault = figures_fault(self.experiment.kind, self.asked, self.experiment.polarisation) if self.asked else None
        if fault is not None:
            raise ConfigurationError(f"figure {fault}")
        found: dict[str, Figure] = {}
        for one in (*self.experiment.figures, *self.asked) if self.asked else ():
            if found.setdefault(one.name, one) != one:
                raise ConfigurationError(
                    f"figure {one.name} is asked for twice, with other options; give it another name"
                )

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures to compute, each name once."""
        return tuple({one.name: one for one in (*self.experiment.figures, *self.asked)}.values())


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """One antenna, solved.

    Attributes:
        subject: What was solved.
        outcome: What came of it; extrapolated from both meshes where there are two.
        plan: Lattice and steps; of the finer mesh where there are two.
        backend: What solved it.
        meshes: Both solutions of an extrapolated one, else None.
        devices: CUDA devices that shared its lattice.
    """

    subject: Subject
    outcome: Outcome
    plan: dict[str, Any]
    backend: str
    meshes: Meshes | None = None
    devices: int = 1

    @property
    def title(self) -> str:
        """Title for figures and files."""
        experiment = self.subject.experiment
        origin = f", {self.meshes.origin}" if self.meshes else ""
        return (experiment.title or experiment.name) + origin

    @property
    def standings(self) -> tuple[Standing, ...]:
        """How the antenna stands to the file's goals; empty without any, and where it was not solved."""
        return standings(self.outcome, self.subject.experiment.goals)

    def to_dict(self) -> dict[str, Any]:
        """Return what `simulate --json` writes: `results`, one entry a frequency, and the account of the solution."""
        outcome, plan = self.outcome, self.plan
        data = result_object({"frequency_hz": [], **outcome}, backend=self.backend, **self.subject.about)
        balance = [value for value in outcome.get("power_balance") or () if value is not None]
        if self.meshes:
            evidence = self.meshes.about(self.backend, self.subject.design)
        else:
            evidence = {"certificate": certify(outcome, **feed_of(self.subject.design))}
        data |= {
            "cells": outcome.get("cells") or cell_count(plan),
            "grid": shape_of(plan),
            "cell": plan["cell"],
            "family": self.subject.experiment.family,
            "design": self.subject.design,
            "power_balance": max(balance, key=lambda value: abs(value - 1.0), default=None),
            **evidence,
        }
        if self.devices > 1:
            data["devices"] = self.devices
        if "feed.resistance" in self.subject.design and outcome.get("s11"):
            data["port"] = port_of(outcome, self.subject.design["feed.resistance"])
        if self.subject.experiment.goals and outcome.ok:
            data["goals"] = [one.to_dict() for one in self.standings]
        return finite(data)


def simulate(
    subject: Subject,
    *,
    backend: str,
    extrapolate: bool = False,
    fields: bool = False,
    film: bool = False,
    sphere: bool = False,
    devices: int = 1,
    working: Working | None = None,
) -> Simulated:
    """Solve one antenna.

    Args:
        subject: Which.
        backend: `cpu`, `cuda` or `reference`.
        extrapolate: Solve on two meshes, and extrapolate to a cell of zero.
        fields: Record the electric field and S11 across the band.
        film: Record the field over time.
        sphere: Compute the far field on the whole sphere, of an antenna that is no body of revolution.
        devices: CUDA devices that share its lattice, each a slab along z; several of one that is no body of revolution.
        working: Shows progress.

    Raises:
        ConfigurationError: The antenna does not fit its lattice, the lattice not into memory, or devices cannot share
            it.
        DeviceError: There is no device, or too little memory on it.
    """
    shown = working or (lambda line, plan: nullcontext())
    check_shared(subject, backend, devices)
    fields = fields or subject.experiment.kind.spatial is not None  # there S11 across the band costs nothing

    def solved(plan: dict[str, Any], mesh: str = "", film: bool = film) -> Outcome:
        from antennaopt.solve.capacity import check_capacity

        check_capacity(plan, backend, devices)
        line = f"{mesh}solving {lattice_text(plan)} with {backend}" + (f" on {devices} devices" if devices > 1 else "")
        family, figured = subject.experiment.family, planned(plan, subject.figures, subject.experiment.polarisation)
        with shown(line, plan) as watch:
            options = SolveOptions(watch=watch, sphere=sphere, devices=devices)
            (outcome,) = evaluator_of(family)(
                family,
                [subject.design],
                figured,
                backend=backend,
                fields=fields,
                film=film,
                options=options,
            )
        return Outcome.of(outcome)

    if not extrapolate:
        plan = subject.plan or own_plan(subject)
        outcome = _figured(subject, solved(plan))
        return Simulated(subject=subject, outcome=outcome, plan=plan, backend=backend, devices=devices)
    if subject.experiment.kind.spatial is not None:
        raise ConfigurationError(
            "extrapolate: orders of convergence are of bodies of revolution, and "
            f"{with_article(subject.experiment.family)} is none; solve it with more solver.cells_per_wavelength"
        )
    return _on_two_meshes(subject, backend, film, solved)


def check_shared(subject: Subject, backend: str, devices: int) -> None:
    """Refuse several devices for an antenna that they cannot share.

    Args:
        subject: Which.
        backend: `cpu`, `cuda` or `reference`.
        devices: Their number.

    Raises:
        ClusterError: This machine has fewer.
        ConfigurationError: It is a body of revolution, or the backend has no devices.
    """
    if devices == 1:
        return
    if devices < 1:
        raise ConfigurationError(f"devices = {devices} is too few (needs >= 1); use 1")
    if subject.experiment.kind.spatial is None:
        raise ConfigurationError(
            f"devices = {devices} is for antennas in three dimensions, and {with_article(subject.experiment.family)} "
            "is a body of revolution; use 1"
        )
    if backend != "cuda":
        raise ConfigurationError(
            f"devices = {devices} needs CUDA devices, and the backend is {backend}; use cuda, or 1"
        )
    check_devices(devices)


def _figured(subject: Subject, outcome: Outcome) -> Outcome:
    return with_figures([outcome], [subject.design], subject.figures, subject.experiment.kind)[0]


def _on_two_meshes(subject: Subject, backend: str, film: bool, solved: Callable[..., Outcome]) -> Simulated:
    """Solve on two meshes, both made for this antenna alone; one of a run begins with the run's cell."""
    from antennaopt.solve.capacity import check_capacity

    plans = plan_two_meshes(subject.experiment, subject.design, subject.plan["cell"] if subject.plan else None)
    check_capacity(plans[1], backend)

    def on(plan: dict[str, Any]) -> Outcome:
        finer = plan is plans[1]
        return solved(plan, f"mesh {1 + finer} of 2: ", film and finer)  # a film of the finer mesh alone

    meshes = solve_on_two_meshes(ordered_as(subject.experiment.kind), plans, on)
    plan = meshes.solved[-1][0]
    outcome = _figured(subject, meshes.outcome)
    return Simulated(subject=subject, outcome=outcome, plan=plan, backend=backend, meshes=meshes)


def own_plan(subject: Subject) -> dict[str, Any]:
    """Return a lattice made for this antenna alone."""
    experiment, design = subject.experiment, subject.design
    return planner_of(experiment.kind)(experiment.kind, design, design, experiment.solver.settings).to_dict()


def with_cell(
    experiment: Experiment, cells_per_wavelength: float | None, cell: str | float | None, *, option: str = "--"
) -> Experiment:
    """Return the experiment with another cell, checked again. In space the other size of cells stays, as in a file.

    Args:
        experiment: As it is.
        cells_per_wavelength: In the densest medium, at the highest frequency.
        cell: Length with a unit, or m; used exactly as given.
        option: Stands before the names in messages.

    Raises:
        ConfigurationError: Both are given, or the cell is no length or too coarse.
    """
    if cells_per_wavelength is None and cell is None:
        return experiment
    size = cell_size(cells_per_wavelength, cell, option=option)
    one = experiment if experiment.fidelity is None else experiment.changed(fidelity=None)  # levels are of searches
    given = {"cell": size, "cells_per_wavelength": cells_per_wavelength}
    return one.changed(solver={name: value for name, value in given.items() if value is not None})


def cell_size(cells_per_wavelength: float | None, cell: str | float | None, *, option: str = "--") -> float | None:
    """Return the cell in m; None when it is not given.

    Raises:
        ConfigurationError: Both are given, or the cell is no length.
    """
    if cells_per_wavelength is not None and cell is not None:
        other = "cells-per-wavelength" if option else "cells_per_wavelength"
        raise ConfigurationError(f"{option}cell and {option}{other} exclude each other; use one of them")
    if cell is None or isinstance(cell, (int, float)):
        return cell
    try:
        return parse_quantity(cell, LENGTH)
    except QuantityError as error:
        raise ConfigurationError(f'{option}cell "{cell}" {error}') from None
