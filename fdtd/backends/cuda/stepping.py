"""Steps a packed batch on a device, whatever the scheme; the host only starts launches and looks at the energy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fdtd.arrays import library
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.backends.cuda.device import Device
from fdtd.backends.cuda.packing import feed_macros, pack
from fdtd.backends.cuda.text import REALS, flatten, pack_parameters
from fdtd.schemes.antennas import Scheme

_LOOK_THREADS, _LOOK_PARTS = 256, 20  # as in energy.cuh
_RECORD_THREADS = 256

# Arrays that hold something of every antenna along their first axis.
_OF_ANTENNAS = (
    "fields", "media", "numbers", "row_pairs", "faces", "coupling", "rows", "radial_psi", "axial_psi", "port_record",
    "contour_record", "sums", "active", "taken", "source", "port_weights",
)  # fmt: skip
# What a scheme with two buffers has twice, the second after the first.
_DOUBLED = ("fields", "radial_psi", "axial_psi")


def texts(problem: Problem, scheme: Scheme, precision: str) -> tuple[str, str]:
    """Return the flattened texts that step a batch and that look at it."""
    settings = {"REAL": REALS[precision]} | feed_macros(problem)
    return flatten(scheme.text, settings | scheme.macros), flatten("kernels/axisymmetric/looks.cu", settings)


class Batch:
    """A problem in device memory, with the programs that step it.

    Attributes:
        size: Antennas.
        steps: Steps taken by the antennas that still run.
    """

    def __init__(
        self, device: Device, problem: Problem, scheme: Scheme, precision: str, copies: int = 1, place: int = 0
    ) -> None:
        """Upload and compile.

        Args:
            device: Where.
            problem: What to step.
            scheme: How.
            precision: "float32" or "float64".
            copies: Step the batch this many times over, side by side (for timings).
            place: Batches that are stepped at the same time have different places: programs, constant memory and stream
                of their own.
        """
        self._device, self._problem, self._scheme = device, problem, scheme
        self.size = copies * problem.media.batch
        numbered = bool(scheme.macros.get("NUMBERED"))
        arrays, numbers = pack(problem, precision, lead=scheme.lead, pitch=scheme.pitch, numbered=numbered)
        numbers["batch"] = self.size
        arrays["energies"] = np.zeros((3, self.size))
        arrays["shares"] = np.zeros((self.size, _LOOK_PARTS))
        arrays["running"] = np.array([self.size, *range(self.size)], np.int32)
        self._buffers: dict[str, Any] = {
            name: device.upload(
                array,
                (copies if name in _OF_ANTENNAS and len(array) == problem.media.batch else 1)
                * (2 if scheme.doubled and name in _DOUBLED else 1),
            )
            for name, array in arrays.items()
        }
        addresses = {name: device.address(buffer) for name, buffer in self._buffers.items()}
        self._parameters = pack_parameters(precision, numbers | addresses)
        self._stepper, self._looker = (device.program(text, place) for text in texts(problem, scheme, precision))
        self.steps = 0
        self._second = False  # whether the fields are in the second buffer

    def advance(self, end: int) -> None:
        """Start everything that takes the batch to `end` steps, samples and looks included; does not wait.

        At looks and at the end the fields are in the first buffer.
        """
        sampling, batch = self._problem.sampling, self.size
        for program in (self._stepper, self._looker):
            program.set_parameters(self._parameters)  # other batches of this place had theirs there
        while self.steps < end:
            stops = [end, (self.steps // sampling.check_every + 1) * sampling.check_every]
            if not self._scheme.records:
                stops.append((self.steps // sampling.record_every + 1) * sampling.record_every)
            stop = min(stops)
            returns = stop == end or stop % sampling.check_every == 0
            buffers = (self._second, returns) if self._scheme.doubled else ()
            for one in self._scheme.launches(batch, self.steps, stop, *buffers):
                self._stepper.launch(
                    one.kernel, one.grid, one.threads, *one.arguments, shared=one.shared, cluster=one.cluster
                )
                self._second ^= self._scheme.doubled
            self.steps = stop
            if not self._scheme.records and stop % sampling.record_every == 0:
                sample = stop // sampling.record_every - 1
                self._looker.launch("record", (16, batch), _RECORD_THREADS, sample, int(self._second))
            if stop % sampling.check_every == 0 and not self._scheme.looks:
                self._looker.launch("look_part", (_LOOK_PARTS, batch), _LOOK_THREADS)
                self._looker.launch("look", (-(-batch // _LOOK_THREADS),), _LOOK_THREADS, stop)
                if self._scheme.doubled:
                    self._looker.launch("list_running", (1,), _LOOK_THREADS)

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
        """Return what the batch left behind: on the host, or where the media are; then without the last fields."""
        problem, sampling, lead = self._problem, self._problem.sampling, self._scheme.lead
        now, _, ratio = self.fetch("energies")
        steps = np.where(self.running(), self.steps, self.fetch("taken")).astype(int)
        size = 0 if problem.contour is None else problem.contour.size
        if library(problem.media.permittivity) is not np:
            port, contour, fetch = self._buffers["port_record"], self._buffers["contour_record"], self._buffers.get
            contour, final = contour[:, :, :size], None
        else:
            fetch, taken = self.fetch, steps // sampling.record_every
            port = [samples[:count] for samples, count in zip(fetch("port_record"), taken, strict=True)]
            contour = [samples[:count, :size] for samples, count in zip(fetch("contour_record"), taken, strict=True)]
            final = np.moveaxis(fetch("fields")[..., lead : lead + problem.grid.nr], 2, 1)
        return Records(
            steps=steps,
            energy=ratio if self.steps >= sampling.check_every else np.ones(self.size),
            finite=np.isfinite(now),
            port=port,
            contour=contour,
            field_map=None if problem.field_map is None else fetch("sums"),
            final=final,
        )
