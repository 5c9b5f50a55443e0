"""Schedulers and workers that are not as ours: refused by the command line in one line, with nothing left behind."""

import os
import subprocess
import sys
from pathlib import Path

import farm_solvers
import pytest
from loopback import free_port
from waiting import SAFETY_S

from antennaopt.cli import main
from antennaopt.errors import ClusterError
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm

HERE = Path(__file__).parent
QUICKSTART = HERE.parents[1] / "experiments" / "quickstart.toml"

OTHER = """
from importlib import metadata
true = metadata.version
metadata.version = lambda name: {version!r} if name == {name!r} else true(name)
"""
OTHER_SCIPY = OTHER.format(name="scipy", version="1.0.0")
OTHER_DASK = OTHER.format(name="distributed", version="2024.1.0")
WITHOUT_ANTENNAOPT = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "antennaopt":
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Nothing())
"""


@pytest.fixture
def start(tmp_path):
    """Start a program with a text that it reads before anything else, wait for some words, and end it afterwards."""
    processes = []

    def begin(*arguments, text="", until=None):
        place = tmp_path / str(len(processes))
        place.mkdir()
        (place / "sitecustomize.py").write_text(text)
        path = os.pathsep.join([str(place), str(HERE)])
        process = subprocess.Popen(
            [sys.executable, "-m", *map(str, arguments)],
            stderr=subprocess.PIPE if until else subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""},
        )
        processes.append(process)
        while until:
            line = process.stderr.readline()
            assert line, "ended"
            if until in line:
                break

    yield begin
    for process in reversed(processes):
        process.terminate()
        try:
            process.wait(timeout=SAFETY_S)
        finally:
            process.kill()
            if process.stderr:
                process.stderr.close()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A scheduler on a loaded machine may take its time to answer."""
    monkeypatch.setitem(DaskFarm.__init__.__kwdefaults__, "connect_timeout_s", SAFETY_S)


@pytest.fixture
def address():
    return f"tcp://127.0.0.1:{free_port()}"


def scheduler(start, address, **more):
    start("antennaopt", "scheduler", "--listen", address, "--dashboard-port", "0", until="dashboard", **more)


def worker(start, address, name="node", **more):
    options = ["--workers", "1", "--backend", "cpu", "--name", name]
    start("antennaopt", "worker", address, *options, until="at work", **more)


def refused(address, out, capsys, *arguments):
    """Run the quickstart there; its only line of error, when it ends with 5 and leaves nothing."""
    code = main(["run", str(QUICKSTART), "--scheduler", address, "--out", str(out), "--no-cache", *arguments])
    lines = capsys.readouterr().err.splitlines()
    (line,) = [line for line in lines if not line.startswith(("backend ", "cluster "))]
    assert code == 5, line
    assert not out.exists() or not list(out.iterdir())
    return line


def test_workers_with_other_packages_and_without_a_device(start, address, tmp_path, capsys):
    """`--backend cuda` wants a device of every worker; then one with another SciPy joins, and nothing runs any more."""
    scheduler(start, address)
    worker(start, address)
    line = refused(address, tmp_path / "runs", capsys, "--backend", "cuda")
    assert line.startswith("error: worker tcp://127.0.0.1:") and "backend cuda needs CuPy" in line, (
        "which worker, and why"
    )
    worker(start, address, "other", text=OTHER_SCIPY)
    line = refused(address, tmp_path / "runs", capsys)
    assert address in line and "has scipy 1.0.0 (here " in line and "install the same versions" in line


@pytest.mark.slow
def test_workers_that_cannot_run_this_program(start, address, tmp_path, capsys):
    scheduler(start, address)
    start("dask", "worker", address, "--no-dashboard", "--host", "127.0.0.1", text=WITHOUT_ANTENNAOPT)
    line = refused(address, tmp_path / "runs", capsys)
    assert f"the workers of {address} cannot run antennaopt" in line


def test_a_scheduler_of_another_dask(start, address, tmp_path, capsys):
    scheduler(start, address, text=OTHER_DASK)
    worker(start, address)
    line = refused(address, tmp_path / "runs", capsys)
    assert f"the scheduler at {address} has distributed 2024.1.0 (here " in line


@pytest.mark.slow
def test_one_that_joins_with_other_packages_ends_the_run_before_it_gets_work(start, address):
    """Not one outcome is of the worker whose results would not be the same to the bit."""
    scheduler(start, address)
    worker(start, address)
    solved = []
    with DaskFarm(
        farm_solvers.solve,
        family="test",
        plan={"sleep_s": 0.5},
        cluster=ClusterSettings(kind="address", address=address),
    ) as farm:
        worker(start, address, "other", text=OTHER_SCIPY)
        with pytest.raises(ClusterError, match=r"has scipy 1\.0\.0"):
            for _, outcome in farm.run([[(f"i{n}", {"x": float(n)})] for n in range(200)]):
                solved.append(outcome["worker"])
    assert set(solved) <= {"node"}
