"""Batches sent to a worker that has just gone, while there is no other."""

import pytest
from distributed import Client, LocalCluster
from waiting import SAFETY_S, wait_until

from antennaopt.farm import in_flight as _flights
from antennaopt.farm.batches import Batch
from antennaopt.farm.exit_causes import Coroner
from antennaopt.farm.in_flight import Flights

GONE = "tcp://127.0.0.1:1"


def ok(family, designs, plan, backend, **_):
    return [{"status": "ok"} for _ in designs]


@pytest.fixture
def client():
    with (
        LocalCluster(n_workers=0, processes=False, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_a_batch_sent_where_nobody_is_comes_back_to_be_sent_again(client, monkeypatch):
    """Dask's scheduler never gives it to the worker that comes next: it would lie there for ever."""
    monkeypatch.setattr(_flights, "STRANDED_S", 0.5)
    flights = Flights(client, Coroner(client, here=True))
    batch = Batch(jobs=(("a", {"length": 1.0}),))
    flights.send(batch, (ok, "t", {}, "cpu"), {}, 60.0, to=GONE)
    assert flights.stranded(()) == []  # not yet: the scheduler may still find another
    wait_until(lambda: [task.state for task in client.cluster.scheduler.tasks.values()] == ["no-worker"])
    present = [joined(client)]
    assert flights.landed(1.0) is None
    assert flights.stranded(present) == [batch]
    assert len(flights) == 0
    flights.send(batch, (ok, "t", {}, "cpu"), {}, 60.0, to=present[0])
    landed = []
    wait_until(lambda: landed.append(flights.landed(1.0)) or landed[-1])  # what comes of the first is not looked at
    flight, reply, problem = landed[-1]
    assert flight.batch == batch
    assert problem is None
    assert reply is not None
    assert not reply.get("broken")


def test_a_batch_whose_reply_was_lost_with_its_worker_comes_back(client, monkeypatch):
    """Solved, but nobody had fetched the reply yet: with no other worker there the scheduler keeps it for ever."""
    monkeypatch.setattr(_flights, "STRANDED_S", 0.0)
    there = joined(client)
    flights = Flights(client, Coroner(client, here=True))

    async def later(*_):
        """Nobody fetches it for now."""

    monkeypatch.setattr(flights, "_fetch", later)
    batch = Batch(jobs=(("a", {"length": 1.0}),))
    flights.send(batch, (ok, "t", {}, "cpu"), {}, 60.0, to=there)
    scheduler = client.cluster.scheduler
    wait_until(lambda: [task.state for task in scheduler.tasks.values()] == ["memory"])
    wait_until(lambda: not flights._started.empty())
    wait_until(lambda: all(flight.future.status == "finished" for flight in flights._flying.values()))
    flights.read_starts()
    assert flights.stranded(()) == [], "it is there to be fetched"
    client.cluster.sync(scheduler.remove_worker, there, stimulus_id="lost", close=False)
    wait_until(lambda: [task.state for task in scheduler.tasks.values()] == ["no-worker"])
    wait_until(lambda: all(flight.future.status == "lost" for flight in flights._flying.values()))
    assert flights.stranded(()) == [], "only a second look tells: word of its end may be on the way"
    assert flights.stranded(()) == [batch]


def joined(client):
    """Start a worker and return its address."""
    client.cluster.scale(1)
    client.wait_for_workers(1, timeout=SAFETY_S)
    (there,) = client.scheduler_info()["workers"]
    return there


def test_a_batch_of_a_worker_that_is_there_stays(client, monkeypatch):
    """It waits its turn behind another one, for however long that takes."""
    monkeypatch.setattr(_flights, "STRANDED_S", 0.0)
    there = joined(client)
    flights = Flights(client, Coroner(client, here=True))
    flights.send(Batch(jobs=(("a", {}),)), (ok, "t", {}, "cpu"), {}, 60.0, to=there)
    assert flights.stranded([there]) == []
