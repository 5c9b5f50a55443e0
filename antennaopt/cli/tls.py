"""`antennaopt tls`: make the certificates of a farm across machines."""

from __future__ import annotations

from pathlib import Path

import click

from antennaopt.cli.options import quiet_option


@click.command(short_help="Make the certificates of a farm across machines.")
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="A host of the farm; may be repeated.")
@click.option("--days", type=click.IntRange(min=1, max=3650), default=365, show_default=True, help="Validity.")
@quiet_option
def tls(folder: Path, hosts: tuple[str, ...], days: int, quiet: bool) -> None:
    """Make an authority, a certificate and its key: the three files admit a host to the farm.

    Copy the folder to every host, by a way that no other user can read, and give it to `run`, `resume`, `scheduler` and
    `worker` as --tls FOLDER.

    \b
    Example:
      antennaopt tls farm-tls --host node1 --host 10.0.0.5
    """  # noqa: D301 - \b is click's
    from antennaopt.farm import issue

    paths = issue(folder, hosts=hosts, days=days)
    if not quiet:
        click.echo("\n".join(str(path) for path in paths))
