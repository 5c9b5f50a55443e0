"""The arithmetic class of a run: what is in it, and what differs from the one that a manifest holds."""

from types import SimpleNamespace

import pytest

from antennaopt.solve import arithmetic as module
from antennaopt.solve.arithmetic import arithmetic_class, class_changes, run_class
from antennaopt.solve.device import AS_THE_WORKER
from fdtd.backends import cuda
from fdtd.backends.cpu import compiled
from fdtd.backends.cuda.device import CudaDevice

NOW = {"backend": "cpu", "precision": "float32", "solver": "0.1.0+1", "numpy": "2.4.6", "search": "0.1.0+2"}
OF_VERSION_0_1 = {
    "backend": "cpu",
    "precision": "float32",
    "scheme": None,
    "tile": None,
    "device": None,
    "processor": "AMD EPYC",
    "versions": {"antennaopt": "0.1.0", "numpy": "2.4.6", "numba": "0.68.1", "deap": "1.4.4"},
}


def test_the_class_of_the_cpu_names_text_kernels_compiler_and_processor(monkeypatch):
    found = arithmetic_class("cpu", "float32")
    assert {"backend", "precision", "solver", "kernels", "compiler", "target", "processor", "numpy", "scipy"} == {
        *found
    }
    assert found["compiler"].startswith("Numba 0.")
    assert "llvmlite 0." in found["compiler"]
    assert found["target"].count(",") == 2
    monkeypatch.setattr(module, "own_backend", lambda: "cpu")
    assert arithmetic_class(AS_THE_WORKER, "float32") == found
    monkeypatch.setattr(compiled, "KERNEL_DIGEST", "another")
    monkeypatch.setenv("NUMBA_OPT", "1")
    changed = arithmetic_class("cpu", "float32")
    assert {name for name in found if changed[name] != found[name]} == {"kernels", "compiler"}


def test_the_class_of_a_device_names_compiler_and_driver(monkeypatch):
    """A CUDA device of a made-up CuPy; another NVRTC is another class."""

    def device(nvrtc):
        runtime = SimpleNamespace(driverGetVersion=lambda: 13000)
        one = CudaDevice.__new__(CudaDevice)
        one._cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime, nvrtc=SimpleNamespace(getVersion=nvrtc)))
        one.name, one.limits = "NVIDIA H200", SimpleNamespace(capability=90)
        return lambda: one

    monkeypatch.setattr(cuda, "device", device(lambda: (13, 0)))
    found = arithmetic_class("cuda", "float32")
    assert found["device"] == "NVIDIA H200, compute capability 9.0, driver 13000"
    assert (found["compiler"], len(found["kernels"])) == ("NVRTC 13.0", 12)
    assert "processor" not in found
    monkeypatch.setattr(cuda, "device", device(lambda: (13, 1)))
    later = arithmetic_class("cuda", "float32")
    assert class_changes(run_class([found]), run_class([later])) == ["compiler: NVRTC 13.0 -> NVRTC 13.1"]


def test_workers_that_differ_stand_side_by_side():
    """In any order, and as often as they come."""
    one, other = NOW | {"processor": "A"}, NOW | {"processor": "B"}
    found = run_class([one, other, one])
    assert (found["processor"], found["numpy"]) == ("A; B", "2.4.6")
    assert class_changes(found, run_class([other, one])) == []
    assert class_changes(found, run_class([one])) == ["processor: A; B -> A"]


def test_another_search_is_another_class_of_runs(monkeypatch):
    """Not of evaluations: the cache does not care which search asks."""
    before = run_class([NOW])
    monkeypatch.setattr(module, "installed", lambda names: {"deap": "9.9"} if "deap" in names else {})
    (change,) = class_changes(before, run_class([NOW]))
    assert change.startswith("search: 0.1.0+")
    assert change.endswith("DEAP 9.9")
    assert "deap" not in " ".join(arithmetic_class("reference", "float64")).lower()


def test_one_line_names_one_difference():
    then = NOW | {"numpy": "2.4.5", "solver": "0.1.0+0", "cupy-cuda13x": "14.0"}
    assert class_changes(then, NOW | {"scipy": "1.17.1"}) == [
        "solver: 0.1.0+0 -> 0.1.0+1", "numpy: 2.4.5 -> 2.4.6", "scipy: none -> 1.17.1", "cupy-cuda13x: 14.0 -> none",
    ]  # fmt: skip
    assert class_changes(NOW, NOW) == []


def test_a_run_of_version_0_1_says_what_it_did_not_record():
    """Its versions stand in a table of their own; what it has and the class has not is no difference."""
    assert class_changes(OF_VERSION_0_1, NOW) == ["solver, search: not recorded when the run began"]
    versions = OF_VERSION_0_1["versions"] | {"numpy": "1.0"}
    changes = class_changes(OF_VERSION_0_1 | {"versions": versions}, NOW)
    assert changes == ["numpy: 1.0 -> 2.4.6", "solver, search: not recorded when the run began"]


@pytest.mark.parametrize("broken", ["../../outside", 7, [1], None, {}, {"versions": 7}, {"versions": {"numpy": [1]}}])
def test_what_is_no_table_of_texts_is_not_recorded(broken):
    """Found by hypothesis: a resume ended in a traceback."""
    (change,) = class_changes(broken, NOW)
    assert change == "backend, precision, solver, numpy, search: not recorded when the run began"


def test_workers_that_do_not_answer_claim_nothing():
    assert class_changes(NOW, run_class([])) == ["the workers did not say what they solve with"]
    assert "solver" not in run_class([])
