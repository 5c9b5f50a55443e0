"""What one useful cell-step needs of each part of a machine, and what limits its rate."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.schemes.gpu import Machine

# Seconds that a block waits: for its own barrier with the loads behind it; for a row handed on in a wavefront; for a
# cluster's barrier; and between launches started one by one. Measured on prototypes on an H200.
WAITS = {"barrier": 0.20e-6, "row": 0.76e-6, "cluster": 0.5e-6, "launch": 2.5e-6}

_GROUPS = {132: (18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2)}


@dataclass(frozen=True, kw_only=True)
class Need:
    """Of one useful cell-step.

    Attributes:
        memory_bytes: Of device memory.
        cache_bytes: Of the second-level cache.
        shared_bytes: Of shared memory.
        instructions: Issued, lanes.
        wait: Seconds of the whole device, not hidden.
        busy: Part of the multiprocessors that has work.
    """

    memory_bytes: float
    cache_bytes: float = 0.0
    shared_bytes: float = 0.0
    instructions: float = 0.0
    wait: float = 0.0
    busy: float = 1.0

    def rate(self, machine: Machine, size: int) -> tuple[float, str]:
        """Cell-steps a second, and what limits them; double precision issues at half the rate."""
        times = {
            "memory": self.memory_bytes / machine.memory_bytes_per_s,
            "cache": self.cache_bytes / machine.l2_bytes_per_s,
        }
        inside = {
            "shared memory": self.shared_bytes / machine.shared_bytes_per_s,
            "instructions": self.instructions * (size / 4) / machine.instructions_per_s,
        }
        longest = max(inside, key=lambda name: inside[name])
        own = (inside[longest] + self.wait) / self.busy
        times[longest if inside[longest] > self.wait else "waits"] = own
        limit = max(times, key=lambda name: times[name])
        return 1 / times[limit], limit


def clusters_at_once(multiprocessors: int, cluster: int) -> int:
    """Clusters that run side by side: all blocks of one lie in the same group of multiprocessors.

    The groups of an H200 are those that explain what `cuOccupancyMaxActiveClusters` says there, 132, 66, 39, 30, 22,
    17, 15, 15, 9, and 7 for 10 to 16 blocks. Other devices are taken to have groups of sixteen.
    """
    return sum(group // cluster for group in _GROUPS.get(multiprocessors) or _groups(multiprocessors))


def _groups(multiprocessors: int) -> tuple[int, ...]:
    return (16,) * (multiprocessors // 16) + (multiprocessors % 16,)
