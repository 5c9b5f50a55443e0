"""What is read of a run folder: rows and patterns as tables, damage, certificates, how long workers stepped."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from antennaopt.errors import ResumeRefusedError
from antennaopt.solve.certificate import checks_of, crowned
from antennaopt.store.certified import certificate_cells
from antennaopt.store.files import read_events
from antennaopt.store.generations import (
    SINGLE,
    by_generation,
    cause_of,
    column_names,
    files,
    first_generation,
    generation_file,
    generation_of,
    read_columns,
)
from antennaopt.store.levels import cell_steps
from antennaopt.store.made import made_table
from antennaopt.store.rows import pattern_frame
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import CERTIFICATE, LEVEL

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Damage:
    """One file.

    Attributes:
        kind: Its folder, `evals` or `patterns`.
        path: Of the file; what is missing has the name that it should have.
        generations: Done ones that it held, so that they must be solved again.
        reason: What is wrong.
    """

    kind: str
    path: Path
    generations: range
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.path.name} {self.reason}"


def damage_lines(folder: RunFolder) -> list[str]:
    """Return one line for each file that a reader of the folder left out, or found missing.

    Args:
        folder: Opened with `whole=False`, and read.
    """
    mend = f"`antennaopt resume --repair {shlex.quote(str(folder.path))}` solves it again"
    return [f"{text}; the rest is shown, {mend}" for text in (*folder.left_out.values(), *_missing(folder))]


def _missing(folder: RunFolder) -> Iterator[str]:
    """Yield a line for each run of generations that the log calls done and no file of rows holds."""
    done = {event["generation"] for event in read_events(folder.path) if event.get("event") == "generation"
            and type(event.get("generation")) is int}  # fmt: skip
    if not done or max(done) > 10**7:
        return
    held = set(folder.generations())
    for path in files(folder.evals_folder):
        if path in folder.left_out:
            held.update(_span(path, max(done) + 1, files(folder.evals_folder)))
    gap = [number for number in range(max(done) + 1) if number not in held]
    for at, number in enumerate(gap):
        if number < SINGLE or at == 0 or gap[at - 1] != number - 1:
            yield f"{folder.evals_folder / generation_file(number)} is missing"


def damaged_files(folder: RunFolder, done: int, *, begun: bool = False) -> list[Damage]:
    """Read every file of rows and patterns, and return those that are not whole.

    Args:
        folder: Of the run.
        done: Generations that the checkpoint counts as done; what is damaged after them has no generations, since a
            resume writes it again.
        begun: Whether the checkpoint holds a part of the next one, so that its file must be there.
    """
    found: list[Damage] = []
    evals = _sound(folder, "evals", done, found)
    with_patterns, sampled = {}, {}
    for number, table in evals:
        with_patterns[number] = "ok" in table["status"].to_pylist()
        sampled[number] = sum(table["samples"].to_pylist()) if folder.columns.sampled else 0
    if begun and done < SINGLE and not (folder.path / "evals" / generation_file(done)).exists():
        found.append(_gone(folder, "evals", range(done, done)))
    rows = {number: table.num_rows for number, table in _sound(folder, "patterns", done, found)}
    if any(rows.values()):
        lost = [one for one, ok in with_patterns.items() if ok and one >= SINGLE and rows.get(one, 0) == 0]
        known = {number for one in found if one.kind == "patterns" for number in one.generations}
        found += [_gone(folder, "patterns", range(one, one + 1)) for one in lost if one not in known]
    if folder.columns.sampled:
        made = {number: table.num_rows for number, table in _sound(folder, "samples", done, found)}
        known = {number for one in found if one.kind == "samples" for number in one.generations}
        less = [one for one, due in sampled.items() if made.get(one, 0) != due and one not in known]
        found += [_gone(folder, "samples", range(one, one + 1)) for one in less]
    return found


def _sound(folder: RunFolder, kind: str, done: int, found: list[Damage]) -> Iterator[tuple[int, pa.Table]]:
    """Yield the generations that can be read; note files that cannot, and those that are not there."""
    paths = files(folder.path / kind)
    singles = {first_generation(path) for path in paths}
    found += [_gone(folder, kind, range(one, one + 1)) for one in range(min(done, SINGLE)) if one not in singles]
    shared = [first_generation(path) for path in paths if first_generation(path) >= SINGLE]
    if done > SINGLE and (not shared or shared[0] > SINGLE):
        found.append(_gone(folder, kind, range(SINGLE, min(shared[0], done) if shared else done)))
    for path in paths:
        span = _span(path, done, paths)
        try:
            table = folder.whole_table(kind, path)
            if kind != "evals":
                yield from _patterns_by_generation(path, table)
                continue
            generations = dict(by_generation(path, table))
        except ResumeRefusedError as problem:
            reason = f"is damaged ({cause_of(problem)})"
            found.append(Damage(kind=kind, path=path, generations=span, reason=reason))
            continue
        absent = [one for one in span if not generations.get(one, table.slice(0, 0)).num_rows]
        if absent and absent[0] == span.start:
            found.append(Damage(kind=kind, path=path, generations=span, reason="has no rows of its generation"))
        elif absent:
            found.append(_gone(folder, kind, range(absent[0], span.stop)))
        yield from ((one, rows) for one, rows in generations.items() if one in span and one not in absent)


def _patterns_by_generation(path: Path, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    first = first_generation(path)
    if first < SINGLE:
        yield first, table
        return
    names = table["individual"].to_pylist()
    numbers = [int(name[1:].split("-")[0]) for name in names]
    edges = [0, *(at for at, (one, other) in enumerate(pairwise(numbers), start=1) if one != other), len(numbers)]
    for begin, end in pairwise(edges):
        if end > begin:
            yield numbers[begin], table.slice(begin, end - begin)


def _span(path: Path, done: int, paths: list[Path]) -> range:
    """Return the done generations that a file holds."""
    first = first_generation(path)
    if first < SINGLE:
        return range(first, min(first + 1, max(done, first)))
    later = [first_generation(other) for other in paths if first_generation(other) > first]
    return range(first, max(min(later[0] if later else done, done), first))


def _gone(folder: RunFolder, kind: str, generations: range) -> Damage:
    path = folder.path / kind / generation_file(generations.start)
    return Damage(kind=kind, path=path, generations=generations, reason="is missing")


def load(*runs: RunFolder | Path | str) -> pd.DataFrame:
    """Return every evaluation of the runs as one table, in order of run, generation and slot.

    Args:
        runs: Run folders or their paths; of a path, damaged files are left out, with a `UserWarning` each. Their genes,
            frequencies and objectives may differ: the table has the columns of all of them, empty where a run does not
            have one. The column `run` tells them apart.
    """
    folders = [_opened(run) for run in runs]
    if not folders:
        raise ValueError("load() needs at least one run")
    tables = [folder.all_rows() for folder in folders]
    _warn(runs, folders)
    return pa.concat_tables(tables, promote_options="default").to_pandas()


def pattern(run: RunFolder | Path | str, individual: str) -> pd.DataFrame:
    """Return an individual's radiation patterns, one row a frequency and angle.

    Args:
        run: Run folder or its path.
        individual: Id as in the column `individual`, `g0003-s012`.

    Returns:
        Columns `frequency_hz`, `theta_deg`, `e_plane_dbi`, `h_plane_dbi`, and the complex amplitudes `e_plane` and
        `h_plane`, which runs of schema version 4 and earlier do not have; empty when it has no pattern.
    """
    folder = _opened(run)
    table = folder.pattern_of(individual)
    _warn([run], [folder])
    return pattern_frame(table)


def _opened(run: RunFolder | Path | str) -> RunFolder:
    return run if isinstance(run, RunFolder) else RunFolder.open(run, whole=False)


def _warn(runs: Sequence[RunFolder | Path | str], folders: Sequence[RunFolder]) -> None:
    """Warn of what was left out of runs that were opened here; a folder that was given lists them in `left_out`."""
    for run, folder in zip(runs, folders, strict=True):
        for line in () if isinstance(run, RunFolder) else damage_lines(folder):
            warnings.warn(line, UserWarning, stacklevel=3)


COLUMNS = ("generation", "worker", "cached", "origin", "stepping_seconds", "steps")


@dataclass(frozen=True, kw_only=True)
class Stepping:
    """What the devices, or cores, of a run did.

    Attributes:
        seconds: Of stepping, summed over the rows that were solved. Where a device steps two batches at a time, each
            is charged half of it.
        wall_seconds: Of all generations, each from breeding to the last outcome; of all sessions.
        workers: That solved any.
        beside: By generation, s: its wall time less what its busiest worker stepped.
        cell_steps: Cells of the lattice times the steps of each antenna until it stopped, summed over the same rows;
            None where the manifest does not give the lattice.
    """

    seconds: float
    wall_seconds: float
    workers: int
    beside: Mapping[int, float]
    cell_steps: int | None = None

    @property
    def share(self) -> float:
        """Of the workers' time, at most 1."""
        available = self.wall_seconds * self.workers
        return min(self.seconds / available, 1.0) if available > 0.0 else 0.0

    @property
    def cell_steps_per_s(self) -> float | None:
        """Mean rate of one worker while it steps.

        Lower than that of `bench kernels`, which steps equal antennas from first to last step.
        """
        return None if self.cell_steps is None else self.cell_steps / self.seconds

    def __str__(self) -> str:
        return stepping_text(self.share, self.cell_steps_per_s)


def stepping_of(folder: RunFolder) -> Stepping | None:
    """Return how much a run's workers stepped; None of a run whose rows do not say, or before its first generation."""
    paths = files(folder.evals_folder) if folder.columns.origin else []
    names = folder.readable(paths[:1], column_names)
    if not paths or not all(one.issuperset(COLUMNS) for one in names):
        return None
    walls = _generation_seconds(folder)
    rows = folder.all_rows([*COLUMNS, *([LEVEL] if folder.columns.fidelity else [])])
    if folder.columns.sampled:  # never with levels
        rows = pa.concat_tables([rows, made_table(folder, COLUMNS)])
    solved = rows.filter(
        pc.and_(  # type: ignore[attr-defined]
            pc.and_(pc.invert(rows["cached"]), pc.equal(rows["origin"], "solved")),  # type: ignore[attr-defined]
            pc.greater(pc.fill_null(rows["stepping_seconds"], 0.0), 0.0),  # type: ignore[attr-defined]
        )
    )
    if not solved.num_rows or not walls:
        return None
    by_worker = solved.group_by(["generation", "worker"]).aggregate([("stepping_seconds", "sum")])
    busiest = by_worker.group_by("generation").aggregate([("stepping_seconds_sum", "max")])
    stepped = {row["generation"]: row["stepping_seconds_sum_max"] for row in busiest.to_pylist()}
    return Stepping(
        seconds=pc.sum(solved["stepping_seconds"]).as_py(),  # type: ignore[attr-defined]
        wall_seconds=sum(walls.values()),
        workers=len(solved["worker"].unique()),
        beside={generation: wall - stepped.get(generation, 0.0) for generation, wall in sorted(walls.items())},
        cell_steps=cell_steps(folder, solved),
    )


def stepping_text(share: float, cell_steps_per_s: float | None) -> str:
    """Write a share of the workers' time and the rate meanwhile in one phrase."""
    rate = f", {rate_text(cell_steps_per_s)} a worker" if cell_steps_per_s else ""
    return f"{share:.0%} of the workers' time{rate}"


def rate_text(cell_steps_per_s: float) -> str:
    """Write a rate as people compare it: 61.5 G cell-steps/s, 647 M cell-steps/s."""
    scale, prefix = (1e9, "G") if cell_steps_per_s >= 1e9 else (1e6, "M")
    return f"{cell_steps_per_s / scale:.3g} {prefix} cell-steps/s"


def _generation_seconds(folder: RunFolder) -> dict[int, float]:
    """Wall time of each generation, by the run's log; one that was done again after a crash counts once."""
    found: dict[int, float] = {}
    for event in read_events(folder.path):
        if event.get("event") == "generation":
            with suppress(ValueError, TypeError, KeyError, OverflowError):  # damaged
                found[int(event["generation"])] = float(event["seconds"])
    return found


CERTIFICATES = "best/certificates.json"

Certificates = dict[str, dict[str, Any]]
"""By individual, the best by fitness first."""


def read_certificates(folder: RunFolder) -> Certificates:
    """Return the certificates of a run; empty when there are none, or the file is damaged."""
    try:
        found = json.loads((folder.path / CERTIFICATES).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(one, dict) and checks_of(one) for one in found.values()):
        return {}
    return found


def write_certificates(folder: RunFolder, certificates: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the certificates of a run, in the order given.

    Raises:
        StorageError: Disk full, no permission.
    """
    folder.write_text(CERTIFICATES, json.dumps(certificates, indent=1, allow_nan=False) + "\n")


def mark_rows(folder: RunFolder, certificates: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the verdicts of certified antennas into their rows, and into those of their duplicates with the same genes.

    A generation's file that holds one is replaced in one step; its other columns, and all other rows, stay as they
    are. Rows of a run that was begun without these columns stay without.

    Args:
        folder: Open for writing.
        certificates: By individual.

    Raises:
        StorageError: Disk full, no permission; every file is whole, the old one or the new.
    """
    if not folder.columns.certificate:
        return

    level = [LEVEL] if folder.columns.fidelity else []
    names = [*(gene.column for gene in folder.columns.genes), *level]
    cells: dict[tuple[float, ...], dict[str, Any]] = {}
    for number in {generation_of(name) for name in certificates}:
        for row in folder.read_generation(number, certificates.keys()):
            cells[tuple(row[name] for name in names)] = certificate_cells(certificates[row["individual"]])
    for path in files(folder.evals_folder):
        if not _places(read_columns(path, [*names, "status"]), names, cells):
            continue
        for number, table in by_generation(path, folder.whole_table("evals", path)):
            found = _places(table, names, cells)
            if not found:
                continue
            columns = {name: table[name].combine_chunks() for name in table.column_names}
            marked = {}
            for name, kind in CERTIFICATE:
                values = columns[name].to_pylist()
                for place, cell in found.items():
                    values[place] = cell[name]
                marked[name] = pa.array(values, kind)
            if any(not marked[name].equals(columns[name]) for name in marked):
                folder.write_columns("evals", number, columns | marked)


def _places(
    table: pa.Table, names: Sequence[str], cells: Mapping[tuple[float, ...], dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    """Return the rows that have a certified antenna's genes and are `ok`, each with its cells."""
    designs = zip(*(table[name].to_pylist() for name in names), strict=True)
    each = zip(designs, table["status"].to_pylist(), strict=True)
    return {place: cells[design] for place, (design, status) in enumerate(each) if status == "ok" and design in cells}


def certified(folder: RunFolder, best: str) -> Certificates:
    """Return the certificates that count: none when the mode is `off`, or when another antenna has become the best.

    Args:
        folder: The run.
        best: Its best individual by fitness.
    """
    if certificate_mode(folder) == "off":
        return {}
    found = read_certificates(folder)
    return found if next(iter(found), None) == best else {}


def crowned_best(folder: RunFolder, best: str) -> str:
    """Return the winner: the best by fitness, unless the certificates say otherwise."""
    return crowned(certified(folder, best), certificate_mode(folder)) or best


def certificate_mode(folder: RunFolder) -> str:
    """Return the mode that the run was made with, `off` when it names none."""
    return str((folder.resolved.get("certificate") or {}).get("mode", "off"))
