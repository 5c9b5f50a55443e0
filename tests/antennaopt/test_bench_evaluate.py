"""`bench evaluate` on a device that is made up: several batches, three at a time, and where their time goes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from config_files import WAVEGUIDE
from threadpoolctl import threadpool_info, threadpool_limits
from waiting import wait_until

from antennaopt.bench import evaluate as bench
from antennaopt.experiment import load_antenna
from antennaopt.solve import device as _device
from fdtd.errors import DeviceError


@pytest.fixture
def solved(monkeypatch):
    """Step one batch at a time on the device, each while the next two are there already; keep what was asked.

    Three batches warm up and six are timed; the last two of each have fewer after them.
    """
    asked, stepped, stepping = [], [], threading.Lock()

    def evaluate(family, designs, plan, *, backend, options):
        steps = options.max_steps or plan["max_steps"]
        asked.append((len(designs), steps, threading.get_ident()))
        with stepping:
            phase = 3 if len(stepped) < 3 else 9
            wait_until(lambda: len(asked) >= min(len(stepped) + 3, phase), "the next two batches while this one steps")
            stepped.append(steps)
        for name, seconds in {"rasterise": 0.04, "wait": 0.01, "step": 0.04, "transform": 0.0}.items():
            options.stages[name] = options.stages.get(name, 0.0) + seconds
        return [{"status": "ok", "steps": 77}] * len(designs)

    monkeypatch.setattr(bench, "evaluator_of", lambda family: evaluate)
    monkeypatch.setattr(
        _device,
        "capacity",
        lambda plan: {"scheme": "wavefront", "device": "toy", "wave": 5, "antennas": 100, "reason": ""},
    )
    return asked


def test_products_of_matrices_take_one_core_as_in_a_worker(monkeypatch, tmp_path):
    """On busy cores the threads of BLAS wait for each other: far fields took twenty times as long."""
    found = []

    def evaluate(family, designs, plan, *, backend, options):
        found.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        options.stages["step"] = 1.0
        return [{"status": "ok", "steps": 77}] * len(designs)

    monkeypatch.setattr(bench, "evaluator_of", lambda family: evaluate)
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    with threadpool_limits(2, user_api="blas"):
        bench.bench_evaluate(load_antenna(tmp_path / "guide.toml", []), backend="cpu", batch=1, repeat=1)
    assert found
    assert set(found) == {1}


def test_a_device_gets_batches_of_two_waves_three_at_a_time(solved, tmp_path):
    """Six batches, each but the first prepared while another is stepped, on three threads."""
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    (row,) = bench.bench_evaluate(load_antenna(tmp_path / "guide.toml", []), backend="cuda", repeat=1)
    warm, timed = solved[:3], solved[3:]
    assert {size for size, _, _ in solved} == {10}
    assert len(timed) == 6
    assert warm[0][1] < timed[0][1]
    assert len({thread for _, _, thread in timed}) == 3
    assert (row["scheme"], row["device"], row["batch"], row["steps"]) == ("wavefront", "toy", 10, 77)
    assert row["stage_seconds"]["step"] == pytest.approx(0.004)
    assert row["stage_seconds"]["wait"] == pytest.approx(0.001)
    assert row["stepping_share"] == pytest.approx(0.004 * row["antennas_per_s"])
    cells = row["shape"][0] * row["shape"][1]
    assert row["cell_steps_per_s"] == pytest.approx(cells * 77 / row["stage_seconds"]["step"])


@pytest.mark.skipif(bool(find_spec("cupy")), reason="there may be a device")
def test_processes_that_fail_end_the_others_that_wait_for_them():
    """Each waits for all others before it is timed; the first fault ends that, and is the one that is raised."""
    made = {"solver": "yee", "nr": 1, "nz": 1}
    with bench._Timed(2, "patch", made, "cuda") as timed, pytest.raises(DeviceError, match="needs CuPy"):
        timed([[{}]])


def test_parts_of_several_processes_are_one_timing(monkeypatch):
    """All begin at once; the slowest decides the time, stages are added up."""
    waited = iter((0.5, 2.0))

    def part(together, family, made, backend, batches, max_steps):
        together.wait()
        return next(waited), {"step": 3.0, "rest": 1.0}, 77

    monkeypatch.setattr(bench, "_part", part)
    monkeypatch.setattr(bench, "ProcessPoolExecutor", lambda count, **_: ThreadPoolExecutor(count))
    manager = SimpleNamespace(Barrier=threading.Barrier, shutdown=lambda: None)
    monkeypatch.setattr(bench, "get_context", lambda _: SimpleNamespace(Manager=lambda: manager))
    with bench._Timed(2, "patch", {}, "cuda") as timed:
        assert timed([[{}]]) == (2.0, {"step": 6.0, "rest": 2.0}, 77)


def test_a_patch_is_timed_whole_on_the_fixed_lattice_and_as_its_half(monkeypatch):
    """The lattice of earlier versions stays: 64 x 64 x 32 cells. Studies solve half of them."""

    def evaluate(family, designs, plan, *, backend, options):
        options.stages["step"] = 1.0
        return [{"status": "ok", "steps": 77}] * len(designs)

    monkeypatch.setattr(bench, "evaluator_of", lambda family: evaluate)
    file = Path(__file__).parents[2] / "experiments" / "reference_patch.toml"
    whole, half = bench.bench_evaluate(load_antenna(file, []), backend="cpu", batch=1, repeat=1)
    assert (whole["shape"], whole["parts"]) == ([64, 64, 32], 1)
    assert (half["shape"], half["parts"]) == ([64, 32, 32], 2)
