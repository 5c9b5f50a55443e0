"""`antennaopt demo`: the quickstart experiment, and what it gained."""

from __future__ import annotations

from pathlib import Path

import click

from antennaopt.cli.options import backend_option, check_folder, chosen_backend, quiet_option, warn
from antennaopt.errors import ConfigurationError

QUICKSTART = Path("experiments") / "quickstart.toml"


@click.command(short_help="Evolve the quickstart lens: see what it gains.")
@click.option("--out", default="results", show_default=True, metavar="FOLDER", help="Where the run folder goes.")
@backend_option()
@quiet_option
def demo(out: str, backend: str, quiet: bool) -> None:
    """Evolve the quickstart lens and print what was gained: a minute on two cores.

    \b
    Example:
      antennaopt demo
    """  # noqa: D301 - \b is click's
    from antennaopt.config import load_experiment

    name = chosen_backend(backend, quiet=quiet)
    file = quickstart()
    experiment = load_experiment(file)
    check_folder(Path(out) / experiment.name)
    if not quiet:
        warn(experiment.warnings)
    from antennaopt.cli.summaries import certificate_lines, comparison
    from antennaopt.study import for_terminal, run

    progress = for_terminal(quiet=quiet)
    progress.note(f"{experiment.title or experiment.name} ({file})")
    source = file.read_text(encoding="utf-8-sig")
    summary = run(experiment, root=out, source=source, backend=name, progress=progress)
    if summary.best is not None:
        click.echo(comparison(summary.best, summary.first_best))
        for line in certificate_lines(summary):
            click.echo(line)
    click.echo(f"{summary.evaluations} antennas solved in {summary.wall_seconds:.1f} s")
    if summary.report is not None:
        click.echo(f"report: {summary.report.resolve()}")
    click.echo(str(summary.folder))


def quickstart() -> Path:
    """Return the quickstart file: the current directory's, else the one beside the package.

    Raises:
        ConfigurationError: There is neither.
    """
    beside = Path(__file__).resolve().parents[2] / QUICKSTART
    for file in (QUICKSTART, beside):
        if file.is_file():
            return file
    raise ConfigurationError(f"{QUICKSTART} is neither here nor at {beside}; run the demo in a checkout of the project")
