"""Two hosts of our own: network namespaces joined by a pair of virtual Ethernet devices, TLS between them.

The scheduler and the driver are in one, the worker in the other; nothing else connects the two, and neither reaches
anything else. Certificates are made by the command that users have. Needs root.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DRIVER, WORKER = "10.213.7.1", "10.213.7.2"
ACCIDENTAL = ["run", "seconds", "stepping_seconds", "worker", "attempt", "device"]
SMALL = [
    *("--set", "evolution.population=6", "--set", "evolution.generations=3", "--set", "certificate.mode=off"),
    *("--set", "solver.cell=0.6 mm", "--backend", "cpu", "--seed", "5", "--no-cache"),
]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def program(*arguments):
    return [sys.executable, "-m", "antennaopt", *map(str, arguments)]


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=ENVIRONMENT, cwd=ROOT, **options)


@pytest.fixture(scope="module")
def hosts():
    """Make two namespaces; yield what goes before a command to run it in the first or the second."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    names = [f"antennaopt-{os.getpid()}-{place}" for place in (1, 2)]
    try:
        for name in names:
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if made.returncode:
                pytest.skip(f"network namespaces are refused here: {made.stderr.strip()}")
        one, two = names
        steps = [
            f"ip -n {one} link add farm0 type veth peer name farm0 netns {two}",
            *(f"ip -n {name} link set lo up" for name in names),
            f"ip -n {one} addr add {DRIVER}/24 dev farm0",
            f"ip -n {two} addr add {WORKER}/24 dev farm0",
            *(f"ip -n {name} link set farm0 up" for name in names),
        ]
        for step in steps:
            done = subprocess.run(step.split(), capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"virtual Ethernet is refused here: {step}: {done.stderr.strip()}")
        yield [["ip", "netns", "exec", name] for name in names]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls") / "farm"
    done = run(program("tls", folder, "--host", DRIVER, "--host", WORKER))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def farm(hosts, certificates):
    """Scheduler on the first host, one worker on the second, by one command each; yield the scheduler's address."""
    here, there = hosts
    address = f"tls://{DRIVER}:8786"
    commands = [
        [*here, *program("scheduler", "--listen", DRIVER, "--tls", certificates)],
        [*there, *program("worker", address, "--tls", certificates, "--workers", "1", "--backend", "cpu")],
    ]
    processes = []
    try:
        for command, word in zip(commands, ("dashboard", "at work"), strict=True):
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, cwd=ROOT)
            processes.append(process)
            lines = []
            while not (lines and word in lines[-1]):
                line = process.stderr.readline()
                assert line, f"{command[4:]} ended: {lines}"
                lines.append(line)
        yield address
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in reversed(processes):
            try:
                assert process.wait(timeout=30) == 0
            finally:
                process.kill()
                process.stderr.close()


def table(folder):
    rows = pd.read_parquet(folder / "evals").sort_values(["generation", "slot"], ignore_index=True)
    return rows.drop(columns=[name for name in ACCIDENTAL if name in rows])


def folder_of(done):
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])


def test_a_run_across_hosts_has_the_bits_of_a_local_one(hosts, farm, certificates, tmp_path):
    """Every row of 3 generations equal to the bit, and every antenna solved in the other namespace."""
    experiment = ROOT / "experiments" / "quickstart.toml"
    local = run(program("run", experiment, "--out", tmp_path / "local", "--workers", "1", *SMALL))
    apart = run(
        [
            *hosts[0],
            *program("run", experiment, "--out", tmp_path / "apart", *SMALL),
            *("--scheduler", farm, "--tls", str(certificates)),
        ]
    )
    one, other = folder_of(local), folder_of(apart)
    pd.testing.assert_frame_equal(table(one), table(other), check_exact=True)
    workers = set(pd.read_parquet(other / "evals")["worker"])
    assert workers == {f"{socket.gethostname()}-0"}, workers
    assert json.loads((other / "resolved.json").read_text())["cluster"]["tls"]["ca"] == str(certificates / "ca.pem")


def test_without_tls_nobody_gets_in(hosts, farm, tmp_path):
    """Refused before a connection: another machine in the open; no certificates for a tls:// address."""
    experiment = ROOT / "experiments" / "quickstart.toml"
    for address, why in ((farm.replace("tls", "tcp"), "without encryption"), (farm, "no certificates are named")):
        done = run([*hosts[0], *program("run", experiment, "--out", tmp_path, *SMALL, "--scheduler", address)])
        assert done.returncode == 2
        assert why in done.stderr.splitlines()[-1]
        assert not list(tmp_path.iterdir())


def test_an_open_client_or_another_authority_cannot_connect(hosts, farm, tmp_path):
    """`--insecure` gets no further than the socket, certificates of another authority no further than the greeting."""
    experiment = ROOT / "experiments" / "quickstart.toml"
    others = tmp_path / "others"
    assert run(program("tls", others)).returncode == 0
    for how in (["--scheduler", farm.replace("tls", "tcp"), "--insecure"], ["--scheduler", farm, "--tls", str(others)]):
        began = time.monotonic()
        done = run([*hosts[0], *program("run", experiment, "--out", tmp_path / "runs", *SMALL), *how])
        assert done.returncode == 5, done.stderr
        assert "no Dask scheduler answers" in done.stderr.splitlines()[-1]
        assert time.monotonic() - began < 40.0


def test_only_the_scheduler_and_workers_listen_beyond_loopback(hosts, farm):
    """The dashboard stays on loopback on both hosts; what listens on the wire speaks TLS."""
    wire = {}
    for prefix, own in zip(hosts, (DRIVER, WORKER), strict=True):
        lines = subprocess.run([*prefix, "ss", "-Hltn"], capture_output=True, text=True, check=True).stdout.splitlines()
        addresses = [line.split()[3] for line in lines]
        assert addresses
        assert all(one.rpartition(":")[0] in ("127.0.0.1", own) for one in addresses), addresses
        wire[own] = [one for one in addresses if one.startswith(own)]
    assert wire[DRIVER] == [f"{DRIVER}:8786"]
    assert len(wire[WORKER]) == 2, "the worker and its nanny"
    greeting = "import socket, sys; s = socket.create_connection((sys.argv[1], 8786), 5); s.sendall(bytes(64)); "
    greeting += "print(s.recv(64))"
    done = subprocess.run(
        [*hosts[1], sys.executable, "-c", greeting, DRIVER], capture_output=True, text=True, timeout=20
    )
    assert "dask" not in done.stdout.lower(), "no word of the protocol before certificates are shown"
