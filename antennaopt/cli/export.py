"""`antennaopt export`: data of an antenna of a run, or a script for another solver, without solving it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from antennaopt.cli.options import check_writable, completed_from, quiet_option, warn, write_out
from antennaopt.cli.outputs import written_for
from antennaopt.errors import ConfigurationError

if TYPE_CHECKING:
    from antennaopt.run.recall import Individual

FORMATS = ("meep",)


@click.command(short_help="Write geometry and data of an antenna.")
@click.argument("source", metavar="RUN|ANTENNA.toml", type=click.Path(path_type=Path))
@click.option("--individual", metavar="ID", help="Of a run: its id, g0003-s012, or best.  [default: best]")
@click.option("--toml", type=click.Path(path_type=Path), metavar="FILE", help="Antenna file for `antennaopt simulate`.")
@click.option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Figures of merit and patterns.")
@click.option("--touchstone", type=click.Path(path_type=Path), metavar="FILE", help="S11 (.s1p).")
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
    source: Path,
    individual: str | None,
    toml: Path | None,
    csv: Path | None,
    touchstone: Path | None,
    format_: str | None,
    out: str | None,
    quiet: bool,
) -> None:
    """Write geometry and data of any antenna of a run, or of an antenna file; prints the files.

    \b
    Examples:
      antennaopt export results/quickstart/RUN --toml best.toml --csv best.csv --touchstone best.s1p
      antennaopt export antenna.toml --format meep --out antenna_meep.py
    """  # noqa: D301 - \b is click's
    _check_wishes(toml, csv, touchstone, format_, out)
    script = out or "-"
    check_writable(toml, script, *written_for(csv=csv, touchstone=touchstone), inputs=[source])
    written: list[Path] = []
    if source.is_file() or source.suffix == ".toml":
        _refuse_for_file(source, individual, toml, csv, touchstone)
        write_out(script, _script_of_file(source))
        written += [Path(script)] if script != "-" else []
    else:
        written += _of_run(source, individual or "best", toml, csv, touchstone, script if format_ else None)
    if not quiet:
        for path in written:
            click.echo(str(path), err=format_ is not None and script == "-")


def _check_wishes(
    toml: Path | None, csv: Path | None, touchstone: Path | None, format_: str | None, out: str | None
) -> None:
    if toml is None and csv is None and touchstone is None and format_ is None:
        raise ConfigurationError("nothing to export; name at least one of --toml, --csv, --touchstone, --format")
    if format_ is not None and format_ not in FORMATS:
        raise ConfigurationError(f"--format {format_} is not known; use one of {', '.join(FORMATS)}")
    if out is not None and format_ is None:
        raise ConfigurationError(f"--out {out} goes with --format; name the format, for example --format meep")


def _refuse_for_file(
    source: Path, individual: str | None, toml: Path | None, csv: Path | None, touchstone: Path | None
) -> None:
    """An antenna file has no results yet, and is no run."""
    if individual is not None:
        raise ConfigurationError(f"--individual {individual} goes with a run folder, and {source} is none")
    for option, file in (("--toml", toml), ("--csv", csv), ("--touchstone", touchstone)):
        if file is not None:
            advice = "it is one already" if option == "--toml" else f"use `antennaopt simulate {source} {option}`"
            raise ConfigurationError(f"{option} exports an antenna of a run, and {source} is a file; {advice}")


def _of_run(
    run: Path, individual: str, toml: Path | None, csv: Path | None, touchstone: Path | None, script: str | None
) -> list[Path]:
    from antennaopt.run.recall import recall

    known = recall(run, individual)
    warn(known.damage)
    if known.outcome["status"] != "ok" and (csv is not None or touchstone is not None):
        raise ConfigurationError(
            f"{known.individual} is {known.outcome['status']} and has no results; export it with --toml only"
        )
    title = f"{known.experiment.title or known.experiment.name}: {known.individual}"
    written: list[Path] = []
    if toml is not None:
        written.append(_write_antenna(toml, known, title))
    if csv is not None:
        from antennaopt.report.exports import write_csv

        written += write_csv(csv, known.outcome)
    if touchstone is not None:
        from antennaopt.report.exports import write_touchstone

        radius = known.design["feed.inner_radius"]
        written.append(write_touchstone(touchstone, known.outcome, title=title, feed_radius=radius))
    if script is not None:
        from antennaopt.report.exports import meep_script

        _refuse_infeasible(known.experiment.family, known.design)
        write_out(script, meep_script(known.experiment.family, known.design, known.plan, title=title))
        written += [Path(script)] if script != "-" else []
    return written


def _script_of_file(source: Path) -> str:
    from antennaopt.experiment import load_antenna
    from antennaopt.report.exports import meep_script
    from antennaopt.solve.plan import plan

    experiment = load_antenna(source)
    design = experiment.design()
    _refuse_infeasible(experiment.family, design)
    chosen = plan(experiment.family, design, design, experiment.solver.settings)
    title = experiment.title or experiment.name
    return meep_script(experiment.family, design, chosen.to_dict(), title=title)


def _refuse_infeasible(family: str, design: dict[str, float]) -> None:
    from antennaopt.families import FAMILIES, stack

    reason = FAMILIES[family].refusal(stack([design]))[0]
    if reason is not None:
        raise ConfigurationError(f"the antenna cannot be built: {reason}")


def _write_antenna(path: Path, known: Individual, title: str) -> Path:
    from antennaopt.run import antenna_toml

    text = antenna_toml(
        title=title,
        family=known.experiment.family,
        design=known.design,
        solver=known.experiment.solver.settings.to_dict(),
        comment=f"Individual {known.individual} of run {known.run_id}, fitness {known.fitness:.6g}.",
    )
    write_out(str(path), text)
    return path
