"""A scheduler that ends while the driver lists its workers: the driver waits for it, and raises in the end."""

import time

import pytest
from distributed.comm.core import CommClosedError
from waiting import SAFETY_S

from antennaopt.errors import ClusterError
from antennaopt.farm.dask_client import SchedulerWatch
from antennaopt.farm.remote import RemoteScheduler

AWAY = CommClosedError("in <TCP (closed)>: Stream is closed")


class Client:
    """Connection that answers or fails as set; it returns after a number of checks."""

    scheduler = type("Rpc", (), {"ncores": None})

    def __init__(self, *answers, looks=0):
        self.answers, self.looks = list(answers), looks

    @property
    def status(self):
        self.looks -= 1
        return "connecting" if self.looks > 0 else "running"

    def sync(self, *_, **__):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_it_comes_back():
    """It used to end the run with the traceback of a closed connection."""
    watch = SchedulerWatch(Client(AWAY, {"a": 1}, looks=3), where="tcp://x", patience_s=SAFETY_S, ended=lambda: False)
    assert watch.workers() == {"a": 1}


@pytest.mark.parametrize("answer", [AWAY, TimeoutError()])
def test_it_does_not_come_back(answer):
    watch = SchedulerWatch(Client(answer), where="tcp://x", patience_s=0.6, ended=lambda: False)
    with pytest.raises(ClusterError, match=r"tcp://x has not answered for 0\.6 s; what was solved is saved"):
        watch.workers()


def test_a_remote_scheduler_that_is_away_has_workers_still_to_be_counted():
    remote = RemoteScheduler.__new__(RemoteScheduler)
    remote.client = Client(AWAY, {"a": 2, "b": 1})
    assert remote.worker_count == 1
    assert remote.worker_count == 3


def test_a_scheduler_that_is_known_to_have_ended_is_not_waited_for():
    watch = SchedulerWatch(Client(AWAY, looks=10**9), where="this machine", patience_s=10**9, ended=lambda: True)
    with pytest.raises(ClusterError, match="the scheduler at this machine is gone"):
        watch.workers()


@pytest.mark.parametrize(("queue_s", "ends"), [(0.0, True), (86400.0, False)])
def test_workers_that_a_queue_brings_may_be_gone_for_longer(monkeypatch, queue_s, ends):
    """All jobs of SLURM reach their wall time together, and the next ones may wait in the queue for hours."""
    watch = SchedulerWatch(Client({}), where="SLURM", patience_s=60.0, ended=lambda: False, queue_s=queue_s)
    assert watch.workers() == {}
    later = time.monotonic() + 3600.0
    monkeypatch.setattr(time, "monotonic", lambda: later)
    if ends:
        with pytest.raises(ClusterError, match="all workers of SLURM have been gone for 60 s"):
            watch.workers()
    else:
        assert watch.workers() == {}
