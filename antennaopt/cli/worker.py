"""`antennaopt worker`: this host's devices or cores for a scheduler elsewhere."""

from __future__ import annotations

import click

from antennaopt.cli.options import (
    backend_option,
    insecure_option,
    quiet_option,
    teller,
    tls_option,
    warn,
)
from antennaopt.solve.device import chosen_backend


@click.command(short_help="Let this host solve for a scheduler.")
@click.argument("address", metavar="ADDRESS")
@tls_option
@insecure_option
@backend_option()
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes; default one a device, or a core.")
@click.option("--name", metavar="NAME", help="Of this host, in rows and on the dashboard; default its own.")
@click.option("--listen", metavar="HOST", help="Its address for others; default the one that leads to ADDRESS.")
@click.option("--wait", type=click.FloatRange(min=1), default=300.0, show_default=True, help="For the scheduler, s.")
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
    """Let this host's devices, or its cores, solve for a scheduler until Ctrl-C or the scheduler's end.

    One command a host, whatever it has: a process a CUDA device, each pinned to its own, or a process a core.

    \b
    Example:
      antennaopt worker tls://10.0.0.5:8786 --tls farm-tls
    """  # noqa: D301 - \b is click's
    from antennaopt.farm import serve_workers

    chosen = chosen_backend(backend, quiet=quiet)
    serve_workers(
        address,
        backend=chosen,
        count=workers,
        name=name,
        listen=listen,
        tls=tls,
        insecure=insecure,
        wait_s=wait,
        log=teller(quiet=quiet),
        warn=warn,
    )
