"""The process that writes the evaluation cache: what a thread would write, whatever becomes of process and file."""

import dataclasses
import os
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
from test_results_cache import digest, outcome, same
from waiting import wait_until

from antennaopt.bench.null_solver import null_evaluate
from antennaopt.farm.replies import unpack_outcomes
from antennaopt.farm.task import solve_batch
from antennaopt.run import cache_writer, other_process
from antennaopt.run.cache_writer import RunCache, message_of
from antennaopt.run.handover import Unfit
from antennaopt.run.other_process import OtherProcess
from antennaopt.solve.outcome import Outcome
from antennaopt.store.cache import FILE, Entry, EvaluationCache
from antennaopt.store.late_cache import LateCache


def started(cache):
    """Return the cache once its process takes messages."""
    cache.start_process()
    wait_until(lambda: cache._process.ready, "the process")
    return cache


def entry(number):
    return Entry(digest=digest(number), context="c", solver="1.0+abc", outcome=Outcome.of(outcome(number)))


def batch(count):
    """Outcomes of a batch as a driver has them."""
    designs = [{"lens.radius": 0.01 + 1e-4 * number} for number in range(count)]
    reply = solve_batch(null_evaluate, "lens", designs, {"frequencies_hz": [26e9, 28e9, 30e9]}, "cpu")
    return unpack_outcomes(reply, worker="w0", attempt=1, batch_seconds=2.5)


def rows(folder):
    """All that a file has but times."""
    with sqlite3.connect(folder / FILE) as file:
        ask = "SELECT digest, contexts.context, solver, check_sum, outcome FROM entries JOIN contexts "
        entries = file.execute(ask + "ON entries.context = number ORDER BY digest").fetchall()
        return entries, file.execute("SELECT * FROM designs ORDER BY design").fetchall()


def test_the_process_writes_the_bytes_of_the_thread(tmp_path):
    found, outcomes = [], batch(40)
    for kind in (LateCache, RunCache):
        with kind(tmp_path / kind.__name__) as cache:
            if kind is RunCache:
                started(cache)
            for some in (outcomes, outcomes[3:17], []):  # whole batches, parts, nothing
                entries = [
                    Entry(digest=digest(len(some) * 100 + place), context="ab"[place % 2], solver="1", outcome=one)
                    for place, one in enumerate(some)
                ]
                cache.add(entries, [(digest(7), digest(8))], [digest(1400)])
                cache._writing[-1].done.result()
                assert (cache._written is None) == (kind is RunCache), "not written there"
        found.append(rows(tmp_path / kind.__name__))
    assert found[0] == found[1]
    assert len(found[0][0]) == 40 + 14


def test_what_the_process_has_not_written_is_found_and_is_on_the_disk_in_the_end(tmp_path):
    with RunCache(tmp_path) as cache:
        started(cache)
        cache._process._process.send_signal(signal.SIGSTOP)
        cache.add([entry(1)], [(digest(9), digest(1))])
        same(cache.find([digest(1)])[digest(1)], outcome(1))
        assert cache.digests_of([digest(9)]) == {digest(9): digest(1)}
        os.kill(cache._process._process.pid, signal.SIGCONT)
    with EvaluationCache(tmp_path) as other:
        same(other.find([digest(1)])[digest(1)], outcome(1))
    assert cache.warnings == []


def test_a_process_that_was_stopped_is_woken_by_who_waits_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(other_process, "WAKE_AFTER_S", 0.05)
    cache = started(RunCache(tmp_path))
    cache._process._process.send_signal(signal.SIGSTOP)
    cache.add([entry(1)])
    cache.close()
    assert cache._written is None
    assert len(rows(tmp_path)[0]) == 1


def test_a_stopped_process_does_not_hold_up_a_close_that_is_interrupted(tmp_path, monkeypatch):
    def interrupted(cache, write):
        raise KeyboardInterrupt

    monkeypatch.setattr(RunCache, "_wait", interrupted)
    cache = started(RunCache(tmp_path))
    process = cache._process._process
    process.send_signal(signal.SIGSTOP)
    cache.add([entry(1)])
    with ThreadPoolExecutor(1) as other:
        closing = other.submit(cache.close)
        try:
            wait_until(closing.done, "the end of close")
        finally:
            process.send_signal(signal.SIGCONT)
    assert isinstance(closing.exception(), KeyboardInterrupt)
    assert process.poll() == 0
    assert len(rows(tmp_path)[0]) == 1


def test_the_thread_writes_where_the_process_is_lost(tmp_path):
    with RunCache(tmp_path) as cache:
        started(cache)
        cache.add([entry(1)])
        cache._writing[-1].done.result()
        lost = cache._process._process
        lost.kill()
        lost.wait()
        cache.add([entry(2)])
        cache._writing[-1].done.result()
        assert cache._process is None
        cache.add([entry(3)])
    assert [int.from_bytes(key, "big") for key, *_ in rows(tmp_path)[0]] == [1, 2, 3]
    assert cache.warnings == []


def test_the_thread_writes_what_a_killed_process_leaves_unanswered(tmp_path):
    with RunCache(tmp_path) as cache:
        process = started(cache)._process._process
        process.send_signal(signal.SIGSTOP)
        cache.add([entry(1)], [(digest(9), digest(1))])
        process.kill()
    assert [int.from_bytes(key, "big") for key, *_ in rows(tmp_path)[0]] == [1]
    assert len(rows(tmp_path)[1]) == 1 and cache.warnings == []


def test_the_process_writes_into_the_file_that_replaced_a_damaged_one_and_its_own_is_read(tmp_path):
    with RunCache(tmp_path) as cache:
        started(cache)
        cache.add([entry(1)])
        cache._writing[-1].done.result()
        (tmp_path / FILE).write_bytes(b"no database")
        cache._replace(sqlite3.DatabaseError("malformed"))  # the reader does
        cache.add([entry(2)])
        cache._writing[-1].done.result()
        assert cache._written is None
    with EvaluationCache(tmp_path) as other:
        assert set(other.find([digest(1), digest(2)])) == {digest(2)}
    with RunCache(tmp_path / "other") as cache:
        started(cache)
        for file in (tmp_path / "other").iterdir():
            file.unlink()
        (tmp_path / "other" / FILE).write_bytes(b"no database at all" * 500)
        cache.add([entry(1)])  # the process replaces it
        cache._writing[-1].done.result()
        cache.add([entry(2)])
        cache._writing[-1].done.result()
        assert cache._replaced_behind == 1 and cache.find([digest(1)])
        assert len(cache.warnings) == 1 and "begun anew" in cache.warnings[0]


class Broken(OtherProcess):
    """A process that fails at what it is sent."""

    def write(self, message):
        return super().write((b"\xc1", message[1]))


@pytest.mark.parametrize("answer", [None, {}, {"warnings": []}])
def test_the_thread_writes_where_the_process_fails(tmp_path, monkeypatch, answer):
    """So it does where a package is replaced while a run goes on, and the process cannot import a part of it."""
    monkeypatch.setattr(cache_writer, "OtherProcess", Broken)
    if answer is not None:
        monkeypatch.setattr(Broken, "write", lambda process, message: answer)
    with RunCache(tmp_path) as cache:
        failed = started(cache)._process
        cache.add([entry(1)])
        cache._writing[-1].done.result()
        assert cache._process is None and failed._process.poll() is not None
        cache.add([entry(2)])
    assert [int.from_bytes(key, "big") for key, *_ in rows(tmp_path)[0]] == [1, 2]
    assert len(cache.warnings) == 1 and "failed" in cache.warnings[0] and "\n" not in cache.warnings[0]


@pytest.mark.parametrize("wrong", [15, 17])
def test_a_digest_of_another_length_has_no_form_in_a_message(wrong):
    one = dataclasses.replace(entry(1), digest=b"d" * wrong)
    with pytest.raises(Unfit):
        message_of([one, entry(2)], {}, [])


def test_what_has_no_form_in_a_message_is_written_by_the_thread_or_crashes_there(tmp_path):
    with pytest.raises(Unfit):
        message_of([entry(1)], {b"short": digest(1)}, [])
    with pytest.raises(Unfit):
        message_of([Entry(digest=digest(1), context="c", solver="1", outcome=outcome(1))], {}, [])
    cache = started(RunCache(tmp_path))
    cache.add([Entry(digest=digest(2), context="c", solver="1", outcome={"status": object()})])
    with pytest.raises(TypeError):
        cache.close()
    assert cache._process is None


def test_a_process_is_started_where_many_entries_come_fast(tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr(RunCache, "start_process", lambda cache: begun.append(cache))
    with RunCache(tmp_path) as cache:
        cache._handed = -1e9
        cache.add([entry(number) for number in range(300)])  # slowly
        cache.add([entry(number) for number in range(20)])  # few
        assert not begun
        cache._handed = 1e12
        cache.add([entry(number) for number in range(300)])
    assert begun == [cache]
