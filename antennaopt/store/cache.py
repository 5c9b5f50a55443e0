"""The evaluation cache: outcomes of solved antennas, with the digest of the solved problem as key.

One SQLite file in the user's cache folder, shared by all runs of this user on this machine. A transaction is there
whole or not at all, whatever kills the process; several processes take turns. Every entry carries a SHA-256 of its own.
One that does not match, or holds what no solver returns, is dropped and counted. Nothing is unpickled: an outcome is
JSON and arrays of float32.

The cache may be lost at any time: whatever is wrong with it, nothing is found and nothing raised.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from antennaopt.solve.outcome import Outcome, fault_of
from antennaopt.store.packing import MALFORMED, packed, unpacked
from antennaopt.store.sqlite_file import FAULTS, code_of, is_damage, remove_file, size_of, transaction
from fdtd.cache_folder import cache_folder

T = TypeVar("T")

FOLDER_VARIABLE = "ANTENNAOPT_CACHE"
"""Environment variable: a folder for the cache, or `off`."""

FILE = "evaluations.sqlite"
MOST_BYTES = 1_000_000_000
KEPT_WHEN_FULL = 0.9
PATIENCE_S = 5.0
PAUSE_S = 0.01
PAGE_BYTES = 8192  # an entry has 5 kB with one frequency, 11 kB with three
AT_ONCE = 500  # parameters of one statement
DIGEST_BYTES = 16

OF_ITS_RUN = frozenset({"batch_seconds", "origin", "figures", "identity"})
"""Keys of an outcome that say nothing of the antenna, and are not kept."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS contexts (number INTEGER PRIMARY KEY, context TEXT UNIQUE NOT NULL, solver TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    digest BLOB PRIMARY KEY, context INTEGER NOT NULL, used REAL NOT NULL, check_sum BLOB NOT NULL,
    outcome BLOB NOT NULL);
DROP INDEX IF EXISTS by_context;
CREATE INDEX IF NOT EXISTS by_age ON entries (context, used, digest);
CREATE TABLE IF NOT EXISTS designs (
    design BLOB PRIMARY KEY, digest BLOB NOT NULL, check_sum BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tallies (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One antenna that was solved.

    Attributes:
        digest: Of its cells and all else that decides the outcome, 16 bytes.
        context: What decides the outcome in addition to the cells, hexadecimal.
        solver: The solver's version.
        outcome: What came of it; plain data, and arrays of float32. Keys of `OF_ITS_RUN` are not written.
    """

    digest: bytes
    context: str
    solver: str
    outcome: Outcome


def usual_folder(asked: str | Path | None = None) -> Path | None:
    """Return the cache's folder: as given, else as in `ANTENNAOPT_CACHE`, else the user's; None for `off`."""
    given = str(asked or os.environ.get(FOLDER_VARIABLE, "")).strip()
    if given.lower() == "off":
        return None
    return Path(given).expanduser() if given else cache_folder()


class EvaluationCache:
    """The cache in one folder. A context manager; every method is safe to call whatever has become of the file.

    Attributes:
        path: The file.
        damaged: Entries that were met, were not what had been written or no outcome, and were dropped.
        fault: Why the cache cannot be used, or empty.
        warnings: What went wrong, for people, a line each; removed once they are shown.
        replaced: How often a file that was no cache any more was removed, and a new one made.
    """

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        """Open the cache of a folder, and make both when they are not there.

        Args:
            folder: Where.
            most_bytes: Its size at most; the entries that were not used for longest go first.
        """
        self.path = folder / FILE
        self.damaged = 0
        self.fault = ""
        self.warnings: list[str] = []
        self.replaced = 0
        self._most_bytes = most_bytes
        self._connection = self._open()

    def find(self, digests: Sequence[bytes], frequencies: Sequence[float] = ()) -> dict[bytes, Outcome]:
        """Return the outcomes that are there, by digest.

        Args:
            digests: Of the antennas.
            frequencies: Hz, that an outcome must be for, in their order; any when empty.
        """
        rows = self._select("SELECT digest, check_sum, outcome FROM entries WHERE digest IN (%s)", digests)
        found, damaged = {}, []
        for digest, check_sum, blob in rows:
            outcome = _decoded(digest, check_sum, blob)
            if outcome is None or (frequencies and outcome.get("frequency_hz", list(frequencies)) != list(frequencies)):
                damaged.append((digest, check_sum))
            else:
                found[digest] = outcome
        self._drop("DELETE FROM entries WHERE digest IS ? AND check_sum IS ?", damaged)
        return found

    def digests_of(self, designs: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the digests that are known of designs, by the designs' keys."""
        rows = self._select("SELECT design, digest, check_sum FROM designs WHERE design IN (%s)", designs)
        sound = {row[0]: row[1] for row in rows if _is_digest(row[1]) and _check_sum(row[0], row[1]) == row[2]}
        damaged = [(row[0], row[2]) for row in rows if row[0] not in sound]
        self._drop("DELETE FROM designs WHERE design IS ? AND check_sum IS ?", damaged)
        return sound

    def known(self, context: str, most: int) -> list[bytes]:
        """Return the digests of a context, those used last first."""
        ask = (
            "SELECT digest FROM entries WHERE context = (SELECT number FROM contexts WHERE context = ?) "
            "ORDER BY used DESC LIMIT ?"
        )
        rows = self._try(lambda cache: cache.execute(ask, (context, most)).fetchall(), [])
        return [digest for (digest,) in rows if _is_digest(digest)]

    def add(
        self, entries: Iterable[Entry], designs: Iterable[tuple[bytes, bytes]] = (), used: Iterable[bytes] = ()
    ) -> None:
        """Write entries in one transaction, in place of those of the same digest.

        Args:
            entries: New ones.
            designs: Keys of designs, and the digests of their cells.
            used: Digests that were found, which are young again.
        """
        now = time.time()
        names = [(design, digest, _check_sum(design, digest)) for design, digest in designs]
        rows, contexts = [], set()
        for one in entries:
            blob = packed(one.outcome, without=OF_ITS_RUN)
            contexts.add((one.context, one.solver))
            rows.append((one.digest, one.context, now, _check_sum(one.digest, blob), blob))

        def write(cache: sqlite3.Connection) -> None:
            with transaction(cache):
                cache.executemany("INSERT OR IGNORE INTO contexts (context, solver) VALUES (?, ?)", contexts)
                numbers = dict(cache.execute("SELECT context, number FROM contexts").fetchall())
                numbered = [(digest, numbers[context], *rest) for digest, context, *rest in rows]
                cache.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)", numbered)
                cache.executemany("INSERT OR REPLACE INTO designs VALUES (?, ?, ?)", names)
                cache.executemany("UPDATE entries SET used = ? WHERE digest = ?", [(now, one) for one in used])
            if size_of(cache) > self._most_bytes:
                _shrink(cache, int(KEPT_WHEN_FULL * self._most_bytes))

        self._try(write, None)

    def expect(self, entries: int) -> None:
        """Prepare for that many entries, which will come fast; nothing to do here."""

    def totals(self) -> list[dict[str, Any]]:
        """Return entries, bytes, first and last use (seconds since 1970) by solver version, the latest first."""
        ask = (
            "SELECT CAST(solver AS TEXT), COUNT(*), SUM(LENGTH(outcome)), "
            "CAST(MIN(used) AS REAL), CAST(MAX(used) AS REAL) FROM entries "
            "JOIN contexts ON entries.context = contexts.number GROUP BY solver ORDER BY MAX(used) DESC"
        )
        keys = ("solver", "entries", "bytes", "first_used", "last_used")
        rows = self._try(lambda cache: cache.execute(ask).fetchall(), [])
        return [dict(zip(keys, row, strict=True)) for row in rows]

    @property
    def dropped(self) -> int:
        """Damaged entries that were dropped from this file, by whichever process."""
        ask = "SELECT count FROM tallies WHERE name = 'dropped'"
        (count,) = self._try(lambda cache: cache.execute(ask).fetchone(), None) or (0,)
        return count if isinstance(count, int) else 0

    @property
    def size(self) -> int:
        """Bytes in use; the file itself may be larger for a while."""
        return self._try(size_of, 0)

    def prune(self, *, older_than_s: float | None = None, most_bytes: int | None = None) -> int:
        """Remove entries that were not used for long; return how many.

        Args:
            older_than_s: Those not used for this many seconds.
            most_bytes: As many of the oldest as it takes to come down to this size.
        """

        def remove(cache: sqlite3.Connection) -> int:
            before = _count(cache)
            if older_than_s is not None:
                with transaction(cache):
                    cache.execute("DELETE FROM entries WHERE used < ?", (time.time() - older_than_s,))
                    _forget_designs(cache)
            if most_bytes is not None:
                _shrink(cache, most_bytes)
            cache.execute("PRAGMA incremental_vacuum").fetchall()
            return before - _count(cache)

        return self._try(remove, 0)

    def clear(self) -> int:
        """Remove everything; return how many entries there were."""
        count = self._try(_count, 0)
        self._disconnect()
        remove_file(self.path)
        self._connection = self._open()
        return count

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def __enter__(self) -> EvaluationCache:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _open(self) -> sqlite3.Connection | None:
        """Open the file; one that is no cache any more is replaced.

        Where several processes make the file at once, SQLite refuses it to some without waiting; these try again.
        """
        until, replaced = time.monotonic() + PATIENCE_S, False
        while True:
            connection = None
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                connection = sqlite3.connect(
                    self.path, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False
                )
                connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.executescript(SCHEMA)
            except FAULTS as problem:
                self.fault = str(problem)
                if connection is not None:
                    connection.close()
                if code_of(problem) == sqlite3.SQLITE_BUSY and time.monotonic() < until:
                    time.sleep(PAUSE_S)
                elif replaced or not is_damage(problem):
                    self.warnings.append(f"no evaluation cache: {self.path}: {problem}; every antenna is solved")
                    return None
                else:
                    self._replace(problem)
                    replaced = True
            else:
                self.fault = ""
                return connection

    def _select(self, statement: str, keys: Sequence[bytes]) -> list[tuple]:
        def ask(cache: sqlite3.Connection) -> list[tuple]:
            rows = []
            for first in range(0, len(keys), AT_ONCE):
                some = keys[first : first + AT_ONCE]
                rows += cache.execute(statement % ", ".join("?" * len(some)), some).fetchall()
            return rows

        return self._try(ask, [])

    def _try(self, action: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Do something with the file; where it fails, the cache is not used any more, and a damaged file replaced."""
        if self._connection is None:
            return otherwise
        try:
            return action(self._connection)
        except FAULTS as problem:
            self.fault = str(problem)
            self._disconnect()
            if is_damage(problem):
                self._replace(problem)
                self._connection = self._open()
            else:
                self.warnings.append(f"{self.path} is not used any more: {problem}")
            return otherwise

    def _drop(self, statement: str, damaged: Sequence[tuple[Any, Any]]) -> None:
        """Remove entries that are no outcomes, unless another process has replaced them, and count them.

        Args:
            statement: Removes one by its key and check sum.
            damaged: Key and check sum of each.
        """
        if not damaged:
            return
        if not self.damaged:
            self.warnings.append(f"{self.path} has damaged entries; they are dropped and their antennas solved again")
        self.damaged += len(damaged)

        def remove(cache: sqlite3.Connection) -> None:
            with transaction(cache):
                cache.executemany(statement, damaged)
                cache.execute(
                    "INSERT INTO tallies VALUES ('dropped', ?) ON CONFLICT (name) DO UPDATE SET count = count + ?",
                    (len(damaged), len(damaged)),
                )

        self._try(remove, None)

    def _replace(self, problem: Exception) -> None:
        """Remove a file that is no cache any more, and say so."""
        self.replaced += 1
        self.warnings.append(f"{self.path} was damaged ({problem}) and is begun anew")
        remove_file(self.path)


def _count(cache: sqlite3.Connection) -> int:
    return cache.execute("SELECT COUNT(*) FROM entries").fetchone()[0]


def _shrink(cache: sqlite3.Connection, most_bytes: int) -> None:
    """Remove the oldest entries, a tenth at a time, until what is left is small enough."""
    while size_of(cache) > most_bytes and (count := _count(cache)):
        with transaction(cache):
            oldest = "SELECT digest FROM entries ORDER BY used LIMIT ?"
            cache.execute(f"DELETE FROM entries WHERE digest IN ({oldest})", (max(count // 10, 1),))  # noqa: S608
            _forget_designs(cache)


def _forget_designs(cache: sqlite3.Connection) -> None:
    cache.execute("DELETE FROM designs WHERE digest NOT IN (SELECT digest FROM entries)")


def _decoded(digest: bytes, check_sum: Any, blob: Any) -> Outcome | None:
    """Undo `packed`; None when it is not what was written, or was no outcome of a solver."""
    if not isinstance(blob, bytes) or _check_sum(digest, blob) != check_sum:
        return None
    try:
        outcome = unpacked(blob)
        return None if fault_of(outcome, solved=True) else Outcome.of(outcome)
    except MALFORMED:
        return None


def _is_digest(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) == DIGEST_BYTES


def _check_sum(key: bytes, value: Any) -> bytes:
    return hashlib.sha256(key + value).digest()[:DIGEST_BYTES] if isinstance(value, bytes) else b""
