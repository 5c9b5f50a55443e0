"""A generation, or a state, as the message to the process that writes it, and back: MessagePack and raw arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgpack
import numpy as np

from antennaopt.farm.replies import outcomes_of, pack_outcomes, plain, table_of_sent, unpack_outcomes
from antennaopt.solve.outcome import Outcome
from antennaopt.store.rows import Row
from antennaopt.unchecked import owned

if TYPE_CHECKING:
    from antennaopt.run.interfaces import Evaluation
    from antennaopt.sent import Sent

OF_CANDIDATE = ("individual", "generation", "slot", "genome", "parents", "operator", "birth", "bred_after")
OF_EVALUATION = ("values", "shortfalls", "fitness", "cached", "violation", "level", "nominal_fitness")
"""A row's attributes by where they stand; `outcome` has a form of its own, and `samples` are not sent."""

WHOLE_NUMBER = 1
"""MessagePack's extension for a whole number beyond 64 bits, as text."""

Message = tuple[bytes, list[np.ndarray]]
"""Text, and the arrays whose places in it are numbers."""


class Unfit(Exception):  # noqa: N818 - what it is
    """Data has no form in a message: the process that has it writes it."""


def copies_of(evaluations: Sequence[Evaluation]) -> dict[str, str]:
    """Return the individuals whose pattern is stored with an equal design of an earlier generation, with its id."""
    return {one.candidate.individual: one.copy_of for one in evaluations if one.copy_of is not None}


def generation_message(generation: int, evaluations: Sequence[Evaluation]) -> Message:
    """Return a generation as a message; cuts are handed on as the arrays in which they came.

    Raises:
        Unfit: It holds made copies, or what MessagePack has no form for.
    """
    if any(one.samples for one in evaluations):
        raise Unfit("made copies")
    candidates = [one.candidate for one in evaluations]
    rows = {name: [getattr(one, name) for one in candidates] for name in OF_CANDIDATE}
    rows |= {name: [getattr(one, name) for one in evaluations] for name in OF_EVALUATION}
    buffers: list[np.ndarray] = []
    batches, others = _by_batch([one.outcome for one in evaluations])
    parts = []
    for sent, at, there, outcomes in batches:
        table = table_of_sent(sent, outcomes, there)
        table["cuts"] = [(*cut[:-1], len(buffers) + place) for place, cut in enumerate(table["cuts"])]
        buffers += table.pop("arrays")
        parts.append((at, table))
    try:
        loose = pack_outcomes([evaluations[at].outcome for at in others])["outcomes"] if others else b""
    except (TypeError, ValueError) as problem:
        raise Unfit(str(problem)) from problem
    about = {"rows": rows, "copies": copies_of(evaluations), "parts": parts, "others": others, "loose": loose}
    return _packed({"generation": generation, **about}), buffers


def state_message(generation: int, state: Mapping[str, Any]) -> Message:
    """Return the state after a generation as a message.

    Raises:
        Unfit: It holds what MessagePack has no form for.
    """
    return _packed({"generation": generation, "state": state}), []


def read_message(text: bytes | bytearray) -> dict[str, Any]:
    """Return what a message's text holds, as it was but for tuples, which are lists."""
    return msgpack.unpackb(text, strict_map_key=False, ext_hook=_number)


def rows_of(told: Mapping[str, Any], buffers: Sequence[Any]) -> list[Row]:
    """Return the rows of a generation's message.

    Args:
        told: From `read_message`.
        buffers: Its arrays, as bytes.
    """
    columns = told["rows"]
    outcomes: list[Any] = [None] * len(columns["individual"])
    for at, table in told["parts"]:
        table["cuts"] = [(*cut[:-1], buffers[cut[-1]]) for cut in table["cuts"]]
        _put(outcomes, at, outcomes_of(table))
    if told["others"]:
        _put(outcomes, told["others"], unpack_outcomes({"outcomes": told["loose"]}))
    values = zip(*columns.values(), outcomes, strict=True)
    return [owned(Row, {**dict(zip((*columns, "outcome"), one, strict=True)), "samples": ()}) for one in values]


def _by_batch(outcomes: Sequence[Outcome]) -> tuple[list[tuple[Sent, list[int], list[int], list[Outcome]]], list[int]]:
    """Return the batches that outcomes know, with rows, places and outcomes, and the rows of all others."""
    batches: dict[int, tuple[Sent, list[int], list[int], list[Outcome]]] = {}
    others = []
    for row, one in enumerate(outcomes):
        sent, place = getattr(one, "sent", (None, 0))
        if sent is None:
            others.append(row)
            continue
        _, rows, places, those = batches.setdefault(id(sent), (sent, [], [], []))
        rows.append(row)
        places.append(place)
        those.append(one)
    return [*batches.values()], others


def _put(outcomes: list[Any], at: Sequence[int], found: Sequence[Outcome]) -> None:
    for row, one in zip(at, found, strict=True):
        outcomes[row] = one


def _packed(told: Mapping[str, Any]) -> bytes:
    """Return a message's text.

    Raises:
        Unfit: It holds what MessagePack has no form for.
    """
    try:
        return cast(bytes, msgpack.packb(told, default=_form))
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
