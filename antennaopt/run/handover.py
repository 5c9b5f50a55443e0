"""Messages to the process that writes generations and states: MessagePack and raw arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, cast

import msgpack
import numpy as np

from antennaopt.farm.replies import outcomes_of, plain, table_of
from antennaopt.solve.outcome import Outcome
from antennaopt.store.made import MadeCopy
from antennaopt.store.rows import Row
from antennaopt.unchecked import owned

if TYPE_CHECKING:
    from antennaopt.run.interfaces import Evaluation
    from antennaopt.sent import Sent

OF_CANDIDATE = ("individual", "generation", "slot", "genome", "parents", "operator", "birth", "bred_after")
OF_EVALUATION = ("values", "shortfalls", "fitness", "cached", "violation", "level", "nominal_fitness")
"""A row's attributes by where they stand; `outcome` and `samples` have forms of their own."""
OF_COPY = ("sample", "shortfalls", "fitness", "met")
"""A made copy's attributes; `design` and `outcome` have forms of their own."""

WHOLE_NUMBER = 1
"""MessagePack's extension for a whole number beyond 64 bits, as text."""

Message = tuple[bytes, list[np.ndarray]]
"""Text, and the arrays whose places in it are numbers."""

Part = tuple[list[int], dict[str, Any], int, int]
"""Outcomes of one batch: their places among all, the plain data of their table, first and last place of its arrays."""


class Unfit(Exception):  # noqa: N818 - what it is
    """Data has no form in a message: the process that has it writes it."""


def copies_of(evaluations: Sequence[Evaluation]) -> dict[str, str]:
    """Return the individuals whose pattern is stored with an equal design of an earlier generation, with its id."""
    return {one.candidate.individual: one.copy_of for one in evaluations if one.copy_of is not None}


def generation_message(generation: int, evaluations: Sequence[Evaluation]) -> Message:
    """Return a generation as a message; cuts stay the arrays in which they arrived.

    Raises:
        Unfit: It holds what MessagePack has no form for.
    """
    candidates = [one.candidate for one in evaluations]
    rows = {name: [getattr(one, name) for one in candidates] for name in OF_CANDIDATE}
    rows |= {name: [getattr(one, name) for one in evaluations] for name in OF_EVALUATION}
    buffers = _take_numbers(rows)
    parts = parts_of([one.outcome for one in evaluations], buffers)
    about = {"rows": rows, "copies": copies_of(evaluations), "parts": parts}
    if made := [copy for one in evaluations for copy in one.samples]:
        about["made"] = _message_of_made(made, [len(one.samples) for one in evaluations], buffers)
    return packed({"generation": generation, **about}), buffers


def state_message(generation: int, state: Mapping[str, Any]) -> Message:
    """Return the state after a generation as a message.

    Raises:
        Unfit: It holds what MessagePack has no form for.
    """
    return packed({"generation": generation, "state": state}), []


def read_message(text: bytes | bytearray) -> dict[str, Any]:
    """Return what a message's text holds, as it was but for tuples, which are lists."""
    return msgpack.unpackb(text, strict_map_key=False, ext_hook=_number)


def rows_of(told: Mapping[str, Any], buffers: Sequence[Any]) -> list[Row]:
    """Return the rows of a generation's message.

    Args:
        told: From `read_message`.
        buffers: Its arrays, as bytes.
    """
    columns = _with_numbers(told["rows"], buffers)
    outcomes = outcomes_of_parts(told["parts"], buffers)
    samples = _made_of(told["made"], buffers) if "made" in told else [()] * len(outcomes)
    values = zip(*columns.values(), outcomes, samples, strict=True)
    names = *columns, "outcome", "samples"
    return [owned(Row, dict(zip(names, one, strict=True))) for one in values]


def _message_of_made(made: Sequence[MadeCopy], counts: Sequence[int], buffers: list[np.ndarray]) -> dict[str, Any]:
    """Return made copies as plain data, and add their arrays to a message's.

    Args:
        made: Of all rows, one row after the other.
        counts: Of each row.
        buffers: Of the message.
    """
    entries = list(made[0].design)
    if any(list(one.design) != entries for one in made):
        raise Unfit("made copies of which other entries differ")
    first = len(buffers)
    buffers.append(np.array([list(one.design.values()) for one in made], float))
    columns = {name: [getattr(one, name) for one in made] for name in OF_COPY}
    parts = parts_of([one.outcome for one in made], buffers)
    return {"counts": counts, "entries": entries, "designs": first, "columns": columns, "parts": parts}


def _made_of(told: Mapping[str, Any], buffers: Sequence[Any]) -> list[tuple[MadeCopy, ...]]:
    """Undo `_message_of_made`; return the made copies of each row."""
    entries, columns = told["entries"], told["columns"]
    designs = np.frombuffer(buffers[told["designs"]]).reshape(-1, len(entries)).tolist()
    outcomes = outcomes_of_parts(told["parts"], buffers)
    names = *columns, "outcome"
    made = [
        owned(MadeCopy, {**dict(zip(names, one, strict=True)), "design": dict(zip(entries, values, strict=True))})
        for *one, values in zip(*columns.values(), outcomes, designs, strict=True)
    ]
    return [
        tuple(made[end - count : end]) for count, end in zip(told["counts"], accumulate(told["counts"]), strict=True)
    ]


def parts_of(outcomes: Sequence[Outcome], buffers: list[np.ndarray]) -> list[Part]:
    """Return outcomes as a table a batch that they know, and add the arrays of these tables to a message's."""
    parts = []
    for sent, at, places, ones in _by_batch(outcomes):
        head, arrays = table_of(ones, sent, places)
        parts.append((at, head, len(buffers), len(buffers) + len(arrays)))
        buffers += arrays
    return parts


def outcomes_of_parts(parts: Sequence[Part], buffers: Sequence[Any]) -> list[Outcome]:
    """Return the outcomes of `parts_of`, in their order.

    Args:
        parts: Of the message, as received.
        buffers: All arrays of the message, as bytes.
    """
    outcomes: list[Any] = [None] * sum(len(at) for at, *_ in parts)
    for at, head, first, end in parts:
        for row, one in zip(at, outcomes_of(head, buffers[first:end]), strict=True):
            outcomes[row] = one
    return outcomes


def _take_numbers(rows: dict[str, Any]) -> list[np.ndarray]:
    """Take genomes and values out of rows of equal genes, as two arrays; `genes` has the names."""
    genomes, values = rows["genome"], rows["values"]
    names = list(values[0]) if values else []
    if not names or any(len(one) != len(names) for one in genomes) or any(list(one) != names for one in values):
        return []
    taken = chain.from_iterable(rows.pop("genome")), chain.from_iterable(one.values() for one in rows.pop("values"))
    rows["genes"] = names
    return [np.fromiter(one, float, len(names) * len(values)) for one in taken]


def _with_numbers(rows: dict[str, Any], buffers: Sequence[Any]) -> dict[str, Any]:
    """Undo `_take_numbers`."""
    names = rows.pop("genes", None)
    if names is None:
        return rows
    genomes, values = (np.frombuffer(one).reshape(-1, len(names)).tolist() for one in buffers[:2])
    return {**rows, "genome": genomes, "values": [dict(zip(names, one, strict=True)) for one in values]}


def _by_batch(outcomes: Sequence[Outcome]) -> list[tuple[Sent | None, list[int], list[int], list[Outcome]]]:
    """Return the batches that outcomes know, with rows, places and outcomes; last None, with all others."""
    batches: dict[int, tuple[Sent | None, list[int], list[int], list[Outcome]]] = {}
    others: tuple[Sent | None, list[int], list[int], list[Outcome]] = None, [], [], []
    for row, one in enumerate(outcomes):
        sent, place = getattr(one, "sent", (None, 0))
        found = others if sent is None else batches.setdefault(id(sent), (sent, [], [], []))
        found[1].append(row)
        found[2].append(place)
        found[3].append(one)
    return [*batches.values(), *([others] if others[1] else [])]


def packed(content: Mapping[str, Any]) -> bytes:
    """Return a message's text.

    Raises:
        Unfit: It holds what MessagePack has no form for.
    """
    try:
        return cast(bytes, msgpack.packb(content, default=_form))
    except (TypeError, ValueError, OverflowError) as problem:
        raise Unfit(str(problem)) from problem


def _form(value: Any) -> Any:
    """Return what MessagePack has no form for as what it has one for.

    Raises:
        TypeError: It is something else than numbers, text, lists and dictionaries.
    """
    if isinstance(value, int):
        return msgpack.ExtType(WHOLE_NUMBER, str(value).encode())
    return plain(value)


def _number(code: int, data: bytes) -> int:
    if code != WHOLE_NUMBER:
        raise ValueError(f"a message holds the extension {code}")
    return int(data)
