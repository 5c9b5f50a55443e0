"""The farm with real worker processes, and real signals to them: every individual gets its outcome, and one only."""

import os
import signal
import socket
import urllib.request

import farm_solvers
import psutil
import pytest
from farm_solvers import jobs
from waiting import SAFETY_S, wait_until

from antennaopt.farm import dask_pool as farm_module
from antennaopt.farm import local as _cluster
from antennaopt.farm.batches import Batch
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.farm.farm import SerialFarm
from antennaopt.farm.interface import Assignment


def started(evaluate=farm_solvers.solve, *, dashboard=False, time_limit_s=120.0, **plan):
    return DaskFarm(
        evaluate,
        family="test",
        plan=plan,
        cluster=ClusterSettings(workers=2, dashboard=dashboard),
        time_limit_s=time_limit_s,
    )


def numbers(outcomes):
    return {key: (outcome["status"], outcome.get("value"), outcome.get("cut")) for key, outcome in outcomes.items()}


def quiet(count):
    """What comes out when nothing happens."""
    return numbers(dict(SerialFarm(farm_solvers.solve, family="test", plan={}).run([jobs(count)])))


@pytest.fixture(scope="module")
def shared():
    with started(farm_solvers.about_the_worker, dashboard=True) as farm:
        yield farm


@pytest.fixture(scope="module")
def solving():
    with started() as farm:
        yield farm


def test_workers_are_light_and_out_of_reach_of_ctrl_c(shared):
    outcomes = dict(shared.run([[job] for job in jobs(12)]))
    assert len(outcomes) == 12
    for outcome in outcomes.values():
        assert outcome.field["pid"] != os.getpid()
        assert outcome.field["session"] == outcome.field["pid"]
        assert outcome.field["threads"] == ["1", "1"]
        assert not {"pandas", "pyarrow", "matplotlib", "deap"} & set(outcome.field["modules"])


def test_workers_keep_freed_memory(shared):
    """200 arrays of 256 pages each: with Dask's setting each one's pages are new, 51,200."""
    assert all(pages < 5_000 for pages in shared.ask(farm_solvers.new_pages, 200))


def test_closed_workers_end_without_taking_their_modules_apart(tmp_path):
    with started() as farm:
        farm.ask(farm_solvers.leave_a_mark, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_the_driver_reaches_its_own_scheduler_without_a_socket(shared):
    """Messages between the two need no encryption, which took a sixth of the driver's time."""
    cluster = shared.pool.cluster
    assert cluster.client.scheduler.address.startswith("inproc://")
    assert all(address.startswith("tls://127.0.0.1:") for address in cluster.workers())


def test_dashboard_is_linked_and_answers(shared):
    assert shared.dashboard_link.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(shared.dashboard_link, timeout=SAFETY_S) as page:
        assert page.status == 200


def test_everything_listens_on_loopback_only(shared):
    with started():
        listening = listening_addresses()
    assert len(listening) >= 11, "two schedulers, a dashboard, four workers and their nannies are expected to listen"
    assert set(listening) == {"127.0.0.1"}


def listening_addresses():
    pids = [os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))]
    return [
        connection.laddr.ip
        for pid in pids
        for connection in psutil.Process(pid).net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]


def test_dashboard_takes_another_port_when_its_own_is_taken(capfd):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", _cluster.DASHBOARD_PORT))
            other.listen()
        except OSError:
            pass  # it is taken already, which is as good
        with started(dashboard=True) as farm:
            assert not farm.dashboard_link.startswith(f"http://127.0.0.1:{_cluster.DASHBOARD_PORT}/")
            with urllib.request.urlopen(farm.dashboard_link, timeout=120) as page:
                assert page.status == 200
    assert capfd.readouterr() == ("", "")


def test_outcomes_equal_those_without_workers_and_are_annotated(solving):
    outcomes = dict(solving.run(solving.cut(jobs(100))))
    assert numbers(outcomes) == quiet(100)
    assert {outcome["worker"] for outcome in outcomes.values()} <= {"0", "1"}
    assert {(outcome["device"], outcome["attempt"]) for outcome in outcomes.values()} == {("cpu", 1)}
    assert numbers(dict(solving.run([jobs(5)]))) == quiet(5), "a farm serves one generation after another"


def test_workers_killed_in_mid_batch_change_nothing(tmp_path):
    """All batches but the first wait until both workers are dead."""
    with started(hold_from=8.0, gate=str(tmp_path)) as farm:
        outcomes, killed = {}, []
        for key, outcome in farm.run(farm.cut(jobs(32), 8)):
            assert key not in outcomes
            outcomes[key] = outcome
            if not killed:
                farm._launch()  # both workers have a batch now
                wait_until(lambda: len(farm_solvers.begun(tmp_path)) == 2, "a batch in both workers")
                killed = [nanny.pid for nanny in farm.pool.cluster._cluster.workers.values()]
                assert set(killed) == farm_solvers.begun(tmp_path)
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)
                (tmp_path / "go").touch()
    assert numbers(outcomes) == quiet(32)
    assert max(outcome["attempt"] for outcome in outcomes.values()) > 1


def test_one_that_kills_its_worker_once_is_solved_in_the_end(solving, tmp_path):
    plan = {"die_once_at": 3.0, "marker": str(tmp_path / "marker")}
    assert numbers(dict(solving.run([jobs(8)], plan=plan))) == quiet(8)
    assert (tmp_path / "marker").exists()


def test_one_on_its_way_to_a_worker_that_a_crash_ends_is_not_blamed(solving):
    """The scheduler may give a worker the batch of one that has just gone; which of the two ended it is not sure."""
    pool = solving.pool
    crash, other = (Batch(jobs=(job,)) for job in jobs(2))
    address = next(iter(pool.workers()))
    assignments = [Assignment(batch=one, address=address, limit_s=60.0) for one in (crash, other)]
    pool.submit(assignments, {"die_at": 0.0, "sleep_s": 0.2})
    results = []
    wait_until(lambda: results.extend(pool.results(0.1)) or len(results) == 2)
    assert {one.failure.kind for one in results} == {"lost"}
    assert not any(one.failure.alone for one in results)
    for one in results:
        (again,) = one.batch.after_failure("lost", alone=one.failure.alone)
        assert again.solo_failures == 0


@pytest.mark.slow
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
def test_exception_costs_one_individual_and_comes_with_its_traceback(solving, how):
    outcomes = dict(solving.run([jobs(16)], plan={how: 5.0}))
    failed = outcomes.pop("i5")
    assert failed["status"] == "error"
    assert "Traceback" in failed["error"]
    assert "farm_solvers.py" in failed["error"]
    assert {outcome["status"] for outcome in outcomes.values()} == {"ok"}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hang_at", "stop_at"])
def test_hang_and_stopped_process_time_out_alone(how, monkeypatch):
    """A stopped process is woken by the next look after the workers, and then solves; here that look comes too late.

    A machine too slow to solve the other one within the limit gets a longer one.
    """
    monkeypatch.setattr(farm_module, "GRACE_S", 0.5)
    monkeypatch.setattr(farm_module, "WORKERS_CHECK_S", 1000.0)
    for limit_s in (0.7, 7.0, 21.0):
        with started(**{how: 1.0}, time_limit_s=limit_s) as farm:
            outcomes = dict(farm.run([jobs(2)]))
        if outcomes["i0"]["status"] == "ok":
            break
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


def test_close_while_workers_are_busy_waits_for_no_batch_and_leaves_no_process(tmp_path):
    farm = started(hold_from=0.0, gate=str(tmp_path))
    children = [nanny.pid for nanny in farm.pool.cluster._cluster.workers.values()]
    outcomes = farm.run([[job] for job in jobs(4)])
    farm.submit([[job] for job in jobs(4)])
    farm._launch()
    wait_until(lambda: farm_solvers.begun(tmp_path) == set(children), "a batch in both workers")
    farm.close()
    farm.close()
    assert {path.name for path in tmp_path.iterdir()} == {f"begun-{pid}" for pid in children}, "no batch was let go"
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in children)
    outcomes.close()
