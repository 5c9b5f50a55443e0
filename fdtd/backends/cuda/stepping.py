"""Steps a packed batch on a device, whatever the scheme; the host only starts launches and looks at the energy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fdtd.arrays import library
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.backends.cuda.device import Device
from fdtd.backends.cuda.packing import Packed, pack
from fdtd.backends.cuda.text import flatten, pack_parameters
from fdtd.schemes.antennas import Scheme

_LOOK_THREADS, _LOOK_PARTS = 256, 20  # as in looks.cu
_RECORD_THREADS = 256

# Arrays that hold something of every antenna along their first axis.
_OF_ANTENNAS = (
    "fields", "media", "faces", "coupling", "rows", "radial_psi", "axial_psi", "port_record", "contour_record", "sums",
    "active", "taken",
)  # fmt: skip
# What a scheme with two buffers has twice, the second after the first.
_DOUBLED = ("fields", "radial_psi", "axial_psi")


class Batch:
    """A problem in device memory, with the programs that step it.

    Attributes:
        size: Antennas.
        steps: Steps taken by the antennas that still run.
    """

    def __init__(self, device: Device, problem: Problem, scheme: Scheme, precision: str, copies: int = 1) -> None:
        """Upload and compile.

        Args:
            device: Where.
            problem: What to step.
            scheme: How.
            precision: "float32" or "float64".
            copies: Step the batch so many times over, side by side (for timings).
        """
        self._device, self._problem, self._scheme = device, problem, scheme
        self.size = copies * problem.media.batch
        real = {"float32": "float", "float64": "double"}[precision]
        packed = pack(problem, precision, lead=scheme.lead, pitch=scheme.pitch)
        packed.numbers["batch"] = self.size
        packed.arrays["energies"] = np.zeros((3, self.size))
        packed.arrays["shares"] = np.zeros((self.size, _LOOK_PARTS))
        self._buffers: dict[str, Any] = {
            name: device.upload(
                array,
                (copies if name in _OF_ANTENNAS and len(array) == problem.media.batch else 1)
                * (2 if scheme.doubled and name in _DOUBLED else 1),
            )
            for name, array in packed.arrays.items()
        }
        self._start: Packed = packed
        self._parameters = pack_parameters(
            precision, packed.numbers | {name: device.address(buffer) for name, buffer in self._buffers.items()}
        )
        self._stepper = device.program(flatten(scheme.text, {"REAL": real, **scheme.macros}))
        self._looker = device.program(flatten("kernels/axisymmetric/looks.cu", {"REAL": real}))
        self.steps = 0

    def advance(self, end: int) -> None:
        """Start everything that takes the batch to `end` steps, samples and looks included; does not wait."""
        sampling, batch = self._problem.sampling, self.size
        for program in (self._stepper, self._looker):
            program.set_parameters(self._parameters)  # equal texts of other batches share their constant memory
        while self.steps < end:
            stops = [end, (self.steps // sampling.check_every + 1) * sampling.check_every]
            if not self._scheme.records:
                stops.append((self.steps // sampling.record_every + 1) * sampling.record_every)
            stop = min(stops)
            for one in self._scheme.launches(batch, self.steps, stop):
                self._stepper.launch(
                    one.kernel, one.grid, one.threads, *one.arguments, shared=one.shared, cluster=one.cluster
                )
            self.steps = stop
            if not self._scheme.records and stop % sampling.record_every == 0:
                sample = stop // sampling.record_every - 1
                self._looker.launch("record", (16, batch), _RECORD_THREADS, sample)
            if stop % sampling.check_every == 0:
                self._looker.launch("look_part", (_LOOK_PARTS, batch), _LOOK_THREADS)
                self._looker.launch("look", (-(-batch // _LOOK_THREADS),), _LOOK_THREADS, stop)

    def fetch(self, name: str) -> np.ndarray:
        """A copy of one of the arrays of `Parameters`."""
        buffer = self._buffers[name]
        return self._device.download(
            buffer[: len(buffer) // 2] if self._scheme.doubled and name in _DOUBLED else buffer
        )

    def start_look(self) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        """Start to fetch which antennas run after the last look, and their energies over the peak; the result waits."""
        active, energies = (self._device.start_download(self._buffers[name]) for name in ("active", "energies"))
        return lambda: (active() != 0, energies()[2])

    def running(self) -> np.ndarray:
        """Which antennas have not stopped, (batch,)."""
        return self.fetch("active") != 0

    def records(self) -> Records:
        """What the batch left behind: on the host, or where the media are; then without the last fields."""
        problem, numbers = self._problem, self._start.numbers
        sampling, grid = problem.sampling, problem.grid
        now, _, ratio = self.fetch("energies")
        steps = np.where(self.running(), self.steps, self.fetch("taken")).astype(int)
        taken = steps // sampling.record_every
        if library(problem.media.permittivity) is not np:
            return Records(
                steps=steps,
                energy=ratio if self.steps >= sampling.check_every else np.ones(self.size),
                finite=np.isfinite(now),
                port=self._buffers["port_record"],
                contour=self._buffers["contour_record"][:, :, : int(numbers["contour_size"])],
                field_map=None if problem.field_map is None else self._buffers["sums"],
                final=None,
            )
        port, contour = self.fetch("port_record"), self.fetch("contour_record")
        lead, size = self._start.lead, int(numbers["contour_size"])
        final = self.fetch("fields")[..., lead : lead + grid.nr]
        looked = self.steps >= sampling.check_every
        return Records(
            steps=steps,
            energy=ratio if looked else np.ones(self.size),
            finite=np.isfinite(now),
            port=[samples[:count] for samples, count in zip(port, taken, strict=True)],
            contour=[samples[:count, :size] for samples, count in zip(contour, taken, strict=True)],
            field_map=None if problem.field_map is None else self.fetch("sums"),
            final=np.moveaxis(final, 2, 1),
        )
