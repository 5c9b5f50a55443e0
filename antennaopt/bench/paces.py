"""Measured rates of a device's schemes over the rates that their plans predict: `antennaopt doctor --paces`."""

from __future__ import annotations

from typing import Any

from antennaopt.bench.on_device import Case, Variant, time_variants
from antennaopt.bench.problems import full_problem
from fdtd.backends.cuda.device import CudaDevice
from fdtd.backends.cuda.marching import schemes_of
from fdtd.backends.cuda.paces import keep_paces, pace_key
from fdtd.schemes.antennas import SCHEMES

SHAPES = ((124, 210), (256, 320), (280, 500), (400, 300))
"""Lattices with four and with eight cells a lane, of whole rows and of rows in segments."""

_ROUNDS = 2  # of a multiprocessor's antennas
_STEPS = 160
_REPEAT = 3


def measure_paces(device: Any = None) -> dict[str, float]:
    """Time every scheme of antennas that promises a pace on full problems, and keep the ratios for this device.

    Args:
        device: Where; the CUDA device here if None.

    Returns:
        Measured over promised rates, by scheme and cells of a lane.

    Raises:
        DeviceError: There is no device.
        OSError: The cache cannot be written.
    """
    where = CudaDevice() if device is None else device
    variants = [Variant(scheme=name) for name in schemes_of("bor") if name != "one_step"]
    paces: dict[str, float] = {}
    for shape in SHAPES:
        case = Case(stencil="bor", shape=shape, batch=_ROUNDS * where.limits.multiprocessors)
        problem = full_problem("bor", shape, _STEPS, 1)
        for row in time_variants(where, case, variants, steps=_STEPS, repeat=_REPEAT):
            scheme = SCHEMES[row["scheme"]](problem, "float32", where.limits)
            paces[pace_key(scheme)] = row["cell_steps_per_s"] / scheme.pace
    keep_paces(where.identity, paces)
    return paces
