"""Dask's scheduler and worker with less HTTP: workers serve none, and a scheduler's dashboard only shows figures.

TLS does not cover HTTP, and Dask's pages also show logs, call stacks and tracebacks, and have routes that retire
workers. `antennaopt.farm.requests` says which requests are answered.

Their files lie in a private folder, which is removed when its owner has ended.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import fcntl
import gc
import logging
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from distributed import LocalCluster, Nanny, Scheduler, Status, Worker
from distributed.http.routing import RoutingApplication
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from antennaopt.farm import early
from antennaopt.farm.requests import SHOWN, Figures
from antennaopt.farm.security import LOOPBACK
from antennaopt.solve.device import SHARED_BY

log = logging.getLogger(__name__)

PREFIX = "antennaopt-dask-"
OWNER = ".owner"
"""File that the owner of a folder keeps locked; the system unlocks it when the owner ends, however it ends."""


class PrivateFolder(TemporaryDirectory[str]):
    """A folder for Dask's files, which no other user can change.

    Dask's own choice is one for all users of a machine. It puts its folder first where modules are looked for.
    """

    def __init__(self) -> None:
        remove_stale()
        super().__init__(prefix=PREFIX, ignore_cleanup_errors=True)
        self._lock: int | None = None
        with suppress(OSError):  # a file system without locks: the folder is never taken for a stale one
            self._lock = _locked(Path(self.name))

    def cleanup(self) -> None:
        """Remove the folder, and look for modules in it no more: its name is free for any user from now on."""
        sys.path[:] = [one for one in sys.path if not Path(one).is_relative_to(self.name)]
        super().cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_stale(root: Path | None = None) -> None:
    """Remove this user's folders whose owner has ended without removing them.

    Args:
        root: Where they are; the system's temporary folder when None.
    """
    for folder in _own(root or Path(tempfile.gettempdir())):
        with suppress(OSError):
            file = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while the owner lives
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(file)


def _own(root: Path) -> Iterator[Path]:
    """Yield this user's folders, no links, which no other user may enter."""
    with suppress(OSError):
        for folder in root.glob(f"{PREFIX}*"):
            with suppress(OSError):
                found = folder.lstat()
                if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
                    yield folder


def _locked(folder: Path) -> int:
    """Make the owner's file and return its descriptor.

    It gets its name once it is locked: between the two another start would take the folder for a stale one.
    """
    file = os.open(folder / f"{OWNER}-new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / f"{OWNER}-new").rename(folder / OWNER)
    except BaseException:
        os.close(file)
        raise
    return file


PRELOAD = __name__
"""Module that every worker loads before it starts (Dask preload): this one, for `dask_setup`."""

DEVICES = "ANTENNAOPT_DEVICES"
"""Environment variable with the UUIDs of the devices, one a worker, by comma."""

NUMBER = "ANTENNAOPT_WORKER"
"""Environment variable with a local worker's number, set here."""

TRIM_THRESHOLD, MMAP_THRESHOLD = (-1, 64 << 20), (-3, 32 << 20)
"""Settings of the C library's `mallopt`: number and bytes."""


class FiguresScheduler(Scheduler):
    """Dask's scheduler; its dashboard shows figures only, and without `dashboard_address` nothing listens for HTTP."""

    def __init__(self, *given: Any, dashboard_hosts: Iterable[str] = (), **settings: Any) -> None:
        """Make a scheduler.

        Args:
            given: As Dask's takes them.
            dashboard_hosts: Names, in addition to `HOSTS`, under which the dashboard answers.
            settings: As Dask's takes them.
        """
        self._dashboard_hosts = tuple(dashboard_hosts)
        self._shows_on_request = False
        self._showing: asyncio.Task[str] | None = None
        super().__init__(*given, **settings)
        if self.http_application.applications:
            self._leave_figures()

    def show_on_request(self) -> None:
        """Serve the pages of a scheduler that was made without them, from the first request for one on."""
        self._shows_on_request = True

    async def _show_requested(self) -> str:
        """Wait for the pages; the first request for one starts their import. Return why there are none, or nothing."""
        if not self._shows_on_request:
            return ""
        if self._showing is None:
            self._showing = asyncio.create_task(self._show())
        return await asyncio.shield(self._showing)

    async def _show(self) -> str:
        """Import the pages in a thread, which takes half a second, and Bokeh with them; connect them in the loop."""
        try:
            await asyncio.to_thread(import_module, "distributed.dashboard.scheduler")
            from distributed.dashboard.scheduler import connect

            from antennaopt.farm.dashboard import add_page

            if self.status is not Status.running:
                return "the scheduler has ended"
            connect(self.http_application, self.http_server, self)
            self._leave_figures()
            add_page(dask_scheduler=self)
        except Exception as problem:  # a broken installation raises anything
            why = f"the dashboard has no pages ({type(problem).__name__}: {problem}); install bokeh again"
            log.warning("%s", why)
            return why
        self._shows_on_request = False
        return ""

    def _leave_figures(self) -> None:
        from distributed.dashboard.scheduler import template_variables

        variables = template_variables(self)  # the same objects are what the pages are made with
        variables["pages"][:] = [page for page in variables["pages"] if page in SHOWN]
        variables["plots"].clear()

    def start_http_server(
        self, routes: list[Any], dashboard_address: str | None, default_port: int = 0, ssl_options: Any = None
    ) -> None:
        """Listen on loopback, at the port of the address or, where that is taken, at any free one."""
        self.http_application = RoutingApplication(routes)
        if dashboard_address is None:
            return
        host, _, port = dashboard_address.rpartition(":")
        try:
            sockets = bind_sockets(int(port), address=host or LOOPBACK)
        except OSError:
            sockets = bind_sockets(0, address=host or LOOPBACK)
        self.http_server = HTTPServer(
            Figures(self.http_application, self._dashboard_hosts, prepare=self._show_requested)
        )
        self.http_server.add_sockets(sockets)
        self.http_server.address, self.http_server.port = sockets[0].getsockname()[:2]
        self.services["dashboard"] = self.http_server


class SilentWorker(Worker):
    """Dask's worker without its HTTP server, which is of no use here and open to every user of the machine."""

    def start_http_server(
        self, routes: list[Any], dashboard_address: str | None, default_port: int = 0, ssl_options: Any = None
    ) -> None:
        """Do nothing."""


class SilentNanny(Nanny):
    """Dask's nanny of a `SilentWorker`."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings, worker_class=SilentWorker)

    async def instantiate(self) -> Status:
        """Start the worker process, in one that waits for its number where there is one."""
        before = early.NUMBER.set(self.name)
        try:
            return await super().instantiate()
        finally:
            early.NUMBER.reset(before)


class FiguresCluster(LocalCluster):
    """Dask's local cluster with a `FiguresScheduler`, whose pages are imported when the first of them is requested."""

    has_pages = False
    """Whether the dashboard has pages: not without Bokeh. That it cannot be imported is seen at the first request."""

    async def _start(self) -> None:
        spec = self.scheduler_spec or {}
        options = spec.get("options", {})
        self.scheduler_spec = {**spec, "cls": FiguresScheduler, "options": {**options, "dashboard": False}}
        await super()._start()
        self.has_pages = bool(options.get("dashboard")) and find_spec("bokeh") is not None
        if self.has_pages:
            scheduler: Any = self.scheduler
            scheduler.show_on_request()


def keep_freed_memory() -> None:
    """Let the C library keep up to 64 MiB that were freed for the next arrays, where it is glibc.

    Dask sets 64 KiB for its workers. Nearly every array of a batch then comes as new pages, which the system must clear
    first: that took half of the time of a batch's figures.
    """
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        for number, size in (TRIM_THRESHOLD, MMAP_THRESHOLD):
            library.mallopt(number, size)


def dask_setup(worker: Any) -> None:
    """Leave the terminal's process group: Ctrl-C then reaches the driver alone, which lets the workers finish.

    Where there are devices, this worker takes the one of its number, before anything looks for one; on mixed hardware
    those with higher numbers take none.
    """
    os.environ[NUMBER] = str(worker.name)
    devices = os.environ.get(DEVICES, "")
    if devices:
        uuids, place = devices.split(","), int(worker.name)
        own = uuids[place] if place < len(uuids) else ""
        os.environ["CUDA_VISIBLE_DEVICES"], os.environ[SHARED_BY] = own, str(uuids.count(own))
    if devices and os.environ["CUDA_VISIBLE_DEVICES"] and not early.is_device_starting():
        Thread(target=early.start_device, name="device", daemon=True).start()
    gc.freeze()
    gc.set_threshold(*early.COLLECT_RARELY)
    keep_freed_memory()
    atexit.register(_exit_once_closed)
    with suppress(OSError):  # already the leader of a group of its own
        os.setsid()


_closed: list[str] = []  # names of this process's workers that were closed


def dask_teardown(worker: Any) -> None:
    """Note that the worker closes as it should: see `_exit_once_closed`."""
    _closed.append(str(worker.name))


def _exit_once_closed() -> None:
    """End this process without a look at what its modules hold, which takes a second; the system frees it as well.

    The driver waits for its workers at the end of a run.
    """
    if _closed:
        os._exit(0)
