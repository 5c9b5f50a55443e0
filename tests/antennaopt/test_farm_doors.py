"""What another user of this machine, or a web page in the user's browser, gets from a local run: figures, no more."""

import asyncio
import http.client
import importlib
import os
import socket
import ssl
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from distributed.comm.registry import backends
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine
from waiting import SAFETY_S

from antennaopt.farm import servers
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.farm.requests import refusal
from antennaopt.farm.security import made


def where(family, designs, plan, *, backend):
    """Tell where this process looks for modules."""
    return [{"status": "ok", "field": {"path": list(sys.path)}} for _ in designs]


@pytest.fixture(scope="module")
def farm():
    settings = ClusterSettings(workers=2, dashboard_hosts=("tunnel.example",))
    with DaskFarm(where, family="test", plan={}, cluster=settings) as opened:
        yield opened


def processes():
    return [psutil.Process(), *psutil.Process().children(recursive=True)]


def listeners():
    """Ports that this process and those below it listen on; sockets that the tests' own machinery has are none."""
    found = [one for process in processes() for one in process.net_connections(kind="inet")]
    assert not any(one.type == socket.SOCK_DGRAM for one in found)
    return sorted({one.laddr.port for one in found if one.status == psutil.CONN_LISTEN})


def dashboard_of(farm):
    return int(farm.dashboard_link.rpartition(":")[2].partition("/")[0])


def secured(farm):
    """All listeners but the dashboard: scheduler, two nannies, two workers, which are there."""
    ports = [port for port in listeners() if port != dashboard_of(farm)]
    assert len(ports) >= 5
    return ports


def test_nothing_speaks_dasks_protocol_without_a_certificate(farm, tmp_path):
    """Without TLS, with TLS and no certificate, and with a certificate of another authority.

    `Client("tcp://127.0.0.1:PORT").run(os.getuid)` used to be answered by each of them.
    """
    ports = secured(farm)
    authority, *pair = made()
    for name, text in zip(("certificate", "key"), pair, strict=True):
        (tmp_path / name).write_bytes(text)

    async def refused(scheme, port, **security):
        with pytest.raises(OSError):
            comm = await backends[scheme].get_connector().connect(f"127.0.0.1:{port}", **security)
            await comm.write({})
            await comm.read()  # who accepts a connection introduces itself

    async def all_refused():
        believing = ssl.create_default_context(cadata=authority.decode())
        believing.check_hostname = False
        unknown, foreign = (ssl._create_unverified_context() for _ in range(2))
        foreign.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
        tries = [refused("tcp", port) for port in ports]
        tries += [
            refused("tls", port, ssl_context=context, require_encryption=True)
            for port in ports
            for context in (believing, unknown, foreign)
        ]
        await asyncio.gather(*tries)

    asyncio.run(all_refused())
    assert len(dict(farm.run([[("a", {"x": 1.0})]]))) == 1, "who has the certificate is served"


def test_nothing_but_the_dashboard_speaks_http(farm):
    def answer(port):
        with socket.create_connection(("127.0.0.1", port), timeout=120) as peer:
            peer.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            with suppress(ConnectionResetError):
                return peer.recv(1000)
        return b""

    assert answer(dashboard_of(farm)).startswith(b"HTTP/1.1 200")
    for port in secured(farm):
        assert not answer(port).startswith(b"HTTP"), port


def test_the_key_is_on_no_command_line_and_in_no_environment(farm):
    for process in processes()[1:]:
        told = [*process.cmdline(), *process.environ().values()]
        assert not [text for text in told if "PRIVATE" in text or "CERTIFICATE" in text]


def test_modules_are_looked_for_in_no_folder_of_all_users(farm):
    """Dask puts /tmp/dask-scratch-space first in the path; any user could create and fill it."""
    outcomes = dict(farm.run([[("a", {"x": 1.0})]])).values()
    for path in [*sys.path, *(path for one in outcomes for path in one.field["path"])]:
        if "scratch" in path:
            private = Path(path.partition("/dask-scratch-space")[0])
            assert stat.S_IMODE(private.stat().st_mode) == 0o700
            assert private.stat().st_uid == os.getuid()
            assert private.name.startswith("antennaopt-")


def test_after_a_run_no_module_is_looked_for_in_its_folder(monkeypatch):
    """Another user can make a folder of that name then; Dask leaves it in the path where that has changed meanwhile."""
    before = list(sys.path)
    with DaskFarm(where, family="test", plan={}, cluster=ClusterSettings(workers=1, dashboard=False)) as farm:
        scratch = farm.pool.cluster._scratch.name
        assert [path for path in sys.path if path.startswith(scratch)]
        monkeypatch.syspath_prepend("/elsewhere")
    assert not Path(scratch).exists()
    assert [path for path in sys.path if path.startswith(scratch)] == []
    assert set(sys.path) == {*before, "/elsewhere"}


def test_a_dashboard_can_be_left_out():
    with DaskFarm(where, family="test", plan={}, cluster=ClusterSettings(workers=1, dashboard=False)) as farm:
        assert farm.dashboard_link is None
        scheduler = farm.pool.cluster._cluster.scheduler
        assert not hasattr(scheduler, "http_server")
        assert "dashboard" not in scheduler.services


def fetched(farm, path, *, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", dashboard_of(farm), timeout=120)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, reply.read().decode(errors="replace") if reply.status != 101 else ""
    finally:
        connection.close()


@pytest.mark.parametrize(
    "path", ["/", "/antennaopt", "/status", "/workers", "/tasks", "/system", "/metrics", "/health"]
)
def test_figures_are_served(farm, path):
    status, page = fetched(farm, path)
    assert status in (200, 301)
    for closed in ('href="info"', 'href="profile"', 'href="graph"', 'href="individual-'):
        assert closed not in page


@pytest.mark.parametrize(
    "path",
    ["/info/main/workers.html", "/info/main/logs.html", "/json/identity.json", "/sitemap.json", "/profile", "/graph",
     "/exceptions", "/individual-exceptions", "/eventstream", "/api/v1", "/api/v1/retire_workers",
     "/proxy/80/localhost/", "/statics/../../core.py", "//info/main/workers.html"],
)  # fmt: skip
def test_nothing_else_is(farm, path):
    assert fetched(farm, path)[0] in (403, 404)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_sent(farm, method):
    assert fetched(farm, "/api/v1/retire_workers", method=method, body="")[0] == 405
    assert fetched(farm, "/status", method=method)[0] == 405


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:{}", 200), ("127.0.0.1:{}", 200), ("[::1]:{}", 200), ("LOCALHOST", 200), ("localhost:9000", 200),
     ("tunnel.example:{}", 200), ("evil.example:{}", 403), ("evil.example", 403), ("localhost.evil.example", 403),
     ("127.0.0.1.evil.example", 403), ("0.0.0.0:{}", 403), ("[", 403), ("x@localhost", 403), ("", 403)],
)  # fmt: skip
def test_it_answers_under_names_of_this_machine_only(farm, host, status):
    """Another name is that of a web page whose server said that it is 127.0.0.1 (DNS rebinding)."""
    for path in ("/health", "/antennaopt", "/statics/css/base.css", "/metrics"):
        assert fetched(farm, path, Host=host.format(dashboard_of(farm)))[0] in (status, 400 if status == 403 else 200)


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [("localhost:1", "http://localhost:1", 101), ("localhost:1", "http://localhost:2", 403),
     ("localhost:1", "http://evil.example", 403), ("localhost:1", "null", 403),
     ("localhost:1", "https://tunnel.example", 101)],
)  # fmt: skip
def test_figures_are_sent_to_pages_of_the_dashboard_alone(farm, host, origin, status):
    page = fetched(farm, "/antennaopt")[1]
    token = page.partition('"token":"')[2].partition('"')[0]
    assert token
    headers = {
        "Host": host,
        "Origin": origin,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec_WebSocket_Protocol": f"bokeh, {token}",
    }
    assert fetched(farm, "/antennaopt/ws", **headers)[0] == status


def test_without_a_name_nothing_is_answered():
    """HTTP/1.0 needs none."""
    request = HTTPServerRequest(start_line=RequestStartLine("GET", "/health", "HTTP/1.0"), headers=HTTPHeaders())
    assert refusal(request) == 403
    request.headers["Host"] = "localhost"
    assert refusal(request) is None


PAGES = """
import sys, urllib.error, urllib.request
from antennaopt.farm.dashboard import Watch
from antennaopt.farm.local import LocalWorkers

def code(link, **headers):
    try:
        return urllib.request.urlopen(urllib.request.Request(link, headers=headers)).status
    except urllib.error.HTTPError as error:
        return error.code

if __name__ == "__main__":
    cluster = LocalWorkers(1)
    link = cluster.dashboard_link
    print(link.endswith("/antennaopt"), "bokeh" in sys.modules)
    event = {"event": "progress", "generation": 0, "to_solve": 9, "solved": 7, "seconds": 1.0, "counts": {"ok": 7}}
    event |= {"busy": {}, "devices": {}}
    client = cluster.client
    client.sync(client.scheduler.log_event, topic="antennaopt-study", msg=event)
    print(code(link, Host="elsewhere.example"), "bokeh" in sys.modules)
    for path in ("health", "metrics", "statics/css/base.css"):
        print(code(link.replace("antennaopt", path)), "bokeh" in sys.modules)
    print(code(link), "bokeh" in sys.modules, cluster.scheduler.plugins[Watch.name].timeline.evaluations)
    cluster.close()
"""


def test_pages_are_imported_for_the_first_request_for_one_that_is_answered():
    """They take half a second of a run's start, and most runs are never looked at. Events of before are there."""
    done = subprocess.run([sys.executable, "-c", PAGES], capture_output=True, text=True, timeout=SAFETY_S)
    assert done.stdout.splitlines() == ["True False", "403 False", *["200 False"] * 3, "200 True 7"], done.stderr


@pytest.fixture
def unseen():
    """A farm whose pages were not requested yet."""
    with DaskFarm(where, family="test", plan={}, cluster=ClusterSettings(workers=1)) as opened:
        yield opened


def test_the_scheduler_goes_on_while_pages_are_imported(unseen, monkeypatch):
    """Two requests wait for one import, which waits here for an answer of the same event loop."""
    begun, answered, imported, replies = threading.Event(), threading.Event(), [], []

    def slow(name):
        begun.set()
        assert answered.wait(SAFETY_S)
        imported.append(name)
        return importlib.import_module(name)

    monkeypatch.setattr(servers, "import_module", slow)
    asking = [threading.Thread(target=lambda: replies.append(fetched(unseen, "/antennaopt")[0])) for _ in range(2)]
    for one in asking:
        one.start()
    assert begun.wait(SAFETY_S)
    assert fetched(unseen, "/health")[0] == 200
    assert replies == []
    answered.set()
    for one in asking:
        one.join()
    assert replies == [200, 200]
    assert imported == ["distributed.dashboard.scheduler"]


def test_pages_that_cannot_be_imported_are_named_with_the_reason(unseen, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "distributed.dashboard.scheduler", None)
    with caplog.at_level("WARNING", servers.__name__):
        for path in ("/antennaopt", "/status", "/antennaopt"):
            status, text = fetched(unseen, path)
            assert (status, text.count("\n")) == (503, 1)
            assert text.startswith("the dashboard has no pages (ModuleNotFoundError: import of distributed.dashboard")
    assert [one.getMessage() for one in caplog.records] == [text.strip()]
    assert fetched(unseen, "/health")[0] == 200
