"""What the workers of `test_study_emulated.py` import: an evaluation whose device is the emulation."""

from __future__ import annotations

from typing import Any

import numpy as np
from host_device import HostDevice

from antennaopt.solve import arithmetic
from antennaopt.solve.capacity import capacity_of
from antennaopt.solve.evaluate import evaluate as evaluate_by_fdtd
from fdtd.backends import cuda

_DEVICE = HostDevice()
_DEVICE.arrays = np  # pyright: ignore[reportAttributeAccessIssue]
_DEVICE.compiler, _DEVICE.identity = "g++", "emulation"  # pyright: ignore[reportAttributeAccessIssue]


def evaluate(family: str, designs: list, plan: dict, *, backend: str, **options: Any) -> list[dict]:
    """Evaluate on the emulation."""
    cuda.device = lambda: _DEVICE  # pyright: ignore[reportAttributeAccessIssue]
    return evaluate_by_fdtd(family, designs, plan, backend=backend, **options)


def arithmetic_class(backend: str, precision: str | None) -> dict[str, str]:
    """Return the class of the emulation's workers."""
    cuda.device = lambda: _DEVICE  # pyright: ignore[reportAttributeAccessIssue]
    return arithmetic.arithmetic_class(backend, precision)


def capacity(plan: dict) -> dict[str, Any]:
    """What the emulation takes, as if it had two multiprocessors."""
    return {**capacity_of(plan, _DEVICE.limits, 10**9), "wave": 2, "device": "emulation"}
