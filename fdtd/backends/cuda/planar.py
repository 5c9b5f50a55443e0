"""Planar problems and five-point sums on a device: their layout as `Parameters`, and every scheme, one call each.

A scheme here is a function from a batch in device memory to the launches that step it. The layout is made by NumPy
(kernels/planar/parameters.cuh).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.constants import epsilon_0, mu_0

from fdtd.backends.cuda.device import Device, Program
from fdtd.backends.cuda.text import REALS, Packed, check_precision, flatten, pack_parameters
from fdtd.planar.coefficients import coefficients
from fdtd.planar.problem import JacobiProblem, PlanarProblem, PlanarRecords
from fdtd.schemes import LEAD, Workload, one_step, pitch, resident, skewed, trapezoidal
from fdtd.schemes.rates import check_pair
from fdtd.stencils import JACOBI5, PlanarStencil

PARAMETERS = "kernels/planar/parameters.cuh"
_OF_EACH = ("state", "psi", "coefficients", "samples", "record")  # arrays with an entry a problem
_SMALL_BLOCK = 128  # threads for samples
_IMPEDANCE = np.sqrt(mu_0 / epsilon_0)


class PlanarBatch:
    """A batch in device memory.

    Attributes:
        work: What plans need to know of it.
        held: Which plane holds the first kept field; the others follow it.
        final: Name of the buffer that holds the state.
        probes: Number of points that are sampled.
    """

    def __init__(
        self, device: Device, problem: PlanarProblem | JacobiProblem, precision: str, copies: int = 1,
        macros: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        """Upload.

        Args:
            device: Where.
            problem: What to step.
            precision: "float32" or "float64".
            copies: Step the problem's batch this many times over, side by side.
            macros: More settings of the kernel text.

        Raises:
            ConfigError: The precision is unknown.
        """
        check_precision(precision)
        pack: Any = _pack_sum if problem.stencil is JACOBI5 else _pack_fields
        arrays, numbers = pack(problem, np.dtype(precision))
        numbers["batch"] *= copies
        batch, rows, columns = problem.lattices
        self.work: Workload[PlanarStencil] = Workload(
            stencil=replace(problem.stencil, macros={**problem.stencil.macros, **(macros or {})}),
            rows=rows,
            columns=columns,
            size=np.dtype(precision).itemsize,
            limits=device.limits,
            batch=batch * copies,
            layer=problem.layer_cells,
        )
        self.held, self.final, self.probes = 0, "state", int(numbers["probe_count"])
        self._device, self._precision, self._copies, self._numbers = device, precision, copies, numbers
        self._buffers: dict[str, Any] = {
            name: device.upload(array, copies if name in _OF_EACH else 1) for name, array in arrays.items()
        }
        self._empty = {name: np.zeros_like(arrays[name]) for name in ("state", "psi")}

    def add(self, name: str, array: np.ndarray) -> None:
        """Put one more of the arrays of `Parameters` into device memory."""
        self._buffers[name] = self._device.upload(array)

    def double(self) -> None:
        """Give state and memories a second buffer."""
        for name, like in (("other", "state"), ("other_psi", "psi")):
            self._buffers[name] = self._device.upload(self._empty[like], self._copies)

    def program(self, text: str, macros: dict[str, str | int]) -> Program:
        """Compile a kernel file for this batch's stencil and precision; `ready` it before its launches."""
        settings = {"REAL": REALS[self._precision], "REAL_BYTES": self.work.size, **self.work.stencil.macros, **macros}
        return self._device.program(flatten(text, settings, self.work.stencil.formula))

    def ready(self, *programs: Program) -> None:
        """Give programs this batch's parameters; equal texts share one constant memory."""
        addresses = {name: self._device.address(buffer) for name, buffer in self._buffers.items()}
        missing = {name: 0 for name in ("other", "other_psi", "tiles") if name not in addresses}
        data = pack_parameters(self._precision, self._numbers | addresses | missing, PARAMETERS)
        for program in programs:
            program.set_parameters(data)

    def fields(self) -> np.ndarray:
        """Return what the kept planes hold, (batch, kept, rows, columns)."""
        planes = self._device.download(self._buffers[self.final])
        kept = planes[:, self.held : self.held + self.work.stencil.kept]
        return kept[..., 1:-1, LEAD : LEAD + self.work.columns]

    def record(self) -> np.ndarray:
        """Return samples of all probes, (batch, steps, points)."""
        return self._device.download(self._buffers["record"])


March = Callable[[int, int], None]
"""Starts the launches from one step to a later one."""


def _one_step(batch: PlanarBatch) -> March:
    """Plan a launch a phase, and one for samples where there are any."""
    work = batch.work
    plan = one_step.plan_planar(work)
    program = batch.program("schemes/one_step/planar.cu", plan.macros)

    def march(start: int, end: int) -> None:
        batch.ready(program)
        for step in range(start, end):
            for phase in range(work.stencil.phases):
                program.launch(f"phase_{phase}", (*plan.blocks, work.batch), plan.threads, step)
            if batch.probes:
                program.launch("probe", (work.batch,), _SMALL_BLOCK, step)
        batch.held = end % 2 * (work.stencil.planes == 2)

    return march


def _trapezoidal(batch: PlanarBatch, **choice: Any) -> March:
    """Plan a launch of each kind of tiles for every `depth` steps, from one buffer to the other."""
    plan = trapezoidal.plan_planar(batch.work, **choice)
    batch.double()
    batch.add("tiles", np.array([tile for kind in plan.kinds for tile in kind.tiles], np.int32))
    programs = [batch.program("schemes/trapezoidal/planar.cu", kind.macros) for kind in plan.kinds]

    def march(start: int, end: int) -> None:
        batch.ready(*programs)
        for step in range(start, end, plan.depth):
            count, odd, first = min(plan.depth, end - step), int(batch.final == "other"), 0
            for kind, program in zip(plan.kinds, programs, strict=True):
                grid = (len(kind.tiles), batch.work.batch)
                program.launch("march", grid, plan.threads, step, count, odd, first, shared=kind.shared_bytes)
                first += len(kind.tiles)
            batch.final = "state" if odd else "other"

    return march


def _streamed(batch: PlanarBatch, **choice: Any) -> March:
    """Plan a launch for every `levels` steps, from one plane to the other."""
    most = skewed.plan_streamed(batch.work, **choice).levels
    programs: dict[int, tuple[skewed.StreamedPlan, Program]] = {}

    def march(start: int, end: int) -> None:
        for step in range(start, end, most):
            count = min(most, end - step)
            if count not in programs:
                plan = skewed.plan_streamed(batch.work, **{**choice, "levels": count})
                programs[count] = plan, batch.program("schemes/skewed/streamed.cu", plan.macros)
            plan, program = programs[count]
            batch.ready(program)
            program.launch("march", (plan.blocks, batch.work.batch), plan.threads, batch.held)
            batch.held = 1 - batch.held

    return march


def _skewed(batch: PlanarBatch, **choice: Any) -> March:
    """Plan one launch; what fits in registers is streamed through them."""
    if batch.work.stencil.kept == 1 and not batch.work.stencil.coefficients:
        return _streamed(batch, **choice)
    plan = skewed.plan(batch.work, **choice)
    program = batch.program("schemes/skewed/planar.cu", plan.macros)

    def march(start: int, end: int) -> None:
        batch.ready(program)
        program.launch("march", (batch.work.batch,), plan.threads, start, end - start, shared=plan.shared_bytes)

    return march


def _resident(batch: PlanarBatch, **choice: Any) -> March:
    """Plan one launch."""
    plan = resident.plan_planar(batch.work, **choice)
    program = batch.program("schemes/resident/planar.cu", plan.macros)

    def march(start: int, end: int) -> None:
        batch.ready(program)
        program.launch(
            "march", (plan.cluster, batch.work.batch), plan.threads, start, end - start, shared=plan.shared_bytes,
            cluster=plan.cluster,
        )  # fmt: skip

    return march


PLANAR_SCHEMES: dict[str, Callable[..., March]] = {
    "one_step": _one_step,
    "trapezoidal": _trapezoidal,
    "skewed": _skewed,
    "resident": _resident,
}


def prepare(batch: PlanarBatch, scheme: str, **choice: Any) -> Callable[[int], None]:
    """Plan a scheme for a batch and compile it.

    Args:
        batch: What to step.
        scheme: One of `PLANAR_SCHEMES`.
        choice: Keywords of its plan: `depth`, `core`, `levels`, `cluster`.

    Returns:
        A function that starts the launches of that many more steps.

    Raises:
        ConfigError: There is no such scheme.
        Unsuitable: It cannot step this problem on this device.
    """
    check_pair(batch.work.stencil.name, scheme)
    march, done = PLANAR_SCHEMES[scheme](batch, **choice), 0

    def advance(steps: int) -> None:
        nonlocal done
        march(done, done + steps)
        done += steps

    return advance


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


def _padded(planes: np.ndarray, dtype: Any) -> np.ndarray:
    rows, columns = planes.shape[-2:]
    out = np.zeros((*planes.shape[:-2], rows + 2, pitch(columns)), dtype)
    out[..., 1:-1, LEAD : LEAD + columns] = planes
    return out


def _numbers(batch: int, rows: int, columns: int, steps: int) -> dict[str, float]:
    return {
        "batch": batch, "rows": rows, "columns": columns, "pitch": pitch(columns), "steps": steps,
        "source_count": 0, "probe_count": 0, "layer": 0, "weight": 0.0,
    }  # fmt: skip


def _pack_sum(problem: JacobiProblem, dtype: Any) -> Packed:
    batch, rows, columns = problem.initial.shape
    planes = np.zeros((batch, JACOBI5.planes, rows + 2, pitch(columns)), dtype)
    planes[:, 0] = _padded(problem.initial, dtype)
    nothing, whole = np.zeros(1, dtype), np.zeros(1, np.int32)
    arrays = {
        "state": planes, "psi": nothing, "coefficients": nothing, "filters_x": nothing, "filters_y": nothing,
        "sources": whole, "samples": nothing, "probes": whole, "record": nothing,
    }  # fmt: skip
    return arrays, _numbers(batch, rows, columns, problem.steps) | {"weight": problem.weight}


def _pack_fields(problem: PlanarProblem, dtype: Any) -> Packed:
    grid, layer, batch = problem.grid, problem.layer, problem.media.batch
    rows, columns = grid.shape
    cell = problem.stencil
    planes = np.zeros((batch, cell.planes, rows + 2, pitch(columns)), dtype)
    if problem.initial is not None:
        planes[:, :3] = _padded(np.where(problem.live(), problem.initial, 0.0), dtype)
    media, gain = coefficients(problem, cell)
    names = grid.components
    sources, samples = _sources(problem, cell, gain)
    probes = [
        (names.index(probe.component), row, column)
        for probe in problem.probes
        for row, column in zip(probe.rows, probe.columns, strict=True)
    ]
    arrays = {
        "state": planes,
        "psi": np.zeros((batch, cell.memories, rows + 2, pitch(columns)), dtype),
        "coefficients": _padded(media, dtype),
        "filters_x": np.stack([layer.filters(grid, "x", offset) for offset in (0.0, 0.5)]).astype(dtype),
        "filters_y": np.stack([layer.filters(grid, "y", offset) for offset in (0.0, 0.5)]).astype(dtype),
        "sources": np.array(sources or [(0, 0, 0, 0)], np.int32),
        "samples": samples.astype(dtype),
        "probes": np.array(probes or [(0, 0, 0)], np.int32),
        "record": np.zeros((batch, max(problem.steps, 1), max(len(probes), 1)), dtype),
    }
    numbers = _numbers(batch, rows, columns, problem.steps)
    return arrays, numbers | {"source_count": len(sources), "probe_count": len(probes), "layer": layer.cells}


def _sources(
    problem: PlanarProblem, cell: PlanarStencil, gain: np.ndarray
) -> tuple[list[tuple[int, int, int, int]], np.ndarray]:
    """Phase, plane, row and column of each source, and what it takes off its field, (batch, sources, steps)."""
    grid, names, batch = problem.grid, problem.grid.components, problem.media.batch
    places = []
    samples = np.zeros((batch, max(len(problem.sources), 1), max(problem.steps, 1)))
    for n, source in enumerate(problem.sources):
        plane = names.index(source.component)
        electric = source.component[0] == "e"
        places.append((cell.phases - 1 if electric else 0, plane, source.row, source.column))
        scale = np.full(batch, grid.courant_number / grid.cell)
        if electric:
            scale = _IMPEDANCE / grid.cell * gain[:, max(plane - 1, 0), source.row, source.column]
        count = min(problem.steps, len(source.samples))
        samples[:, n, :count] = scale[:, None] * np.asarray(source.samples, dtype=float)[:count]
    return places, samples
