"""A scheduler and workers by the program's own commands, on loopback: sockets, page, gauges, pinning, their ends."""

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import farm_solvers
import psutil
import pytest
from loopback import free_port
from waiting import SAFETY_S, wait_until

from antennaopt.cli import main
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.timeline import Timeline

HERE = Path(__file__).parent
QUICKSTART = HERE.parents[1] / "experiments" / "quickstart.toml"


def started(*arguments, until, **environment):
    """Start a command of ours and return it with its last line once that holds some words."""
    process = subprocess.Popen(
        [sys.executable, "-m", "antennaopt", *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE), **environment},
    )
    lines = []
    while not lines or until not in lines[-1]:
        lines.append(process.stderr.readline())
        assert lines[-1], f"ended: {lines}"
    return process, lines


def listening(process):
    """Local addresses that a process and its children listen on, as `ss` has them."""
    pids = {process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))}
    lines = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[3] for line in lines if any(f"pid={pid}," in line for pid in pids)]


def fetched(url):
    with urllib.request.urlopen(url, timeout=SAFETY_S) as reply:
        return reply.read().decode()


@pytest.mark.slow
def test_one_command_a_host(capsys):
    """Scheduler, two workers, a study's farm: all of it on loopback; the page and the gauges show the study."""
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler, lines = started("scheduler", "--listen", address, "--dashboard-port", "0", until="dashboard")
    processes = [scheduler]
    try:
        page = lines[-1].split()[1]
        worker, _ = started("worker", address, "--workers", "2", "--name", "node", "--backend", "cpu", until="at work")
        processes.append(worker)
        assert main(["worker", address, "--workers", "1", "--name", "node-0", "--backend", "cpu"]) == 5
        assert "has workers of the name node-0 already" in capsys.readouterr().err
        with DaskFarm(
            farm_solvers.about_the_worker,
            family="test",
            plan={},
            cluster=ClusterSettings(kind="address", address=address),
            connect_timeout_s=SAFETY_S,
        ) as farm:
            assert farm.dashboard_link == page
            jobs = [(f"i{n}", {"x": float(n)}) for n in range(8)]
            outcomes = dict(farm.run(farm.cut(jobs)))
            farm.show({"event": "begins"})
            farm.show({"event": "progress", "generation": 0, "to_solve": 8, "solved": 8, "seconds": 2.0,
                       "counts": {"ok": 7, "lost": 1}, "busy": {"node-0": 1.0}, "devices": {}})  # fmt: skip
            addresses = [*listening(scheduler), *listening(worker)]
            gauges = page.replace("/antennaopt", "/metrics")
            wait_until(lambda: "antennaopt_failures 1.0" in fetched(gauges), "the failed antenna's gauge")
            metrics, text = fetched(gauges), fetched(page)
        assert {one["worker"] for one in outcomes.values()} == {"node-0", "node-1"}
        assert all(one.field["threads"] == ["1", "1"] for one in outcomes.values())
        assert len(addresses) >= 5, "a scheduler with its page, two nannies, two workers with theirs"
        assert {one.rpartition(":")[0] for one in addresses} == {"127.0.0.1"}, addresses
        assert 'antennaopt_outcomes{status="ok"} 7.0' in metrics
        assert 'antennaopt_worker_use{worker="node-0"} 0.5' in metrics
        assert "bokeh" in text and "Antennaopt" in text, "our page, and a link to it among Dask's"
    finally:
        scheduler.terminate()
        codes, said = [], ""
        for process in processes:
            try:
                codes.append(process.wait(timeout=SAFETY_S))
                said += process.stderr.read()
            finally:
                process.kill()
                process.stderr.close()
    assert codes == [0, 0], "the scheduler was told to end, and the workers end with it"
    assert f"the scheduler at {address} has ended, and these workers with it; start both again" in said


@pytest.mark.parametrize("command", ["scheduler", "worker"])
def test_open_connections_are_a_warning(command, capsys):
    """Also under --quiet: one line that names the danger and the remedy, before the command fails for other reasons."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        where = ["--listen", address] if command == "scheduler" else [f"tcp://{address}", "--backend", "cpu"]
        wait = [] if command == "scheduler" else ["--workers", "1", "--wait", "1"]
        assert main([command, *where, *wait, "--quiet"]) == 5
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    what = "this scheduler" if command == "scheduler" else "these workers"
    assert f"every user of this machine can run programs as you through {what}" in line
    assert "`antennaopt tls FOLDER`" in line and line.endswith("--tls FOLDER")


@pytest.mark.parametrize("command", ["scheduler", "worker"])
def test_beyond_loopback_needs_certificates(command, capsys):
    where = ["--listen", "0.0.0.0"] if command == "scheduler" else ["tcp://10.0.0.5:8786", "--backend", "cpu"]
    assert main([command, *where]) == 2
    assert "--insecure" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["worker", "nonsense", "--backend", "cpu"], "nonsense is no scheduler's address"),
        (["worker", "tcp://127.0.0.1:99999", "--backend", "cpu"], "has port 99999 (allowed: 1 to 65535)"),
        (["run", str(QUICKSTART), "--scheduler", "nonsense", "--quiet"], "nonsense is no scheduler's address"),
    ],
)
def test_what_is_no_address_is_refused_at_once(arguments, says, capsys, tmp_path, monkeypatch):
    """Without a wait for a scheduler that cannot be there."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2, "5 after a wait"
    assert says in capsys.readouterr().err.splitlines()[-1]


def test_a_worker_without_its_scheduler_says_so(capsys):
    address = f"tcp://127.0.0.1:{free_port()}"
    assert main(["worker", address, "--backend", "cpu", "--workers", "1", "--wait", "1"]) == 5
    error = capsys.readouterr().err.splitlines()[-1]
    assert address in error and "antennaopt scheduler" in error


def test_a_taken_port_is_one_line(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["scheduler", "--listen", f"127.0.0.1:{port}"]) == 5
    assert f"no scheduler can listen on 127.0.0.1:{port}" in capsys.readouterr().err.splitlines()[-1]


def test_the_page_draws_what_a_timeline_says():
    """Every figure's data, from events: two generations, three statuses, two workers."""
    from antennaopt.farm.dashboard import Figures

    timeline = Timeline()
    for number in range(2):
        timeline.add({"event": "progress", "generation": number, "to_solve": 10, "solved": 10, "seconds": 4.0,
                      "counts": {"ok": 7, "lost": 1, "undecayed": 2}, "busy": {"0": 3.0, "1": 9.0}})  # fmt: skip
        timeline.add({"event": "generation", "generation": number, "generations": 5, "evaluations": 10 * (number + 1),
                      "best": 5.0 - number, "median": None, "seconds": 4.0, "evaluations_per_s": 2.5,
                      "individual": "g0000-s000"})  # fmt: skip
    figures = Figures()
    figures.update(timeline)
    data = {
        name: {key: list(column) for key, column in source.data.items()} for name, source in figures.sources.items()
    }
    assert data["convergence"]["evaluations"] == [10, 20]
    assert data["convergence"]["best"] == [5.0, 4.0]
    assert data["rate"] == {"seconds": [4.0, 8.0], "rate": [2.5, 2.5]}
    assert data["failures"] == {"status": ["lost", "undecayed"], "count": [2, 4]}
    assert data["use"] == {"worker": ["0", "1"], "percent": [75.0, 100.0]}
    json.dumps(timeline.to_dict(), allow_nan=False)


@pytest.mark.slow  # a farm alone: test_farm_local
def test_a_default_run_listens_on_loopback_only(tmp_path):
    """Scheduler, workers, their nannies and every page, by `ss`, while a run with the default cluster goes on."""
    small = ["--set", "evolution.population=8", "--set", "certificate.mode=off", "--set", "solver.cell=0.6 mm"]
    more = ["--out", tmp_path, "--backend", "cpu", "--no-cache", "--set", "evolution.generations=50"]
    run, _ = started("run", QUICKSTART, *small, *more, until="generation 1/")
    try:
        addresses = listening(run)
    finally:
        run.terminate()
        run.wait(timeout=SAFETY_S)
        run.stderr.close()
    assert run.returncode == 143
    assert len(addresses) >= 4, "the scheduler and its page, a worker and its nanny"
    assert {one.rpartition(":")[0] for one in addresses} == {"127.0.0.1"}, addresses


@pytest.mark.slow
def test_a_host_gives_every_device_a_process_of_its_own(tmp_path):
    """`antennaopt worker` where the driver lists two devices: each process sees one of them, by its UUID."""
    (tmp_path / "sitecustomize.py").write_text(
        "from fdtd.backends.cuda import present\n"
        "from fdtd.schemes.machine import HOPPER\n"
        "found = tuple(present.Found(uuid=f'GPU-{place}', name='toy', limits=HOPPER) for place in range(2))\n"
        "present.devices = lambda: found\n"
    )
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler, _ = started("scheduler", "--listen", address, "--dashboard-port", "0", until="dashboard")
    processes = [scheduler]
    try:
        path = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(HERE)])}
        host, lines = started("worker", address, "--backend", "cuda", "--name", "node", until="at work", **path)
        processes.append(host)
        with DaskFarm(
            farm_solvers.solve_on_device,
            family="test",
            plan={"sleep_s": 0.05},
            cluster=ClusterSettings(kind="address", address=address),
            connect_timeout_s=SAFETY_S,
        ) as farm:
            outcomes = dict(farm.run([[(f"i{n}", {"x": float(n)})] for n in range(24)]))
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(timeout=SAFETY_S)
            process.stderr.close()
    assert "2 CUDA devices of node at work" in lines[-1]
    assert {(one["worker"], one["device"]) for one in outcomes.values()} == {("node-0", "GPU-0"), ("node-1", "GPU-1")}
    assert len({one.field["pid"] for one in outcomes.values()}) == 2
