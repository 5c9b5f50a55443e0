"""The farm with real worker processes, and real signals to them: every individual gets its outcome, and one only."""

import os
import signal
import socket
import time
import urllib.request

import farm_solvers
import psutil
import pytest
from farm_solvers import jobs

from antennaopt.evaluation import _cluster
from antennaopt.evaluation import farm as farm_module
from antennaopt.evaluation.farm import Farm
from antennaopt.evaluation.serial import SerialFarm


def started(evaluate=farm_solvers.solve, *, dashboard=False, time_limit_s=120.0, **plan):
    return Farm(evaluate, family="test", plan=plan, workers=2, dashboard=dashboard, time_limit_s=time_limit_s)


def numbers(outcomes):
    return {key: (outcome["status"], outcome.get("value"), outcome.get("cut")) for key, outcome in outcomes.items()}


def quiet(count):
    """What comes out when nothing happens."""
    return numbers(dict(SerialFarm(farm_solvers.solve, family="test", plan={}).run([jobs(count)])))


@pytest.fixture(scope="module")
def shared():
    with started(farm_solvers.about_the_worker, dashboard=True) as farm:
        yield farm


def test_workers_are_light_and_out_of_reach_of_ctrl_c(shared):
    outcomes = dict(shared.run([[job] for job in jobs(12)]))
    assert len(outcomes) == 12
    for outcome in outcomes.values():
        assert outcome["pid"] != os.getpid()
        assert outcome["session"] == outcome["pid"]
        assert outcome["threads"] == ["1", "1"]
        assert not {"pandas", "pyarrow", "matplotlib", "deap"} & set(outcome["modules"])


def test_dashboard_is_linked_and_answers(shared):
    assert shared.dashboard_link.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(shared.dashboard_link, timeout=20) as page:
        assert page.status == 200


def test_everything_listens_on_loopback_only(shared):
    with started():
        listening = listening_addresses()
    assert len(listening) >= 8, "two schedulers with their pages and four workers are expected to listen"
    assert set(listening) == {"127.0.0.1"}


def listening_addresses():
    pids = [os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))]
    return [
        connection.laddr.ip
        for pid in pids
        for connection in psutil.Process(pid).net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]


def test_dashboard_takes_another_port_when_its_own_is_taken():
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", _cluster.DASHBOARD_PORT))
            other.listen()
        except OSError:
            pass  # somebody has it already, which is as good
        assert _cluster.dashboard_port() == 0


def test_outcomes_equal_those_without_workers_and_are_annotated():
    with started() as farm:
        outcomes = dict(farm.run(farm.cut(jobs(100))))
        assert numbers(outcomes) == quiet(100)
        assert {outcome["worker"] for outcome in outcomes.values()} <= {"0", "1"}
        assert {(outcome["device"], outcome["attempt"]) for outcome in outcomes.values()} == {("cpu", 1)}
        assert numbers(dict(farm.run([jobs(5)]))) == quiet(5), "a farm serves one generation after another"


def test_workers_killed_in_mid_batch_change_nothing():
    with started(sleep_s=0.1) as farm:
        outcomes, killed = {}, False
        for key, outcome in farm.run(farm.cut(jobs(32), 8)):
            assert key not in outcomes
            outcomes[key] = outcome
            if not killed:
                killed = True
                farm._launch()  # both workers have a batch of 0.8 s now
                time.sleep(0.1)
                for nanny in farm._cluster._cluster.workers.values():
                    os.kill(nanny.pid, signal.SIGKILL)
    assert numbers(outcomes) == quiet(32)
    assert max(outcome["attempt"] for outcome in outcomes.values()) > 1


def test_one_that_kills_its_worker_once_is_solved_in_the_end(tmp_path):
    with started(die_once_at=3.0, marker=str(tmp_path / "marker")) as farm:
        assert numbers(dict(farm.run([jobs(8)]))) == quiet(8)


def test_one_that_always_kills_its_worker_is_lost_alone():
    with started(die_at=3.0) as farm:
        outcomes = dict(farm.run([jobs(8), jobs(24)[8:]]))
    lost = outcomes.pop("i3")
    expected = quiet(24)
    del expected["i3"]
    assert numbers(outcomes) == expected
    assert lost["status"] == "lost"
    assert lost["attempt"] == 6, "three cuts from 8 to 1, then three attempts alone"


@pytest.mark.parametrize("how", ["raise_at", "object_at"])
def test_exception_costs_one_individual_and_comes_with_its_traceback(how):
    with started(**{how: 5.0}) as farm:
        outcomes = dict(farm.run([jobs(16)]))
    failed = outcomes.pop("i5")
    assert failed["status"] == "error"
    assert "Traceback" in failed["error"]
    assert "farm_solvers.py" in failed["error"]
    assert {outcome["status"] for outcome in outcomes.values()} == {"ok"}


@pytest.mark.parametrize("how", ["hang_at", "stop_at"])
def test_hang_and_stopped_process_time_out_alone(how, monkeypatch):
    """A stopped process is woken by the next look after the workers, and then solves; here that look comes too late."""
    monkeypatch.setattr(farm_module, "GRACE_S", 0.5)
    monkeypatch.setattr(farm_module, "WORKERS_CHECK_S", 60.0)
    with started(**{how: 1.0}, time_limit_s=0.7) as farm:
        outcomes = dict(farm.run([jobs(2)]))
    assert outcomes["i0"]["status"] == "ok"
    assert outcomes["i1"]["status"] == "timeout"


def test_drain_lets_what_is_under_way_finish():
    with started(sleep_s=0.2) as farm:
        seen = []
        for key, outcome in farm.run([[job] for job in jobs(40)]):
            assert outcome["status"] == "ok"
            seen.append(key)
            farm.drain()
        assert 2 <= len(seen) <= 5


def test_close_while_workers_are_busy_takes_seconds_and_leaves_no_process():
    farm = started(sleep_s=300.0)
    children = [nanny.pid for nanny in farm._cluster._cluster.workers.values()]
    outcomes = farm.run([[job] for job in jobs(4)])
    farm.submit([[job] for job in jobs(4)])
    farm._launch()
    time.sleep(0.5)
    began = time.monotonic()
    farm.close()
    farm.close()
    assert time.monotonic() - began < 20.0
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in children)
    outcomes.close()
