"""Numbers of a device: limits for plans, and rates for predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from fdtd.errors import ConfigError

LANES = 128  # of a multiprocessor, single precision; four schedulers issue for 32 each
SHARED_BYTES_A_CYCLE = 128  # through a multiprocessor's shared memory
SHARE_OF_FREE = 0.8
"""Of the memory that is free: what antennas may take. What the libraries take and lose is not ours."""
_GROUPS = {132: (18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2)}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Launch limits of one device.

    Attributes:
        capability: Compute capability times ten (80, 90).
        multiprocessors: Their number.
        shared_bytes: Most shared memory a block can have, bytes.
        registers: Of one multiprocessor.
        memory_bytes: Device memory, bytes.
    """

    capability: int
    multiprocessors: int
    shared_bytes: int
    registers: int
    memory_bytes: int


HOPPER = Limits(capability=90, multiprocessors=132, shared_bytes=232448, registers=65536, memory_bytes=140 * 10**9)
"""An H200, for planning without a device."""


def clusters_at_once(multiprocessors: int, cluster: int) -> int:
    """Clusters that run side by side: all blocks of one lie in the same group of multiprocessors.

    The groups of an H200 are those that explain what `cuOccupancyMaxActiveClusters` gives: 132, 66, 39, 30, 22,
    17, 15, 15, 9, and 7 for 10 to 16 blocks. Other devices are taken to have groups of sixteen.
    """
    sixteens = (16,) * (multiprocessors // 16) + (multiprocessors % 16,)
    return sum(group // cluster for group in _GROUPS.get(multiprocessors, sixteens))


@dataclass(frozen=True, kw_only=True)
class Machine(Limits):
    """One device: its launch limits, and what it does a second.

    Attributes:
        name: As the driver spells it.
        clock_hz: While computing.
        l2_bytes: Second-level cache.
        memory_bytes_per_s: Of a long copy, reads and writes.
        l2_bytes_per_s: Of reads that hit.
    """

    name: str
    clock_hz: float
    l2_bytes: int
    memory_bytes_per_s: float
    l2_bytes_per_s: float

    @property
    def instructions_per_s(self) -> float:
        """Lane-instructions of all multiprocessors."""
        return self.multiprocessors * LANES * self.clock_hz

    @property
    def shared_bytes_per_s(self) -> float:
        """Through the shared memories of all multiprocessors."""
        return self.multiprocessors * SHARED_BYTES_A_CYCLE * self.clock_hz

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Machine:
        """The machine that `to_dict` wrote.

        Raises:
            ConfigError: An entry is missing, unknown, or no positive number.
        """
        known = {field.name for field in fields(cls)}
        if set(data) != known:
            raise ConfigError(
                f"the device's description has {', '.join(sorted(set(data) ^ known))} too many or too few "
                f"(needs {', '.join(sorted(known))})"
            )
        for name in known - {"name"}:
            value = data[name]
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise ConfigError(f"{name} = {value!r} of the device must be a number > 0")
        return cls(**data)


H200 = Machine(
    **asdict(HOPPER), name="NVIDIA H200", clock_hz=1.98e9, l2_bytes=60 * 2**20, memory_bytes_per_s=4.3e12,
    l2_bytes_per_s=7.0e12,
)  # fmt: skip
"""Clock, multiprocessors and memory rate as measured; the cache's rate is the vendor's figure for this chip's kind."""
