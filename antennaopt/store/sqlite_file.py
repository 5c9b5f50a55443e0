"""An SQLite file that may be damaged: transactions, size, and the errors that mean damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FAULTS = (sqlite3.Error, OSError, UnicodeDecodeError)
"""What SQLite raises; the last where its message quotes a damaged table that is no text."""

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PAGES = ("page_count", "freelist_count", "page_size")


@contextmanager
def transaction(file: sqlite3.Connection) -> Iterator[None]:
    """Commit what the body does, or nothing of it where it raises."""
    file.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            file.execute("ROLLBACK")
        raise
    file.execute("COMMIT")


def is_damage(problem: Exception) -> bool:
    """Whether a file is no database any more; one that is locked, full or not ours is left alone."""
    return type(problem) in (sqlite3.DatabaseError, UnicodeDecodeError) or code_of(problem) in _DAMAGED


def code_of(problem: Exception) -> int:
    """Return SQLite's primary code of an error, 0 where it has none."""
    return getattr(problem, "sqlite_errorcode", 0) & 0xFF


def remove_file(path: Path) -> None:
    """Remove a file, and what SQLite keeps next to it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            path.with_name(path.name + ending).unlink(missing_ok=True)


def size_of(file: sqlite3.Connection) -> int:
    """Return the bytes in use; the file itself may be larger for a while."""
    pages, free, each = (file.execute(f"PRAGMA {name}").fetchone()[0] for name in _PAGES)
    return (pages - free) * each
