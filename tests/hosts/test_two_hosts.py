"""A farm of two hosts: the scheduler and the driver on one, the worker on the other, TLS between them.

The hosts are network namespaces, which reach each other and nothing else. Certificates are made by the command that
users have. Needs root.
"""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from namespaces import (
    ADDRESS,
    DRIVER,
    EXPERIMENT,
    WORKER,
    ended,
    program,
    run,
    start_scheduler,
    start_worker,
    table,
)
from waiting import SAFETY_S

pytestmark = pytest.mark.slow

SMALL = [
    *("--set", "evolution.population=6", "--set", "evolution.generations=3", "--set", "certificate.mode=off"),
    *("--set", "solver.cell=0.6 mm", "--backend", "cpu", "--seed", "5", "--no-cache"),
]


@pytest.fixture(scope="module")
def farm(hosts, certificates):
    """Scheduler on the first host, one worker on the second, by one command each; yield the scheduler's address."""
    here, there = hosts
    processes = [start_scheduler(here, certificates)]
    try:
        processes.append(start_worker(there, certificates))
        yield ADDRESS
    finally:
        codes = ended(processes)
    assert codes == [0, 0]


def folder_of(done):
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])


def test_a_run_across_hosts_has_the_bits_of_a_local_one(hosts, farm, certificates, tmp_path):
    """Every row of 3 generations equal to the bit, and every antenna solved in the other namespace."""
    local = run(program("run", EXPERIMENT, "--out", tmp_path / "local", "--workers", "1", *SMALL))
    apart = run(
        [
            *hosts[0],
            *program("run", EXPERIMENT, "--out", tmp_path / "apart", *SMALL),
            *("--scheduler", farm, "--tls", str(certificates)),
        ]
    )
    one, other = folder_of(local), folder_of(apart)
    pd.testing.assert_frame_equal(table(one), table(other), check_exact=True)
    workers = set(pd.read_parquet(other / "evals")["worker"])
    assert workers == {"node"}, workers
    assert json.loads((other / "resolved.json").read_text())["cluster"]["tls"]["ca"] == str(certificates / "ca.pem")


def test_without_tls_nobody_gets_in(hosts, farm, tmp_path):
    """Refused before a connection: another machine in the open; no certificates for a tls:// address."""
    for address, why in ((farm.replace("tls", "tcp"), "without encryption"), (farm, "no certificates are named")):
        done = run([*hosts[0], *program("run", EXPERIMENT, "--out", tmp_path, *SMALL, "--scheduler", address)])
        assert done.returncode == 2
        assert why in done.stderr.splitlines()[-1]
        assert not list(tmp_path.iterdir())


def test_an_open_client_or_another_authority_cannot_connect(hosts, farm, tmp_path):
    """`--insecure` gets no further than the socket, certificates of another authority no further than the greeting."""
    others = tmp_path / "others"
    assert run(program("tls", others)).returncode == 0
    for how in (["--scheduler", farm.replace("tls", "tcp"), "--insecure"], ["--scheduler", farm, "--tls", str(others)]):
        done = run([*hosts[0], *program("run", EXPERIMENT, "--out", tmp_path / "runs", *SMALL), *how])
        assert done.returncode == 5, done.stderr
        assert "no Dask scheduler answers" in done.stderr.splitlines()[-1]


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
        [*hosts[1], sys.executable, "-c", greeting, DRIVER], capture_output=True, text=True, timeout=SAFETY_S
    )
    assert "dask" not in done.stdout.lower(), "no word of the protocol before certificates are shown"
