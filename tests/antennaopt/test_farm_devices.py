"""The farm with simulated devices: one process each, three batches at a time, no antenna lost."""

import os
import subprocess
import sys

import farm_solvers
import numpy as np
import pytest
from farm_solvers import jobs
from waiting import SAFETY_S

from antennaopt.errors import ClusterError
from antennaopt.farm import dask_pool
from antennaopt.farm.batches import cut_into_waves
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.run.progress import device_line
from antennaopt.solve import device
from fdtd.backends.cuda import present
from fdtd.errors import DeviceError, OutOfMemory
from fdtd.schemes.machine import HOPPER


@pytest.fixture
def started(monkeypatch):
    """Start a farm on a machine that seems to have devices."""

    def start(
        evaluate=farm_solvers.solve_on_device, *, devices=1, workers="auto", capacity=farm_solvers.capacity, **plan
    ):
        found = tuple(present.Found(uuid=f"GPU-{place}", name="toy", limits=HOPPER) for place in range(devices))
        monkeypatch.setattr(present, "devices", lambda: found)
        monkeypatch.setattr(dask_pool, "capacity", capacity)
        return DaskFarm(
            evaluate,
            family="test",
            plan={"nr": 20, "nz": 30, **plan},
            backend="cuda",
            cluster=ClusterSettings(workers=workers, dashboard=False),
        )

    return start


def test_batches_are_whole_waves_about_four_rounds_a_device():
    sizes = [len(batch) for batch in cut_into_waves(jobs(1054), 1, wave=132, most=10_000)]
    assert sizes == [264, 264, 264, 262]
    sizes = [len(batch) for batch in cut_into_waves(jobs(2112), 2, wave=132, most=10_000)]
    assert sizes == [264] * 8
    sizes = [len(batch) for batch in cut_into_waves(jobs(1188), 1, wave=132, most=264)]
    assert sizes == [264, 264, 264, 264, 132], "there is no more room"
    assert {len(batch) for batch in cut_into_waves(jobs(1056), 8, wave=132, most=10_000)} == {132}
    assert [len(batch) for batch in cut_into_waves(jobs(10), 1, wave=132, most=10_000)] == [10]
    assert max(len(batch) for batch in cut_into_waves(jobs(1056), 1, wave=132, most=100)) == 100
    assert {len(batch) for batch in cut_into_waves(jobs(6), 1, 3, wave=132, most=100)} == {3}


@pytest.mark.parametrize(
    ("population", "devices", "waves"),
    [(2112, 1, [2, 4, 4, 4, 2]), (4224, 1, [2, 8, 8, 8, 4, 2]), (8448, 4, [2, 4, 4, 4, 2]), (1320, 1, [2, 2, 2, 2, 2])],
)
def test_large_generations_begin_and_end_with_short_batches(population, devices, waves):
    """A device waits for its first batch, and the search for the last one: each is of two waves, all are as many."""
    sizes = [len(batch) for batch in cut_into_waves(jobs(population), devices, wave=132, most=10_000)]
    assert sizes == [132 * size for size in waves for _ in range(devices)]
    fewer = [len(batch) for batch in cut_into_waves(jobs(population - 5), devices, wave=132, most=10_000)]
    assert fewer == [*sizes[:-1], sizes[-1] - 5]


def test_smaller_generations_begin_and_end_with_one_wave_of_many_parts():
    """Nearly so cut, 1,054 lenses take 3 % less time on an H200 than as four equal batches (decision record 0048)."""
    sizes = [len(batch) for batch in cut_into_waves(jobs(1054), 1, wave=120, most=4000, at_once=15)]
    assert sizes == [120, 285, 270, 270, 109]
    sizes = [len(batch) for batch in cut_into_waves(jobs(2112), 1, wave=120, most=4000, at_once=15)]
    assert (sizes[0], sizes[-1]) == (240, 237), "large ones have two"
    sizes = [len(batch) for batch in cut_into_waves(jobs(580), 1, wave=120, most=4000, at_once=15)]
    assert sizes == [150, 150, 150, 130], "five batches of a wave are more than there are"


def test_short_batches_leave_no_others_larger_than_the_memory_allows():
    sizes = [len(batch) for batch in cut_into_waves(jobs(100_000), 1, wave=132, most=3000)]
    assert sum(sizes) == 100_000 and max(sizes) <= 3000
    assert (sizes[0], sizes[-4:]) == (264, [2112, 1056, 528, 208])
    assert max(len(batch) for batch in cut_into_waves(jobs(4000), 1, wave=132, most=140)) == 132


def test_a_generation_is_the_same_work_for_every_device():
    """2,110 antennas by sevens on four devices: four batches each, of 302 sevens in all 75 or 76 a device.

    As waves of 126 they were nine batches, and one device had three of them, 598 antennas in place of 528.
    """
    sizes = [len(batch) for batch in cut_into_waves(jobs(2110), 4, wave=126, most=1764, at_once=7)]
    assert sum(sizes) == 2110 and len(sizes) == 16
    assert set(sizes) <= {133, 126, 122}, "the last is short"
    shares = [sum(sizes[place::4]) for place in range(4)]
    assert max(shares) - min(shares) <= 7 + 4
    assert [len(batch) for batch in cut_into_waves(jobs(100), 4, wave=126, most=1764, at_once=7)] == [28, 28, 28, 16]
    most = [len(batch) for batch in cut_into_waves(jobs(2110), 1, wave=126, most=300, at_once=7)]
    assert sum(most) == 2110 and max(most) <= 300


def test_one_process_takes_three_batches_at_a_time(started, tmp_path):
    """With one device there is one process; of four batches three are under way. Any of them may end first."""
    with started(meet=str(tmp_path)) as farm:
        assert (farm.worker_count, farm.device["device"], farm.device["count"]) == (1, "toy GPU-0", 1)
        batches = farm.cut(jobs(18))
        outcomes = dict(farm.run(batches))
    assert [len(batch) for batch in batches] == [6, 6, 3, 3]
    assert {one.decay_db for one in outcomes.values()} == {2.0 * place for place in range(18)}
    assert len({one.field["pid"] for one in outcomes.values()}) == 1
    spans = sorted({(one.field["began"], one.field["ended"]) for one in outcomes.values()})
    assert len(spans) == 4
    first = min(ended for _, ended in spans[:3])
    assert spans[2][0] < first <= spans[3][0], "three overlap, and the fourth waits for whichever ends first"


def test_every_device_has_a_process_of_its_own(started):
    with started(devices=2, sleep_s=0.05) as farm:
        assert (farm.worker_count, farm.device["count"]) == (2, 2)
        outcomes = dict(farm.run(farm.cut(jobs(24))))
    of = {(one.field["pid"], one.device) for one in outcomes.values()}
    assert {device for _, device in of} == {"GPU-0", "GPU-1"}
    assert len(of) == 2


def test_antennas_in_space_have_several_processes_a_device(started, monkeypatch):
    """The host takes longer for one than the device; each process knows how many share its device."""
    monkeypatch.setattr(device, "usable_cores", lambda: 4)
    with started(devices=1, solver="yee", shape=[8, 8, 8]) as farm:
        assert (farm.worker_count, farm.device["count"], farm.device["shared_by"]) == (2, 1, 2)
        assert "1 x toy GPU-0, 2 processes each" in device_line({**farm.device, "scheme": "s", "reason": "r"})
        outcomes = dict(farm.run(farm.cut(jobs(18))))
    assert {one.worker for one in outcomes.values()} == {"0", "1"}
    assert {one.decay_db for one in outcomes.values()} == {2.0 * place for place in range(18)}


def test_how_many_processes_share_a_device(monkeypatch):
    monkeypatch.setattr(device, "usable_cores", lambda: 16)
    assert device.processes_a_device({"nr": 20, "nz": 30}, 1) == 1
    assert [device.processes_a_device({"solver": "yee"}, count) for count in (1, 2, 4, 16)] == [8, 4, 2, 1]
    small, large = ({"solver": "yee", "shape": shape} for shape in ([53, 30, 27], [64, 64, 32]))
    assert [device.processes_a_device(plan, 1) for plan in (small, large)] == [8, 6]


def test_devices_get_batches_as_they_were_cut(started, monkeypatch):
    """Also once the devices' speeds are known; towards the end batches of four were cut in 3 and 1."""
    monkeypatch.setattr("antennaopt.farm.dispatch.LEAST_S", 0.01)
    with started(devices=2, capacity=farm_solvers.capacity_one_by_one, sleep_s=0.02) as farm:
        for _ in range(2):
            batches = farm.cut(jobs(32))
            sizes = {name: len(batch) for batch in batches for name, _ in batch}
            assert {key: one.field["together"] for key, one in farm.run(batches)} == sizes


def test_a_batch_that_memory_cannot_hold_is_halved_and_nobody_is_lost(started):
    """12 antennas, room for 4: solved as 3 at a time, at the first attempt; later batches begin with 3."""
    with started(holds=4) as farm:
        outcomes = dict(farm.run([jobs(12)]))
        more = dict(farm.run([jobs(12)]))
    assert [one.decay_db for _, one in sorted(outcomes.items(), key=lambda pair: int(pair[0][1:]))] == [
        2.0 * place for place in range(12)
    ]
    assert {(one["status"], one["attempt"], one.field["together"]) for one in outcomes.values()} == {("ok", 1, 3)}
    assert {one.field["together"] for one in more.values()} == {3}


def test_one_antenna_too_many_says_what_would_help(started):
    with started(holds=0) as farm:
        outcomes = dict(farm.run([jobs(2)]))
    assert {one["status"] for one in outcomes.values()} == {"error"}
    assert all("too little memory for one antenna (2 GB, and 1 GB are free); use a larger cell" in one["error"]
               for one in outcomes.values())  # fmt: skip


def test_a_device_out_of_order_gets_a_new_process(started, tmp_path):
    with started(breaks_once_at=4.0, marker=str(tmp_path / "marker"), sleep_s=0.02) as farm:
        outcomes = dict(farm.run([jobs(18)[first : first + 3] for first in range(0, 18, 3)]))
    assert {one["status"] for one in outcomes.values()} == {"ok"}
    assert len(outcomes) == 18
    assert len({one.field["pid"] for one in outcomes.values()}) == 2


@pytest.mark.slow
def test_who_kills_the_worker_is_found_beside_others(started):
    """Two batches share the process that dies, and only the antenna to blame is given up."""
    with started(die_at=5.0) as farm:
        outcomes = dict(farm.run([jobs(8)[:4], jobs(8)[4:]]))
    assert [key for key, one in sorted(outcomes.items()) if one["status"] != "ok"] == ["i5"]
    assert outcomes["i5"]["status"] == "lost"


def test_field_of_one_antenna_comes_from_a_worker(started):
    with started(farm_solvers.field) as farm:
        outcome = farm.solve_alone({"x": 1.0}, {}, fields=True)
    assert outcome.sweep == {"fields": True}
    np.testing.assert_array_equal(outcome["field"], np.arange(3) * 1j)


def test_fewer_devices_than_workers_is_refused(started):
    with pytest.raises(ClusterError, match=r"cluster\.workers = 2, but this machine has 1 CUDA device"):
        started(workers=2)


def test_no_room_for_one_antenna_is_refused_at_once(started):
    with pytest.raises(OutOfMemory, match="one antenna needs about 3 GB"):
        started(capacity=farm_solvers.no_capacity)


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia/version"), reason="this machine has a device")
def test_no_device_says_so():
    with pytest.raises(DeviceError, match="no NVIDIA driver here; use --backend cpu"):
        DaskFarm(farm_solvers.solve, family="test", plan={}, backend="cuda", cluster=ClusterSettings(dashboard=False))


def test_each_of_two_threads_has_its_own_time_limit():
    """One thread's batch ends in time, and the other's limit still ends the process.

    A machine that stands still for the whole limit between the two gets a longer one.
    """
    code = """
import sys, threading, time
from antennaopt.farm.task import watchdog

def slow():
    with watchdog(float(sys.argv[1])):
        begun.set()
        time.sleep(1000.0)

begun = threading.Event()
threading.Thread(target=slow).start()
with watchdog(1000.0):
    begun.wait()
print("in time", flush=True)
"""
    for limit_s in (0.5, 5.0, 50.0):
        command = [sys.executable, "-c", code, str(limit_s)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SAFETY_S)
        assert done.returncode == 1
        if done.stdout:
            break
    assert done.stdout == "in time\n"
