"""Requests that a dashboard answers: figures, under names of this machine.

Every web page that a browser of this machine shows can send requests to loopback, under a name of its own (DNS
rebinding): so the names of the dashboard are checked too.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from distributed.http.routing import RoutingApplication
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, HTTPServerRequest, RequestStartLine, ResponseStartLine
from tornado.routing import Router
from tornado.web import ErrorHandler, RequestHandler

HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names under which a dashboard answers, in addition to those of a setting."""

SHOWN = ("antennaopt", "status", "workers", "tasks", "system", "gpu")
"""Pages with figures, of all those that Dask has."""

PAGES = frozenset({"", *SHOWN, "static"})
"""First parts of the paths that Bokeh serves."""

ROUTES = PAGES | {"metrics", "health", "statics"}
"""First parts of the paths that are served."""

_PLACE = re.compile(r"(?P<name>\[[0-9a-f:]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")


class Figures(Router):
    """Passes requests on to an application that ask for figures, under a name of this machine; others are refused."""

    def __init__(
        self,
        application: RoutingApplication,
        hosts: Iterable[str] = (),
        prepare: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        """Guard an application.

        Args:
            application: Of a scheduler.
            hosts: Names, in addition to `HOSTS`, under which it answers.
            prepare: Awaited before a request for a page is passed on; returns why there are no pages, or nothing.
        """
        self._application, self._prepare = application, prepare
        self._named = frozenset(host.lower() for host in hosts)

    def find_handler(self, request: HTTPServerRequest, **more: Any) -> Any:
        """Return what answers a request."""
        status = refusal(request, self._named)
        if status is not None:
            return self._application.get_handler_delegate(request, ErrorHandler, {"status_code": status})
        if self._prepare is not None and _first_part(request) in PAGES:
            return _Prepared(self._find_page(request, self._prepare, **more))
        return self._application.find_handler(request, **more)

    async def _find_page(
        self, request: HTTPServerRequest, prepare: Callable[[], Awaitable[str]], **more: Any
    ) -> HTTPMessageDelegate:
        why = await prepare()
        if why:
            return self._application.get_handler_delegate(request, _Unavailable, {"why": why})
        return self._application.find_handler(request, **more)


class _Prepared(HTTPMessageDelegate):
    """Passes a request on to what answers it, once that is there; the server's event loop goes on meanwhile."""

    def __init__(self, answering: Awaitable[HTTPMessageDelegate]) -> None:
        self._answering = answering
        self._handler = HTTPMessageDelegate()

    async def headers_received(self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders) -> None:
        self._handler = await self._answering
        received = self._handler.headers_received(start_line, headers)
        if received is not None:
            await received

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        return self._handler.data_received(chunk)

    def finish(self) -> None:
        self._handler.finish()

    def on_connection_close(self) -> None:
        self._handler.on_connection_close()


class _Unavailable(RequestHandler):
    """Answers with status 503 and a reason."""

    def initialize(self, why: str) -> None:
        self._why = why

    def prepare(self) -> None:
        self.set_status(503)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{self._why}\n")


def refusal(request: HTTPServerRequest, named: frozenset[str] = frozenset()) -> int | None:
    """Return the HTTP status with which a request is refused; None where it is answered.

    Args:
        request: Any.
        named: Hosts, in addition to `HOSTS`, under which the dashboard answers.
    """
    place = request.headers.get("Host", "").lower()
    if _name_of(place) not in HOSTS | named:
        return 403
    for origin in request.headers.get_list("Origin"):
        other = urlsplit(origin.lower()).netloc
        if other != place and _name_of(other) not in named:
            return 403
    if request.method not in ("GET", "HEAD"):
        return 405
    return None if _first_part(request) in ROUTES else 404


def _first_part(request: HTTPServerRequest) -> str:
    return request.path.strip("/").partition("/")[0]


def _name_of(place: str) -> str:
    """Return the name of `name:port`; empty of what is no such thing."""
    found = _PLACE.fullmatch(place)
    return found["name"].strip("[]") if found else ""
