"""Files of a run folder that are damaged or missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from antennaopt.errors import ResumeRefusedError
from antennaopt.store.checkpoint import listed
from antennaopt.store.files import read_events
from antennaopt.store.generations import SINGLE, by_generation, cause_of, files, first_generation, generation_file
from antennaopt.store.run_folder import RunFolder


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
    """Yield a line for each run of generations that log and checkpoint call done and no file of rows holds.

    A generation is in the log before its files are on disk. One after the newest checkpoint may not be there yet, or
    was never written (disk full, a kill): a plain resume solves it.
    """
    last = max((number for number, _ in listed(folder.path / "checkpoint")), default=-1)
    events = read_events(folder.path, progress=False)
    done = {event["generation"] for event in events if event.get("event") == "generation"
            and type(event.get("generation")) is int and event["generation"] <= last}  # fmt: skip
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
