"""`antennaopt scheduler`: where the workers of several hosts and a run meet."""

from __future__ import annotations

import click

from antennaopt.cli.options import insecure_option, quiet_option, teller, tls_option, warn
from antennaopt.errors import ConfigurationError


@click.command(short_help="Run the scheduler of a farm across machines.")
@click.option("--listen", metavar="HOST[:PORT]", help="Where others find it; default loopback, port 8786.")
@tls_option
@insecure_option
@click.option("--dashboard-port", type=click.IntRange(0, 65535), metavar="N", help="Of the dashboard, on loopback.")
@click.option("--dashboard-host", "hosts", metavar="NAME", multiple=True, help="Further name under which it answers.")
@click.option("--no-dashboard", is_flag=True, help="Serve none.")
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
    """Run the scheduler of a farm across machines until Ctrl-C.

    Workers join with `antennaopt worker`, runs use it with --scheduler; all show certificates of one authority.

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
