"""What a GPU can do a second: the numbers behind predicted rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from fdtd.errors import ConfigError
from fdtd.schemes.limits import HOPPER, Limits

LANES = 128  # of a multiprocessor, single precision; four schedulers issue for 32 each
SHARED_BYTES_A_CYCLE = 128  # through a multiprocessor's shared memory


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One device.

    Attributes:
        name: As the driver spells it.
        capability: Compute capability times ten.
        multiprocessors: Their number.
        clock_hz: While computing.
        registers: Of a multiprocessor.
        shared_bytes: Most that a block can have, bytes.
        l2_bytes: Second-level cache.
        memory_bytes_per_s: Of a long copy, reads and writes.
        l2_bytes_per_s: Of reads that hit.
        memory_bytes: Device memory.
    """

    name: str
    capability: int
    multiprocessors: int
    clock_hz: float
    registers: int
    shared_bytes: int
    l2_bytes: int
    memory_bytes_per_s: float
    l2_bytes_per_s: float
    memory_bytes: int

    @property
    def limits(self) -> Limits:
        """What plans need of it."""
        return Limits(
            capability=self.capability,
            multiprocessors=self.multiprocessors,
            shared_bytes=self.shared_bytes,
            registers=self.registers,
            memory_bytes=self.memory_bytes,
        )

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
    name="NVIDIA H200",
    capability=HOPPER.capability,
    multiprocessors=HOPPER.multiprocessors,
    clock_hz=1.98e9,
    registers=HOPPER.registers,
    shared_bytes=HOPPER.shared_bytes,
    l2_bytes=60 * 2**20,
    memory_bytes_per_s=4.3e12,
    l2_bytes_per_s=7.0e12,
    memory_bytes=HOPPER.memory_bytes,
)
"""Clock, multiprocessors and memory rate as measured; the cache's rate is the vendor's figure for this chip's kind."""
