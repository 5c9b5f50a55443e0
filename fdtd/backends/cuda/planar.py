"""Planar problems and five-point sums on a device: every scheme, one call each.

A scheme here is a function from a batch in device memory to the launches that step it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fdtd.backends.cuda.device import Device, Program
from fdtd.backends.cuda.planar_packing import pack, unpack
from fdtd.backends.cuda.text import flatten, pack_parameters
from fdtd.errors import ConfigError
from fdtd.planar.problem import JacobiProblem, PlanarProblem, PlanarRecords
from fdtd.schemes import Workload, one_step, resident, skewed, trapezoidal
from fdtd.schemes.rates import check_pair
from fdtd.stencils import PlanarStencil

PARAMETERS = "kernels/planar/parameters.cuh"
_REALS = {"float32": "float", "float64": "double"}
_OF_EACH = ("state", "psi", "coefficients", "samples", "record")  # arrays with an entry a problem
_SMALL_BLOCK = 128  # threads for samples


class PlanarBatch:
    """A batch in device memory, `copies` times the problem's.

    Attributes:
        device: Where it is.
        problem: What is stepped.
        stencil: By which update.
        size: Bytes of a number.
        held: Which plane holds the first kept field; the others follow it.
    """

    def __init__(self, device: Device, problem: PlanarProblem | JacobiProblem, precision: str, copies: int = 1) -> None:
        if precision not in _REALS:
            raise ConfigError(f"precision = {precision!r} is unknown (allowed: {', '.join(_REALS)})")
        self.device, self.problem, self.precision = device, problem, precision
        self.stencil, self.size = problem.stencil, np.dtype(precision).itemsize
        arrays, self.numbers = pack(problem, precision)
        self._copies = copies
        self._buffers: dict[str, Any] = {
            name: device.upload(array, copies if name in _OF_EACH else 1) for name, array in arrays.items()
        }
        self._empty = {name: np.zeros_like(arrays[name]) for name in ("state", "psi")}
        self.numbers["batch"] *= copies
        self._final = "state"
        self.held = 0

    @property
    def rows(self) -> int:
        """Of the lattice, padding included."""
        return int(self.numbers["rows"])

    @property
    def columns(self) -> int:
        """Likewise."""
        return int(self.numbers["columns"])

    @property
    def count(self) -> int:
        """Problems."""
        return int(self.numbers["batch"])

    @property
    def layer(self) -> int:
        """Absorbing layer, cells."""
        return int(self.numbers["layer"])

    @property
    def work(self) -> Workload[PlanarStencil]:
        """What plans need to know of it."""
        return Workload(
            stencil=self.stencil,
            rows=self.rows,
            columns=self.columns,
            size=self.size,
            limits=self.device.limits,
            batch=self.count,
            layer=self.layer,
        )

    @property
    def final(self) -> str:
        """The buffer that holds the state."""
        return self._final

    def add(self, name: str, array: np.ndarray) -> None:
        """Put one more of the arrays of `Parameters` into device memory."""
        self._buffers[name] = self.device.upload(array)

    def double(self) -> None:
        """Give state and memories a second buffer."""
        for name, like in (("other", "state"), ("other_psi", "psi")):
            self._buffers[name] = self.device.upload(self._empty[like], self._copies)

    def swap(self) -> None:
        """The result of the last launch is in the other buffer."""
        self._final = "other" if self._final == "state" else "state"

    def program(self, text: str, macros: dict[str, str | int]) -> Program:
        """Compile a kernel file for this batch's stencil and precision; `ready` it before its launches."""
        settings = {
            "REAL": _REALS[self.precision], "REAL_BYTES": self.size, **self.stencil.macros, **macros,
        }  # fmt: skip
        return self.device.program(flatten(text, settings))

    def ready(self, *programs: Program) -> None:
        """Give programs this batch's parameters; equal texts share one constant memory."""
        addresses = {name: self.device.address(buffer) for name, buffer in self._buffers.items()}
        missing = {name: 0 for name in ("other", "other_psi", "tiles") if name not in addresses}
        data = pack_parameters(self.precision, self.numbers | addresses | missing, PARAMETERS)
        for program in programs:
            program.set_parameters(data)

    def fields(self) -> np.ndarray:
        """What the kept planes hold, (batch, kept, rows, columns)."""
        planes = self.device.download(self._buffers[self._final])
        return unpack(planes[:, self.held : self.held + self.stencil.kept], self.columns)

    def record(self) -> np.ndarray:
        """Samples of all probes, (batch, steps, points)."""
        return self.device.download(self._buffers["record"])


March = Callable[[int], None]
"""Starts the launches of the next so many steps."""


def _one_step(batch: PlanarBatch) -> March:
    """A launch a phase, and one for samples where there are any."""
    plan = one_step.plan_planar(batch.work)
    program = batch.program("schemes/one_step/planar.cu", plan.macros)
    done = 0

    def march(steps: int) -> None:
        nonlocal done
        batch.ready(program)
        for step in range(done, done + steps):
            for phase in range(batch.stencil.phases):
                program.launch(f"phase_{phase}", (*plan.blocks, batch.count), plan.threads, step)
            if batch.numbers["probe_count"]:
                program.launch("probe", (batch.count,), _SMALL_BLOCK, step)
        done += steps
        batch.held = done % 2 * (batch.stencil.planes == 2)

    return march


def _trapezoidal(batch: PlanarBatch, **choice: Any) -> March:
    """A launch of each kind of tiles for every `depth` steps."""
    plan = trapezoidal.plan_planar(batch.work, **choice)
    batch.double()
    batch.add("tiles", np.array([tile for kind in plan.kinds for tile in kind.tiles], np.int32))
    programs = [batch.program("schemes/trapezoidal/planar.cu", kind.macros) for kind in plan.kinds]
    done = 0

    def march(steps: int) -> None:
        nonlocal done
        batch.ready(*programs)
        end = done + steps
        while done < end:
            count, first = min(plan.depth, end - done), 0
            for kind, program in zip(plan.kinds, programs, strict=True):
                grid = (len(kind.tiles), batch.count)
                odd = int(batch.final == "other")
                program.launch("march", grid, plan.threads, done, count, odd, first, shared=kind.shared_bytes)
                first += len(kind.tiles)
            batch.swap()
            done += count

    return march


def _streamed(batch: PlanarBatch, **choice: Any) -> March:
    """A launch for every `levels` steps, from one plane to the other."""

    def planned(levels: int | None) -> skewed.StreamedPlan:
        return skewed.plan_streamed(batch.work, **{**choice, "levels": levels})

    whole = planned(choice.get("levels"))
    programs: dict[int, tuple[skewed.StreamedPlan, Program]] = {}

    def march(steps: int) -> None:
        done = 0
        while done < steps:
            count = min(whole.levels, steps - done)
            if count not in programs:
                plan = planned(count)
                programs[count] = plan, batch.program("schemes/skewed/streamed.cu", plan.macros)
            plan, program = programs[count]
            batch.ready(program)
            program.launch("march", (plan.blocks, batch.count), plan.threads, batch.held)
            batch.held = 1 - batch.held
            done += count

    return march


def _skewed(batch: PlanarBatch, **choice: Any) -> March:
    """One launch; what fits in registers is streamed through them."""
    if batch.stencil.kept == 1 and not batch.stencil.coefficients:
        return _streamed(batch, **choice)
    plan = skewed.plan(batch.work, **choice)
    program = batch.program("schemes/skewed/planar.cu", plan.macros)
    done = 0

    def march(steps: int) -> None:
        nonlocal done
        batch.ready(program)
        program.launch("march", (batch.count,), plan.threads, done, steps, shared=plan.shared_bytes)
        done += steps

    return march


def _resident(batch: PlanarBatch, **choice: Any) -> March:
    """One launch."""
    plan = resident.plan_planar(batch.work, **choice)
    program = batch.program("schemes/resident/planar.cu", plan.macros)
    done = 0

    def march(steps: int) -> None:
        nonlocal done
        batch.ready(program)
        program.launch(
            "march", (plan.cluster, batch.count), plan.threads, done, steps, shared=plan.shared_bytes,
            cluster=plan.cluster,
        )  # fmt: skip
        done += steps

    return march


PLANAR_SCHEMES: dict[str, Callable[..., March]] = {
    "one_step": _one_step,
    "trapezoidal": _trapezoidal,
    "skewed": _skewed,
    "resident": _resident,
}


def prepare(batch: PlanarBatch, scheme: str, **choice: Any) -> March:
    """Plan a scheme for a batch and compile it.

    Args:
        batch: What to step.
        scheme: One of `PLANAR_SCHEMES`.
        choice: What its plan may be told: `depth`, `core`, `levels`, `cluster`.

    Raises:
        ConfigError: There is no such scheme.
        Unsuitable: It cannot step this problem on this device.
    """
    check_pair(batch.stencil.name, scheme)
    return PLANAR_SCHEMES[scheme](batch, **choice)


def run(
    problem: PlanarProblem, device: Device, *, precision: str = "float32", scheme: str = "one_step", **choice: Any
) -> PlanarRecords:
    """Step a batch of planar fields to its end.

    Args:
        problem: What to step.
        device: Where.
        precision: "float32" or "float64".
        scheme: One of `PLANAR_SCHEMES`.
        choice: See `prepare`.

    Returns:
        Records in the given precision; those of one problem do not depend on its neighbours in the batch.

    Raises:
        ConfigError: The precision or the scheme is unknown.
        Unsuitable: The scheme cannot step this problem on this device.
    """
    batch = PlanarBatch(device, problem, precision)
    prepare(batch, scheme, **choice)(problem.steps)
    final, record = batch.fields(), batch.record()
    ends = np.cumsum([len(probe.rows) for probe in problem.probes])
    samples = np.split(record[:, : problem.steps], ends, axis=2)[: len(problem.probes)]
    finite = np.array([bool(np.isfinite(one).all()) for one in final])
    return PlanarRecords(samples=tuple(samples), final=final, finite=finite)


def run_sum(
    problem: JacobiProblem, device: Device, *, precision: str = "float32", scheme: str = "one_step", **choice: Any
) -> np.ndarray:
    """Take five-point sums; arguments and errors as `run`.

    Returns:
        Values after the last step, (batch, rows, columns).
    """
    batch = PlanarBatch(device, problem, precision)
    prepare(batch, scheme, **choice)(problem.steps)
    return batch.fields()[:, 0]
