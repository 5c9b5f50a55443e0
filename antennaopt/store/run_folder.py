"""The run folder: all files of a run, each written in one step, one writer at a time.

In `<UTC stamp>-<name>-<config hash>/` stand `experiment.toml` (as given), `resolved.json` (with every default),
`manifest.json` (where the numbers come from), `evals/gen-000012.parquet` and `patterns/gen-000012.parquet` (see
`antennaopt.store.generations`), `checkpoint/checkpoint-000012.json` (the last two), `failures.jsonl` and
`logs/run.jsonl` (appended), and what reports and exports add: `best/`, `report.html`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from antennaopt.errors import ResumeRefusedError, StorageError
from antennaopt.solve.outcome import Outcome
from antennaopt.store.checkpoint import Checkpoint, OrderLog, canonical, load_checkpoint, save_checkpoint
from antennaopt.store.files import FolderLock, append_line, new_folder, refuse_strangers, storing, take_over, write_text
from antennaopt.store.generations import (
    by_generation,
    cause_of,
    files,
    generation_of,
    generations_in,
    holding,
    other_columns,
    read_columns,
    read_generation,
    read_rows,
    write_generation,
)
from antennaopt.store.manifest import (
    ExperimentRecord,
    columns_of,
    pretty,
    provenance,
    read_manifest,
    read_object,
    read_source,
)
from antennaopt.store.rows import Row, in_order, pattern_table, table_of, under_other_names, whole_cuts
from antennaopt.store.schema import SCHEMA_VERSION, RunColumns, patterns_schema, plain_name

T = TypeVar("T")


class RunFolder:
    """One run on disk. Make it with `create` or `open`; as a context manager it releases its lock at the end.

    Attributes:
        path: The folder.
        columns: The run's columns.
        manifest: What `manifest.json` holds.
        writable: Whether this object holds the lock.
        left_out: Damaged Parquet files that were met and left out, each with a line on it; only of a folder that was
            opened with `whole=False`.
        lock: Of the folder; None of one that is open for reading.
        order: Of completion, in `logs/order.jsonl`; only a steady state has one.
    """

    def __init__(
        self,
        path: Path,
        *,
        columns: RunColumns,
        manifest: Mapping[str, Any],
        lock: FolderLock | None,
        whole: bool = True,
    ) -> None:
        self.path = path
        self.columns = columns
        self.manifest = dict(manifest)
        self.left_out: dict[Path, str] = {}
        self.lock, self._whole = lock, whole
        self.order = OrderLog(path / "logs" / "order.jsonl")
        self._schemas = {
            "evals": columns.evals_schema(config_hash=self.config_hash),
            "patterns": patterns_schema(config_hash=self.config_hash, complex_cuts=columns.complex_cuts),
            "samples": columns.samples_schema(config_hash=self.config_hash),
        }

    @classmethod
    def create(
        cls,
        root: Path | str,
        experiment: ExperimentRecord,
        *,
        columns: RunColumns,
        manifest: Mapping[str, Any] | None = None,
        texts: Mapping[str, str] | None = None,
        now: datetime | None = None,
    ) -> RunFolder:
        """Make `<root>/<name>/<UTC stamp>-<name>-<first 8 of the hash>/`, locked for this process.

        Args:
            root: `results/` usually; made when missing.
            experiment: Whose run it is.
            columns: The run's columns, kept in the manifest for readers.
            manifest: More for `manifest.json`: seed, backend, device, arithmetic class. Versions, commit, Python and
                the machine are added here.
            texts: Further files by name, written before the manifest.
            now: Time for the stamp; the clock's when None.

        Raises:
            StorageError: The folder cannot be made or written; nothing is left behind.
        """
        stamp = now or datetime.now(UTC)
        name = plain_name(experiment.name) or "run"
        path = new_folder(Path(root) / name, f"{stamp:%Y%m%dT%H%M%SZ}-{name}-{experiment.config_hash[:8]}")
        entries = {
            "schema_version": SCHEMA_VERSION,
            "run": path.name,
            "name": experiment.name,
            "created": stamp.isoformat(timespec="seconds"),
            "config_hash": experiment.config_hash,
            "columns": columns.to_dict(),
            **provenance(),
            **(manifest or {}),
        }
        lock = None
        try:
            lock = FolderLock(path)
            write_text(path / "experiment.toml", experiment.source)
            write_text(path / "resolved.json", pretty(experiment.resolved))
            for file, text in (texts or {}).items():
                write_text(path / file, text)
            write_text(path / "manifest.json", pretty(entries))
        except BaseException:
            if lock is not None:
                lock.release()
            shutil.rmtree(path, ignore_errors=True)
            raise
        return cls(path, columns=columns, manifest=entries, lock=lock)

    @classmethod
    def open(
        cls, path: Path | str, *, write: bool = False, whole: bool = True, lock: FolderLock | None = None
    ) -> RunFolder:
        """Open an existing run, for reading or, with `write`, to go on with it.

        Args:
            path: The folder.
            write: Whether to take its lock.
            whole: Whether a damaged Parquet file is an error; otherwise it is left out and noted in `left_out`.
            lock: The folder's lock, where this process has it already.

        Raises:
            ResumeRefusedError: It is not a run folder, is damaged, was written by a newer version, or leads elsewhere.
            RunInUseError: `write`, and another process is writing to it.
        """
        path = Path(path)
        refuse_strangers(path)
        manifest = read_manifest(path)
        columns = columns_of(path, manifest)
        lock = take_over(path) if write else lock
        return cls(path, columns=columns, manifest=manifest, lock=lock, whole=whole)

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        self.order.close()
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def run_id(self) -> str:
        """The folder's name, as in the column `run`."""
        return self.path.name

    @property
    def config_hash(self) -> str:
        """SHA-256 of what decides the numbers."""
        return str(self.manifest["config_hash"])

    @property
    def writable(self) -> bool:
        """Whether this object holds the lock."""
        return self.lock is not None

    @property
    def resolved(self) -> dict[str, Any]:
        """The experiment with every default, as `resolved.json` holds it."""
        return read_object(self.path / "resolved.json")

    @property
    def source(self) -> str:
        """The experiment file as given."""
        return read_source(self.path / "experiment.toml")

    @property
    def evals_folder(self) -> Path:
        """Folder for `pandas.read_parquet`."""
        return self.path / "evals"

    def refuse_unwritable(self, rows: Sequence[Row]) -> None:
        """Make the table and patterns of rows that a file held, and write nothing.

        Raises:
            ValueError, TypeError, LookupError, OverflowError, AttributeError: They could not be written.
        """
        try:
            self._table(table_of(self.columns, self.run_id, rows))
            pattern_table(self.run_id, {one.individual: one.outcome for one in rows}, self._schemas["patterns"])
        except pa.ArrowException as problem:
            raise ValueError(str(problem)) from problem

    def write_rows(self, generation: int, rows: Sequence[Row], *, after: Callable[[], object] | None = None) -> Path:
        """Write one generation's rows in one step; the same generation again replaces it.

        Rows are put in order of their slots, so the file does not depend on the order of completion.

        Args:
            generation: Which.
            rows: Of it.
            after: Returns when what must be there before the rows is; see `antennaopt.store.files.write_atomically`.

        Raises:
            StorageError: Disk full, no permission; earlier rows are intact and nothing is half-written.
        """
        ordered = sorted(rows, key=lambda one: one.slot)
        return self.write_columns("evals", generation, table_of(self.columns, self.run_id, ordered), after=after)

    def write_columns(
        self,
        kind: str,
        generation: int,
        columns: Mapping[str, Sequence[Any]],
        *,
        after: Callable[[], object] | None = None,
    ) -> Path:
        """Write one generation of `evals` or `samples` in one step; columns as in the schema of that kind."""
        self._must_be_writable()
        return write_generation(self.path / kind, generation, self._table(columns, kind), after=after)

    def _table(self, columns: Mapping[str, Sequence[Any]], kind: str = "evals") -> pa.Table:
        schema = self._schemas[kind]
        return pa.Table.from_arrays([pa.array(columns[field.name], field.type) for field in schema], schema=schema)

    def write_patterns(
        self, generation: int, outcomes: Mapping[str, Outcome], duplicates: Mapping[str, str] | None = None
    ) -> Path:
        """Write one generation's patterns in one step; to be called before `write_rows`.

        Args:
            generation: Which.
            outcomes: By individual; those without a pattern are left out.
            duplicates: Individuals whose pattern is that of one of an earlier generation, by its id.

        Raises:
            StorageError: Disk full, no permission.
        """
        self._must_be_writable()
        tables = [pattern_table(self.run_id, outcomes, self._schemas["patterns"])]
        born: dict[int, list[tuple[str, str]]] = {}
        for duplicate, individual in (duplicates or {}).items():
            born.setdefault(generation_of(individual), []).append((duplicate, individual))
        for earlier, names in born.items():
            there = read_generation(self.path / "patterns", earlier)
            if there is not None:
                tables.append(under_other_names(there, names, self._schemas["patterns"]))
        return write_generation(self.path / "patterns", generation, in_order(tables))

    def read_generation(self, generation: int, individuals: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Return one generation's rows, or those of some individuals, as plain dicts; empty when it was not written."""
        import pyarrow.compute as pc

        table = self.table_of("evals", generation)
        if table is not None and individuals is not None:
            table = table.filter(pc.is_in(table["individual"], pa.array(list(individuals), pa.string())))  # type: ignore[attr-defined]
        return [] if table is None else table.to_pylist()

    def pattern_of(self, individual: str) -> pa.Table | None:
        """Return the pattern of an individual, a row a frequency; None when its generation was not written."""
        return self.patterns_of([individual])[individual]

    def patterns_of(self, individuals: Iterable[str]) -> dict[str, pa.Table | None]:
        """Return `pattern_of` each individual, in order; each file is read once."""
        import pyarrow.compute as pc

        found = dict.fromkeys(individuals)
        for generation, names in groupby(sorted(found, key=generation_of), key=generation_of):
            table = self.table_of("patterns", generation)
            if table is not None:
                found |= {name: table.filter(pc.equal(table["individual"], name)) for name in names}  # type: ignore[attr-defined]
        return found

    def generation_tables(self) -> Iterator[tuple[int, pa.Table]]:
        """Yield every generation's number and rows, in order; each file is read once.

        Raises:
            ResumeRefusedError: A file is truncated or changed.
        """
        for path in files(self.evals_folder):
            yield from by_generation(path, self.whole_table("evals", path))

    def all_rows(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of every generation in order, without notes to readers; empty before the first.

        Args:
            columns: Some of them; all when None.
        """
        every = self._schemas["evals"]
        schema = every if columns is None else pa.schema([every.field(name) for name in columns])

        def rows(path: Path) -> pa.Table:
            table = read_rows(path, threads=True) if columns is None else read_columns(path, columns)
            return self._checked(table, schema, str(path))

        tables = self.readable(files(self.evals_folder), rows)
        return (pa.concat_tables(tables) if tables else schema.empty_table()).replace_schema_metadata(None)

    def whole_table(self, kind: str, path: Path) -> pa.Table:
        """Return all rows of a file.

        Args:
            kind: `evals` or `patterns`.
            path: Of the file.

        Raises:
            ResumeRefusedError: It is truncated or changed.
        """
        return self._sound(kind, read_rows(path), path, str(path))

    def generations(self) -> list[int]:
        """Return the generations whose rows are on disk, in order."""
        found = self.readable(files(self.evals_folder), generations_in)
        return [number for numbers in found for number in numbers]

    def readable(self, paths: Iterable[Path], read: Callable[[Path], T]) -> list[T]:
        """Read files; damaged ones are noted and left out, unless the folder was opened for what is whole.

        Raises:
            ResumeRefusedError: One is damaged, and it was.
        """
        found = []
        for path in paths:
            try:
                found.append(read(path))
            except ResumeRefusedError as problem:
                if self._whole:
                    raise
                self.left_out.setdefault(path, f"{path} is damaged ({cause_of(problem)})")
        return found

    def save_checkpoint(self, generation: int, state: Mapping[str, Any]) -> Path:
        """Write the driver's state after a generation; see `antennaopt.store.checkpoint`."""
        self._must_be_writable()
        return save_checkpoint(self.path / "checkpoint", generation, state)

    def load_checkpoint(self) -> Checkpoint | None:
        """Return the newest whole checkpoint, with notes on damaged ones, or None before the first."""
        return load_checkpoint(self.path / "checkpoint")

    def record_failures(self, failures: Iterable[Mapping[str, Any]]) -> None:
        """Append evaluations that were not `ok` to `failures.jsonl`, with the whole traceback where there is one."""
        for failure in failures:
            self._append("failures.jsonl", failure)

    def log(self, event: str, **details: Any) -> None:
        """Append an event with its UTC time to `logs/run.jsonl`."""
        self._append("logs/run.jsonl", {"event": event, **details})

    def write_text(self, name: str, text: str) -> Path:
        """Write another file of the run in one step: `report.html`, `best/antenna.toml`.

        Raises:
            StorageError: Disk full, no permission, or a name that leads out of the run folder.
        """
        target = self.path / name
        if not target.resolve().is_relative_to(self.path.resolve()):
            raise StorageError(f"{name!r} leads out of the run folder {self.path}")
        with storing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, text)
        return target

    def table_of(self, kind: str, generation: int) -> pa.Table | None:
        """Return a generation's table of a kind (`evals`, `patterns`, `samples`), None when it was not written."""

        def read(path: Path) -> pa.Table | None:
            table = read_generation(path.parent, generation)
            where = f"{kind}/ of generation {generation}"
            return None if table is None else self._sound(kind, table, path, where)

        path = holding(self.path / kind, generation)
        return next(iter(self.readable([path], read)), None) if path else None

    def _sound(self, kind: str, table: pa.Table, path: Path, where: str) -> pa.Table:
        table = self._checked(table, self._schemas[kind], where)
        return whole_cuts(table, path, self.columns.frequencies) if kind == "patterns" else table

    def _checked(self, table: pa.Table, schema: pa.Schema, where: str) -> pa.Table:
        """Return a table that has the run's columns; a flipped bit may have given one another name."""
        if not table.schema.equals(schema, check_metadata=False):
            raise other_columns(where, self.path)
        return table

    def _append(self, name: str, entry: Mapping[str, Any]) -> None:
        self._must_be_writable()
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        append_line(self.path / name, canonical({"time": time, **entry}))

    def _must_be_writable(self) -> None:
        if not self.writable:
            raise RuntimeError(f"{self.path} was opened for reading; open it with write=True")
