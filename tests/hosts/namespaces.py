"""Two hosts of our own for tests: network namespaces joined by a pair of virtual Ethernet devices. Needs root."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from required import skip_without
from waiting import SAFETY_S

ROOT = Path(__file__).parents[2]
DRIVER, WORKER = "10.213.7.1", "10.213.7.2"
ADDRESS = f"tls://{DRIVER}:8786"
EXPERIMENT = ROOT / "experiments" / "quickstart.toml"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
ACCIDENTAL = ["run", "seconds", "stepping_seconds", "worker", "attempt", "device"]
"""Columns that say where and when a row was made, not what it holds."""


def program(*arguments):
    return [sys.executable, "-m", "antennaopt", *map(str, arguments)]


def run(command, **options):
    return subprocess.run(
        command, capture_output=True, text=True, timeout=SAFETY_S, env=ENVIRONMENT, cwd=ROOT, **options
    )


@contextmanager
def two_hosts():
    """Make them; yield what goes before a command to run it on the first or on the second."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        skip_without("hosts", "network namespaces need root and iproute2")
    names = [f"antennaopt-{os.getpid()}-{place}" for place in (1, 2)]
    try:
        for name in names:
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if made.returncode:
                skip_without("hosts", f"network namespaces are refused here: {made.stderr.strip()}")
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
                skip_without("hosts", f"virtual Ethernet is refused here: {step}: {done.stderr.strip()}")
        yield [["ip", "netns", "exec", name] for name in names]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def started(command, until):
    """Start a command and return its process once a line of its stderr holds some words."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, cwd=ROOT)
    lines = []
    while not (lines and until in lines[-1]):
        line = process.stderr.readline()
        assert line, f"{command[4:]} ended: {lines}"
        lines.append(line)
    return process


def start_scheduler(host, certificates):
    return started([*host, *program("scheduler", "--listen", DRIVER, "--tls", certificates)], "dashboard")


def start_worker(host, certificates, name="node"):
    own = ["--workers", "1", "--backend", "cpu", "--name", name]
    return started([*host, *program("worker", ADDRESS, "--tls", certificates, *own)], "at work")


def ended(processes):
    """End them, the last first, and return their exit codes."""
    for process in reversed(processes):
        process.terminate()
    codes = []
    for process in reversed(processes):
        try:
            codes.append(process.wait(timeout=SAFETY_S))
        finally:
            process.kill()
            process.stderr.close()
    return codes


def table(folder):
    """Every row of a run, without what differs between two solutions of one antenna."""
    rows = pd.read_parquet(folder / "evals").sort_values(["generation", "slot"], ignore_index=True)
    return rows.drop(columns=ACCIDENTAL)
