"""The evaluation cache as a file: exact, shared, bounded, and never wrong whatever has become of it."""

import math
import multiprocessing
import random
import sqlite3
import time

import numpy as np
import pytest
from run_examples import solved
from waiting import SAFETY_S, wait_until

from antennaopt.solve.cuts import CUTS, amplitudes
from antennaopt.store import cache as module
from antennaopt.store.cache import Entry, EvaluationCache, usual_folder
from antennaopt.store.late_cache import MOST_WAITING, LateCache

KINDS = pytest.mark.parametrize("kind", [EvaluationCache, LateCache])


def outcome(number):
    """With every kind of value: numbers that are not finite, none at all, text, pairs, arrays."""
    made = solved(steps=number, directivity_dbi=[number / 3.0, math.nan], hpbw_e_deg=[None, 20.0], decay_db=-math.inf)
    planes = {name: amplitudes(made[name]).astype(np.complex64) for name in CUTS[1:]}
    return made | planes | {"theta_deg": np.array(made["theta_deg"], dtype=np.float32)}


def entry(number, context="c", solver="1.0+abc"):
    return Entry(digest=digest(number), context=context, solver=solver, outcome=outcome(number))


def digest(number):
    return number.to_bytes(16, "big")


def same(one, other):
    assert set(one) == set(other)
    for name, value in one.items():
        assert type(value) is type(other[name])
        np.testing.assert_array_equal(value, other[name]) if name in CUTS else np.testing.assert_equal(
            value, other[name]
        )


@KINDS
def test_what_comes_out_is_what_went_in_to_the_bit(tmp_path, kind):
    with kind(tmp_path) as cache:
        cache.add([entry(number) for number in range(700)], [(digest(9000 + n), digest(n)) for n in range(700)])
    with kind(tmp_path) as cache:
        found = cache.find([digest(number) for number in (*range(690, 710), 5)])
        assert len(found) == 11
        for key, one in found.items():
            same(one, outcome(int.from_bytes(key, "big")))
        assert cache.digests_of([digest(9003), digest(1)]) == {digest(9003): digest(3)}
        assert (cache.damaged, cache.fault) == (0, "")


def test_known_digests_are_of_one_context_and_the_last_used_come_first(tmp_path, monkeypatch):
    clock = iter(range(10))
    monkeypatch.setattr(module.time, "time", lambda: next(clock))
    with EvaluationCache(tmp_path) as cache:
        cache.add([entry(1)])
        cache.add([entry(2)])
        cache.add([entry(3, context="other")])
        cache.add([], used=[digest(1)])
        assert cache.known("c", 9) == [digest(1), digest(2)]
        assert cache.known("c", 1) == [digest(1)]
        assert cache.known("nobody", 9) == []


@KINDS
@pytest.mark.parametrize("seed", range(12))
def test_flipped_bytes_are_found_and_never_believed(tmp_path, kind, seed):
    """A hundred bytes anywhere in a file of some 400 kB: whatever is still found is as it was, or nothing is."""
    with kind(tmp_path) as cache:
        cache.add([entry(number) for number in range(60)], [(digest(9000 + n), digest(n)) for n in range(60)])
    path = tmp_path / module.FILE
    raw = bytearray(path.read_bytes())
    draw = random.Random(seed)
    for _ in range(100):
        raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
    path.write_bytes(raw)
    with kind(tmp_path) as cache:
        aliases = cache.digests_of([digest(9000 + number) for number in range(60)])
        assert all(int.from_bytes(key, "big") - 9000 == int.from_bytes(one, "big") for key, one in aliases.items())
        for key, one in cache.find([digest(number) for number in range(60)]).items():
            same(one, outcome(int.from_bytes(key, "big")))
        cache.add([entry(100)])
    with kind(tmp_path) as cache:
        cache.add([entry(101)])
        same(cache.find([digest(101)]).get(digest(101), outcome(101)), outcome(101))


@KINDS
@pytest.mark.parametrize("content", [b"", b"no database at all" * 500, b"SQLite format 3\x00" + bytes(2000)])
def test_a_file_that_is_no_cache_is_replaced(tmp_path, kind, content):
    (tmp_path / module.FILE).write_bytes(content)
    with kind(tmp_path) as cache:
        cache.add([entry(1)])
        assert cache.find([digest(1)])
    with kind(tmp_path) as cache:
        assert cache.find([digest(1)])


@KINDS
def test_a_folder_that_cannot_be_used_is_as_good_as_an_empty_cache(tmp_path, kind):
    (tmp_path / "file").write_text("")
    cache = kind(tmp_path / "file" / "below")
    assert cache.fault
    cache.add([entry(1)])
    assert (cache.find([digest(1)]), cache.totals(), cache.size, cache.prune(older_than_s=0)) == ({}, [], 0, 0)
    cache.close()


@KINDS
def test_who_makes_the_file_while_another_does_waits_for_it(tmp_path, monkeypatch, kind):
    """SQLite refuses one of them at once: a run would have no cache to its end."""
    connect, refused = sqlite3.connect, []

    def busy(*arguments, **options):
        if len(refused) < 3:
            refused.append(sqlite3.OperationalError("database is locked"))
            refused[-1].sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise refused[-1]
        return connect(*arguments, **options)

    monkeypatch.setattr(module.sqlite3, "connect", busy)
    with kind(tmp_path) as cache:
        assert (len(refused), cache.fault, cache.warnings) == (3, "", [])
        cache.add([entry(1)])
        assert cache.find([digest(1)])


def fill(folder, first, count, pause_s, kind=EvaluationCache):
    with kind(folder) as cache:
        for number in range(first, first + count):
            cache.add([entry(number), entry(7)], [(digest(9000 + number), digest(number))])
            time.sleep(pause_s)


def test_several_processes_write_at_once(tmp_path):
    start = multiprocessing.get_context("spawn").Process
    writers = [start(target=fill, args=(tmp_path, 1000 * place, 40, 0.0)) for place in range(1, 4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(SAFETY_S)
    with EvaluationCache(tmp_path) as cache:
        numbers = [1000 * place + number for place in range(1, 4) for number in range(40)]
        assert len(cache.find([digest(number) for number in numbers])) == 120
        assert sum(one["entries"] for one in cache.totals()) == 121
        assert cache.damaged == 0


def entries_in(folder):
    if not (folder / module.FILE).exists():
        return 0
    with EvaluationCache(folder) as cache:
        return sum(one["entries"] for one in cache.totals())


@KINDS
def test_a_writer_that_is_killed_leaves_whole_entries(tmp_path, kind):
    writer = multiprocessing.get_context("spawn").Process(target=fill, args=(tmp_path, 1, 100_000, 0.0, kind))
    writer.start()
    wait_until(lambda: entries_in(tmp_path) > 10)
    writer.kill()
    writer.join(SAFETY_S)
    with EvaluationCache(tmp_path) as cache:
        (total,) = cache.totals()
        assert total["entries"] > 10
        assert len(cache.find([digest(number) for number in range(1, 1_000)])) == min(total["entries"], 999)
        assert (cache.damaged, cache.fault) == (0, "")
        cache.add([entry(500_000)])
        assert cache.find([digest(500_000)])


def test_it_stays_within_its_size_and_the_oldest_go_first(tmp_path):
    with EvaluationCache(tmp_path, most_bytes=600_000) as cache:
        for first in range(0, 400, 50):
            cache.add([entry(number) for number in range(first, first + 50)], [(digest(9000 + first), digest(first))])
            cache.add([], used=[digest(3)])
            assert cache.size <= 600_000
        left = {int.from_bytes(one, "big") for one in cache.known("c", 10**6)}
        assert {3, *range(370, 400)} <= left
        assert not left & {0, 1, 2, *range(4, 50)}
        assert set(cache.digests_of([digest(9000), digest(9350)])) == {digest(9350)}


def test_pruning_by_age_and_size_and_clearing(tmp_path):
    with EvaluationCache(tmp_path) as cache:
        cache.add([entry(number) for number in range(1000)])
        cache._connection.execute("UPDATE entries SET used = used - 1000 WHERE digest < ?", (digest(30),))
        assert cache.prune(older_than_s=500.0) == 30
        assert cache.prune(older_than_s=500.0) == 0
        size = cache.size
        removed = cache.prune(most_bytes=size // 2)
        assert 400 < removed < 700
        assert cache.size <= size // 2
        assert cache.clear() == 970 - removed
        assert cache.totals() == []
        cache.add([entry(1)])
        assert cache.find([digest(1)])


def test_totals_are_by_solver_version(tmp_path):
    with EvaluationCache(tmp_path) as cache:
        cache.add([entry(1), entry(2, context="d"), entry(3, context="e", solver="1.1+def")])
        assert {one["solver"]: one["entries"] for one in cache.totals()} == {"1.0+abc": 2, "1.1+def": 1}


def test_a_locked_cache_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)
    with EvaluationCache(tmp_path) as cache:
        cache.add([entry(1)])
        other = sqlite3.connect(tmp_path / module.FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        cache.add([entry(2)])
        assert "locked" in cache.fault
        other.execute("COMMIT")
        other.close()
    with EvaluationCache(tmp_path) as cache:
        assert set(cache.find([digest(1), digest(2)])) == {digest(1)}


def test_where_it_is(tmp_path, monkeypatch):
    """The tests themselves run with the cache off."""
    assert usual_folder() is None
    monkeypatch.setenv("ANTENNAOPT_CACHE", str(tmp_path / "given"))
    assert usual_folder() == tmp_path / "given"
    assert usual_folder(tmp_path) == tmp_path
    assert usual_folder("off") is None
    monkeypatch.setenv("ANTENNAOPT_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert usual_folder() == tmp_path / "antennaopt"


def test_what_waits_to_be_written_is_found_and_is_on_the_disk_once_the_cache_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_S", SAFETY_S)
    names = [(digest(9001), digest(1))]
    with EvaluationCache(tmp_path) as other, LateCache(tmp_path) as late:
        other._connection.execute("BEGIN IMMEDIATE")  # the thread cannot write
        late.add([entry(1)], names)
        same(late.find([digest(1), digest(2)])[digest(1)], outcome(1))
        assert late.digests_of([digest(9001)]) == dict(names)
        assert late.known("c", 9) == [digest(1)]
        assert other.find([digest(1)]) == {}
        other._connection.execute("COMMIT")
    with EvaluationCache(tmp_path) as cache:
        assert cache.find([digest(1)]) and cache.digests_of([digest(9001)]) == dict(names)
        assert late.warnings == []


def test_a_search_waits_for_the_disk_where_much_is_not_written(tmp_path):
    with LateCache(tmp_path) as late:
        for number in range(5 * MOST_WAITING):
            late.add([entry(number)])
            assert len(late._writing) <= MOST_WAITING
        assert len(late.find([digest(number) for number in range(5 * MOST_WAITING)])) == 5 * MOST_WAITING


def test_the_thread_writes_into_the_file_that_replaced_a_damaged_one(tmp_path):
    with LateCache(tmp_path) as late:
        late.add([entry(1)])
        late._writing[0].done.result()
        (tmp_path / module.FILE).write_bytes(b"no database")
        late._replace(sqlite3.DatabaseError("malformed"))
        late.add([entry(2)])
    with EvaluationCache(tmp_path) as cache:
        assert list(cache.find([digest(1), digest(2)])) == [digest(2)]


def test_a_file_that_the_thread_replaced_is_read(tmp_path):
    with LateCache(tmp_path) as late:
        for file in tmp_path.iterdir():
            file.unlink()
        (tmp_path / module.FILE).write_bytes(b"no database at all" * 500)
        late.add([entry(1)])
        late._writing[0].done.result()
        late.add([entry(2)])  # forgets what is written
        assert late.find([digest(1)])
        assert len(late.warnings) == 1 and "begun anew" in late.warnings[0]


def test_an_entry_that_cannot_be_packed_is_a_crash(tmp_path):
    late = LateCache(tmp_path)
    late.add([entry(1), Entry(digest=digest(2), context="c", solver="1", outcome={"status": object()})])
    with pytest.raises(TypeError):
        late.close()
    assert late._connection is None
