"""A batch that a device's memory cannot hold is halved until it can: nobody is lost, and it only takes longer.

One antenna is tried a second time, as what filled the memory may have been somebody else's, or given back meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fdtd.errors import OutOfMemory

_LARGEST: dict[int, int] = {}
"""Most antennas that did fit, by the cells of their lattice, once a batch did not; of this process's device."""


def evaluate_within_memory(
    evaluate: Callable[..., Sequence[Mapping[str, Any]]],
    family: str,
    designs: Sequence[Mapping[str, float]],
    plan: Mapping[str, Any],
    *,
    release: Callable[[], None],
    **options: Any,
) -> list[Mapping[str, Any]]:
    """Evaluate a batch in as many parts as the device's memory asks for.

    An antenna's outcome does not depend on its batch, so the parts are as good as the whole. Later batches begin with
    the size that did fit.

    Args:
        evaluate: As `antennaopt.solve.evaluate.evaluate`; raises `OutOfMemory` or `MemoryError`
            when the memory is used up.
        family: Antenna family.
        designs: Full designs.
        plan: As `SolverPlan.to_dict` wrote it.
        release: Gives memory that is kept for later back to the device.
        options: Passed on to `evaluate`.

    Raises:
        OutOfMemory: The device cannot hold one antenna.
    """
    cells = int(plan.get("nr", 0)) * int(plan.get("nz", 0))
    waiting, outcomes = list(designs), []
    size = min(len(waiting), _LARGEST.get(cells, len(waiting)))
    again = False
    while waiting:
        part = waiting[:size]
        try:
            outcomes += evaluate(family, part, plan, **options)
        except (OutOfMemory, MemoryError) as error:
            said = str(error)
        else:
            del waiting[: len(part)]
            again = False
            continue
        release()  # out here the exception holds no arrays any more
        if len(part) == 1 and again:
            raise OutOfMemory(
                f"the device has too little memory for one antenna ({said}); use a larger cell, fewer steps, a smaller "
                "antenna, or --backend cpu"
            )
        again = len(part) == 1
        size = (len(part) + 1) // 2
        _LARGEST[cells] = size
    return outcomes
