"""`antennaopt export`: write data of an antenna of a run, or a script for another solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.far_field import FarFieldFiles, far_field_options
from antennaopt.cli.geometry import (
    Antenna,
    GeometryFiles,
    geometry_options,
    refuse_infeasible,
    refuse_of_revolution,
    write_antenna,
)
from antennaopt.cli.options import check_writable, completed_from, quiet_option, warn
from antennaopt.cli.outputs import check_endings, data_files, written_for
from antennaopt.cli.scripts import ScriptFiles, script_options
from antennaopt.errors import ConfigurationError

if TYPE_CHECKING:
    from antennaopt.run.stores import Individual

FORMATS = ScriptFiles.names()


@click.command(short_help="Write geometry and data of an antenna.")
@click.argument("source", metavar="RUN|ANTENNA.toml", type=click.Path(path_type=Path))
@click.option("--individual", metavar="ID", help="Antenna of a run: id, e.g. g0003-s012, or best.  [default: best]")
@click.option("--toml", type=click.Path(path_type=Path), metavar="FILE", help="Antenna file for `antennaopt simulate`.")
@click.option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Figures of merit and patterns.")
@click.option("--touchstone", type=click.Path(path_type=Path), metavar="FILE", help="S11 (.s1p).")
@far_field_options
@geometry_options
@script_options
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    help="Script to write to --out: meep (the same as --meep FILE) or openems.",
    shell_complete=completed_from(FORMATS),
)
@click.option("--out", metavar="FILE", help="File for the script of --format.  [default: stdout]")
@quiet_option
def export(
    source: Path, individual: str | None, format_: str | None, out: str | None, quiet: bool, **files: Any
) -> None:
    """Write geometry and data of an antenna of a run or an antenna file; print the names of the files.

    \b
    Examples:
      antennaopt export results/quickstart/RUN --toml best.toml --csv best.csv --touchstone best.s1p
      antennaopt export results/quickstart/RUN --cut best.cut --ffs best.ffs --netcdf best.nc
      antennaopt export antenna.toml --meep antenna_meep.py
      antennaopt export horn.toml --outline horn_outline.toml
      antennaopt export horn.toml --dxf horn.dxf --stl horn.stl --step horn.step
    """  # noqa: D301 - \b is click's
    wishes = _Wishes.of(_with_format(files, format_, out))
    wishes.far_field.check()
    check_writable(*wishes.others(), *wishes.geometry.named(), inputs=[source])
    if source.is_file() or source.suffix == ".toml":
        wishes.refuse_for_file(source, individual)
        known = None
        antenna, plan = _of_file(source)
    else:
        known = _of_run(source, "best" if individual is None else individual, wishes)
        antenna, plan = (
            Antenna(
                experiment=known.experiment,
                design=known.design,
                title=_title(known),
                comment=_comment(known),
                settings=known.settings,
            ),
            known.plan,
        )
    refuse_of_revolution(antenna, {"sph": wishes.far_field.files.get("sph"), **wishes.scripts.files})
    check_writable(*wishes.others(), *wishes.geometry.written_for(antenna), inputs=[source])
    check_endings(wishes.csv, wishes.touchstone)
    written = wishes.write_results(known, antenna) if known is not None else []
    written += [*wishes.geometry.write(antenna), *wishes.scripts.write(antenna, plan)]
    if not quiet:
        if known is not None and known.coarse:
            click.echo(f"{known.individual} was {known.coarse}", err=True)
        for path in written:
            click.echo(str(path), err=wishes.scripts.on_stdout)


@dataclass(frozen=True, kw_only=True)
class _Wishes:
    """All that is to be written."""

    toml: Path | None
    csv: Path | None
    touchstone: Path | None
    geometry: GeometryFiles
    far_field: FarFieldFiles
    scripts: ScriptFiles

    @classmethod
    def of(cls, files: Mapping[str, Any]) -> _Wishes:
        named = {name: file for name, file in files.items() if name != "pattern_frequency"}
        if not any(named.values()):
            known = ", ".join(f"--{name}" for name in named)
            raise ConfigurationError(f"nothing to export; name at least one of {known}, --format")
        scripts = ScriptFiles.of(files)
        if scripts.named().count("-") > 1:
            raise ConfigurationError("--meep and --openems cannot both go to stdout; name a file for one of them")
        return cls(
            **{name: files[name] for name in ("toml", "csv", "touchstone")},
            geometry=GeometryFiles.of(files),
            far_field=FarFieldFiles.of(files),
            scripts=scripts,
        )

    def others(self) -> list[Path | str | None]:
        """Return all files but those of the geometry."""
        results = (self.toml, *written_for(self.csv, self.touchstone))
        return [*results, *self.far_field.named(), *self.scripts.named()]

    def refuse_for_file(self, source: Path, individual: str | None) -> None:
        """An antenna file has no results yet, and is no run."""
        if individual is not None:
            raise ConfigurationError(f"--individual {individual} goes with a run folder, and {source} is none")
        results = {"toml": self.toml, "csv": self.csv, "touchstone": self.touchstone, **self.far_field.files}
        for option, file in results.items():
            if file is not None:
                advice = "it is one already" if option == "toml" else f"use `antennaopt simulate {source} --{option}`"
                raise ConfigurationError(f"--{option} exports an antenna of a run, and {source} is a file; {advice}")

    @property
    def need_results(self) -> bool:
        return bool(self.csv or self.touchstone or self.far_field.files)

    def write_results(self, known: Individual, antenna: Antenna) -> list[Path]:
        """Write what only an antenna of a run has, and return the files."""
        far = list(  # first: it may refuse older runs
            self.far_field.write(known.outcome, title=antenna.title, polarisation=antenna.experiment.polarisation)
        )
        written = []
        if self.toml is not None:
            written.append(write_antenna(self.toml, known.experiment.kind, antenna))
        return [
            *written,
            *data_files(self.csv, self.touchstone, known.outcome, title=antenna.title, design=known.design),
            *far,
        ]


def _with_format(files: Mapping[str, Any], format_: str | None, out: str | None) -> dict[str, Any]:
    """Return the options with `--format NAME --out FILE` written as `--NAME FILE`."""
    if out is not None and format_ is None:
        raise ConfigurationError(f"--out {out} goes with --format; name the format, for example --format meep")
    if format_ is None:
        return dict(files)
    if format_ not in FORMATS:
        raise ConfigurationError(f"--format {format_} is not known; use one of {', '.join(FORMATS)}")
    if files[format_] is not None:
        raise ConfigurationError(f"--format {format_} is another way to write --{format_} FILE; leave one of them out")
    return {**files, format_: out or "-"}


def _of_run(run: Path, individual: str, wishes: _Wishes) -> Individual:
    from antennaopt.run.stores import recall

    known = recall(run, individual)
    warn(known.damage)
    if known.outcome["status"] != "ok" and wishes.need_results:
        raise ConfigurationError(
            f"{known.individual} is {known.outcome['status']} and has no results; export it with --toml only"
        )
    wishes.far_field.check_frequencies(known.experiment.solver.frequencies)
    return known


def _title(known: Individual) -> str:
    return f"{known.experiment.title or known.experiment.name}: {known.individual}"


def _comment(known: Individual) -> str:
    solved = f", {known.coarse}" if known.coarse else ""
    return f"Individual {known.individual} of run {known.run_id}, fitness {known.fitness:.6g}{solved}."


def _of_file(source: Path) -> tuple[Antenna, dict[str, Any]]:
    """Return the antenna of a file, and its plan."""
    from antennaopt.experiment import load_antenna
    from antennaopt.solve.solvers import planner_of

    experiment = load_antenna(source)
    design, title = experiment.design(), experiment.title or experiment.name
    refuse_infeasible(experiment.kind, design)
    chosen = planner_of(experiment.kind)(experiment.kind, design, design, experiment.solver.settings)
    comment = f"Written from {source.name}."
    return Antenna(experiment=experiment, design=design, title=title, comment=comment), chosen.to_dict()
