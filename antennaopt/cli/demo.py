"""`antennaopt demo`: the quickstart experiment, and what it gained."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from antennaopt.cli.options import backend_option, check_folder, quiet_option, warn
from antennaopt.errors import ConfigurationError
from antennaopt.solve.device import chosen_backend
from antennaopt.terminal import one_line

EXAMPLES = "experiments"
"""Folder of the package; in a checkout a link to the one at the top."""


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
    from antennaopt.experiment import load_experiment, read_source

    name = chosen_backend(backend, quiet=quiet)
    file = quickstart()
    experiment = load_experiment(file)
    check_folder(Path(out) / experiment.name)
    if not quiet:
        warn(experiment.warnings)
    from antennaopt.cli.summaries import antennas_line, outcome_lines
    from antennaopt.run import for_terminal, run

    progress = for_terminal(quiet=quiet)
    progress.note(f"{one_line(experiment.title) or experiment.name} ({file})")
    source = read_source(file)
    summary = run(experiment, root=out, source=source, backend=name, progress=progress)
    for line in outcome_lines(summary)[1:]:
        click.echo(line)
    click.echo(antennas_line(summary))
    if summary.report is not None:
        click.echo(f"report: {summary.report.resolve()}")
    click.echo(str(summary.folder))


def quickstart() -> Path:
    """Return the quickstart experiment."""
    return example("quickstart.toml")


def example(name: str) -> Path:
    """Return a file of `experiments/`, which is installed with the package.

    Raises:
        ConfigurationError: It is not there.
    """
    file = Path(str(files("antennaopt").joinpath(EXAMPLES, name)))
    if not file.is_file():
        raise ConfigurationError(f"{file} does not exist; install antennaopt again, or name a file of your own")
    return file
