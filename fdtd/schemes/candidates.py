"""Which plans are worth timing: the model's best few."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fdtd.errors import Unsuitable
from fdtd.schemes.gpu import Machine
from fdtd.schemes.rates import predict


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A scheme and what its plan is told.

    Attributes:
        scheme: Its name.
        choice: Keywords of its plan.
        predicted: Cell-steps a second by the model.
    """

    scheme: str
    choice: dict[str, Any] = field(default_factory=dict)
    predicted: float = 0.0


def best_few(
    stencil: str,
    machine: Machine,
    *,
    rows: int,
    columns: int,
    batch: int,
    layer: int,
    size: int,
    count: int = 6,
    of_each: int = 3,
) -> tuple[Candidate, ...]:
    """The plans of a planar stencil that the model thinks fastest, best first.

    Args:
        stencil: One of the planar ones.
        machine: The device.
        rows: Of the lattice.
        columns: Of the lattice.
        batch: Problems stepped together.
        layer: Absorbing layer, cells.
        size: Bytes of a number.
        count: At most so many.
        of_each: At most so many of one scheme: the model orders plans of one scheme better than schemes.
    """
    found = []
    for scheme, choice in _plans(stencil):
        try:
            made = predict(
                stencil, scheme, machine,
                rows=rows, columns=columns, batch=batch, layer=layer, size=size, choice=choice,
            )  # fmt: skip
        except Unsuitable:
            continue
        found.append(Candidate(scheme=scheme, choice=choice, predicted=made.rate))
    found.sort(key=lambda candidate: -candidate.predicted)
    taken: list[Candidate] = []
    for candidate in found:
        if sum(one.scheme == candidate.scheme for one in taken) < of_each:
            taken.append(candidate)
    return tuple(taken[:count])


def _plans(stencil: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "one_step", {}
    for depth, warps in itertools.product((1, 2, 3, 4, 5, 6, 8, 10, 12), (16, 8)):
        yield "trapezoidal", {"depth": depth, "warps": warps}
    for cluster in (1, 2, 4, 8, 16):
        yield "resident", {"cluster": cluster}
    if stencil == "jacobi5":
        for levels, burst in itertools.product((4, 6, 8, 12), (2, 4)):
            yield "skewed", {"levels": levels, "burst": burst}
    else:
        for levels in (2, 4, 6, 8, 12, 16):
            yield "skewed", {"levels": levels}
