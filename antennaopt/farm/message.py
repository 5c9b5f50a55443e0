"""What travels between driver and workers: designs as one matrix, patterns as arrays, the rest as plain data.

Dask looks into every list and dictionary of a task, and writes numbers one by one; an array it takes as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CUTS = ("theta_deg", "e_plane_dbi", "h_plane_dbi")
"""Keys of an outcome that travel as arrays of float32, which is also how they are stored."""


@dataclass(frozen=True, kw_only=True)
class Designs:
    """Designs of a batch.

    Attributes:
        names: Parameters, in order.
        values: SI, shape (designs, parameters), float64.
    """

    names: tuple[str, ...]
    values: np.ndarray

    @classmethod
    def of(cls, designs: Sequence[Mapping[str, float]]) -> Designs:
        """Pack designs that all have the same parameters.

        Raises:
            ValueError: They have not.
        """
        names = tuple(designs[0])
        if any(tuple(design) != names for design in designs):
            raise ValueError("the designs of a batch have different parameters, or in different order")
        return cls(names=names, values=np.array([list(design.values()) for design in designs], dtype=float))

    def to_list(self) -> list[dict[str, float]]:
        """Return the designs as plain dictionaries."""
        return [dict(zip(self.names, row, strict=True)) for row in self.values.tolist()]


def pack_outcomes(outcomes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return outcomes with their cuts apart, as one array a key and shape; where all are equal as one for all.

    Args:
        outcomes: Plain but for their cuts, lists or arrays; they lose them.
    """
    cuts: dict[tuple[str, tuple[int, ...]], tuple[list[int], list[np.ndarray]]] = {}
    for place, outcome in enumerate(outcomes):
        for key in CUTS:
            if key in outcome:
                values = np.asarray(outcome.pop(key), dtype=np.float32)
                places, arrays = cuts.setdefault((key, values.shape), ([], []))
                places.append(place)
                arrays.append(values)
    packed = []
    for (key, _), (places, arrays) in cuts.items():
        together = np.stack(arrays)
        same = len(arrays) > 1 and bool((together == together[0]).all())
        packed.append((key, places, together[:1] if same else together))  # angles are the same for all
    return {"outcomes": outcomes, "cuts": packed}


def unpack_outcomes(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the outcomes of a reply with their cuts, arrays of float32, (frequencies, angles) and (angles,)."""
    outcomes = list(reply["outcomes"])
    for key, places, values in reply["cuts"]:
        for index, place in enumerate(places):
            outcomes[place][key] = values[min(index, len(values) - 1)]
    return outcomes
