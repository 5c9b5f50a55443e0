"""Runs with a full evaluation cache, an empty one and none: the same to the bit, and nothing is solved twice.

Real fields on a coarse lattice, cells of 0.6 mm: a solve takes 0.05 s.
"""

import math
import shutil

import numpy as np
import pandas as pd
import pytest
from test_evaluate import LARGE, SMALL, planned
from test_recognition import FAMILY, FIRST, NEARLY, without

from antennaopt.cli.tables import report_lines
from antennaopt.experiment import Experiment
from antennaopt.farm.arriving import together
from antennaopt.farm.farm import SerialFarm, SerialPool
from antennaopt.farm.interface import Worker
from antennaopt.run.overlap import Overlap
from antennaopt.run.progress import Progress
from antennaopt.run.reuse import ReusingFarm
from antennaopt.run.start import resume, run
from antennaopt.run.write_behind import WriteBehind
from antennaopt.solve import arithmetic
from antennaopt.solve import evaluate as module
from antennaopt.solve.evaluate import evaluate
from antennaopt.store import cache as cache_module
from antennaopt.store.cache import FILE, EvaluationCache, _check_sum
from antennaopt.store.late_cache import LateCache
from antennaopt.store.packing import packed

EXPERIMENT = {
    "name": "coarse_lens",
    "seed": 3,
    "antenna": {
        "family": "hemispherical_lens",
        "feed": {"inner_radius": "3.6 mm", "outer_radius": "4.2 mm", "length": "9 mm"},
        "lens": {
            "permittivity": 2.53,
            "radius": {"min": "4.5 mm", "max": "6 mm"},
            "extension": {"min": "1 mm", "max": "2 mm"},
        },
    },
    "solver": {"frequencies": ["30 GHz"], "cell": "0.6 mm", "pml_cells": 8, "decay_db": 40},
    "evolution": {"population": 5, "generations": 3, "elites": 1, "tournament_size": 2},
    "objective": [{"metric": "directivity_dbi", "at_least": 20.0}],
    "certificate": {"mode": "off"},
}
SHORT = {**EXPERIMENT["evolution"], "generations": 2}
TINY = {**SHORT, "population": 3}
ACCIDENTAL = ["run", "seconds", "stepping_seconds", "worker", "origin"]


@pytest.fixture
def stepped(monkeypatch):
    """Antennas that are stepped, one entry each."""
    counted = []
    solve = module.solve

    def counting(layout, scene, **options):
        solutions = solve(layout, scene, **options)
        counted.extend(solutions)
        return solutions

    monkeypatch.setattr(module, "solve", counting)
    return counted


def serial(experiment, *, plan, backend, scheduler, evaluate=None):
    return SerialFarm(evaluate or module.evaluate, family=experiment.family, plan=plan, backend=backend)


def carried_out(root, cache, progress=None, **changes):
    experiment = Experiment.parse({**EXPERIMENT, **changes})
    return run(experiment, root=root, farm=serial, report=False, cache=cache, progress=progress)


def table(summary, kind="evals"):
    frame = pd.read_parquet(summary.folder / kind)
    return frame.drop(columns=[name for name in ACCIDENTAL if name in frame])


def checkpoints(summary):
    return {path.name: path.read_bytes() for path in (summary.folder / "checkpoint").iterdir()}


def test_a_run_is_the_same_with_a_full_cache_an_empty_one_and_none(tmp_path, stepped):
    """Also where only a part is known, and after an interruption; what is known is not stepped."""
    none = carried_out(tmp_path / "none", "off")
    solved = none.evaluations
    assert (len(stepped), none.reused) == (solved, {})
    runs = [carried_out(tmp_path / "empty", tmp_path / "cache")]
    assert (len(stepped), runs[0].reused) == (2 * solved, {})
    runs.append(carried_out(tmp_path / "full", tmp_path / "cache"))
    assert (len(stepped), runs[1].reused) == (2 * solved, {"cache": solved})
    carried_out(tmp_path / "short", tmp_path / "part", evolution=SHORT)
    runs.append(carried_out(tmp_path / "rest", tmp_path / "part"))
    assert (len(stepped), runs[2].reused) == (3 * solved, {"cache": 9})
    first = carried_out(tmp_path / "resumed", tmp_path / "cache", evolution=SHORT)
    overrides = ("evolution.generations=3",)
    (first.folder / "experiment.toml").write_text(TOML)
    runs.append(resume(first.folder, overrides=overrides, farm=serial, report=False, cache=tmp_path / "cache"))
    assert len(stepped) == 3 * solved
    for one in runs:
        pd.testing.assert_frame_equal(table(one), table(none), check_exact=True)
        pd.testing.assert_frame_equal(table(one, "patterns"), table(none, "patterns"), check_exact=True)
        assert checkpoints(one) == checkpoints(none)
    origins = pd.read_parquet(runs[2].folder / "evals").groupby("generation")["origin"].agg(set)
    assert origins.tolist() == [{"cache"}, {"cache"}, {"solved"}]
    assert (pd.read_parquet(runs[1].folder / "evals")["stepping_seconds"] == 0.0).all()


def test_batches_that_are_sent_before_the_others_are_bred_are_looked_up_too(tmp_path, stepped, monkeypatch):
    """The same rows and nothing solved twice where the first antennas of a generation are sent ahead."""
    none = carried_out(tmp_path / "none", "off")
    monkeypatch.setattr(SerialFarm, "ahead", lambda self, population, batch_size="auto": 2)
    short = carried_out(tmp_path / "short", tmp_path / "cache", evolution=SHORT)
    assert len(stepped) == none.evaluations + short.evaluations
    full = carried_out(tmp_path / "full", tmp_path / "cache")
    assert len(stepped) == 2 * none.evaluations
    pd.testing.assert_frame_equal(table(full), table(none), check_exact=True)
    assert checkpoints(full) == checkpoints(none)


def test_generations_that_overlap_are_answered_from_the_cache(tmp_path, stepped, monkeypatch):
    """Also those that are asked for ahead: with an empty cache, one of fewer generations, and a full one."""
    evolution = {**EXPERIMENT["evolution"], "population": 8, "overlap": True}
    none = carried_out(tmp_path / "none", "off", evolution=evolution)
    early, ahead = [], Overlap.due
    monkeypatch.setattr(SerialPool, "workers", lambda self: {"driver": Worker(threads=2)})
    monkeypatch.setattr(Overlap, "due", lambda *given: early.extend(found := ahead(*given)) or found)
    for place, (cache, generations) in enumerate([("full", 3), ("part", 2), ("part", 3), ("full", 3)]):
        evolution["generations"] = generations
        one = carried_out(tmp_path / str(place), tmp_path / cache, evolution=evolution)
        if generations == 3:
            pd.testing.assert_frame_equal(table(one), table(none), check_exact=True)
            assert checkpoints(one) == checkpoints(none)
    assert len(early) > 4
    assert len(stepped) == 3 * none.evaluations, "each cache was filled once"


def test_a_search_with_samples_is_answered_from_a_full_cache(tmp_path, stepped):
    """Also where nothing is left to be solved while copies are asked for, candidates and copies in turns."""
    samples = {"samples": 4, "final_samples": 0, "of": {"lens.radius": {"sigma": "0.05 mm"}}}
    goals = [{"metric": "directivity_dbi", "at_least": 9.0}]
    about = {"evolution": SHORT, "objective": goals, "tolerance": samples}
    none = carried_out(tmp_path / "none", "off", **about)
    made = table(none, "samples")
    assert len(made) > 8
    assert len(stepped) == none.evaluations + len(made)
    for place in range(2):
        again = carried_out(tmp_path / str(place), tmp_path / "cache", **about)
        assert len(stepped) == 2 * (none.evaluations + len(made))
        pd.testing.assert_frame_equal(table(again), table(none), check_exact=True)
        pd.testing.assert_frame_equal(table(again, "samples"), made, check_exact=True)
        assert checkpoints(again) == checkpoints(none)


def another_version(monkeypatch):
    monkeypatch.setattr(arithmetic, "solver_version", lambda: "0.1.0+another")


def another_package(monkeypatch):
    monkeypatch.setattr(arithmetic, "installed", lambda packages: {"numpy": "1.0"})


def another_processor(monkeypatch):
    monkeypatch.setattr(arithmetic, "processor_name", lambda: "another")


@pytest.mark.parametrize(
    "changed", [another_version, another_package, pytest.param(another_processor, marks=pytest.mark.slow)]
)
def test_another_arithmetic_class_finds_nothing(tmp_path, stepped, monkeypatch, changed):
    """Other settings: `test_cli_fork`; precision and backend: `test_recognition`."""
    first = carried_out(tmp_path / "first", tmp_path / "cache", evolution=TINY)
    arithmetic._of.cache_clear()
    changed(monkeypatch)
    again = carried_out(tmp_path / "again", tmp_path / "cache", evolution=TINY)
    arithmetic._of.cache_clear()
    assert (len(stepped), again.reused) == (2 * first.evaluations, {})


class Told(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_entries_with_wrong_content_are_dropped_and_their_antennas_solved(tmp_path, stepped):
    """Each of its own kind, with a right check sum; the run is the same and says how many there were."""
    first = carried_out(tmp_path / "first", tmp_path / "cache", evolution=SHORT)
    kinds = [
        {"status": "lost"}, {"gain_dbi": None}, {"theta_deg": [0.0]}, {"frequency_hz": [31e9]}, {"steps": 10**30},
        {"s11": "none"}, {"more": 1}, {"seconds": math.nan}, {"error": "\ud800"},
    ]  # fmt: skip
    with EvaluationCache(tmp_path / "cache") as cache:
        digests = [row[0] for row in cache._connection.execute("SELECT digest FROM entries").fetchall()]
        for one, (digest, known) in enumerate(sorted(cache.find(digests).items())):
            blob = packed(dict(known) | kinds[one % len(kinds)])
            values = (blob, _check_sum(digest, blob), digest)
            cache._connection.execute("UPDATE entries SET outcome = ?, check_sum = ? WHERE digest = ?", values)
    told = Told()
    again = carried_out(tmp_path / "again", tmp_path / "cache", progress=told, evolution=SHORT)
    assert (again.cache_dropped, again.reused, first.cache_dropped) == (len(digests), {}, 0)
    assert len(stepped) == 2 * len(digests)
    pd.testing.assert_frame_equal(table(again), table(first), check_exact=True)
    pd.testing.assert_frame_equal(table(again, "patterns"), table(first, "patterns"), check_exact=True)
    assert [line for line in told.notes if "has damaged entries; they are dropped" in line]
    line = f"evaluation cache: {len(digests)} damaged entries dropped, their antennas solved again"
    assert line in report_lines(again) and "evaluation cache" not in "".join(report_lines(first))
    full = carried_out(tmp_path / "full", tmp_path / "cache", evolution=SHORT)
    assert (full.cache_dropped, full.reused) == (0, {"cache": len(digests)})


@pytest.mark.parametrize("damage", ["entries", "file", "locked out"])
def test_a_damaged_cache_is_said_and_the_run_is_the_same(tmp_path, stepped, damage):
    first = carried_out(tmp_path / "first", tmp_path / "cache", evolution=TINY)
    path = tmp_path / "cache" / FILE
    if damage == "entries":
        with EvaluationCache(path.parent) as cache:
            cache._connection.execute("UPDATE entries SET outcome = ZEROBLOB(100)")
    elif damage == "file":
        path.write_bytes(b"nothing of the kind" * 1000)
    else:
        shutil.rmtree(path.parent)
        path.parent.write_text("a file where the folder was")
    told = Told()
    again = carried_out(tmp_path / "again", tmp_path / "cache", progress=told, evolution=TINY)
    pd.testing.assert_frame_equal(table(again), table(first), check_exact=True)
    says = {"entries": "has damaged entries", "file": "is begun anew", "locked out": "no evaluation cache"}[damage]
    assert sum(says in note for note in told.notes) == 1
    assert len(stepped) == 2 * first.evaluations
    if damage != "locked out":
        mended = carried_out(tmp_path / "mended", tmp_path / "cache", evolution=TINY)
        assert mended.reused == {"cache": first.evaluations}


def test_a_steady_state_with_a_full_cache_is_the_one_without(tmp_path, stepped):
    """What is found is complete at once: in the same order as with one solver when everything is.

    With a part of it the order of completion is another one, as with another farm; it is recorded as any is.
    """
    steady = {**SHORT, "algorithm": "steady_state"}
    none = carried_out(tmp_path / "none", "off", evolution=steady)
    carried_out(tmp_path / "part", tmp_path / "cache", evolution={**steady, "generations": 1})
    part = table(carried_out(tmp_path / "rest", tmp_path / "cache", evolution=steady))
    assert sorted(part["birth"]) == list(range(10))
    carried_out(tmp_path / "first", tmp_path / "cache", evolution=steady)
    full = carried_out(tmp_path / "full", tmp_path / "cache", evolution=steady)
    assert full.reused == {"cache": none.evaluations}
    pd.testing.assert_frame_equal(table(full), table(none), check_exact=True)
    assert checkpoints(full) == checkpoints(none)


TOML = """
name = "coarse_lens"
seed = 3
[antenna]
family = "hemispherical_lens"
feed = { inner_radius = "3.6 mm", outer_radius = "4.2 mm", length = "9 mm" }
[antenna.lens]
permittivity = 2.53
radius = { min = "4.5 mm", max = "6 mm" }
extension = { min = "1 mm", max = "2 mm" }
[solver]
frequencies = ["30 GHz"]
cell = "0.6 mm"
pml_cells = 8
decay_db = 40
[evolution]
population = 5
generations = 2
elites = 1
tournament_size = 2
[[objective]]
metric = "directivity_dbi"
at_least = 20.0
[certificate]
mode = "off"
"""


def solving(cache, **jobs):
    farm = SerialFarm(evaluate, family=FAMILY, plan=planned())
    reusing = ReusingFarm(farm, cache, family=FAMILY, plan=planned(), backend="cpu")
    return dict(reusing.run(reusing.cut(list(jobs.items()), 1)))


def test_other_designs_with_the_same_cells_are_answered_from_the_cache(tmp_path, stepped):
    with EvaluationCache(tmp_path) as cache:
        first = solving(cache, a=FIRST)["a"]
    with EvaluationCache(tmp_path) as cache:
        found = solving(cache, b=NEARLY, c=LARGE)
    assert len(stepped) == 2
    assert (found["b"]["origin"], found["b"]["status"]) == ("cache", "ok")
    for name, value in without(first, "worker", "batch_seconds").items():
        np.testing.assert_array_equal(found["b"][name], value)
    with EvaluationCache(tmp_path) as cache:  # now the design itself is known, too
        assert solving(cache, b=NEARLY)["b"]["origin"] == "cache"
        assert (
            len(cache.digests_of(list({one for (one,) in cache._connection.execute("SELECT design FROM designs")})))
            == 3
        )


def test_a_batch_later_in_the_same_run_knows_what_was_solved(tmp_path, stepped):
    with EvaluationCache(tmp_path) as cache:
        found = solving(cache, a=FIRST, b=LARGE, c=NEARLY)
    assert len(stepped) == 2
    assert [one.get("origin") for one in found.values()] == [None, None, "cells"]


def test_what_the_cache_lost_is_solved_after_all(tmp_path, stepped, monkeypatch):
    """The worker reports a known antenna without an entry: pruned by another process meanwhile, or damaged."""
    with EvaluationCache(tmp_path) as cache:
        solving(cache, a=FIRST)
        monkeypatch.setattr(cache, "find", lambda digests, frequencies: {})
        found = solving(cache, b=NEARLY, c=SMALL)
    assert len(stepped) == 3
    assert set(found) == {"b", "c"}
    assert [one["status"] for one in found.values()] == ["ok", "ok"]
    assert [one.get("origin") for one in found.values()] == [None, None]


def test_refused_designs_go_past_the_cache(tmp_path):
    with EvaluationCache(tmp_path) as cache:
        found = solving(cache, a={**SMALL, "lens.radius": 4e-3}, b=SMALL)
        assert found["a"]["status"] == "infeasible"
        assert sum(one["entries"] for one in cache.totals()) == 1


def test_outcomes_of_a_reply_stay_together_and_so_do_those_from_the_cache(tmp_path):
    """A driver takes them in together, in half the time."""
    jobs = [("a", FIRST), ("b", LARGE), ("c", SMALL)]
    with EvaluationCache(tmp_path) as cache:
        farm = SerialFarm(evaluate, family=FAMILY, plan=planned())
        reusing = ReusingFarm(farm, cache, family=FAMILY, plan=planned(), backend="cpu")
        solved = list(together(reusing.run([jobs[:2]])))
        mixed = list(together(reusing.run([jobs[:1], jobs[1:]])))
    assert [[name for name, _ in landed] for landed in solved] == [["a", "b"]]
    assert [[name for name, _ in landed] for landed in mixed] == [["a", "b"], ["c"]]
    assert [one.origin for landed in mixed for _, one in landed] == ["cells", "cells", None]


def test_a_cache_that_cannot_be_closed_leaves_the_run_closed(tmp_path, monkeypatch):
    """What has been solved is on the disk, the log ends, and the bar is taken away."""

    class Watched(Progress):
        closed = False

        def close(self):
            self.closed = True

    def failing(cache):
        close_cache(cache)
        raise RuntimeError("a fault of the cache")

    closed, watched, close, close_cache = [], Watched(), WriteBehind.close, LateCache.close
    monkeypatch.setattr(LateCache, "close", failing)
    monkeypatch.setattr(WriteBehind, "close", lambda store: (close(store), closed.append(store)))
    with pytest.raises(RuntimeError, match="a fault of the cache"):
        carried_out(tmp_path / "runs", tmp_path / "cache", progress=watched, evolution=TINY)
    assert len(closed) == 1 and watched.closed


def test_what_the_last_write_met_is_told_when_the_run_ends(tmp_path, monkeypatch):
    told = []
    with EvaluationCache(tmp_path) as other, LateCache(tmp_path) as late:
        monkeypatch.setattr(cache_module, "PATIENCE_S", 0.01)
        other._connection.execute("BEGIN IMMEDIATE")
        farm = SerialFarm(evaluate, family=FAMILY, plan=planned())
        reusing = ReusingFarm(farm, late, family=FAMILY, plan=planned(), backend="cpu", told=told.append)
        assert dict(reusing.run([[("a", SMALL)]]))["a"].status == "ok"
        reusing.close()
        other._connection.execute("ROLLBACK")
    assert len(told) == 1 and "locked" in told[0]
