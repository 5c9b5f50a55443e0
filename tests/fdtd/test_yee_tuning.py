"""The autotuner of antennas in space, on a device that counts and whose clock goes by its launches."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from antennaopt.bench.devices import open_box
from antennaopt.bench.tuning import tune_space
from fdtd.backends.cuda import yee_tuning
from fdtd.backends.cuda.marching import Candidate
from fdtd.backends.cuda.yee_choice import plan_resident, turn_of
from fdtd.backends.cuda.yee_packing import pack
from fdtd.errors import ConfigError, DeviceError, KernelBuildError, Unsuitable
from fdtd.schemes.machine import HOPPER, Limits

SMALL = (44, 40, 28)


class Clocked:
    """A device that keeps arrays, runs nothing, and counts seconds: a step of each text takes what `cost` says."""

    limits, identity, name = HOPPER, "a card that counts", "a card"

    def __init__(self, cost: Any, broken: str = "nothing is broken") -> None:
        self.cost, self.broken, self.now, self.texts = cost, broken, 0.0, 0

    def upload(self, array: np.ndarray, copies: int = 1) -> np.ndarray:
        return array

    def zeros(self, count: int, dtype: Any) -> np.ndarray:
        return np.zeros(min(count, 1 << 16), dtype)

    def address(self, buffer: Any) -> int:
        return 0

    def download(self, buffer: np.ndarray) -> np.ndarray:
        return buffer

    def program(self, text: str, place: int = 0) -> Any:
        self.texts += 1
        if self.broken in text:
            raise KernelBuildError("does not compile")
        return SimpleNamespace(set_parameters=lambda data: None, launch=lambda *given, **more: self.run(text, *given))

    def run(self, text: str, kernel: str, grid: tuple[int, ...], threads: int, *numbers: int) -> None:
        """A launch of clusters takes many steps, a pass two, and one_step three launches a step."""
        self.now += self.cost(text) * (numbers[1] if kernel == "resident" else 1)

    def synchronize(self) -> None:
        pass


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[Clocked]:
    """Devices; the clock is that of the last."""
    devices: list[Clocked] = []
    monkeypatch.setattr(yee_tuning.time, "perf_counter", lambda: devices[-1].now)
    return devices


def by_warps(text: str) -> float:
    """Chains of ten warps are the fastest, then two steps a pass."""
    return 1e-6 if "#define SPREAD 1" in text and "#define WARPS 10" in text else 9e-6 if "ROW_STRIDE" in text else 9e-5


@pytest.mark.parametrize(
    ("shape", "copies", "precision", "schemes"),
    [
        ((64, 64, 32), 256, "float32", {"one_step": 3, "resident": 5}),
        ((96, 112, 40), 64, "float32", {"one_step": 3, "resident": 4}),
        (SMALL, 1, "float32", {"one_step": 3, "trapezoidal": 5, "resident": 6}),
        (SMALL, 1, "float64", {"one_step": 3, "resident": 2}),
        ((130, 130, 130), 1, "float32", {"one_step": 3, "trapezoidal": 5}),
    ],
)
def test_candidates_have_the_own_choice_of_each_plan_first(
    shape: tuple[int, int, int], copies: int, precision: str, schemes: dict[str, int]
) -> None:
    """All of them fit, and no two of `resident` are one plan."""
    problem = open_box(shape, 8, 100)
    found = yee_tuning.candidates(problem, precision, HOPPER, copies)
    names = [one.scheme for one in found]
    assert {name: names.count(name) for name in dict.fromkeys(names)} == schemes
    assert all(found[names.index(name)].choice == {} for name in schemes)
    packed = pack(problem, precision, turn_of(problem, precision, HOPPER))
    plans = [plan_resident([packed], precision, HOPPER, **one.choice) for one in found if one.scheme == "resident"]
    assert len(set(plans)) == len(plans)
    assert not plans or any(plan.chains for plan in plans)


def test_an_older_card_has_no_clusters() -> None:
    older = Limits(capability=80, multiprocessors=108, shared_bytes=166912, registers=65536, memory_bytes=40 * 10**9)
    assert {one.scheme for one in yee_tuning.candidates(open_box(SMALL, 8, 100), "float32", older, 2)} == {"one_step"}


def test_the_fastest_wins_once_and_is_remembered(tmp_path: Path, clock: list[Clocked]) -> None:
    """Timed again for another number of antennas, lattice or layer, or when kernels or device change."""
    file = tmp_path / "cache" / "tuned.json"

    def tune(shape: tuple[int, int, int] = SMALL, copies: int = 3, layers: int = 8, identity: str = "one") -> Any:
        clock.append(Clocked(by_warps))
        problem = open_box(shape, layers, 640)
        made = yee_tuning.tuned(problem, clock[-1], identity=identity, wait=lambda: None, copies=copies, file=file)
        return made, clock[-1].texts

    (winner, rate), texts = tune()
    assert winner == Candidate(scheme="resident", choice={"spread": 1, "columns": 2, "planes": 2, "warps": 10})
    assert rate == pytest.approx(3 * np.prod(SMALL) / 1e-6, rel=0.05)  # looks and samples take no time there
    assert texts > 10
    assert tune() == ((winner, rate), 0)
    others = ({"copies": 4}, {"shape": (44, 40, 29)}, {"layers": 7}, {"identity": "two"})
    assert all(tune(**other)[1] > 0 for other in others)
    assert len(json.loads(file.read_text())["winners"]) == 1 + len(others)


def test_what_does_not_compile_is_passed_over(tmp_path: Path, clock: list[Clocked]) -> None:
    """And named: tiles are the fastest of the rest."""
    clock.append(Clocked(by_warps, broken="#define SPREAD 1"))
    best, *timed = tune_space(SMALL, 1, device=clock[-1], file=tmp_path / "tuned.json")
    assert (best["stencil"], best["shape"], best["batch"], best["device"]) == ("yee3d", list(SMALL), 1, "a card")
    assert best["scheme"] == "trapezoidal"
    refused = [one for one in timed if "unsuitable" in one]
    assert refused and all(one["choice"]["spread"] == 1 for one in refused)
    rates = [one["cell_steps_per_s"] for one in timed if "cell_steps_per_s" in one]
    assert len(rates) + len(refused) == len(timed) and max(rates) == best["cell_steps_per_s"]
    assert tune_space(SMALL, 1, device=clock[-1], file=tmp_path / "tuned.json") == [best]
    clock.append(Clocked(by_warps, broken="#define"))
    with pytest.raises(Unsuitable, match="no scheme runs here: does not compile"):
        tune_space(SMALL, 1, device=clock[-1], file=tmp_path / "other.json")


def test_a_box_without_room_between_its_layers_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"64 x 64 x 27 cells leave no room .* \(needs >= 28 each way\)"):
        tune_space((64, 64, 27), 1)


def test_a_lattice_beyond_the_device_is_refused_before_it_is_made() -> None:
    with pytest.raises(
        DeviceError, match=r"4 x 9999 x 9999 x 9999 cells take 9.6e\+04 GB, .* smaller --grid or --batch"
    ):
        tune_space((9999, 9999, 9999), 4, device=Clocked(by_warps))


def test_timings_keep_within_the_step_limit(tmp_path: Path, clock: list[Clocked]) -> None:
    """A step after an antenna's last takes no time, and its rate would be wrong."""
    clock.append(Clocked(by_warps))
    problem = open_box(SMALL, 8, 40)
    taken: list[int] = []
    clock[-1].run = lambda text, kernel, grid, threads, *numbers: taken.append(sum(numbers[:2]))  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):  # nothing takes any time here
        yee_tuning.tuned(
            replace(problem, box=None), clock[-1], identity="one", wait=lambda: None, file=tmp_path / "tuned.json"
        )
    assert max(taken) <= 40
