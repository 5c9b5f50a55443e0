"""`antennaopt doctor` on machines that have devices, or nearly: a made-up driver answers in place of the real one."""

import functools
import json

import pytest

from antennaopt.bench import support
from antennaopt.errors import ClusterError
from antennaopt.solve.device import chosen_backend
from fdtd.backends.cuda import present
from fdtd.errors import DeviceError, KernelBuildError

ATTRIBUTES = {16: 132, 75: 9, 76: 0, 82: 65536, 97: 232448}


class Driver:
    """Answers as libcuda does: a code, and values in what it is given by reference."""

    def __init__(self, *, version=13000, count=2, capability=(9, 0), names=("NVIDIA H200", "NVIDIA H200")):
        self.version, self.count, self.names = version, count, names
        self.attributes = {**ATTRIBUTES, 75: capability[0], 76: capability[1]}

    def cuDriverGetVersion(self, version):  # noqa: N802
        version._obj.value = self.version
        return 0

    def cuDeviceGetCount(self, count):  # noqa: N802
        count._obj.value = self.count
        return 0

    def cuDeviceGet(self, device, place):  # noqa: N802
        device._obj.value = place
        return 0

    def cuDeviceGetName(self, name, size, device):  # noqa: N802
        name.value = self.names[device.value].encode()
        return 0

    def cuDeviceGetUuid(self, raw, device):  # noqa: N802
        raw[15] = device.value
        return 0

    def cuDeviceTotalMem_v2(self, memory, device):  # noqa: N802
        memory._obj.value = 140 * 10**9
        return 0

    def cuDeviceGetAttribute(self, value, which, device):  # noqa: N802
        value._obj.value = self.attributes[which]
        return 0


@pytest.fixture
def machine(monkeypatch):
    def have(driver, package="cupy-cuda13x 14.2.0"):
        monkeypatch.setattr(present, "_driver", lambda: driver)
        monkeypatch.setattr(present, "cupy_package", lambda: package)

    return have


@pytest.fixture
def doctor(call):
    return functools.partial(call, "doctor")


def test_devices_come_from_the_driver(machine):
    machine(Driver())
    first, second = present.devices()
    assert (first.name, first.uuid) == ("NVIDIA H200", "GPU-00000000-0000-0000-0000-000000000000")
    assert second.uuid.endswith("0001")
    assert (first.limits.capability, first.limits.multiprocessors, first.limits.shared_bytes) == (90, 132, 232448)


@pytest.mark.parametrize(
    ("driver", "package", "says"),
    [
        (Driver(), None, r"CuPy is not installed, and there is a driver for CUDA 13\.0; `pip install 'antennaopt\[cud"),
        (
            Driver(version=12040),
            "cupy-cuda13x 14.2.0",
            r"runs CUDA 12\.4 and is too old for cupy-cuda13x 14\.2\.0 \(ne",
        ),
        (Driver(count=0), "cupy-cuda12x 14", "finds no device"),
        (Driver(capability=(7, 5)), "cupy-cuda12x 14", r"compute capability 7\.5, and the kernels need 8\.0 or later"),
    ],
)
def test_what_is_missing_is_said_with_what_would_help(machine, driver, package, says, capsys):
    """`cuda` is refused; `auto` names the reason and takes the CPU."""
    machine(driver, package)
    with pytest.raises(DeviceError, match=says):
        present.devices()
    with pytest.raises(ClusterError, match="--backend cuda: "):
        chosen_backend("cuda")
    assert chosen_backend("auto", quiet=False) == "cpu"
    assert capsys.readouterr().err.startswith("backend cpu: ")


def test_auto_takes_the_devices_that_are_there(machine, capsys):
    machine(Driver())
    assert chosen_backend("auto", quiet=False) == "cuda"
    assert capsys.readouterr().err == "backend cuda: 2 x NVIDIA H200\n"
    assert chosen_backend("cpu", quiet=False) == "cpu"
    assert chosen_backend("auto", remote=True) == "cpu", "a scheduler's workers may have none"


def test_a_schedulers_workers_need_no_device_here(machine):
    machine(Driver(count=0))
    assert chosen_backend("cuda", remote=True) == "cuda"


def test_doctor_shows_devices_schemes_and_the_self_test(machine, doctor, monkeypatch):
    machine(Driver())
    monkeypatch.setattr(support, "self_test", lambda *backend, **options: passed())
    code, out, _ = doctor()
    assert code == 0
    assert "backend    cuda: yes, driver for CUDA 13.0, cupy-cuda13x 14.2.0, 2 devices" in out
    assert "device 1   NVIDIA H200, compute capability 9.0, 130.4 GiB, 132 multiprocessors" in out
    assert "scheme     bor wavefront: yes" in out
    assert "scheme     bor skewed: no, skewed does not suit bor" in out
    assert "self-test  cpu: passed in 3.0 s: one antenna within 2e-05 dB of the oracle's, solved again the same" in out
    assert "self-test  cuda: passed in 3.0 s: three antennas within 2e-05 dB of the CPU's, one of them alone the" in out


def test_a_self_test_that_fails_is_exit_code_5(machine, doctor, monkeypatch):
    machine(Driver())
    failed = passed() | {"passed": False, "worst_db": 0.4}
    monkeypatch.setattr(support, "self_test", lambda *cpu, **options: passed() if cpu else failed)
    code, out, err = doctor()
    assert code == 5
    assert "self-test  cuda: failed" in out
    assert "backend cuda fails its self-test: failed in 3.0 s: three antennas within 0.4 dB" in err
    assert "use --backend cpu" in err

    def broken(*cpu, **options):
        if cpu:
            return passed()
        raise KernelBuildError("a kernel does not compile for sm_90")

    monkeypatch.setattr(support, "self_test", broken)
    code, out, err = doctor("--json", "-")
    assert code == 5
    assert json.loads(out)["self_test"] == {"passed": False, "error": "a kernel does not compile for sm_90"}
    assert doctor("--no-self-test")[0] == 0


def passed():
    return {"passed": True, "worst_db": 2e-5, "repeats": True, "cells": 2000, "steps": 1400, "seconds": 3.0}


def test_doctor_compiles_and_solves_an_antenna_on_the_cpu(machine, doctor):
    machine(Driver(count=0))
    code, out, _ = doctor("--json", "-")
    found = json.loads(out)
    assert (code, "self_test" in found) == (0, False)
    assert found["cpu_test"]["passed"]
    assert 0.0 < found["cpu_test"]["worst_db"] < 1e-4, "float32 against the oracle's float64"
    assert found["cpu_test"]["steps"] > 1000


def test_a_cpu_that_cannot_solve_is_exit_code_5(machine, doctor, monkeypatch):
    """Any exception becomes one line: `doctor` is the command that finds a broken Numba."""
    machine(Driver(count=0))

    def broken(*problem, **options):
        raise RuntimeError("cannot cache function:\nno locator available")

    monkeypatch.setattr(support, "evaluate", broken)
    code, out, err = doctor()
    assert code == 5
    assert "self-test  cpu: failed, RuntimeError: cannot cache function: no locator available" in out
    assert err.startswith("error: backend cpu fails its self-test: failed, RuntimeError")
    assert err.count("\n") == 1


def test_the_self_test_itself():
    """The CPU against itself: nothing differs; what it compares is there."""
    found = support.self_test("cpu")
    assert (found["passed"], found["worst_db"], found["repeats"]) == (True, 0.0, True)
