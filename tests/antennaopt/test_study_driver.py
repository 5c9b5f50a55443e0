"""The driver's loop with a cheap farm and a store in memory: duplicates, faults, interrupts, resume to the bit."""

import copy
import gc
import json
import os
import signal
import sys
import weakref
from contextlib import ExitStack

import pytest
from cheap_study import REAL, WHOLE, CheapFarm, MemoryStore, driver

from antennaopt.errors import Interrupted, TooManyFailuresError
from antennaopt.run.memory import design_digest
from antennaopt.run.process import TURN_S, StopSignals, rare_collections, short_turns
from antennaopt.run.progress import Progress
from antennaopt.search import Mutation, Stop, decode


def test_runs_to_its_stop_and_stores_every_generation():
    store, farm = MemoryStore(), CheapFarm()
    study = driver(store, farm)
    assert "all 5 generations" in study.run()
    assert len(store.files) == len(store.checkpoints) == 5
    rows = store.rows()
    assert len(rows) == 8 + 4 * 6
    assert study.search.best().fitness == min(row["fitness"] for row in rows)
    assert [event for event, _ in store.events] == ["generation"] * 5


def test_shuffled_completion_changes_nothing():
    one, other = MemoryStore(), MemoryStore()
    driver(one, CheapFarm(order=1)).run()
    driver(other, CheapFarm(order=2)).run()
    assert one.files == other.files
    assert one.checkpoints == other.checkpoints


def test_resume_after_each_generation_is_equal_to_the_bit():
    whole = MemoryStore()
    driver(whole).run()
    for generation in range(1, 5):
        store = MemoryStore()
        study = driver(store)
        for _ in range(generation):
            study.generation()
        again = driver(store)
        again.restore(json.loads(store.checkpoints[-1]))
        again.run()
        assert store.files == whole.files
        assert store.checkpoints == whole.checkpoints


def test_killed_in_the_middle_of_a_generation_it_resumes_to_the_same_bits():
    whole = MemoryStore()
    driver(whole).run()

    class Dies(CheapFarm):
        def run(self, batches):
            for count, (individual, outcome) in enumerate(super().run(batches)):
                if individual.startswith("g0002") and count == 3:
                    raise SystemExit
                yield individual, outcome

    store = MemoryStore()
    with pytest.raises(SystemExit):
        driver(store, Dies()).run()
    assert len(store.checkpoints) == 2
    again = driver(store)
    again.restore(json.loads(store.checkpoints[-1]))
    again.run()
    assert store.files == whole.files
    assert store.checkpoints == whole.checkpoints


def test_the_next_generation_is_sent_before_the_last_is_stored_and_told():
    happened = []

    class Sends(CheapFarm):
        def run(self, batches):
            happened.append("sent")
            return super().run(batches)

    class Stores(MemoryStore):
        def write_generation(self, generation, evaluations):
            happened.append(f"rows {generation}")

        def checkpoint(self, generation, state):
            happened.append(f"state {generation}")

    class Told(Progress):
        def generation_started(self, generation, to_solve):
            happened.append(f"begun {generation}")

        def generation_done(self, report):
            happened.append(f"done {report.generation}")

    driver(Stores(), Sends(), progress=Told(), generations=3).run()
    stored = [[f"rows {number}", f"state {number}", f"done {number}"] for number in range(3)]
    first, second, third = (["sent", *before, f"begun {number}"] for number, before in enumerate(([], *stored[:2])))
    assert happened == [*first, *second, *third, *stored[2]]


def test_killed_once_the_next_generation_is_sent_it_resumes_to_the_same_bits():
    """What is there then is the state before the last generation, which is solved again."""
    whole, store = MemoryStore(), MemoryStore()
    driver(whole).run()
    there = []

    class Sends(CheapFarm):
        def run(self, batches):
            there.append(copy.deepcopy(store))
            return super().run(batches)

    driver(store, Sends()).run()
    assert [len(one.checkpoints) for one in there] == [0, 0, 1, 2, 3]
    for left in there[2:]:
        again = driver(left)
        again.restore(json.loads(left.checkpoints[-1]))
        again.run()
        assert left.files == whole.files
        assert left.checkpoints == whole.checkpoints


def test_killed_between_rows_and_checkpoint_it_writes_the_same_rows_again():
    whole = MemoryStore()
    driver(whole).run()
    store = copy.deepcopy(whole)
    del store.checkpoints[3:]
    again = driver(store)
    again.restore(json.loads(store.checkpoints[-1]))
    again.run()
    assert store.files == whole.files
    assert store.checkpoints == whole.checkpoints


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_drains_saves_and_what_was_solved_is_not_solved_again(number, code):
    whole = MemoryStore()
    driver(whole).run()

    class Signalled(CheapFarm):
        def run(self, batches):
            for count, (individual, outcome) in enumerate(super().run(batches)):
                if individual.startswith("g0001") and count == 2:
                    os.kill(os.getpid(), number)
                yield individual, outcome

    store, farm = MemoryStore(), Signalled()
    before = signal.getsignal(number)
    with StopSignals() as signals, pytest.raises(Interrupted) as caught:
        driver(store, farm, signals=signals).run()
    assert caught.value.exit_code == code
    assert signal.getsignal(number) == before
    partial = json.loads(store.checkpoints[-1])["partial"]
    assert 3 <= len(partial) <= 4
    rest = CheapFarm()
    again = driver(store, rest)
    again.restore(json.loads(store.checkpoints[-1]))
    again.run()
    assert not set(rest.solved) & set(farm.solved)
    assert store.files == whole.files
    assert store.checkpoints[-1] == whole.checkpoints[-1]


def test_with_a_smaller_budget_what_was_solved_beyond_it_is_left_out():
    """Five were solved of the second generation; with 8 + 2 evaluations two of them count. It was a KeyError."""

    class Interrupts(CheapFarm):
        def run(self, batches):
            for individual, outcome in super().run(batches):
                yield individual, outcome
                if len(self.solved) == 13:
                    raise KeyboardInterrupt

    store, rest = MemoryStore(), CheapFarm()
    with pytest.raises(Interrupted):
        driver(store, Interrupts()).run()
    assert len(json.loads(store.checkpoints[-1])["partial"]) == 5
    again = driver(store, rest, stop=Stop(evaluations=10))
    again.restore(json.loads(store.checkpoints[-1]))
    assert again.run() == "10 evaluations done"
    assert len(store.rows()) == 10


def test_a_second_ctrl_c_stops_at_once_and_still_saves():
    class Twice(CheapFarm):
        def run(self, batches):
            for individual, outcome in super().run(batches):
                yield individual, outcome
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)

    store = MemoryStore()
    with StopSignals() as signals, pytest.raises(Interrupted) as caught:
        driver(store, Twice(), signals=signals).run()
    assert caught.value.exit_code == 130
    assert len(json.loads(store.checkpoints[-1])["partial"]) == 1


def test_duplicates_are_solved_once_within_a_generation_and_across():
    store, farm = MemoryStore(), CheapFarm()
    study = driver(store, farm, genes=WHOLE, mutation=Mutation(probability=0.9, eta=1.0))
    study.run()
    rows = store.rows()
    assert len(farm.solved) == len({row["outcome"]["directivity_dbi"][0] for row in rows}) == 3
    assert {row["individual"] for row in rows if not row["cached"]} == set(farm.solved)
    assert study.search.evaluations == 3
    by_value = {}
    for row in rows:
        rings = decode(WHOLE, row["genome"])["rings"]
        assert row["outcome"] == by_value.setdefault(rings, row["outcome"])


def test_duplicates_stay_known_after_a_resume():
    store = MemoryStore()
    driver(store, genes=WHOLE).generation()
    farm = CheapFarm()
    again = driver(store, farm, genes=WHOLE)
    again.restore(json.loads(store.checkpoints[-1]))
    again.run()
    assert farm.solved == []


def test_failures_are_rows_with_a_penalty_and_never_the_best():
    def fault(individual, design):
        return {"status": "infeasible", "error": "walls cross", "seconds": 0.0} if individual.endswith("3") else None

    store = MemoryStore()
    study = driver(store, CheapFarm(fault=fault))
    study.run()
    failed = [row for row in store.rows() if row["outcome"]["status"] == "infeasible"]
    worst = max(row["fitness"] for row in store.rows() if row["outcome"]["status"] == "ok")
    assert failed
    assert all(row["fitness"] > worst and row["shortfalls"] == [] for row in failed)
    assert not any(one.candidate.individual.endswith("3") for one in study.search.hall_of_fame)


def test_a_first_generation_without_any_ok_gives_up_with_the_commonest_reason():
    def fault(individual, design):
        reason = "too long" if individual.endswith("1") else "lens does not touch the feed"
        return {"status": "infeasible", "error": reason}

    store = MemoryStore()
    with pytest.raises(TooManyFailuresError, match=r"8 of 8 .* \(7 times\) is infeasible: lens does not touch"):
        driver(store, CheapFarm(fault=fault)).run()
    assert len(store.rows()) == 8
    assert store.checkpoints == []


def test_more_than_half_lost_gives_up_and_can_be_resumed():
    def fault(individual, design):
        return {"status": "lost", "error": "worker died"} if individual.startswith("g0001") else None

    store = MemoryStore()
    with pytest.raises(TooManyFailuresError, match=r"6 of 6 .* lost: worker died"):
        driver(store, CheapFarm(fault=fault)).run()
    whole = MemoryStore()
    driver(whole).run()
    again = driver(store)
    again.restore(json.loads(store.checkpoints[-1]))
    again.run()
    assert store.files == whole.files


def test_lost_antennas_are_no_duplicates_to_copy_from():
    def fault(individual, design):
        return {"status": "lost", "error": "worker died"} if individual == "g0000-s000" else None

    store, farm = MemoryStore(), CheapFarm(fault=fault)
    planted = {gene.name: 12e-3 for gene in REAL}
    study = driver(store, farm, elites=0, planted=[planted, planted])
    study.generation()
    assert [row["cached"] for row in store.rows()][:2] == [False, True]
    assert study.memory.recall(["g0000-s000"])["g0000-s000"][1]["status"] == "lost"
    assert study.memory.designs.find([design_digest(planted)]) == [None]


def test_progress_is_told():
    told = []

    class Told(Progress):
        def evaluated(self, outcome=None):
            told.append(1 if outcome["status"] == "ok" else outcome)

        def generation_done(self, report):
            told.append(report)

    driver(MemoryStore(), progress=Told(), generations=2).run()
    last = told[-1]
    assert told.count(1) == last.evaluations == 14
    assert (last.generation, last.generations, last.solved, last.cached) == (1, 2, 6, 0)
    assert "generation 2/2" in last.line()


@pytest.mark.parametrize("frozen", [True, False])
def test_a_run_collects_rarely_and_a_callers_frozen_objects_stay_frozen(frozen):
    found = []

    class Looks(CheapFarm):
        def run(self, batches):
            found.append((gc.get_freeze_count(), gc.get_threshold()))
            yield from super().run(batches)

    class Ring:
        def __init__(self):
            self.itself = self

    before = gc.get_threshold()
    gc.unfreeze()
    if frozen:
        gc.freeze()
    garbage = weakref.ref(Ring())
    try:
        driver(MemoryStore(), Looks()).run()
        assert not frozen or garbage() is None, "garbage that is frozen stays for good"
        assert all(objects > 0 and thresholds > before for objects, thresholds in found) and found
        assert (gc.get_freeze_count() > 0) is frozen
        assert gc.get_threshold() == before
    finally:
        gc.freeze()  # as it was


def test_runs_that_overlap_leave_the_process_as_it_was():
    """The one that began first ends first; changes hold until the other has ended too."""
    turns, thresholds = sys.getswitchinterval(), gc.get_threshold()
    one, other = ExitStack(), ExitStack()
    for each in (one, other):
        each.enter_context(short_turns())
        each.enter_context(rare_collections())
    one.close()
    assert sys.getswitchinterval() < turns and gc.get_threshold() != thresholds
    other.close()
    assert (sys.getswitchinterval(), gc.get_threshold()) == (turns, thresholds)


def test_threads_of_a_driver_take_short_turns_while_it_runs():
    """And what they took before once it is over, also where it fails."""
    found = []

    class Fails(CheapFarm):
        def run(self, batches):
            found.append(sys.getswitchinterval())
            raise RuntimeError

    before = sys.getswitchinterval()
    with pytest.raises(RuntimeError):
        driver(MemoryStore(), Fails()).run()
    assert found == [pytest.approx(TURN_S, rel=1e-3)] and before > TURN_S
    assert sys.getswitchinterval() == before
