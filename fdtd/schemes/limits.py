"""What a device allows, as numbers; queried from the device, or made up for planning without one."""

from __future__ import annotations

from dataclasses import dataclass


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


def registers_per_thread(threads: int, registers: int = 65536) -> int:
    """Most registers that every thread of a lone block can have.

    A multiprocessor has four parts with a quarter of the registers each; warps go round them, and a warp's share comes
    in units of 8 a thread.
    """
    warps = -(-threads // 32)
    return min(255, registers // 4 // (32 * -(-warps // 4)) // 8 * 8)
