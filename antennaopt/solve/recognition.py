"""Which antennas of a batch need not be solved, because the same cells were solved before.

The worker rasterises and so knows an antenna's digest; the driver owns what is known and sends the beginnings of those
digests along with the plan. An antenna whose digest may be known comes back unsolved, as `known`, and the driver puts
in what it has, or sends the antenna again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from antennaopt.solve.arithmetic import arithmetic
from antennaopt.solve.digest import digests
from antennaopt.solve.outcome import Outcome
from fdtd.axisymmetric.media import Media

REUSE = "reuse"
"""Key of a plan whose antennas are to be recognised: a table with `known`, from `beginnings`."""

KNOWN = "known"
"""Status of an antenna that the driver should know; no outcome ever ends with it."""


def beginnings(known: Sequence[bytes]) -> bytes:
    """Return the first eight bytes of each digest, sorted: what the driver sends."""
    return np.unique(np.frombuffer(b"".join(one[:8] for one in known), dtype="<u8")).tobytes()


class Recognition:
    """Looks at one call's antennas, group by group."""

    def __init__(self, plan: Mapping[str, Any], backend: str) -> None:
        self._known = np.frombuffer(plan[REUSE]["known"], dtype="<u8")
        self._about = arithmetic(plan, backend)
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
