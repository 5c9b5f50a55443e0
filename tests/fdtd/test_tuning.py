"""The autotuner: the model's best few plans are timed once, stored, and timed again after a relevant change."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from antennaopt.bench.kernels import tune
from antennaopt.bench.problems import reference_problem
from fdtd.backends.cuda import marching
from fdtd.backends.cuda.marching import Candidate, best_few
from fdtd.backends.cuda.text import kernel_digest
from fdtd.errors import Unsuitable
from fdtd.planar.problem import JacobiProblem
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import H200, HOPPER
from fdtd.schemes.rates import SCHEMES as PAIRED
from fdtd.schemes.rates import workload


class Counter:
    """A device whose programs do nothing but count launches."""

    limits, identity = HOPPER, "a card that counts"

    def __init__(self):
        self.launches = 0

    def upload(self, array, copies=1):
        return array

    def address(self, buffer):
        return 0

    def download(self, buffer):
        return buffer

    def program(self, text, place=0):
        return self

    def set_parameters(self, data):
        pass

    def synchronize(self):
        pass

    def launch(self, *arguments, **settings):
        self.launches += 1


def test_candidates_are_the_best_first_and_few_of_each():
    kind = {"rows": 321, "columns": 257, "batch": 264, "layer": 10, "size": 4}
    work = workload("tmz", H200, **kind)
    found = best_few(work, H200)
    assert [one.predicted for one in found] == sorted((one.predicted for one in found), reverse=True)
    schemes = [one.scheme for one in found]
    assert len(found) == 6
    assert all(schemes.count(scheme) <= 3 for scheme in schemes)
    assert len(best_few(work, H200, count=2)) == 2
    large = best_few(workload("jacobi5", H200, rows=8192, columns=8192, layer=0), H200)
    assert large[0].scheme == "skewed"
    assert "resident" not in {one.scheme for one in large}  # it does not fit


def test_the_fastest_wins_and_what_cannot_run_is_passed_over():
    rates = {"one_step": 1.0, "skewed": 3.0, "trapezoidal": 2.0}

    def measure(candidate):
        if candidate.scheme == "resident":
            raise Unsuitable("resident: no clusters")
        return rates[candidate.scheme]

    names = ["resident", "trapezoidal", "skewed", "one_step"]
    winner, rate = marching.fastest([Candidate(scheme=name) for name in names], measure)
    assert (winner.scheme, rate) == ("skewed", 3.0)
    with pytest.raises(Unsuitable, match="no scheme runs here: resident: no clusters"):
        marching.fastest([Candidate(scheme="resident")], measure)
    with pytest.raises(Unsuitable, match="no candidate"):
        marching.fastest([], measure)


def test_timed_once_then_remembered(tmp_path, monkeypatch):
    """Again when the device or driver, the kernels or the problem's shape are others, and never otherwise."""
    file = tmp_path / "cache" / "tuned.json"

    def tune(identity="a card, driver 1", rows=20):
        device = Counter()
        problem = JacobiProblem(initial=np.zeros((1, rows, 30)), steps=200)
        winner = marching.tuned(problem, device, H200, identity=identity, wait=lambda: None, file=file)
        return winner, device.launches

    first, launches = tune()
    assert launches > 0
    assert tune() == (first, 0)
    assert tune(identity="a card, driver 2")[1] > 0
    assert tune(rows=21)[1] > 0
    monkeypatch.setattr(marching, "kernel_digest", lambda: "other")
    assert tune()[1] > 0
    assert len(json.loads(file.read_text())["winners"]) == 4
    assert [path.name for path in file.parent.iterdir()] == ["tuned.json"]


def test_antennas_are_timed_too(tmp_path):
    """Every scheme whose plan takes the problem is a candidate; the winner is one of them and is remembered."""
    file, problem = tmp_path / "tuned.json", reference_problem((64, 128), 8, 1)
    found = marching.antenna_candidates(problem, "float32", H200, 264)
    assert {one.scheme for one in found} <= set(SCHEMES)
    assert found[-1].scheme == "one_step"  # 51 G by the model, the others above 200
    known = {"identity": "a card", "wait": lambda: None, "copies": 2, "file": file}
    first = Counter()
    winner = marching.tuned(problem, first, H200, **known)
    assert winner.scheme in {one.scheme for one in found}
    assert first.launches > 0
    second = Counter()
    assert marching.tuned(problem, second, H200, **known) == winner
    assert second.launches == 0


@pytest.mark.parametrize("stencil", ["bor", "tmz", "tez", "jacobi5"])
def test_any_stencil_competes(tmp_path, stencil):
    """What `tiles --tune` does, on a device that only counts: a plan is found, and the second time nothing runs."""
    for launches in (True, False):
        device = Counter()
        row = tune(stencil, (64, 128), 4, device=device, machine=H200, file=tmp_path / "tuned.json")
        assert row["scheme"] in PAIRED
        assert (device.launches > 0) == launches


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 0, "winners": {}}', '{"version": 1, "winners": []}'])
def test_a_damaged_cache_is_replaced(tmp_path, text):
    file = tmp_path / "tuned.json"
    file.write_text(text)
    assert marching.recall("key", file) is None
    marching.remember("key", Candidate(scheme="skewed", choice={"levels": 4}, predicted=1.0), 2.0, file)
    assert marching.recall("key", file) == Candidate(scheme="skewed", choice={"levels": 4}, predicted=1.0)


def test_a_damaged_entry_is_timed_anew(tmp_path):
    file = tmp_path / "tuned.json"
    file.write_text('{"version": 1, "winners": {"a": 3, "b": {"scheme": "skewed"}}}')
    assert marching.recall("a", file) is None
    assert marching.recall("b", file) is None


def test_a_folder_that_is_a_file_is_no_error(tmp_path):
    (tmp_path / "cache").write_text("")
    marching.remember("key", Candidate(scheme="skewed"), 1.0, tmp_path / "cache" / "tuned.json")


def test_readers_never_see_half_a_file(tmp_path):
    """Four writers at a time: the file is whole JSON at every moment."""
    file = tmp_path / "tuned.json"
    marching.remember("start", Candidate(scheme="one_step"), 1.0, file)
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(marching.remember, f"key {n}", Candidate(scheme="skewed"), 1.0, file) for n in range(40)]
        while not all(job.done() for job in jobs):
            assert json.loads(file.read_text())["version"] == 1
    for job in jobs:
        job.result()


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert marching.cache_file() == tmp_path / "antennaopt" / "tuned.json"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the standard
    monkeypatch.setenv("HOME", str(tmp_path))
    assert marching.cache_file() == tmp_path / ".cache" / "antennaopt" / "tuned.json"


def test_the_digest_sees_every_kernel():
    assert kernel_digest() == kernel_digest()
    assert len(kernel_digest()) == 16
