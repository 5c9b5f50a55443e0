"""Several devices for one lattice: `simulate --devices` and `bench devices`, and what they refuse, in one line each."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import antennaopt as ao
from antennaopt.cli.options import warnings_as_lines
from antennaopt.errors import ConfigurationError
from fdtd.backends.cuda import present
from fdtd.errors import DeviceError

ROOT = Path(__file__).parents[2]
LENS, PATCH = (str(ROOT / "experiments" / name) for name in ("reference_lens.toml", "sheen_patch.toml"))


def devices_of(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this machine have `count` devices."""
    monkeypatch.setattr(present, "devices", lambda: (SimpleNamespace(name="a card"),) * count)


@pytest.mark.parametrize(
    ("arguments", "there", "code", "said"),
    [
        ((LENS, "--backend", "cuda"), 4, 2, "devices = 3 is for antennas in three dimensions, and a shaped_lens is a"),
        ((PATCH, "--backend", "cpu"), 4, 2, "devices = 3 needs CUDA devices, and the backend is cpu; use cuda, or 1"),
        ((PATCH, "--backend", "cuda"), 2, 5, "devices = 3, but this machine has 2 CUDA devices; use at most 2"),
        ((PATCH, "--backend", "cuda"), 1, 5, "devices = 3, but this machine has 1 CUDA device; use at most 1"),
    ],
)
def test_devices_that_cannot_share(
    call: Any, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], there: int, code: int, said: str
) -> None:
    devices_of(there, monkeypatch)
    found, out, err = call("simulate", *arguments, "--devices", "3")
    assert (found, out) == (code, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_they_come_to_the_solver(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option is what `fdtd.yee` is asked for."""
    devices_of(4, monkeypatch)
    asked: list[Any] = []

    def solve_batch(*_: Any, stepper: Any, **__: Any) -> Any:
        asked.append((stepper.backend, stepper.devices))
        raise KeyboardInterrupt

    monkeypatch.setattr("antennaopt.solve.yee.solve_batch", solve_batch)
    monkeypatch.setattr("antennaopt.solve.capacity.check_capacity", lambda *_: None)
    assert call("simulate", PATCH, "--backend", "cuda", "--devices", "3")[0] == 130
    assert asked == [("cuda", 3)]


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize("quiet", [False, True])
def test_warnings_of_the_solver_are_lines(call: Any, monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    """Devices that cannot reach each other: one line without a place in the code, none under --quiet."""
    devices_of(4, monkeypatch)

    def solve_batch(*_: Any, **__: Any) -> Any:
        warnings.warn("device 0 cannot reach\nthe memory of device 1", UserWarning, stacklevel=2)
        raise DeviceError("that is all")

    monkeypatch.setattr("antennaopt.solve.yee.solve_batch", solve_batch)
    monkeypatch.setattr("antennaopt.solve.capacity.check_capacity", lambda *_: None)
    given = ("simulate", PATCH, "--backend", "cuda", "--devices", "3", *(["--quiet"] if quiet else []))
    code, out, err = call(*given)
    assert (code, out) == (5, "")
    found = [line for line in err.splitlines() if "cannot reach" in line]
    assert found == ([] if quiet else ["warning: device 0 cannot reach the memory of device 1"])


@pytest.mark.filterwarnings("default::UserWarning")
def test_warnings_of_a_bench_are_lines(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    devices_of(2, monkeypatch)

    def bench_devices(*_: Any, **__: Any) -> Any:
        warnings.warn("device 0 cannot reach the memory of device 1", UserWarning, stacklevel=2)
        raise DeviceError("that is all")

    monkeypatch.setattr("antennaopt.bench.devices.bench_devices", bench_devices)
    code, _, err = call("bench", "devices")
    assert code == 5
    assert err.splitlines()[0] == "warning: device 0 cannot reach the memory of device 1"


def test_other_warnings_stay_as_they_are(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    with warnings_as_lines():
        warnings.warn("of another kind", RuntimeWarning, stacklevel=1)
    assert [(str(one.message), one.category) for one in recwarn] == [("of another kind", RuntimeWarning)]


def test_a_bench_of_more_devices_than_there_are(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    devices_of(2, monkeypatch)
    code, out, err = call("bench", "devices", "--devices", "1", "--devices", "4")
    assert (code, out) == (5, "")
    assert "devices = 4, but this machine has 2 CUDA devices; use at most 2" in err


def test_a_bench_of_devices_where_there_are_none(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> tuple[()]:
        raise DeviceError("there is no NVIDIA driver here; use --backend cpu, or a machine with one")

    monkeypatch.setattr(present, "devices", none)
    code, out, err = call("bench", "devices")
    assert (code, out) == (5, "")
    assert err.splitlines() == [
        "error: bench devices needs a machine with CUDA devices, and there is no NVIDIA driver here"
    ]


def test_no_device_is_too_few() -> None:
    """From Python; the command's option says so itself."""
    with pytest.raises(ConfigurationError, match=r"devices = 0 is too few \(needs >= 1\)"):
        ao.simulate(ao.load(PATCH), devices=0)
