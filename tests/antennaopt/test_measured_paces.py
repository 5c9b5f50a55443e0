"""Measured paces: which scheme a device's own ratios choose, and how they are kept."""

import contextlib
import json
from types import SimpleNamespace

import pytest

from antennaopt.bench import paces as measuring
from antennaopt.bench.problems import reference_problem
from fdtd.backends.cuda import choose, paces
from fdtd.errors import Unsuitable
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER

IDENTITY = "NVIDIA H100 80GB HBM3, compute capability 9.0, driver 13000"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(paces, "cache_folder", lambda: tmp_path)
    paces.measured_paces.cache_clear()
    yield tmp_path
    paces.measured_paces.cache_clear()


def test_a_device_chooses_by_its_own_paces():
    """By an H200's rates `resident` steps 256 x 320 cells; where it does half of them, `wavefront` does."""
    lens = reference_problem((256, 320), 8, 1)
    assert choose(lens, "float32", HOPPER)[0] == "resident"
    slow = {"resident, 8 cells a lane": 0.5, "wavefront, 8 cells a lane": 1.0}
    scheme, reason = choose(lens, "float32", HOPPER, slow)
    assert scheme == "wavefront"
    promised = SCHEMES["resident"](lens, "float32", HOPPER).pace
    assert f"resident: about {promised / 2e9:.0f} G" in reason


def test_lanes_that_were_not_measured_take_the_median_of_their_scheme():
    scheme = SCHEMES["wavefront"](reference_problem((256, 320), 8, 1), "float32", HOPPER)
    known = {"wavefront, 4 cells a lane": 0.8, "wavefront, 12 cells a lane": 0.6, "resident, 8 cells a lane": 2.0}
    assert paces.paced(scheme, known) == pytest.approx(0.7 * scheme.pace)
    assert paces.paced(scheme, {"resident, 8 cells a lane": 2.0}) == pytest.approx(2 * scheme.pace)
    assert paces.paced(scheme, {}) == scheme.pace
    least = SCHEMES["one_step"](reference_problem((256, 320), 8, 1), "float32", HOPPER)
    assert paces.paced(least, known) == least.pace


def test_paces_hold_for_one_device_and_one_kernel_text(folder, monkeypatch):
    paces.keep_paces(IDENTITY, {"resident, 8 cells a lane": 0.5})
    paces.keep_paces("another", {"resident, 8 cells a lane": 0.9})
    assert paces.measured_paces(IDENTITY) == {"resident, 8 cells a lane": 0.5}
    assert paces.measured_paces("another") == {"resident, 8 cells a lane": 0.9}
    said = paces.paces_text(IDENTITY)
    assert said.startswith("measured, ")
    assert said != paces.paces_text("another")
    assert paces.paces_text("a third") == "as planned"
    monkeypatch.setattr(paces, "kernel_digest", lambda: "other kernels")
    paces.measured_paces.cache_clear()
    assert paces.measured_paces(IDENTITY) == {}


def test_a_process_chooses_alike_to_its_end(folder):
    assert paces.measured_paces(IDENTITY) == {}
    paces.keep_paces(IDENTITY, {"resident, 8 cells a lane": 0.5})
    assert paces.measured_paces(IDENTITY) == {}


@pytest.mark.parametrize("text", ["", "[]", '{"version": 9, "devices": {}}', '{"version": 1, "devices": []}'])
def test_a_file_that_is_none_counts_as_no_paces(folder, text):
    (folder / "paces.json").write_text(text)
    assert paces.measured_paces(IDENTITY) == {}


def test_numbers_that_are_no_paces_are_left_out(folder):
    paces.keep_paces(IDENTITY, {"a": 0.5, "b": -1.0, "c": 0.0})
    file = folder / "paces.json"
    file.write_text(file.read_text().replace("0.5", '"fast"'))
    assert paces.measured_paces(IDENTITY) == {}
    assert json.loads(file.read_text())["version"] == 1


def test_what_is_measured_is_the_rate_over_the_plans_own(monkeypatch):
    """Every scheme at half of its promise, but `resident`, which does not run."""

    def half(device, case, variants, **options):
        lens, rows = reference_problem(case.shape, 8, 1), []
        for name in (one.scheme for one in variants if one.scheme != "resident"):
            with contextlib.suppress(Unsuitable):
                rows.append({"scheme": name, "cell_steps_per_s": SCHEMES[name](lens, "float32", HOPPER).pace / 2})
        return rows

    monkeypatch.setattr(measuring, "time_variants", half)
    found = measuring.measure_paces(SimpleNamespace(limits=HOPPER, identity=IDENTITY))
    whole = {f"{name}, {cells} cells a lane" for name in ("wavefront", "trapezoidal") for cells in (4, 8)}
    cut = {f"trapezoidal, {cells} cells a lane in segments" for cells in (5, 8)}
    assert set(found) == whole | cut | {"wavefront, 12 cells a lane"}
    assert all(ratio == pytest.approx(0.5) for ratio in found.values())
    assert paces.measured_paces(IDENTITY) == found
