"""Batches sent to a worker that has just gone, while there is no other, and what is said of one whose worker ended."""

import pytest
from distributed import Client, LocalCluster
from distributed.scheduler import KilledWorker
from waiting import SAFETY_S, wait_until

from antennaopt.farm import dask_tasks
from antennaopt.farm.batches import Batch
from antennaopt.farm.dask_tasks import InFlight
from antennaopt.farm.exit_causes import WATCHDOG_STATUS, exit_cause
from antennaopt.farm.interface import Assignment

GONE = "tcp://127.0.0.1:1"


def ok(family, designs, plan, backend, **_):
    return [{"status": "ok"} for _ in designs]


TASK = (ok, "t", "cpu")


def returned(results):
    assert {one.failure.kind for one in results} == {"returned"}
    return [one.batch for one in results]


@pytest.fixture
def client():
    with (
        LocalCluster(
            n_workers=0,
            processes=False,
            threads_per_worker=1,
            memory_limit=0,  # of the whole test process, and a worker that reaches it begins nothing
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_a_batch_sent_where_no_worker_is_comes_back_to_be_sent_again(client, monkeypatch):
    """Dask's scheduler never gives it to the worker that comes next: it would lie there for ever."""
    monkeypatch.setattr(dask_tasks, "STRANDED_S", 0.5)
    in_flight = InFlight(client, TASK, here=True)
    batch = Batch(jobs=(("a", {"length": 1.0}),))
    in_flight.send(Assignment(batch=batch, address=GONE, limit_s=60.0), {})
    assert in_flight.stranded(()) == []  # not yet: the scheduler may still find another
    wait_until(lambda: [task.state for task in client.cluster.scheduler.tasks.values()] == ["no-worker"])
    present = [joined(client)]
    assert in_flight.landed(1.0) is None
    assert returned(in_flight.stranded(present)) == [batch]
    assert len(in_flight) == 0
    in_flight.send(Assignment(batch=batch, address=present[0], limit_s=60.0), {})
    landed = []
    wait_until(lambda: landed.append(in_flight.landed(1.0)) or landed[-1])  # what comes of the first is not looked at
    result = landed[-1]
    assert result.batch == batch
    assert result.failure is None
    assert result.reply is not None
    assert not result.reply.get("broken")


def test_a_batch_whose_reply_was_lost_with_its_worker_comes_back(client, monkeypatch):
    """Solved, but the reply was not fetched yet: with no other worker there the scheduler keeps it for ever."""
    monkeypatch.setattr(dask_tasks, "STRANDED_S", 0.0)
    there = joined(client)
    in_flight = InFlight(client, TASK, here=True)

    async def later(*_):
        """It is not fetched for now."""

    monkeypatch.setattr(in_flight, "_fetch", later)
    batch = Batch(jobs=(("a", {"length": 1.0}),))
    in_flight.send(Assignment(batch=batch, address=there, limit_s=60.0), {})
    scheduler = client.cluster.scheduler
    wait_until(lambda: [task.state for task in scheduler.tasks.values()] == ["memory"])
    wait_until(lambda: not in_flight._started.empty())
    wait_until(lambda: all(one.future.status == "finished" for one in in_flight.batches.values()))
    in_flight.read_starts()
    assert in_flight.stranded(()) == [], "it is there to be fetched"
    client.cluster.sync(scheduler.remove_worker, there, stimulus_id="lost", close=False)
    wait_until(lambda: [task.state for task in scheduler.tasks.values()] == ["no-worker"])
    wait_until(lambda: all(one.future.status == "lost" for one in in_flight.batches.values()))
    assert in_flight.stranded(()) == [], "only a second look tells: word of its end may be on the way"
    assert returned(in_flight.stranded(())) == [batch]


def joined(client):
    """Start a worker and return its address."""
    client.cluster.scale(1)
    client.wait_for_workers(1, timeout=SAFETY_S)
    (there,) = client.scheduler_info()["workers"]
    return there


def test_a_batch_of_a_worker_that_is_there_stays(client, monkeypatch):
    """It waits its turn behind another one, for however long that takes."""
    monkeypatch.setattr(dask_tasks, "STRANDED_S", 0.0)
    there = joined(client)
    in_flight = InFlight(client, TASK, here=True)
    in_flight.send(Assignment(batch=Batch(jobs=(("a", {}),)), address=there, limit_s=60.0), {})
    assert in_flight.stranded([there]) == []


def test_a_reply_comes_with_the_word_that_the_batch_is_done(client, monkeypatch):
    """Where the scheduler is in this process the client asks for nothing: that would be four more messages."""
    there = joined(client)
    asked = []
    monkeypatch.setattr(client, "gather", lambda *_, **__: asked.append(1))
    in_flight = InFlight(client, TASK, here=True, scheduler=client.cluster.scheduler)
    batch = Batch(jobs=(("a", {"length": 1.0}),))
    in_flight.send(Assignment(batch=batch, address=there, limit_s=60.0), {})
    landed = []
    wait_until(lambda: landed.append(in_flight.landed(1.0)) or landed[-1])
    assert landed[-1].failure is None and landed[-1].reply["outcomes"]
    assert not asked
    wait_until(lambda: not client.cluster.scheduler.tasks)  # it was released


@pytest.mark.parametrize(
    ("away", "ended", "status", "kind"),
    [
        (0.0, 10.1, WATCHDOG_STATUS, "timeout"),
        (7.0, 10.1, WATCHDOG_STATUS, "timeout"),
        (0.0, 0.4, WATCHDOG_STATUS, "lost"),  # the watchdog cannot have been it
        (0.0, 10.1, 3, "timeout"),
        (0.0, 2.0, 3, "lost"),
    ],
)
def test_the_watchdog_is_known_by_status_and_time(client, monkeypatch, away, ended, status, kind):
    """Whether or not the driver was away meanwhile: that puts off its own deadlines alone."""
    in_flight = InFlight(client, TASK, here=True)
    in_flight.send(Assignment(batch=Batch(jobs=(("a", {}),)), address=GONE, limit_s=10.0), {})
    ((token, one),) = in_flight.batches.items()
    one.started = one.submitted
    in_flight.excuse(away)
    one.ended, one.cause = one.submitted + ended, exit_cause(status)
    assert one.overdue(0.0) == (ended - away > 10.0)
    assert one.result(None, KilledWorker(token, GONE, 1)).failure.kind == kind
