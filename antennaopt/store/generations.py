"""Files of generations: first one file each, later several generations in a file that is replaced as a whole.

The first generations have a file each, `gen-000012.parquet`. From generation `SINGLE` on a file is named after its
first generation. Each further one is added by writing the whole file again, in one rename, until it holds `MOST_ROWS`
rows. So the files stay few however long a run is, and their names are only ever added to. A reader that lists the
folder and reads the files, at any moment, finds every row once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from antennaopt.errors import ResumeRefusedError
from antennaopt.store.files import write_atomically
from antennaopt.store.schema import NEVER_EMPTY, cut_columns

SINGLE = 128
"""Generations that have a file each."""

NAME = re.compile(r"gen-\d{6,}\.parquet")

UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError)
"""What reading a damaged file ends in."""

MOST_ROWS = 4096
"""Rows from which on a file takes no further generation."""

INDIVIDUAL = re.compile(r"g(\d+)-s\d+")


def generation_of(individual: str) -> int:
    """Return the generation that an individual's id names.

    Raises:
        ValueError: It is not an id.
    """
    match = INDIVIDUAL.fullmatch(individual)
    if match is None:
        raise ValueError(f"{individual!r} is not an individual's id; ids look like g0003-s012")
    return int(match[1])


def generation_file(generation: int) -> str:
    """Return the name of the file that begins with a generation."""
    return f"gen-{generation:06d}.parquet"


def first_generation(path: Path) -> int:
    """Return the generation that a file begins with."""
    return int(path.stem.removeprefix("gen-"))


def files(folder: Path) -> list[Path]:
    """Return the files of a folder in order of generations."""
    return sorted((path for path in folder.glob("gen-*.parquet") if NAME.fullmatch(path.name)), key=first_generation)


def holding(folder: Path, generation: int) -> Path | None:
    """Return the file that holds a generation if any does, which its rows must tell where it is shared."""
    single = folder / generation_file(generation)
    if generation < SINGLE or single.exists():
        return single if single.exists() else None
    shared = [path for path in files(folder) if SINGLE <= first_generation(path) < generation]
    return shared[-1] if shared else None


def generations_in(path: Path) -> list[int]:
    """Return the generations of a file of `evals/`, which are numbered without a gap."""
    import pyarrow.compute as pc

    first = first_generation(path)
    if first < SINGLE:
        return [first]
    last = pc.max(read_columns(path, ["generation"])["generation"]).as_py()  # type: ignore[attr-defined]
    return list(range(first, (first if last is None else last) + 1))


def by_generation(path: Path, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the generations of a file of `evals/` with their rows, in order.

    Args:
        path: Of the file.
        table: All its rows.

    Raises:
        ResumeRefusedError: They are not in order: the file is damaged.
    """
    first = first_generation(path)
    if first < SINGLE or not table.num_rows:
        yield first, table
        return
    numbers = table["generation"].to_numpy()
    if numbers[0] != first or (np.diff(numbers) < 0).any():
        problem = ValueError("its generations are not in order")
        raise damaged(path, problem) from problem
    edges = np.searchsorted(numbers, np.arange(first, numbers[-1] + 2))
    for number, (begin, end) in enumerate(pairwise(edges.tolist()), start=first):
        yield number, table.slice(begin, end - begin)


def read_generation(folder: Path, generation: int) -> pa.Table | None:
    """Return a generation's rows, None when it was not written.

    Raises:
        ResumeRefusedError: A file is truncated or changed.
    """
    path = holding(folder, generation)
    if path is None:
        return None
    table = read_rows(path)
    if generation < SINGLE:
        return table
    of_it = table.filter(_of(table, generation))
    return of_it if of_it.num_rows or path.name == generation_file(generation) else None


def write_generation(
    folder: Path, generation: int, table: pa.Table, *, after: Callable[[], object] | None = None
) -> Path:
    """Write a generation in one rename, after something else if need be; the same generation again replaces it.

    Raises:
        StorageError: Disk full, no permission; every file is as it was before.
    """
    import pyarrow.compute as pc

    path = folder / generation_file(generation)
    shared = holding(folder, generation) if generation >= SINGLE else None
    if shared is not None:
        there = read_rows(shared)
        mine = _of(there, generation)
        known = pc.any(mine).as_py()  # type: ignore[attr-defined]
        if known or there.num_rows < MOST_ROWS or shared == path:
            table, path = _with(there, mine, table), shared
    write_atomically(path, lambda file: write_table(table, file), after=after)
    if shared is not None:
        pa.default_memory_pool().release_unused()  # else what the largest file took stays with this thread for good
    return path


def write_table(table: pa.Table, file: object) -> None:
    """Write a table as Parquet.

    Measured values are as good as random: they get no dictionary. Cuts are smooth: split into streams of first, second,
    ... bytes they take 29 % less, and less time.
    """
    plain = [name for name in table.schema.names if pa.types.is_floating(table.schema.field(name).type)]
    lists = [name for name in cut_columns(table.schema) if name in table.schema.names]
    cuts = [f"{name}.list.element" for name in lists]
    words = [name for name in table.schema.names if name not in (*plain, *lists)]
    pq.write_table(
        table,
        file,  # type: ignore[arg-type]
        compression="zstd",
        use_dictionary=words,  # type: ignore[arg-type]
        use_byte_stream_split=cuts,  # type: ignore[arg-type]
        write_page_checksum=True,
    )


def read_rows(path: Path, *, threads: bool = False) -> pa.Table:
    """Return one Parquet file's table.

    Args:
        path: Of it.
        threads: Whether Arrow's threads may help, each of which then keeps some memory.

    Raises:
        ResumeRefusedError: The file is truncated or changed.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read(use_threads=threads)
        table.validate(full=True)
        _refuse_gaps(table)
        return table
    except UNREADABLE as problem:
        raise damaged(path, problem) from problem


def read_columns(path: Path, names: Sequence[str]) -> pa.Table:
    """Return some columns of one Parquet file.

    Raises:
        ResumeRefusedError: The file is truncated or changed.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read(columns=list(names))
        _refuse_gaps(table)
        return table.select(list(names))
    except UNREADABLE as problem:
        raise damaged(path, problem) from problem


def column_names(path: Path) -> frozenset[str]:
    """Return the columns of one Parquet file.

    Raises:
        ResumeRefusedError: The file is truncated or changed.
    """
    try:
        with pq.ParquetFile(path) as file:
            return frozenset(file.schema_arrow.names)
    except UNREADABLE as problem:
        raise damaged(path, problem) from problem


def _refuse_gaps(table: pa.Table) -> None:
    """Refuse rows of which one lacks what every row has.

    Raises:
        ValueError: One does.
    """
    import pyarrow.compute as pc

    for name in NEVER_EMPTY.intersection(table.column_names):
        column = table[name]
        inside = pc.list_flatten(column).null_count if pa.types.is_list(column.type) else 0  # type: ignore[attr-defined]
        if column.null_count or inside:
            raise ValueError(f"a row has no {name}")


def damaged(path: Path, problem: Exception) -> ResumeRefusedError:
    """Return the error of a file that cannot be read."""
    return ResumeRefusedError(
        f"{path} is damaged and cannot be read ({first_line(problem)}); {restoring(path.absolute().parent.parent)}"
    )


def other_columns(where: str, run: Path) -> ResumeRefusedError:
    """Return the error of rows that have other columns than their run."""
    return ResumeRefusedError(
        f"the rows in {where} have other columns than the run {run}: the file is damaged, or of another run; "
        f"{restoring(run)}"
    )


def cause_of(problem: ResumeRefusedError) -> str:
    """Say in a few words why a file was refused."""
    cause = problem.__cause__
    return "it has other columns than the run" if cause is None else first_line(cause)


def first_line(problem: BaseException) -> str:
    """Return the first line of an error's text; Arrow's goes on with whole schemas."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:300]


def restoring(run: Path) -> str:
    """Say what helps against a damaged file of a run."""
    return f"restore it from a copy, or solve it again: `antennaopt resume --repair {shlex.quote(str(run))}`"


def _of(table: pa.Table, generation: int) -> pa.Array:
    """Which rows are of a generation, by the individual's name."""
    import pyarrow.compute as pc

    return pc.starts_with(table["individual"], f"g{generation:04d}-")  # type: ignore[attr-defined]


def _with(there: pa.Table, mine: pa.Array, table: pa.Table) -> pa.Table:
    """Put a generation in the place of its rows, or at the end."""
    flags = mine.to_numpy(zero_copy_only=False)
    at = int(flags.argmax()) if flags.any() else there.num_rows
    after = at + int(flags.sum())
    schema = table.schema  # what was read has numbers of fields in its own, which would be written too
    parts = [part.cast(schema) for part in (there.slice(0, at), table, there.slice(after)) if part.num_rows]
    return pa.concat_tables(parts).combine_chunks() if parts else table
