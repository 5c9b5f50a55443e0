"""Who gets how many antennas: greedy and assignment, the tail, and workers of two kinds in one farm."""

import os
import time

import farm_solvers
import pytest
from config_files import LENS
from farm_solvers import jobs

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_experiment
from antennaopt.farm import devices as _devices
from antennaopt.farm import workers as _crew
from antennaopt.farm.batches import Batch, Queue
from antennaopt.farm.dispatch import Hand, Policy
from antennaopt.farm.pool import Farm
from antennaopt.farm.settings import ClusterSettings
from fdtd.backends.cuda import present
from fdtd.schemes.machine import HOPPER


def generation(hands, policy, count, speeds):
    """Deal a generation out in simulated time; return when each worker stops, and each batch's size by worker."""
    free_at = dict.fromkeys(hands, 0.0)
    under_way, sizes, now, waiting = [], {name: [] for name in hands}, 0.0, count
    while waiting or under_way:
        for name, hand in hands.items():
            if waiting and not hand.batches and (share := policy.share(hand, hands.values(), waiting)):
                waiting -= share
                hand.batches, hand.antennas = 1, share
                seconds = share / speeds[name]
                under_way.append((now + seconds, name, share, seconds))
                sizes[name].append(share)
        under_way.sort()
        now, name, share, seconds = under_way.pop(0)
        hands[name].learn(share, seconds)
        hands[name].batches = hands[name].antennas = 0
        free_at[name] = now
    return free_at, sizes


def hands(**kinds):
    return {name: Hand(address=name, **about) for name, about in kinds.items()}


@pytest.mark.parametrize("policy", ["greedy", "assignment"])
def test_a_slow_worker_does_not_hold_up_a_generation(policy):
    """A device of 100/s that steps 10 at a time and a core of 1/s: 1,000 antennas take 9.9 s at best.

    After one generation, which measures them, both stop within one smallest batch of each other (1 s), and the whole
    takes less than 11 s. Without the tail and without holding back a batch of 64 on the core takes 64 s.
    """
    crew = hands(device={"backend": "cuda", "grain": 10, "usual": 250, "most": 500}, core={"usual": 64})
    speeds = {"device": 100.0, "core": 1.0}
    generation(crew, Policy(name=policy, target_s=2.0), 1000, speeds)
    ends, _ = generation(crew, Policy(name=policy, target_s=2.0), 1000, speeds)
    assert max(ends.values()) < 11.0


def test_assignment_keeps_each_busy_for_the_target_time():
    """F = S x T: with 50/s and 10/s and 2 s, 100 and 20 at a time, in whole multiples of what is stepped at once."""
    crew = hands(fast={"speed": 50.0, "measured": 2, "grain": 10, "most": 1000}, slow={"speed": 10.0, "measured": 2})
    policy = Policy(name="assignment", target_s=2.0)
    assert policy.share(crew["fast"], crew.values(), 10_000) == 100
    assert policy.share(crew["slow"], crew.values(), 10_000) == 20
    assert policy.share(crew["fast"], crew.values(), 120) == 50, "half of its five sixths when little is left"


def test_a_worker_with_two_places_has_both_filled():
    """Of 48 antennas, 1 s of work, a lone worker that takes two batches gets two of 24, not one of 48."""
    crew = hands(lone={"speed": 48.0, "measured": 2, "places": 2})
    policy = Policy(name="assignment", target_s=10.0)
    assert policy.share(crew["lone"], crew.values(), 48) == 24
    crew["lone"].batches = 1
    assert policy.share(crew["lone"], crew.values(), 24) == 24
    crew["lone"].batches, crew["lone"].speed = 0, 1000.0
    assert policy.share(crew["lone"], crew.values(), 48) == 48, "48 ms of work are not worth a cut"


def test_a_first_batch_that_compiled_does_not_keep_a_core_idle_for_good():
    """Two like cores of 12/s, one of which took 0.6 s for its first antenna: of the next six it gets some too."""
    crew = hands(one={"speed": 12.0, "measured": 4, "batches": 1, "antennas": 1}, other={"speed": 1.6, "measured": 1})
    policy = Policy()
    assert policy.share(crew["other"], crew.values(), 5) > 0
    crew["other"].measured = 2
    assert policy.share(crew["other"], crew.values(), 5) == 0, "measured again it is slow indeed"
    assert policy.share(crew["other"], crew.values(), 5, somebody_must=True) > 0, "when what others have is given up"


def test_a_first_batch_is_believed_of_a_core_beside_a_device_alone():
    """A core of 1/s after one batch holds nothing up beside a device of 100/s; a device after one gets another."""
    device = {"backend": "cuda", "grain": 10, "most": 500}
    policy = Policy()
    crew = hands(device={**device, "speed": 100.0, "measured": 4, "batches": 1}, core={"speed": 1.0, "measured": 1})
    assert policy.share(crew["core"], crew.values(), 20) == 0
    crew = hands(device={**device, "speed": 1.0, "measured": 1}, core={"speed": 12.0, "measured": 4, "batches": 1})
    assert policy.share(crew["device"], crew.values(), 20) > 0


def test_nobody_is_idle_for_ever():
    """A core that would take longer than all others gets nothing while these work, and all when they are gone."""
    crew = hands(device={"speed": 100.0, "batches": 1, "antennas": 50}, core={"speed": 0.1, "measured": 2})
    policy = Policy()
    assert policy.share(crew["core"], crew.values(), 10) == 0
    crew["device"].batches = crew["device"].antennas = 0
    assert policy.share(crew["core"], crew.values(), 10) > 0
    assert policy.share(crew["core"], [crew["core"]], 10) == 10


def test_the_first_batch_compiles_and_says_little_of_the_speed():
    one = Hand(address="a")
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


def kind(plan):
    """Stand in for a worker that finds out whether it has a device."""
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        return {**farm_solvers.room(plan), "backend": "cuda"}
    return {"backend": "cpu"}


def solve_by_kind(family, designs, plan, *, backend):
    time.sleep(len(designs) * (0.02 if os.environ.get("CUDA_VISIBLE_DEVICES") else 0.1))
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    about = {"steps": 7, "pid": os.getpid(), "device": backend, "seen": seen}
    return [{"status": "ok", "value": 2.0 * one["x"], **about} for one in designs]


@pytest.mark.parametrize("policy", ["greedy", "assignment"])
def test_workers_with_and_without_a_device_in_one_farm(policy, monkeypatch):
    """One seeming device (3 at a time, 50/s) and one core (10/s) both solve; nothing is lost, the slower does less.

    The farm's own backend is cuda. A worker solves with what it has: the one without a device by the CPU.
    """
    monkeypatch.setattr(present, "devices", lambda: (present.Found(uuid="GPU-0", name="toy", limits=HOPPER),))
    monkeypatch.setattr(_crew, "kind_of_worker", kind)
    monkeypatch.setattr(_devices, "kind_of_worker", kind)
    cluster = ClusterSettings(workers={"cuda": 1, "cpu": 1}, dispatch=policy, target_time=0.3)
    with Farm(solve_by_kind, family="t", plan={}, backend="cuda", cluster=cluster, dashboard=False) as farm:
        assert farm.backends == ("cpu", "cuda")
        assert farm.worker_count == 2
        for _ in range(2):
            outcomes = dict(farm.run(farm.cut(jobs(60))))
            assert {key: one["value"] for key, one in outcomes.items()} == {f"i{n}": 2.0 * n for n in range(60)}
        by_worker = [one["pid"] for one in outcomes.values()]
        counts = sorted(by_worker.count(pid) for pid in set(by_worker))
    assert len(counts) == 2
    assert counts[0] < counts[1]
    assert {one["device"] for one in outcomes.values() if not one["seen"]} == {"cpu"}


def test_workers_on_cores_see_no_device_of_the_machine():
    """`workers = { cpu = 2 }` on a machine with devices: no worker may take one for its own and solve there."""
    with Farm(solve_by_kind, family="t", plan={}, cluster=ClusterSettings(workers={"cpu": 2}), dashboard=False) as farm:
        outcomes = dict(farm.run(farm.cut(jobs(4))))
    assert {one["seen"] for one in outcomes.values()} <= {"", "none"}
    assert {one["device"] for one in outcomes.values()} == {"cpu"}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("workers = { gpu = 1 }", "takes the keys cuda and cpu"),
        ("workers = { cpu = 0 }", 'must be "auto" or a whole number >= 1'),
        ('dispatch = "lottery"', "is not one of 'greedy' or 'assignment'"),
    ],
)
def test_what_cannot_be_is_refused(entry, said, tmp_path):
    file = tmp_path / "lens.toml"
    file.write_text(f"{LENS}\n[cluster]\n{entry}\n")
    with pytest.raises(ConfigurationError) as refused:
        load_experiment(file)
    assert said in str(refused.value)
