"""Find the antennas of a batch whose cells were solved before and need no solution.

The worker rasterises and so knows an antenna's digest; the driver owns what is known and sends the beginnings of those
digests along with each batch. An antenna whose digest may be known comes back unsolved, as `known`, and the driver puts
in what it has, or sends the antenna again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np

from antennaopt.solve.arithmetic import arithmetic_of
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.plan import SolverPlan
from fdtd.arrays import library, on_host
from fdtd.axisymmetric.media import Media

SUMS = 2
_SEED = 20261121
_BYTES_AT_A_TIME = 1 << 26  # of products, on a device that holds the batch too


def digests(media: Media, context: bytes) -> list[bytes]:
    """Return 16 bytes an antenna, equal where all cells of all media have the same bits.

    Each component's plane of a medium is taken as its bit pattern, x_i in whole 32-bit words, and summed with fixed
    random 64-bit weights modulo 2^64: h_j = sum_i w_ij x_i, for two independent sets of weights j. Two planes that
    differ give equal h_j only if sum_i w_ij d_i = 0 with some |d_i| < 2^32, d_i != 0; the product w_ij d_i takes every
    multiple of 2^v equally often, where 2^v <= 2^31 is the largest power of two in d_i, so that happens once in 2^33
    and for both sets once in 2^66. Of a million antennas on one lattice some two are mistaken for each other with a
    probability of 10^12 / 2 * 2^-66 = 7e-9. All sums of an antenna then go through SHA-256, whose own collisions are
    rarer by far.

    Sums modulo 2^64 are exact in any order, so the code is the same on NumPy and on a device, whose media stay there:
    only the sums come to the host.

    Args:
        media: The batch; on the host or on a device.
        context: All else that decides the result; digests of different contexts never meet.

    References:
        Thorup, High speed hashing for integers and strings (2015), arXiv:1504.06804, section 3.
    """
    parts = [getattr(media, part.name) for part in fields(media)]
    found = [_sums(part) for part in parts if part is not None]
    sums = on_host(library(found[0]).concatenate(found, axis=1))
    return [hashlib.sha256(context + row.tobytes()).digest()[:16] for row in np.ascontiguousarray(sums)]


def _sums(part: Any) -> Any:
    """Return sums of each antenna's planes of a part, (batch, ...) of which the last two axes are a plane.

    What all antennas share is looked at once.

    Returns:
        All sums of a plane, then the next plane's, (batch, planes * SUMS), uint64.
    """
    xp, batch = library(part), part.shape[0]
    if batch > 1 and part.strides[0] == 0:
        one = _sums(part[:1])
        return xp.broadcast_to(one, (batch, one.shape[1]))
    words = part.shape[-2] * part.shape[-1] * part.dtype.itemsize // 4
    planes = part[0].size * part.dtype.itemsize // 4 // words
    weights = _weights(xp, words)
    found = xp.empty((batch, planes, SUMS), dtype=np.uint64)
    at_once = batch if xp is not np and part.flags.c_contiguous else max(_BYTES_AT_A_TIME // (8 * words * planes), 1)
    for first in range(0, batch, at_once):
        some = xp.ascontiguousarray(part[first : first + at_once]).view(np.uint32).reshape(-1, planes, words)
        for at in range(SUMS):
            found[first : first + at_once, :, at] = _weighted(xp, some, weights[at])
    return found.reshape(batch, -1)


def _weighted(xp: Any, words: Any, weights: Any) -> Any:
    """Return sums along the last axis, each word times its weight, modulo 2^64.

    A device multiplies and sums in one launch: each launch waits for its turn between those that step other antennas.
    """
    if xp is np:
        return (words * weights).sum(axis=-1)
    return _one_launch(xp)(words, weights, axis=words.ndim - 1)


@lru_cache(maxsize=1)
def _one_launch(xp: Any) -> Any:
    return xp.ReductionKernel(
        "uint32 word, uint64 weight", "uint64 sum", "word * weight", "a + b", "sum = a", "0", "weighted_sum"
    )


@lru_cache(maxsize=4)
def _weights(xp: Any, words: int) -> Any:
    """Fixed weights, (SUMS, words), uint64, in the memory of an array library."""
    generator = np.random.Generator(np.random.PCG64(_SEED))
    return xp.asarray(generator.integers(0, 2**64, (SUMS, words), dtype=np.uint64))


KNOWN = "known"
"""Status of an antenna that the driver should know; no outcome ever ends with it."""


def beginnings(known: Sequence[bytes]) -> bytes:
    """Return the first eight bytes of each digest, sorted: what the driver sends."""
    return np.unique(np.frombuffer(b"".join(one[:8] for one in known), dtype="<u8")).tobytes()


def take_identity(outcome: Outcome) -> Mapping[str, str]:
    """Take its identity out of an outcome that has just come, and return it.

    A copy without it would take ten times as long.
    """
    found: Mapping[str, str] = outcome.__dict__["identity"]
    outcome.__dict__["identity"] = None
    return found


class Recognition:
    """Looks at one call's antennas, group by group."""

    def __init__(self, known: bytes, plan: SolverPlan, backend: str) -> None:
        """Recognise what is known.

        Args:
            known: From `beginnings`.
            plan: That the antennas are solved by.
            backend: What solves.
        """
        self._known = np.frombuffer(known, dtype="<u8")
        self._about = arithmetic_of(plan, backend)
        self._context = bytes.fromhex(self._about.context)
        self._solved: dict[bytes, Outcome] = {}
        self._digests: list[bytes] = []
        self._chosen: list[int] = []

    def choose(self, media: Media) -> list[int]:
        """Return which antennas of a group are to be solved: those that are not known, the first of equal ones."""
        self._digests = digests(media, self._context)
        known = np.isin(np.frombuffer(b"".join(one[:8] for one in self._digests), dtype="<u8"), self._known)
        first: dict[bytes, int] = {}
        for place, digest in enumerate(self._digests):
            if not known[place] and digest not in self._solved:
                first.setdefault(digest, place)
        self._chosen = list(first.values())
        return self._chosen

    def spread(self, made: Sequence[Outcome], seconds: float, look: float) -> list[Outcome]:
        """Return one outcome an antenna of the group, solved or not.

        Args:
            made: Outcomes of those that were chosen, each with `stepping_seconds`.
            seconds: Wall time of the whole group.
            look: Wall time of rasterising it.
        """
        each = look / len(self._digests)  # what one took that was not solved
        spared = len(self._digests) - len(made)
        mine = (seconds - spared * each) / max(len(made), 1)
        for place, outcome in zip(self._chosen, made, strict=True):
            self._solved[self._digests[place]] = outcome.changed(seconds=mine)
        outcomes = []
        for place, digest in enumerate(self._digests):
            found = self._solved.get(digest, Outcome(status=KNOWN))
            if place not in self._chosen:
                found = found.changed(seconds=each, stepping_seconds=0.0, origin="cells")
            outcomes.append(found.changed(identity={"digest": digest.hex(), **self._about.to_dict()}))
        return outcomes
