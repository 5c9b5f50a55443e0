"""How many antennas each worker gets: greedy and assignment, the tail, cores next to devices, and in one farm."""

import os
import time
from functools import cache

import farm_solvers
import pytest
from config_files import LENS
from farm_solvers import jobs

from antennaopt.bench.search import TimedPool
from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_experiment
from antennaopt.farm import dask_pool
from antennaopt.farm.batches import Batch, Queue
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.farm.dispatch import Dispatcher, Policy, WorkerState, plan_for_cores
from antennaopt.farm.farm import PoolFarm
from antennaopt.farm.interface import Worker
from fdtd.backends.cuda import present
from fdtd.schemes.machine import HOPPER

BOTH = pytest.mark.parametrize("policy", [Policy(), Policy(name="assignment", target_s=2.0)], ids=lambda one: one.name)


def states(**kinds):
    return {name: WorkerState(address=name, **about) for name, about in kinds.items()}


def timed_generations(devices, cores, *, wave, population, policy=Policy()):  # noqa: B008 - frozen
    """Deal four generations out on a clock of their own; return the time of each, s, and the batches of each worker.

    A device takes so long for a launch, with fewer antennas too; a core for an antenna.
    """
    capacity = {"wave": wave, "antennas": 100 * wave, "device": "made up"}
    there = {f"device{place}": Worker(backend="cuda", threads=2, device=capacity) for place in range(len(devices))}
    there |= {f"core{place}": Worker() for place in range(len(cores))}
    launches = {f"device{place}": seconds for place, seconds in enumerate(devices)}
    antennas = {f"core{place}": seconds for place, seconds in enumerate(cores)}

    def duration(address, outcomes):
        if address in launches:
            return launches[address] * -(-len(outcomes) // wave)
        return antennas[address] * len(outcomes)

    pool = TimedPool(lambda design: {"status": "ok", "steps": 1}, there, duration)
    farm = PoolFarm(pool, (None, "", "cuda"), {}, policy=policy, mixed=bool(cores), time_limit_s=1e9)
    walls = []
    for _ in range(4):
        began = pool.now
        outcomes = dict(farm.run(farm.cut(jobs(population))))
        assert len(outcomes) == population
        walls.append(pool.now - began)
    return walls, pool.dealt


@BOTH
def test_a_slow_worker_does_not_hold_up_a_generation(policy):
    """A device of 100/s that steps 10 at a time and a core of 1/s: 1,000 antennas take the device 10 s.

    The core's first batches, which measure it, hold up nothing, and no generation takes longer than without it.
    Without all that a batch of 64 on the core takes 64 s.
    """
    alone, _ = timed_generations([0.1], [], wave=10, population=1000, policy=policy)
    walls, _ = timed_generations([0.1], [1.0], wave=10, population=1000, policy=policy)
    assert all(beside <= without + 1e-9 for beside, without in zip(walls, alone, strict=True))
    assert max(walls) < 11.0


@cache
def times_alone(devices, population, policy):
    """Return the times of generations on devices of 132 antennas in 0.25 s."""
    return timed_generations([0.25] * devices, [], wave=132, population=population, policy=policy)[0]


@BOTH
@pytest.mark.parametrize(
    "population",
    [1, 100, 131, 132, 133, 264, 400, 528, 530, 660, pytest.param(2112, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("core_s", [0.003, 0.02, 0.08, 0.35, 5.0])
@pytest.mark.parametrize("count", [1, 8])
def test_cores_next_to_a_device_never_cost_time(policy, population, core_s, count):
    """A device that steps 132 in 0.25 s, as an H200 does in the rows of results/benchmarks/h200/farm_workers.json.

    Eight cores of 0.35 s an antenna took 24 of 528 antennas there and saved no launch: a generation took 5 % longer.
    """
    alone = times_alone(1, population, policy)
    walls, _ = timed_generations([0.25], [core_s] * count, wave=132, population=population, policy=policy)
    assert all(beside <= without + 1e-9 for beside, without in zip(walls, alone, strict=True))


@BOTH
@pytest.mark.parametrize("population", [400, 2110])
def test_nor_next_to_several_devices(policy, population):
    alone = times_alone(4, population, policy)
    walls, _ = timed_generations([0.25] * 4, [0.1] * 8, wave=132, population=population, policy=policy)
    assert all(beside <= without + 1e-9 for beside, without in zip(walls, alone, strict=True))


@BOTH
def test_a_core_gets_nothing_where_it_saves_no_launch(policy):
    """528 antennas are four launches of 132; eight slow cores solve 24 meanwhile, and 504 are four launches too.

    Only the two trial batches are theirs, of one antenna each, which the device solves as well.
    """
    _, dealt = timed_generations([0.25], [0.35] * 8, wave=132, population=528, policy=policy)
    assert all(sizes == [1, 1] for address, sizes in dealt.items() if address.startswith("core"))


def test_cores_that_save_a_launch_are_used():
    """540 antennas are five launches, 1.25 s; eight cores take the eight that make the fifth, in 0.35 s."""
    walls, dealt = timed_generations([0.25], [0.35] * 8, wave=132, population=536)
    assert walls[0] == pytest.approx(1.25)
    assert walls[1:] == pytest.approx([1.0] * 3)
    assert sum(dealt["device0"]) == 4 * 528 + 8
    fast, _ = timed_generations([0.1], [0.083] * 4, wave=10, population=1000)
    assert fast[-1] < 8.0, "four cores of 12/s each next to a device of 100/s: 10 s without them, 6.8 s at best"


def test_the_plan_counts_whole_launches():
    device = {"backend": "cuda", "grain": 132, "at_once": 132, "places": 2, "speed": 528.0, "measured": 9}
    workers = states(device=device, core={"speed": 3.0, "measured": 2})
    assert plan_for_cores(list(workers.values()), 528)[1] == 0
    assert plan_for_cores(list(workers.values()), 529)[1] == 1
    workers["core"].measured = 1
    assert plan_for_cores(list(workers.values()), 529)[1] == 0, "its speed is not known"
    workers["core"].measured, workers["device"].measured = 2, 2
    assert plan_for_cores(list(workers.values()), 529)[1] == 0, "nor is the device's"


def test_a_launch_takes_as_long_with_fewer_antennas():
    """The speed of a device is that of whole launches: 24 antennas in 0.25 s are not 96/s."""
    one = WorkerState(address="a", backend="cuda", at_once=132, measured=5, speed=528.0)
    one.learn(24, 0.25)
    assert one.speed == pytest.approx(528.0)


def test_assignment_keeps_each_busy_for_the_target_time():
    """F = S x T: with 50/s and 10/s and 2 s, 100 and 20 at a time, in whole multiples of what is stepped at once."""
    workers = states(
        fast={"speed": 50.0, "measured": 2, "grain": 10, "most": 1000}, slow={"speed": 10.0, "measured": 2}
    )
    policy = Policy(name="assignment", target_s=2.0)
    assert policy.share(workers["fast"], workers.values(), 10_000) == 100
    assert policy.share(workers["slow"], workers.values(), 10_000) == 20
    assert policy.share(workers["fast"], workers.values(), 120) == 50, "half of its five sixths when little is left"


def test_a_worker_with_two_places_has_both_filled():
    """Of 48 antennas, 1 s of work, a lone worker that takes two batches gets two of 24, not one of 48."""
    workers = states(lone={"speed": 48.0, "measured": 2, "places": 2})
    policy = Policy(name="assignment", target_s=10.0)
    assert policy.share(workers["lone"], workers.values(), 48) == 24
    workers["lone"].batches = 1
    assert policy.share(workers["lone"], workers.values(), 24) == 24
    workers["lone"].batches, workers["lone"].speed = 0, 1000.0
    assert policy.share(workers["lone"], workers.values(), 48) == 48, "48 ms of work are not worth a cut"


def test_a_first_batch_that_compiled_does_not_keep_a_core_idle_for_good():
    """Two like cores of 12/s, one of which took 0.6 s for its first antenna: of the next six it gets some too."""
    workers = states(
        one={"speed": 12.0, "measured": 4, "batches": 1, "antennas": 1}, other={"speed": 1.6, "measured": 1}
    )
    policy = Policy()
    assert policy.share(workers["other"], workers.values(), 5) > 0
    workers["other"].measured = 2
    assert policy.share(workers["other"], workers.values(), 5) == 0, "measured again it is slow indeed"
    assert policy.share(workers["other"], workers.values(), 5, must_take=True) > 0, "when what others have is given up"


def test_a_core_next_to_a_device_is_measured_by_trial_batches_first():
    """Two single antennas, of which the first compiles; a device whose first batch compiled gets another one."""
    device = {"backend": "cuda", "grain": 10, "at_once": 10, "most": 500}
    policy = Policy()
    workers = states(device={**device, "speed": 100.0, "measured": 4, "batches": 1}, core={"speed": 1.0, "measured": 1})
    assert policy.share(workers["core"], workers.values(), 20) == 0
    workers = states(device={**device, "speed": 1.0, "measured": 1}, core={"speed": 12.0, "measured": 4, "batches": 1})
    assert policy.share(workers["device"], workers.values(), 20) > 0
    capacity = {"wave": 10, "antennas": 100}
    there = {"device": Worker(backend="cuda", threads=2, device=capacity), "core": Worker()}
    dispatcher = Dispatcher(there, policy=policy, mixed=True)
    for _ in range(2):
        assert dispatcher.unmeasured() == ["core"]
        dispatcher.sent("core", 1, trial=True)
        assert dispatcher.unmeasured() == [], "it is busy"
        dispatcher.landed("core", 1, solved=1, seconds=0.3)
    assert dispatcher.unmeasured() == []
    dispatcher.refresh({"core": Worker()})
    assert dispatcher.next(10, one_each=False, nothing_in_flight=True) is not None, "without the device it gets work"


def test_no_worker_is_idle_for_ever():
    """A core that would take longer than all others gets nothing while these are there, and all when they are gone."""
    workers = states(device={"backend": "cuda", "speed": 100.0, "measured": 3, "batches": 1, "antennas": 50},
                     core={"speed": 0.1, "measured": 2})  # fmt: skip
    policy = Policy()
    assert policy.share(workers["core"], workers.values(), 10) == 0
    assert policy.share(workers["device"], workers.values(), 10) == 10
    assert policy.share(workers["core"], workers.values(), 10, must_take=True) > 0
    assert policy.share(workers["core"], [workers["core"]], 10) == 10
    workers["device"].backend = "cpu"
    assert policy.share(workers["core"], workers.values(), 10) == 0
    workers["device"].batches = workers["device"].antennas = 0
    assert policy.share(workers["core"], workers.values(), 10) > 0


def test_the_first_batch_compiles_and_says_little_of_the_speed():
    one = WorkerState(address="a")
    for seconds in (20.0, 1.0, 2.0):
        one.learn(10, seconds)
    assert one.speed == pytest.approx(0.5 * 10.0 + 0.5 * 5.0)
    one.learn(0, 1.0)
    assert one.measured == 3, "a batch in which nothing was solved says nothing"


def test_a_batch_is_split_for_a_smaller_share_and_one_that_failed_is_not():
    queue = Queue()
    queue.add([jobs(10)])
    assert [len(queue.next(4).jobs), queue.antennas] == [4, 6]
    queue.put_back([Batch(jobs=tuple(jobs(3)), attempt=2)])
    assert len(queue.next(1).jobs) == 3


def test_cores_take_from_the_end_of_what_was_cut_for_devices():
    """With one device from the last batch until it is used up; with two from the larger one of the last two."""
    queue = Queue()
    queue.add([jobs(6), jobs(6), jobs(6)])
    assert [len(queue.take_from_end(4, 1).jobs) for _ in range(2)] == [4, 2]
    assert len(queue) == 2
    assert [len(queue.take_from_end(4, 2).jobs) for _ in range(2)] == [4, 4]
    queue.put_back([Batch(jobs=tuple(jobs(9)), attempt=2)])
    assert len(queue.take_from_end(9, 3).jobs) == 2, "one that failed is left alone"


def kind(plan):
    """Stand in for a worker that finds out whether it has a device."""
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        return {**farm_solvers.capacity(plan), "backend": "cuda"}
    return {"backend": "cpu"}


def solve_by_kind(family, designs, plan, *, backend):
    time.sleep(len(designs) * (0.02 if os.environ.get("CUDA_VISIBLE_DEVICES") else 0.1))
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    about = {"steps": 7, "device": backend, "field": {"pid": os.getpid(), "seen": seen}}
    return [{"status": "ok", "decay_db": 2.0 * one["x"], **about} for one in designs]


@pytest.mark.parametrize("policy", [pytest.param("greedy", marks=pytest.mark.slow), "assignment"])
def test_workers_with_and_without_a_device_in_one_farm(policy, monkeypatch):
    """One seeming device (3 at a time, 50/s) and one core (10/s) both solve; nothing is lost, the slower does less.

    The farm's own backend is cuda. A worker solves with what it has: the one without a device by the CPU.
    """
    monkeypatch.setattr(present, "devices", lambda: (present.Found(uuid="GPU-0", name="toy", limits=HOPPER),))
    monkeypatch.setattr(dask_pool, "kind_of_worker", kind)
    cluster = ClusterSettings(dashboard=False, workers={"cuda": 1, "cpu": 1}, dispatch=policy, target_time=0.3)
    with DaskFarm(solve_by_kind, family="t", plan={}, backend="cuda", cluster=cluster) as farm:
        assert farm.backends == ("cpu", "cuda")
        assert farm.worker_count == 2
        for _ in range(2):
            outcomes = dict(farm.run(farm.cut(jobs(60))))
            assert {key: one.decay_db for key, one in outcomes.items()} == {f"i{n}": 2.0 * n for n in range(60)}
        by_worker = [one.field["pid"] for one in outcomes.values()]
        counts = sorted(by_worker.count(pid) for pid in set(by_worker))
    assert len(counts) == 2
    assert counts[0] < counts[1]
    assert {one.device for one in outcomes.values() if not one.field["seen"]} == {"cpu"}


def test_workers_on_cores_see_no_device_of_the_machine():
    """`workers = { cpu = 2 }` on a machine with devices: no worker may take one for its own and solve there."""
    with DaskFarm(
        solve_by_kind, family="t", plan={}, cluster=ClusterSettings(workers={"cpu": 2}, dashboard=False)
    ) as farm:
        outcomes = dict(farm.run(farm.cut(jobs(4))))
    assert {one.field["seen"] for one in outcomes.values()} <= {"", "none"}
    assert {one.device for one in outcomes.values()} == {"cpu"}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("workers = { gpu = 1 }", "takes the keys cuda and cpu"),
        ("workers = { cpu = 0 }", 'must be "auto" or a whole number from 1 to 100000'),
        ('dispatch = "lottery"', "is not one of 'greedy' or 'assignment'"),
    ],
)
def test_what_cannot_be_is_refused(entry, said, tmp_path):
    file = tmp_path / "lens.toml"
    file.write_text(f"{LENS}\n[cluster]\n{entry}\n")
    with pytest.raises(ConfigurationError) as refused:
        load_experiment(file)
    assert said in str(refused.value)
