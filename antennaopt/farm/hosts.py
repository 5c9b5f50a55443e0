"""Processes of one host of a farm, until a signal stops them: the scheduler, or one worker per device or core."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import dask.config
from distributed.utils import get_ip

from antennaopt.errors import AntennaoptError, ClusterError
from antennaopt.farm.local import (
    DASHBOARD_PORT,
    SETTINGS,
    WORKER_ENVIRONMENT,
    prepare_processes,
)
from antennaopt.farm.security import (
    LOOPBACK,
    SCHEDULER_PORT,
    TlsFiles,
    host_and_port,
    host_of,
    is_loopback,
    security_for,
    security_for_listening,
)
from antennaopt.farm.servers import PRELOAD, FiguresScheduler, PrivateFolder, SilentNanny
from antennaopt.solve.capacity import BATCHES_AT_A_TIME
from antennaopt.solve.device import check_processes, enough_devices, usable_cores

Log = Callable[[str], None]
Warn = Callable[[Sequence[str]], None]


def serve_scheduler(
    listen: str | None = None,
    *,
    tls: str | None = None,
    insecure: bool = False,
    dashboard: int | None = DASHBOARD_PORT,
    dashboard_hosts: Sequence[str] = (),
    log: Log,
    warn: Warn,
) -> None:
    """Run a scheduler until SIGTERM, SIGHUP or Ctrl-C.

    Args:
        listen: Host, with or without a port; loopback when None. Port 8786 when none is given.
        tls: Folder of certificates.
        insecure: Whether other machines may connect without certificates.
        dashboard: Port of the dashboard, which is on loopback always; another one where it is taken; None for no
            dashboard.
        dashboard_hosts: Names, in addition to this machine's loopback, under which the dashboard answers.
        log: Called with the address once workers may connect.
        warn: Prints a warning where connections are not encrypted.

    Raises:
        ConfigurationError: Other machines could come in without certificates.
        ClusterError: The address is not this machine's, or taken.
    """
    host, port = host_and_port(listen or LOOPBACK)
    security = security_for_listening(host, TlsFiles.of(tls), insecure=insecure)
    port = port or SCHEDULER_PORT
    if security is None:
        warn([_warning("this scheduler", host)])

    async def serve(stop: asyncio.Event) -> None:
        scheduler = FiguresScheduler(
            host=host,
            port=port,
            protocol="tls://" if security else "tcp://",
            security=security,
            dashboard=dashboard is not None,
            dashboard_address=None if dashboard is None else f"{LOOPBACK}:{dashboard}",
            dashboard_hosts=dashboard_hosts,
        )
        try:
            async with scheduler:
                from antennaopt.farm.dashboard import PAGE, add_page

                add_page(dask_scheduler=scheduler)
                log(f"scheduler {scheduler.address}")
                if dashboard is not None:
                    log(f"dashboard http://{LOOPBACK}:{scheduler.http_server.port}{PAGE}")
                await _first(stop.wait(), scheduler.finished())
        except (OSError, RuntimeError, ValueError) as problem:
            raise ClusterError(f"no scheduler can listen on {host}:{port} ({_cause(problem)})") from problem

    _until_stopped(serve)


@dataclass(frozen=True, kw_only=True)
class HostWorkers:
    """Worker processes of this host.

    Attributes:
        backend: With "cuda" a process a device, each of which sees that device alone; else a process a core.
        count: Number of processes; one each device or core when None.
        name: First part of their names; this host's when None.
    """

    backend: str
    count: int | None = None
    name: str | None = None


def serve_workers(
    address: str,
    workers: HostWorkers,
    *,
    listen: str | None = None,
    tls: str | None = None,
    insecure: bool = False,
    wait_s: float = 300.0,
    log: Log,
    warn: Warn,
) -> None:
    """Run worker processes for a scheduler until SIGTERM, SIGHUP, Ctrl-C or the scheduler's end.

    Args:
        address: Of the scheduler.
        workers: Which.
        listen: Host that other workers and the scheduler reach these at; the one that leads to the scheduler when None.
        tls: Folder of certificates.
        insecure: Whether the way there may be open.
        wait_s: How long the scheduler may take to be there.
        log: Called with a line once they are at work.
        warn: Prints a warning where connections are not encrypted.

    Raises:
        ConfigurationError: The way there would be open.
        ClusterError: No scheduler in time, fewer devices than asked for, or more processes than this machine can hold.
        DeviceError: No device.
    """
    security = security_for(address, TlsFiles.of(tls), insecure=insecure)
    if workers.backend != "cuda":
        check_processes(workers.count, "--workers")
    devices: Sequence[str] = enough_devices(workers.count) if workers.backend == "cuda" else ()
    count = len(devices) or workers.count or usable_cores()
    host = listen or _way_to(address)
    security_for_listening(host, TlsFiles.of(tls), insecure=insecure)
    first = workers.name or socket.gethostname()
    if security is None:
        warn([_warning("these workers", host)])

    async def serve(stop: asyncio.Event) -> None:
        nannies = [
            SilentNanny(
                address,
                name=first if count == 1 and workers.name else f"{first}-{place}",
                nthreads=BATCHES_AT_A_TIME if devices else 1,
                host=host,
                security=security,
                memory_limit=None,  # pyright: ignore[reportArgumentType] - no limit
                death_timeout=wait_s,
                env={**WORKER_ENVIRONMENT, **({"CUDA_VISIBLE_DEVICES": devices[place]} if devices else {})},
                preload=[PRELOAD],
                dashboard=False,
                silence_logs=logging.CRITICAL,
            )
            for place in range(count)
        ]
        try:
            started = asyncio.gather(*nannies)
            await _first(stop.wait(), started)
            if not started.done():
                started.cancel()
                return
            await started
            what = "CUDA device" if devices else "core"
            log(f"{count} {what}{'s' if count > 1 else ''} of {first} at work for {address}")
            await _first(stop.wait(), asyncio.gather(*(nanny.finished() for nanny in nannies)))
            if not stop.is_set():
                log(f"the scheduler at {address} has ended, and these workers with it; start both again to go on")
        except (OSError, RuntimeError, ValueError, TimeoutError) as problem:
            if "name taken" in _cause(problem):
                raise ClusterError(
                    f"{address} has workers of the name {first} already; give these another with --name"
                ) from problem
            raise ClusterError(
                f"no scheduler took these workers at {address} within {wait_s:g} s ({_cause(problem)}); check the "
                "address, that `antennaopt scheduler` runs there with certificates of the same authority, and that no "
                "firewall is between"
            ) from problem
        finally:
            with suppress(Exception):
                await asyncio.wait_for(asyncio.gather(*(nanny.close(timeout=5) for nanny in nannies)), 15.0)

    _until_stopped(serve)


def _until_stopped(serve: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    """Run an event loop until what it serves ends; SIGTERM, SIGHUP and Ctrl-C only ask it to."""

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue  # nohup
            with suppress(ValueError, RuntimeError, NotImplementedError):  # not in the main thread
                loop.add_signal_handler(number, stop.set)
        await serve(stop)

    prepare_processes()
    with PrivateFolder() as scratch, dask.config.set({**SETTINGS, "temporary-directory": scratch}):
        asyncio.run(run())


async def _first(*awaitables: Awaitable[Any]) -> None:
    """Wait for one of several; its error is ours."""
    tasks = [asyncio.ensure_future(one) for one in awaitables]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


def _warning(what: str, host: str) -> str:
    """Return the warning of a command whose connections are not encrypted."""
    far = "" if is_loopback(host) else f", and of every machine that reaches {host},"
    return (
        f"without --tls every user of this machine{far} can run programs as you through {what}; make "
        "certificates with `antennaopt tls FOLDER`, and give scheduler, workers and runs --tls FOLDER"
    )


def _way_to(address: str) -> str:
    """Return the address of this machine that leads to a scheduler: loopback for one that is here."""
    host = host_of(address)
    if is_loopback(host):
        return LOOPBACK
    try:
        return str(get_ip(host))
    except OSError as problem:
        raise ClusterError(f"{host} of {address} cannot be reached ({problem}); check the address") from None


def _cause(problem: BaseException) -> str:
    """Return the innermost reason, without what our own errors say by themselves."""
    while problem.__cause__ is not None and not isinstance(problem.__cause__, AntennaoptError):
        problem = problem.__cause__
    if isinstance(problem, (TimeoutError, asyncio.CancelledError)):
        return "no answer"
    return str(problem) or type(problem).__name__
