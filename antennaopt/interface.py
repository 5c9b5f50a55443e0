"""The Python interface, exported by `import antennaopt as ao`: load, simulate, optimise, and read runs."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import Experiment, figure_asked, load_file, parse_table
from antennaopt.run.opened import Run
from antennaopt.solve.lattices import lattice_text
from antennaopt.solve.simulate import Simulated, Subject, with_cell

if TYPE_CHECKING:
    import xarray as xr

    from antennaopt.metrics import Metric
    from antennaopt.report.canvas import Figure
    from antennaopt.run.progress import GenerationReport
    from antennaopt.run.stores import Individual
    from antennaopt.solve.outcome import AtFrequency


@dataclass(frozen=True)
class Antenna:
    """One fully specified antenna with its solver settings.

    Attributes:
        experiment: Contents of the file with defaults; no parameter is a range.
    """

    experiment: Experiment

    @property
    def family(self) -> str:
        """Name of the family, `shaped_lens`."""
        return self.experiment.family

    @property
    def title(self) -> str:
        """Title of the file, or its name."""
        return self.experiment.title or self.experiment.name

    @property
    def design(self) -> dict[str, float]:
        """Every parameter by dotted name, SI: `design["lens.radii.0"]`."""
        return self.experiment.design()

    @property
    def frequencies(self) -> tuple[float, ...]:
        """Solved frequencies, Hz."""
        return tuple(self.experiment.solver.frequencies)

    def changed(self, **values: Any) -> Antenna:
        """Return a copy with other tables, SI: `changed(solver={"cell": 0.2e-3})`.

        Raises:
            ConfigurationError: The result is not a valid antenna.
        """
        return Antenna(self.experiment.changed(**values))

    def __repr__(self) -> str:
        return f"<Antenna {self.title!r}, {self.family}, {len(self.design)} parameters>"


class Simulation:
    """One simulated antenna; the keys of `antennaopt simulate --json` are attributes.

    `results` has one entry per frequency, in the order of the file. Metrics are attributes of an entry, as in
    `results[0].directivity_dbi`. `certificate` has the checks and the verdict. `ao.Outcome` is an earlier name of this
    class.
    """

    def __init__(self, simulated: Simulated) -> None:
        self._simulated = simulated

    @cached_property
    def _object(self) -> dict[str, Any]:
        return self._simulated.to_dict()

    @property
    def results(self) -> tuple[AtFrequency, ...]:
        """One entry per frequency."""
        return self._simulated.outcome.results

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `antennaopt simulate --json` writes."""
        return dict(self._object)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._object:
            return self._object[name]
        keys = "" if name.startswith("_") else f"; it has {', '.join(sorted(self._object))}"
        raise AttributeError(f"a simulation has no attribute {name!r}{keys}")

    @property
    def _merits(self) -> tuple[Metric, ...]:
        """What is known of the figures that were asked for."""
        return tuple(one.about for one in self._simulated.subject.figures if one.name in self._simulated.outcome)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._object})

    def __repr__(self) -> str:
        found = self._object
        gains = ", ".join(f"{one.directivity_dbi:.2f}" for one in self.results if one.directivity_dbi is not None)
        return (
            f"<Simulation of {self._simulated.title!r}: {found['status']}, {found['certificate']['verdict']}; "
            f"directivity {gains or 'none'} dBi; {lattice_text(self._simulated.plan)}>"
        )

    def _repr_html_(self) -> str:
        from antennaopt.metrics import Place, reported_in

        outcome, found = self._simulated.outcome, self._object
        head = "".join(f"<th>{one.frequency_hz / 1e9:g} GHz</th>" for one in self.results)
        lines = "".join(
            f"<tr><th style='text-align:left'>{html.escape(metric.heading)}</th>"
            + "".join(
                f"<td>{metric.absent_text if value is None else format(value, f'.{metric.decimals}f')}</td>"
                for value in outcome[metric.key]
            )
            + "</tr>"
            for metric in (*reported_in(Place.EVERYWHERE, outcome), *self._merits)
        )
        about = (
            f"{found['status']}, {found['certificate']['verdict']}; {lattice_text(self._simulated.plan)}, "
            f"{found['steps']} steps, backend {found['backend']}"
        )
        title = html.escape(self._simulated.title)
        return f"<p><b>{title}</b><br>{about}</p><table><tr><th></th>{head}</tr>{lines}</table>"


def load(source: str | Path | Mapping[str, Any]) -> Antenna | Experiment:
    """Read an antenna or an experiment.

    Args:
        source: TOML file, or a table as read by `tomllib`, with lengths as text with a unit, `"3.6 mm"`. Lists may be
            arrays of NumPy.

    Returns:
        An `Experiment` if a parameter is a range, otherwise an `Antenna`.

    Raises:
        ConfigurationError: One line: file, field, value, allowed values, remedy.
    """
    if not isinstance(source, (str, PathLike, Mapping)):
        raise ConfigurationError(f"load takes the path of a file or a table, not {source!r:.60}")
    experiment = parse_table(source) if isinstance(source, Mapping) else load_file(Path(source))
    return experiment if experiment.genes else Antenna(experiment)


def simulate(
    antenna: Antenna | Individual | str | Path | Mapping[str, Any],
    *,
    cell: str | float | None = None,
    cells_per_wavelength: float | None = None,
    extrapolate: bool = False,
    figures: Sequence[Mapping[str, Any]] = (),
    backend: str = "auto",
    devices: int = 1,
) -> Simulation:
    """Solve one antenna. The numbers equal those of `antennaopt simulate`, to the bit.

    Args:
        antenna: An antenna from `load`, a source for `load`, an experiment in which all ranges were replaced by
            numbers, or an individual of a run, which is solved again on the lattice of the run.
        cell: Cell size with its unit, `"0.3 mm"`, or in m; used exactly as given.
        cells_per_wavelength: Mesh in place of `cell`, in the densest medium at the highest frequency. In three
            dimensions `cell` applies at edges of metal, and both may be given; the default is that of the file.
        extrapolate: Solve on two meshes, and extrapolate the figures to cell size zero.
        figures: Figures of merit in addition to those of the file's objectives, each like an `[[objective]]` without a
            bound: `{"metric": "crosspol_db", "theta": "20 deg"}`.
        backend: `auto` (a CUDA device if there is one), `cpu`, `cuda` or `reference`.
        devices: CUDA devices of this machine that share the lattice of an antenna in three dimensions.

    Returns:
        Figures, patterns, field and certificate. If `status` is not `ok`, the antenna was not solved, and `error` has
        the reason.

    Raises:
        ConfigurationError: The antenna or the cell is not valid, or a parameter is a range.
        ClusterError: There is no device for `backend="cuda"`, or there are fewer than `devices`.
    """
    from antennaopt.solve.device import chosen_backend
    from antennaopt.solve.simulate import simulate as solve

    subject = _subject(antenna, cells_per_wavelength, cell)
    found = [figure_asked(one, subject.experiment.of_cuts) for one in figures]
    subject = replace(subject, asked=tuple(one for one in found if one is not None))
    asked_backend = subject.backend if backend == "auto" and subject.backend else backend
    name = chosen_backend(asked_backend)
    with _refusals():
        return Simulation(solve(subject, backend=name, extrapolate=extrapolate, fields=True, devices=devices))


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise what the solver refuses, such as walls too thin for the cells, as what a file's check refuses.

    Raises:
        ConfigurationError: In place of the solver's `ConfigError`.
    """
    from fdtd.errors import ConfigError

    try:
        yield
    except ConfigError as problem:
        raise ConfigurationError(str(problem)) from problem


def _subject(antenna: Any, cells_per_wavelength: float | None, cell: str | float | None) -> Subject:
    given = load(antenna) if isinstance(antenna, (str, Path, Mapping)) else antenna
    if isinstance(given, Experiment) and not given.genes:  # `changed` has given each parameter a number
        given = Antenna(given)
    if isinstance(given, Experiment):
        first = given.genes[0].name
        raise ConfigurationError(
            f"antenna.{first} is a range ({len(given.genes)} in all); simulate needs one number for each parameter: "
            "write it, or optimise with antennaopt.optimise"
        )
    if isinstance(given, Antenna):
        experiment = with_cell(given.experiment, cells_per_wavelength, cell, option="")
        return Subject(experiment=experiment, design=experiment.design())
    if not hasattr(given, "run_id"):
        raise ConfigurationError(f"simulate takes an antenna, a file or an individual of a run, not {given!r:.60}")
    about = {"run": given.run_id, "individual": given.individual}
    own = cells_per_wavelength is None and cell is None
    return Subject(
        experiment=with_cell(given.experiment, cells_per_wavelength, cell, option=""),
        design=given.design,
        plan=given.plan if own else None,
        backend=given.backend,
        about=about,
    )


def plot(outcome: Simulation, *, frequency: float | None = None) -> Figure:
    """Draw a simulation: geometry with |E| and phase, E- and H-plane patterns, S11 against frequency, a table.

    Args:
        outcome: From `simulate`.
        frequency: Frequency of the field, one of the solved frequencies, Hz; the design frequency if None.

    Returns:
        A Matplotlib figure; `figure.savefig("lens.png")` writes it.

    Raises:
        ConfigurationError: The antenna was not solved, or not at that frequency.
    """
    from antennaopt.quantities import format_frequency
    from antennaopt.report.simulation import draw_simulation

    _require_simulation("plot", outcome)
    simulated = outcome._simulated
    if not outcome.results:
        raise ConfigurationError(f"there is nothing to plot: the antenna was not solved ({outcome.status})")
    experiment = simulated.subject.experiment
    solved = [one.frequency_hz for one in outcome.results]
    if frequency is not None and not _is_one_of(frequency, solved):
        known = ", ".join(f"{one:g} for {format_frequency(one)}" for one in solved)
        raise ConfigurationError(f"frequency = {frequency!r:.40} is not solved; give a number in Hz (solved: {known})")
    return draw_simulation(
        simulated.outcome,
        title=simulated.title,
        frequency=frequency,
        goals=experiment.goals,
        polarisation=experiment.polarisation,
        board=experiment.kind.board(simulated.subject.design),
    )


def _require_simulation(called: str, outcome: Any) -> None:
    if not isinstance(outcome, Simulation):
        raise ConfigurationError(f"{called} takes what `simulate` returns, not {outcome!r:.60}")


def _is_one_of(frequency: float, solved: Sequence[float]) -> bool:
    return isinstance(frequency, Real) and any(abs(one - frequency) <= 1e-6 * one for one in solved)


def to_xarray(outcome: Simulation) -> xr.Dataset:
    """Return a simulation as an xarray dataset.

    Dimensions are `frequency` (Hz) and `theta` (degrees from boresight). Variables are every metric and figure, `s11`
    (complex, time convention exp(+jwt)), the cuts `e_plane_dbi` and `h_plane_dbi`, the complex cuts `e_plane` and
    `h_plane` of one linear feed, and the waves of reported modes, such as `TM11_transmitted_0mm`, over the incident
    TE11. Attributes hold units and labels.

    Raises:
        ConfigurationError: xarray is not installed, or the antenna was not solved.
    """
    try:
        import xarray as xr
    except ImportError:
        raise ConfigurationError("to_xarray needs xarray; install it with: pip install 'antennaopt[xarray]'") from None
    import numpy as np

    from antennaopt.metrics import METRICS
    from antennaopt.report.data_files import waves_of
    from antennaopt.solve.cuts import CUTS, LEVELS, amplitudes

    _require_simulation("to_xarray", outcome)
    results = outcome.results
    if not results or results[0].theta_deg is None:
        raise ConfigurationError(f"there is no data: the antenna was not solved ({outcome.status})")
    variables: dict[str, Any] = {"s11": ("frequency", [complex(*one.s11) for one in results if one.s11 is not None])}
    for name, values in waves_of(outcome._simulated.outcome).items():
        variables[name] = ("frequency", values, {"units": "1", "long_name": "wave over the incident TE11"})
    for names, array, unit in ((LEVELS, np.array, "dBi"), (CUTS[1:], amplitudes, "1")):
        for name in names:
            values = array([getattr(one, name) for one in results])
            variables[name] = (("frequency", "theta"), values, {"units": unit})
    for key, metric in {**METRICS, **{one.key: one for one in outcome._merits}}.items():
        if key in results[0].metrics:
            values = [np.nan if one.metrics[key] is None else one.metrics[key] for one in results]
            variables[key] = ("frequency", values, {"units": metric.unit or "1", "long_name": metric.label})
    return xr.Dataset(
        variables,
        coords={
            "frequency": ("frequency", [one.frequency_hz for one in results], {"units": "Hz"}),
            "theta": ("theta", np.array(results[0].theta_deg), {"units": "deg"}),
        },
        attrs={"title": outcome._simulated.title, "status": outcome.status, "cell_m": outcome.cell}
        | {"polarisation": outcome._simulated.subject.experiment.polarisation},
    )


def optimise(
    experiment: Experiment | str | Path | Mapping[str, Any],
    *,
    out: str | Path = "results",
    backend: str = "auto",
    scheduler: str | None = None,
    on_generation: Callable[[GenerationReport], None] | None = None,
) -> Run:
    """Run an experiment in a new run folder, like `antennaopt run`.

    Worker processes import the calling script, so put the call under `if __name__ == "__main__":`.

    Args:
        experiment: An experiment from `load`, or a source for `load`.
        out: Parent of the run folders `<out>/<experiment>/<run>/`.
        backend: `auto` (a CUDA device if there is one), `cpu`, `cuda` or `reference`.
        scheduler: Address of a running Dask scheduler; the experiment's cluster if None.
        on_generation: Function called after each generation with a report: `generation`, `best`, `individual`,
            `median`, `evaluations`, `seconds_left`.

    Returns:
        The finished run.

    Raises:
        ConfigurationError: The experiment is not valid, has no range or no objective, or the call is not guarded.
        ClusterError: No scheduler, no worker, no device.
        Interrupted: Ctrl-C; `antennaopt resume` continues.
    """
    from antennaopt.run.process import require_guard

    require_guard()
    from antennaopt.run.progress import Progress
    from antennaopt.run.start import run
    from antennaopt.solve.device import chosen_backend

    given = load(experiment) if isinstance(experiment, (str, Path, Mapping)) else experiment
    if not isinstance(given, Experiment):
        raise ConfigurationError("no antenna parameter is a range, so there is nothing to optimise; use simulate")
    if not given.objectives:
        raise ConfigurationError("objective is missing; add an [[objective]] table with metric and at_least or at_most")

    class Told(Progress):
        def generation_done(self, report: GenerationReport) -> None:
            if on_generation is not None:
                on_generation(report)

    name = chosen_backend(backend, remote=(scheduler or given.cluster.destination()) is not None)
    with _refusals():
        summary = run(given, root=Path(out), scheduler=scheduler, backend=name, progress=Told())
    return Run(summary.folder)


def open_run(folder: str | Path) -> Run:
    """Open a run folder; the run need not be finished.

    Raises:
        ConfigurationError: It is not a run folder.
    """
    from antennaopt.store.files import check_run_folder

    if not isinstance(folder, (str, PathLike)):
        raise ConfigurationError(f"open_run takes the path of a run folder, not {folder!r:.60}")
    check_run_folder(Path(folder))
    return Run(Path(folder))
