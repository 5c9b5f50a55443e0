"""`antennaopt tls`, `scheduler` and `worker`: certificates, scheduler and workers of a farm on several hosts."""

from __future__ import annotations

from pathlib import Path

import click

from antennaopt.cli.options import backend_option, insecure_option, quiet_option, teller, tls_option, warn
from antennaopt.errors import ConfigurationError
from antennaopt.solve.device import chosen_backend


@click.command(short_help="Make the certificates of a farm on several hosts.")
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="A host of the farm; may be repeated.")
@click.option("--days", type=click.IntRange(min=1, max=3650), default=365, show_default=True, help="Validity in days.")
@quiet_option
def tls(folder: Path, hosts: tuple[str, ...], days: int, quiet: bool) -> None:
    """Make the three files that admit a host to the farm: authority, certificate and key.

    Copy the folder to every host over a private connection. Pass it to `run`, `resume`, `scheduler` and `worker` as
    --tls FOLDER.

    \b
    Example:
      antennaopt tls farm-tls --host node1 --host 10.0.0.5
    """  # noqa: D301 - \b is click's
    from antennaopt.farm.security import issue

    paths = issue(folder, hosts=hosts, days=days)
    if not quiet:
        click.echo("\n".join(str(path) for path in paths))


@click.command(short_help="Run the scheduler of a farm on several hosts.")
@click.option("--listen", metavar="HOST[:PORT]", help="Address of the scheduler; default: loopback, port 8786.")
@tls_option
@insecure_option
@click.option(
    "--dashboard-port", type=click.IntRange(0, 65535), metavar="N", help="Port of the dashboard, on loopback."
)
@click.option(
    "--dashboard-host",
    "hosts",
    metavar="NAME",
    multiple=True,
    help="Further host name of the dashboard; may be repeated.",
)
@click.option("--no-dashboard", is_flag=True, help="Serve no dashboard.")
@quiet_option
def scheduler(
    listen: str | None,
    tls: str | None,
    insecure: bool,
    dashboard_port: int | None,
    hosts: tuple[str, ...],
    no_dashboard: bool,
    quiet: bool,
) -> None:
    """Run the scheduler of a farm on several hosts until Ctrl-C.

    Workers join with `antennaopt worker`; runs use it with --scheduler. All need certificates of one authority.

    \b
    Example:
      antennaopt tls farm-tls
      antennaopt scheduler --listen 10.0.0.5 --tls farm-tls
    """  # noqa: D301 - \b is click's
    from antennaopt.farm.hosts import DASHBOARD_PORT, serve_scheduler

    if no_dashboard and (hosts or dashboard_port is not None):
        raise ConfigurationError("--no-dashboard leaves nothing to --dashboard-port and --dashboard-host; leave it out")
    port = DASHBOARD_PORT if dashboard_port is None else dashboard_port
    serve_scheduler(
        listen,
        tls=tls,
        insecure=insecure,
        dashboard=None if no_dashboard else port,
        dashboard_hosts=hosts,
        log=teller(quiet=quiet),
        warn=warn,
    )


@click.command(short_help="Start the workers of this host.")
@click.argument("address", metavar="ADDRESS")
@tls_option
@insecure_option
@backend_option()
@click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Processes; default: one per device, or per core."
)
@click.option("--name", metavar="NAME", help="Name of this host in rows and on the dashboard; default: its own.")
@click.option("--listen", metavar="HOST", help="Address of this host; default: the one that reaches ADDRESS.")
@click.option(
    "--wait", type=click.FloatRange(min=1), default=300.0, show_default=True, help="Seconds to wait for the scheduler."
)
@quiet_option
def worker(
    address: str,
    tls: str | None,
    insecure: bool,
    backend: str,
    workers: int | None,
    name: str | None,
    listen: str | None,
    wait: float,
    quiet: bool,
) -> None:
    """Start the workers of this host for a scheduler; they end with the scheduler or on Ctrl-C.

    Run this once per host. It starts one process per CUDA device, or one per core if there is no device.

    \b
    Example:
      antennaopt worker tls://10.0.0.5:8786 --tls farm-tls
    """  # noqa: D301 - \b is click's
    from antennaopt.farm.hosts import HostWorkers, serve_workers

    chosen = chosen_backend(backend, quiet=quiet)
    serve_workers(
        address,
        HostWorkers(backend=chosen, count=workers, name=name),
        listen=listen,
        tls=tls,
        insecure=insecure,
        wait_s=wait,
        log=teller(quiet=quiet),
        warn=warn,
    )
