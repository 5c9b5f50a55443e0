"""Stencils in space on a device, in a closed box: one launch a phase and step, text from the formula.

The box is that of `fdtd.backends.cpu.boxes`: walls of perfect metal or a rim that stays, no layers, sources or records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fdtd.backends.cuda.device import Device
from fdtd.backends.cuda.text import REALS, flatten, pack_parameters
from fdtd.stencils import Formula

PARAMETERS = "kernels/box/parameters.cuh"
_THREADS = 128


class Box:
    """Components of one formula in device memory."""

    def __init__(
        self, device: Device, formula: Formula, state: np.ndarray, *, media: np.ndarray | None = None,
        spacings: np.ndarray | None = None, weights: tuple[float, ...] = (),
    ) -> None:  # fmt: skip
        """Upload and compile; arguments as `fdtd.backends.cpu.boxes.step_box`, whose shapes are not checked again."""
        precision = state.dtype.name
        nz, ny, nx = state.shape[1:]
        self._device, self._formula, self._shape, self._done = device, formula, state.shape, 0
        self._lead = ny * nx + nx + 1  # read by cells at the near walls, and not used
        nothing = np.zeros(1, state.dtype)
        self._buffers: dict[str, Any] = {
            "state": device.upload(np.concatenate([np.zeros(self._lead, state.dtype), state.ravel()])),
            "coefficients": device.upload(nothing if media is None else media.astype(state.dtype).ravel()),
            "spacings": device.upload(nothing if spacings is None else spacings.astype(state.dtype).ravel()),
        }
        idle = formula.idle
        self._grid, self._threads = (-(-(nx - idle) // _THREADS), ny - idle, nz - idle), _THREADS
        self._program = device.program(flatten("schemes/one_step/box.cu", {"REAL": REALS[precision]}, formula))
        addresses = {name: device.address(buffer) for name, buffer in self._buffers.items()}
        addresses["state"] += self._lead * state.dtype.itemsize
        sides = {"nx": nx, "ny": ny, "nz": nz, "longest": max(nx, ny, nz)}
        named = {"own": 0.0, "near": 0.0, "far": 0.0}
        named |= {one.name: weight for one, weight in zip(formula.weights, weights, strict=True)}
        self._parameters = pack_parameters(precision, {**addresses, **sides, **named}, PARAMETERS)

    def advance(self, steps: int) -> None:
        """Start the launches of that many more steps."""
        self._program.set_parameters(self._parameters)
        for step in range(self._done, self._done + steps):
            for phase in range(len(self._formula.phases)):
                self._program.launch(f"phase_{phase}", self._grid, self._threads, step)
        self._done += steps

    def fields(self) -> np.ndarray:
        """Return the components, (kept components, nz, ny, nx)."""
        state = self._device.download(self._buffers["state"])[self._lead :].reshape(self._shape)
        return state[self._done % 2 :][:1] if self._formula.exchanged else state
