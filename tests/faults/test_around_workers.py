"""What happens around the workers of whole runs: a late result, a scheduler that ends, a driver that stood still."""

import time

import bits
import cheap_lens
import pytest
from struck_farms import Striking, farms, in_flight, worker_pids, workers
from waiting import wait_until

from antennaopt.farm import dask_pool as farm_module
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm


@pytest.mark.slow
@pytest.mark.parametrize("equal", [True, False])
def test_a_late_result_is_compared_with_the_first(tmp_path, equal):
    """A batch given up while its worker still solves it (no watchdog, no kill) is solved by another.

    Then the first attempt, released by the test, ends too. It is not returned again, and logged when it differs.
    """
    told = []

    def note(event, **details):
        if event == "late_duplicate":
            told.append(details)
            (tmp_path / "told").touch()

    cluster = ClusterSettings(workers=2, dashboard=False)
    with DaskFarm(late, family="t", plan={"equal": equal, "folder": str(tmp_path)}, cluster=cluster,
              time_limit_s=5.0) as farm:  # fmt: skip
        farm.on_event = note
        farm.pool.cluster.kill_worker = lambda worker: False
        patch, farm_module.GRACE_S = farm_module.GRACE_S, 0.2
        outcomes = {}
        try:
            for key, outcome in farm.run(
                [[("slow", {"x": 1.0})], *([(f"i{place}", {"x": 0.0})] for place in range(4))]
            ):
                assert key not in outcomes
                outcomes[key] = outcome
                if key == "slow":
                    (tmp_path / "let_go").touch()
                    farm.submit([[("last", {"x": 2.0})]])  # keeps the farm at work until the late one is there
        finally:
            farm_module.GRACE_S = patch
    assert sorted(outcomes) == sorted(["slow", "last", *(f"i{place}" for place in range(4))])
    assert outcomes["slow"].decay_db == 1.0
    assert outcomes["slow"]["attempt"] == 2
    assert told == [{"individuals": ["slow"], "count": 1, "equal": equal}]


def late(family, designs, plan, *, backend):
    """The first attempt at x = 1 has no watchdog and waits until it is let go; x = 2 waits for word of its result."""
    import faulthandler

    x, folder = designs[0]["x"], cheap_lens.Path(plan["folder"])
    first = x == 1.0 and cheap_lens.struck_again(folder, designs[0], 1)
    if first:
        faulthandler.cancel_dump_traceback_later()
        wait_until((folder / "let_go").exists)
    if x == 2.0:
        wait_until((folder / "told").exists)
    return [{"status": "ok", "decay_db": 2.0 if first and not plan["equal"] else 1.0}]


@pytest.mark.slow
def test_a_scheduler_that_ends_is_rebuilt_and_all_is_sent_again(quiet, tmp_path):
    """Our own scheduler is ended twice in mid-batch, its connections cut: new workers, no attempt lost, same bits."""
    ended = []

    def end():
        """End the one that is there, each once, while its workers have batches."""
        cluster = farms[-1].pool.cluster._cluster
        if len(ended) == 2 or cluster in ended or not any(one.started for one in in_flight()):
            return
        ended.append(cluster)
        cluster.loop.add_callback(cluster.scheduler.close)

    with Striking(end, first_s=0.1, every_s=0.1):
        folder = cheap_lens.start(tmp_path, farm=workers(), sleep_s=0.25).folder
    assert len(ended) == 2
    bits.assert_equal(folder, quiet)
    assert len(bits.events(folder, "scheduler_rebuilt")) == 2
    wait_until(lambda: not worker_pids(), "the end of all workers")


@pytest.mark.slow
def test_a_scheduler_that_ends_while_the_driver_queries_the_workers_is_rebuilt():
    """Its end came after the driver had looked for it: the run ended, once the client had tried for 60 s."""
    told = []
    with DaskFarm(
        cheap_lens.bowl, family="t", plan={"sleep_s": 0.05}, cluster=ClusterSettings(workers=1, dashboard=False)
    ) as farm:
        farm.on_event = lambda event, **details: told.append(event)
        query, cluster = farm.pool.watch.workers, farm.pool.cluster._cluster

        def ends_first():
            cluster.loop.add_callback(cluster.scheduler.close)
            wait_until(lambda: cluster.scheduler.status.name != "running")
            return query()

        farm.pool.watch.workers = ends_first
        design = {f"lens.radii.{place}": 0.01 for place in range(4)}
        outcomes = farm.run([[(f"i{number}", design)] for number in range(4)])
        farm.pool.refresh_workers()
        assert {outcome["status"] for _, outcome in outcomes} == {"ok"}
    assert told == ["scheduler_rebuilt"]


@pytest.mark.slow
def test_the_driver_was_stopped_itself_and_gives_nobody_up(quiet, tmp_path, monkeypatch):
    """The driver's thread sleeps for longer than any batch may take: that time counts against no batch."""
    monkeypatch.setattr(farm_module, "GRACE_S", 0.2)
    slept = []

    def sleepy(experiment, **given):
        farm = workers(time_limit_s=4.0)(experiment, **given)
        launch = farm._launch

        def launch_and_sleep():
            launch()
            if len(farm.pool.in_flight) == 2 and len(slept) < 2:
                slept.append(time.sleep(5.0))

        farm._launch = launch_and_sleep
        return farm

    folder = cheap_lens.start(tmp_path, farm=sleepy, sleep_s=0.05).folder
    assert len(slept) == 2
    bits.assert_equal(folder, quiet)
    assert not bits.events(folder, "attempt_failed", "quarantined")
