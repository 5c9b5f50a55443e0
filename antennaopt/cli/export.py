"""`antennaopt export`: data of an antenna of a run, or a script for another solver."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.geometry import Antenna, GeometryFiles, geometry_options, refuse_infeasible, write_antenna
from antennaopt.cli.options import check_writable, completed_from, quiet_option, warn, write_out
from antennaopt.cli.outputs import data_files, written_for
from antennaopt.errors import ConfigurationError

if TYPE_CHECKING:
    from antennaopt.run.stores import Individual

FORMATS = ("meep",)


@click.command(short_help="Write geometry and data of an antenna.")
@click.argument("source", metavar="RUN|ANTENNA.toml", type=click.Path(path_type=Path))
@click.option("--individual", metavar="ID", help="Of a run: its id, g0003-s012, or best.  [default: best]")
@click.option("--toml", type=click.Path(path_type=Path), metavar="FILE", help="Antenna file for `antennaopt simulate`.")
@click.option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Figures of merit and patterns.")
@click.option("--touchstone", type=click.Path(path_type=Path), metavar="FILE", help="S11 (.s1p).")
@geometry_options
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    help="Script that solves it with another program: meep.",
    shell_complete=completed_from(FORMATS),
)
@click.option("--out", metavar="FILE", help="Where the script of --format goes.  [default: stdout]")
@quiet_option
def export(
    source: Path, individual: str | None, format_: str | None, out: str | None, quiet: bool, **files: Path | None
) -> None:
    """Write geometry and data of any antenna of a run, or of an antenna file; prints the files.

    \b
    Examples:
      antennaopt export results/quickstart/RUN --toml best.toml --csv best.csv --touchstone best.s1p
      antennaopt export antenna.toml --format meep --out antenna_meep.py
      antennaopt export horn.toml --outline horn_outline.toml
      antennaopt export horn.toml --dxf horn.dxf --stl horn.stl --step horn.step
    """  # noqa: D301 - \b is click's
    _check_wishes(files, format_, out)
    script, geometry = out or "-", GeometryFiles.of(files)
    toml, csv, touchstone = (files[name] for name in ("toml", "csv", "touchstone"))
    others = (toml, script, *written_for(csv, touchstone))
    check_writable(*others, *geometry.named(), inputs=[source])
    known = None
    if source.is_file() or source.suffix == ".toml":
        _refuse_for_file(source, individual, files)
        antenna, plan = _of_file(source)
    else:
        known = _of_run(source, individual or "best", csv, touchstone)
        antenna, plan = (
            Antenna(experiment=known.experiment, design=known.design, title=_title(known), comment=_comment(known)),
            known.plan,
        )
    check_writable(*others, *geometry.written_for(antenna), inputs=[source])
    written: list[Path] = []
    if known is not None:
        if toml is not None:
            written.append(write_antenna(toml, known.experiment.kind, antenna))
        radius = known.design["feed.inner_radius"]
        written += data_files(csv, touchstone, known.outcome, title=antenna.title, feed_radius=radius)
    written += geometry.write(antenna)
    if format_ is not None:
        write_out(script, _script(antenna, plan))
        written += [Path(script)] if script != "-" else []
    if not quiet:
        for path in written:
            click.echo(str(path), err=format_ is not None and script == "-")


def _check_wishes(files: Mapping[str, Path | None], format_: str | None, out: str | None) -> None:
    if format_ is None and not any(files.values()):
        known = ", ".join(f"--{name}" for name in files)
        raise ConfigurationError(f"nothing to export; name at least one of {known}, --format")
    if format_ is not None and format_ not in FORMATS:
        raise ConfigurationError(f"--format {format_} is not known; use one of {', '.join(FORMATS)}")
    if out is not None and format_ is None:
        raise ConfigurationError(f"--out {out} goes with --format; name the format, for example --format meep")


def _refuse_for_file(source: Path, individual: str | None, files: Mapping[str, Path | None]) -> None:
    """An antenna file has no results yet, and is no run."""
    if individual is not None:
        raise ConfigurationError(f"--individual {individual} goes with a run folder, and {source} is none")
    for option in ("toml", "csv", "touchstone"):
        if files[option] is not None:
            advice = "it is one already" if option == "toml" else f"use `antennaopt simulate {source} --{option}`"
            raise ConfigurationError(f"--{option} exports an antenna of a run, and {source} is a file; {advice}")


def _of_run(run: Path, individual: str, csv: Path | None, touchstone: Path | None) -> Individual:
    from antennaopt.run.stores import recall

    known = recall(run, individual)
    warn(known.damage)
    if known.outcome["status"] != "ok" and (csv is not None or touchstone is not None):
        raise ConfigurationError(
            f"{known.individual} is {known.outcome['status']} and has no results; export it with --toml only"
        )
    return known


def _title(known: Individual) -> str:
    return f"{known.experiment.title or known.experiment.name}: {known.individual}"


def _comment(known: Individual) -> str:
    return f"Individual {known.individual} of run {known.run_id}, fitness {known.fitness:.6g}."


def _of_file(source: Path) -> tuple[Antenna, dict[str, Any]]:
    """Return the antenna of a file, and its plan."""
    from antennaopt.experiment import load_antenna
    from antennaopt.solve.plan import plan

    experiment = load_antenna(source)
    design, title = experiment.design(), experiment.title or experiment.name
    refuse_infeasible(experiment.kind, design)
    chosen = plan(experiment.kind, design, design, experiment.solver.settings)
    comment = f"Written from {source.name}."
    return Antenna(experiment=experiment, design=design, title=title, comment=comment), chosen.to_dict()


def _script(antenna: Antenna, plan: dict[str, Any]) -> str:
    from antennaopt.report.meep import meep_script

    refuse_infeasible(antenna.experiment.kind, antenna.design)
    return meep_script(antenna.experiment.family, antenna.design, plan, title=antenna.title)
