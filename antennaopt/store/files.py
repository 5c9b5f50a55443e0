"""Files and folders of a run: files written completely or not at all, one writer at a time, no links out of the folder.

A file is written as `.tmp-*` next to its target (readers of Parquet folders skip names with a leading dot), flushed to
the disk, renamed over the target, and the folder flushed, in that order: whatever kills the process, the target is
either the old file or the new one. Errors of the operating system are raised in words.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from antennaopt.errors import ConfigurationError, ResumeRefusedError, RunInUseError, StorageError

TEMPORARY_PREFIX = ".tmp-"

LAST_WRITE_S = 30.0
"""That a process which writes for a driver may go on after the driver's end: it ends with the write under way."""

ANOTHER = "use another folder: --out of a new run, a copy of this one"
AGAIN = "free some space, then `antennaopt resume` the run or repeat the command"
ADVICE = {
    errno.ENOSPC: f"the disk is full; {AGAIN}",
    errno.EDQUOT: f"the disk quota is used up; {AGAIN}",
    errno.EACCES: f"permission denied; change its permissions or {ANOTHER}",
    errno.EPERM: f"permission denied; change its permissions or {ANOTHER}",
    errno.EROFS: f"the file system is read-only; {ANOTHER}",
    errno.ENOTDIR: f"a part of this path is a file, not a folder; {ANOTHER}",
    errno.EEXIST: f"there is a file where a folder is needed; {ANOTHER}",
}


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn every operating-system error inside into a `StorageError` that names the path and what to do."""
    try:
        yield
    except OSError as problem:
        number = problem.errno or 0
        advice = ADVICE.get(number, problem.strerror or str(problem))
        raise StorageError(f"cannot write {path}: {advice}") from problem


def write_atomically(
    path: Path, write: Callable[[BinaryIO], object], *, after: Callable[[], object] | None = None
) -> None:
    """Create or replace a file in one step.

    Args:
        path: Target; its folder must exist.
        write: Writes the whole content to the open file it is given.
        after: Returns when what must be on the disk before the file is there; what it raises leaves the target as it
            was.

    Raises:
        StorageError: Disk full, no permission. The target is as it was before and no temporary file is left.
    """
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{path.name}")
    with storing(path):
        _refuse_device(path)
        try:
            with temporary.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            if after is not None:
                after()
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def _refuse_device(path: Path) -> None:
    """Replace no device or FIFO by a file: as root that would take `/dev/null` from the whole machine.

    Raises:
        OSError: It is one.
    """
    with suppress(FileNotFoundError):
        kind = path.lstat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
            raise OSError(errno.EINVAL, "it is not a regular file")


def write_text(path: Path, text: str) -> None:
    """Create or replace a text file (UTF-8) in one step."""
    write_atomically(path, lambda file: file.write(text.encode()))


def append_line(path: Path, line: str) -> None:
    """Append one line to a log; a torn last line of a killed process is closed off first, never joined to ours.

    Raises:
        StorageError: Disk full, no permission.
    """
    with storing(path), path.open("ab+") as file:
        data = line.encode() + b"\n"
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                data = b"\n" + data
        file.write(data)


def log_of(run: Path) -> Path:
    """Return where a run folder's log lies."""
    return run / "logs" / "run.jsonl"


def events_in(lines: Iterable[str | bytes]) -> list[Mapping[str, Any]]:
    """Return the events of some lines; one that a crash cut short, or that holds no event, is passed over."""
    events = []
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


PROGRESS = '"event":"progress"'
"""Part of the lines of a log that most lines of a long run are: one every five seconds."""


def read_events(run: Path, *, progress: bool = True) -> list[Mapping[str, Any]]:
    """Return the events of a run folder's log, none where there is no log; see `events_in`.

    Args:
        run: The run folder.
        progress: Whether to parse the events `progress` too.
    """
    path = log_of(run)
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return events_in(lines if progress else (line for line in lines if PROGRESS not in line))


def hypervolumes(events: Iterable[Mapping[str, Any]]) -> dict[int, float]:
    """Return the hypervolume of the front after each generation, from the lines of `logs/run.jsonl`."""
    return {
        event["generation"]: float(event["hypervolume"])
        for event in events
        if event.get("event") == "generation"
        and type(event.get("generation")) is int
        and isinstance(event.get("hypervolume"), int | float)
        and math.isfinite(event["hypervolume"])
    }


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk, so that a rename in it survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of a process that was killed while it wrote here."""
    for leftover in folder.glob(f"{TEMPORARY_PREFIX}*"):
        with suppress(OSError):
            leftover.unlink()


FOLDERS = ("evals", "patterns", "checkpoint", "best", "logs")
OPTIONAL_FOLDERS = ("tolerance", "samples")
"""Folders that some run folders have."""
FILES = ("experiment.toml", "resolved.json", "manifest.json", "parents.json", "failures.jsonl", ".lock")


def refuse_strangers(run: Path) -> None:
    """Refuse a run folder of which a reader would open something else: a file elsewhere, a FIFO, a device.

    The folder itself, and those above it, may be links: results may lie on another disk.

    Args:
        run: The run folder; nothing is refused where there is none.

    Raises:
        ResumeRefusedError: A link of it leads out of it, or something in it is neither a file nor a folder.
    """
    root = os.path.realpath(run)
    with suppress(OSError), os.scandir(run) as entries:
        found = [entry for entry in entries if entry.name in (*FOLDERS, *OPTIONAL_FOLDERS, *FILES)]
        for entry in found:
            _refuse_stranger(entry, root)
        for folder in (entry.path for entry in found if entry.name in (*FOLDERS, *OPTIONAL_FOLDERS)):
            with suppress(OSError), os.scandir(folder) as below:
                for entry in below:
                    _refuse_stranger(entry, root)


def is_own_file(run: Path, path: Path) -> bool:
    """Say whether a path, by whatever links, is one of the files that make a run."""
    try:
        parts = path.resolve().relative_to(run.resolve()).parts
    except ValueError:
        return False
    return bool(parts) and parts[0] in (*FOLDERS, *OPTIONAL_FOLDERS, *FILES)


def _refuse_stranger(entry: os.DirEntry[str], root: str) -> None:
    if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(root):
        raise ResumeRefusedError(
            f"{entry.path} is a link that leads out of the run folder; put the file itself there, or remove the link"
        )
    if entry.is_symlink() and not Path(entry.path).exists():
        return  # leads nowhere: a missing file
    if not (entry.is_file() or entry.is_dir()):
        raise ResumeRefusedError(f"{entry.path} is not a regular file; a run folder holds files alone, remove it")


def new_folder(parent: Path, name: str) -> Path:
    """Make a run folder with its sub-folders; a second run in the same second gets `-2` added to its name."""
    with storing(parent):
        parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        path = parent / (name if number == 1 else f"{name}-{number}")
        with storing(path):
            try:
                path.mkdir()
            except FileExistsError:
                continue
            try:
                for folder in FOLDERS:
                    (path / folder).mkdir()
                sync_folder(parent)
            except OSError:
                shutil.rmtree(path, ignore_errors=True)
                raise
        return path
    raise StorageError(f"{parent / name} and 999 like it exist already; remove some")


def refuse_links(path: Path) -> None:
    """Write to no folder or log that leads elsewhere; files written in one step take the place of a link."""
    for name in (*FOLDERS, *OPTIONAL_FOLDERS, ".lock", "failures.jsonl", "logs/run.jsonl", "logs/order.jsonl"):
        if (path / name).is_symlink():
            raise ResumeRefusedError(f"{path / name} is a link; a run folder holds its own files, put them there")


class FolderLock:
    """An exclusive lock on `<folder>/.lock`, held until `release` or the end of the process.

    Raises:
        RunInUseError: Another process holds it; the message names it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / ".lock"
        with storing(self._path):
            self._file: IO[str] | None = self._path.open("a+", encoding="utf-8")
        try:
            self._take()
        except BlockingIOError:
            holder = self._holder()
            if self._holder_has_ended():
                holder = f"the process that writes for {holder}, which has ended itself"
            self._file.close()
            raise RunInUseError(
                f"{folder} is in use by {holder}; wait for it to end, stop it, or start another run"
            ) from None
        except BaseException:
            self._file.close()
            raise
        with storing(self._path):
            self._file.truncate(0)
            self._file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}) + "\n")
            self._file.flush()

    @classmethod
    def inherited(cls, folder: Path, handle: int) -> FolderLock:
        """Return a lock that another process took, and whose open file this one has too: both must let go.

        Args:
            folder: The run folder.
            handle: File descriptor.
        """
        lock = cls.__new__(cls)
        lock._path, lock._file = folder / ".lock", os.fdopen(handle, "a+", encoding="utf-8")
        return lock

    @property
    def handle(self) -> int:
        """File descriptor of the open file that holds it.

        Raises:
            ValueError: It was released.
        """
        if self._file is None:
            raise ValueError(f"{self._path} was released")
        return self._file.fileno()

    def release(self) -> None:
        """Let others in; a second call does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take(self) -> None:
        """Take it; where the process that took it has ended, wait until what it started to write is written.

        Raises:
            BlockingIOError: Another process holds it.
        """
        patience = time.monotonic() + LAST_WRITE_S
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # type: ignore[arg-type] - it is open
            except BlockingIOError:
                if time.monotonic() > patience or not self._holder_has_ended():
                    raise
                time.sleep(0.01)
            else:
                return

    def _holder(self) -> str:
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            holder = json.loads(self._path.read_text(encoding="utf-8"))
            return f"process {int(holder['pid'])} on {holder['host']}"
        return "another process"

    def _holder_has_ended(self) -> bool:
        """Whether the process that is named in the file was one of this machine, and is gone."""
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            holder = json.loads(self._path.read_text(encoding="utf-8"))
            return holder["host"] == socket.gethostname() and has_ended(int(holder["pid"]))
        return False


def has_ended(process: int) -> bool:
    """Whether a process of this machine has ended, also where its parent has not noticed yet."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    with suppress(OSError, IndexError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    return False


def remove_all_leftovers(run: Path) -> None:
    """Remove the temporary files of a process that was killed while it wrote to a run folder."""
    for folder in (run, *(run / name for name in (*FOLDERS, *OPTIONAL_FOLDERS))):
        remove_leftovers(folder)


def take_over(run: Path) -> FolderLock:
    """Lock an existing run folder for this process; make what folders it lacks, and remove what a killed one left.

    Raises:
        ResumeRefusedError: A folder or log of it is a link.
        RunInUseError: Another process is writing to it.
    """
    refuse_links(run)
    lock = FolderLock(run)
    for name in FOLDERS:
        with storing(run / name):
            (run / name).mkdir(exist_ok=True)
    remove_all_leftovers(run)
    return lock


def require_name(path: Path | str) -> None:
    """Refuse a path that no folder can have, or whose bytes are not UTF-8: PyArrow opens no files there.

    Raises:
        ConfigurationError: It is one.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"{path} is a name that is not UTF-8; rename it or choose another folder") from None
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:  # ValueError: a null byte
        if isinstance(error, OSError) and error.errno != errno.ENAMETOOLONG:
            return  # none there yet, or one that the caller cannot read
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError(f"{path!s:.60} cannot name a folder ({why}); choose another name") from None


def check_run_folder(path: Path) -> None:
    """Make sure that a path is a run folder at all, and that nothing in it leads elsewhere.

    Raises:
        ConfigurationError: It is not.
        ResumeRefusedError: A link of it leads out, or something in it is neither a file nor a folder.
    """
    require_name(path)
    refuse_strangers(path)
    if not (path / "manifest.json").is_file():
        what = "is not a run folder (manifest.json is missing)" if path.exists() else "does not exist"
        raise ConfigurationError(f"{path} {what}; name the folder that `antennaopt run` printed as its last line")
