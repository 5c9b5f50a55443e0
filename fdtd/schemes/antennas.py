"""The schemes that step the axisymmetric stencil on a device, prepared for one problem. No device is needed.

A scheme ready for a problem is text, settings, layout, launches, and the pace that its plan promises on large batches,
by which studies choose. A multiprocessor, or a cluster of them, is busy with an antenna or a tile for a time that
hardly depends on the lattice: a row of the wavefront, a step of a block that holds its rows, a step of a tile. The rest
is geometry: columns that lanes hold in vain, rows that tiles step twice, antennas that are stepped at a time. The times
are those of one H200 (results/benchmarks/h200/schemes.json); on other devices their proportions count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fdtd.axisymmetric.problem import Problem
from fdtd.errors import Unsuitable
from fdtd.schemes import Workload, one_step, resident, trapezoidal, wavefront
from fdtd.schemes.machine import Limits, clusters_at_once
from fdtd.stencils import BOR, Stencil

_BYTES = {"float32": 4, "float64": 8}
_PIECE = 16  # bytes of a component in a lane: lanes hold one, two or three
_ROW_SECONDS = (1.5e-6, 1.4e-6, 2.3e-6)  # of a wavefront, by pieces a lane
# Of a cluster of up to eight blocks, and of more (few of their blocks hold layers), by pieces and rows a lane.
_STEP_SECONDS = {(1, 2): (2.0e-6, 1.9e-6), (1, 4): (3.0e-6, 2.0e-6)}
_STEP_SECONDS_OF_OTHERS = (2.6e-6, 2.6e-6)  # of blocks of twelve warps: three rows a lane, or lanes of two pieces
_WARPS_IN_METAL = 12  # of a block of `resident`: more leave too few registers to look up which coefficients a row has
# What metal other than the feed leaves of the paces, which are those of lenses (decision record 0074); of that of the
# wavefront by pieces a lane.
_WAVES_IN_METAL, _RESIDENT_IN_METAL, _TILES_IN_METAL = (1.0, 0.5, 0.5), 0.8, 0.75
_ONE_STEP = 1.6e10  # cell-steps a second on the smallest lattice (39 G on 256 x 320): an order, no forecast

Plan = (
    one_step.OneStepPlan | one_step.WholeStepPlan | wavefront.WavefrontPlan | trapezoidal.TrapezoidalPlan
    | resident.ResidentPlan
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One launch of a kernel.

    Attributes:
        kernel: Its name in the text.
        grid: Blocks, up to three numbers.
        threads: Of a block.
        arguments: Whole numbers.
        shared: Dynamic shared memory of a block, bytes.
        cluster: Blocks of a cluster.
    """

    kernel: str
    grid: tuple[int, ...]
    threads: int
    arguments: tuple[int, ...]
    shared: int = 0
    cluster: int = 1


Launches = Callable[..., Iterator[Launch]]
"""Yield what takes a batch of that many antennas from one step to a later one.

Of schemes with two buffers also: whether they begin in the second one, and whether they must end in the first.
"""


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A scheme ready for one problem.

    Attributes:
        name: As the command line spells it.
        text: Kernel file.
        macros: Its settings.
        lead, pitch: Layout of the rows.
        launches: What steps a batch.
        records: Whether its launches record; if not, they never pass a sample.
        looks: Whether a launch that ends in a look also computes the energy.
        doubled: Whether it has two buffers of fields, and each launch goes from one to the other.
        at_once: Antennas that the device steps at a time; 1 where any number keeps it busy.
        pace: Cell-steps a second of a large batch, everything on, by the plan; of `one_step` only the least.
    """

    name: str
    text: str
    macros: dict[str, int]
    lead: int
    pitch: int
    launches: Launches
    records: bool = False
    looks: bool = False
    doubled: bool = False
    at_once: int = 1
    pace: float


@dataclass(frozen=True, kw_only=True)
class _Target:
    """A problem, the precision in which it is stepped, and the limits of the device."""

    problem: Problem
    precision: str
    limits: Limits

    @property
    def work(self) -> Workload[Stencil]:
        """Return what plans need to know of the problem."""
        problem = self.problem
        return Workload(
            stencil=BOR,
            rows=problem.grid.nz,
            columns=problem.grid.nr,
            size=_BYTES[self.precision],
            limits=self.limits,
            batch=problem.media.batch,
            layer=problem.radial_layer.cells,
            axial=tuple((*layer.rows, layer.columns) for layer in problem.axial_layers),
            record_every=problem.sampling.record_every,
            coupled=problem.media.coupling is not None,
        )

    def scheme(
        self, text: str, plan: Plan, launches: Launches, pace: float, *, at_once: int = 1,
        records: bool = False, looks: bool = False, doubled: bool = False,
    ) -> Scheme:  # fmt: skip
        """Return the scheme of a kernel file, "name/file.cu", whose settings and layout are its plan's.

        Numbers of eight bytes take twice the time.
        """
        return Scheme(
            name=text.partition("/")[0],
            text=f"schemes/{text}",
            macros=plan.macros,
            lead=plan.lead,
            pitch=plan.pitch,
            launches=launches,
            records=records,
            looks=looks,
            doubled=doubled,
            at_once=at_once,
            pace=pace / (_BYTES[self.precision] / 4),
        )


def _one_step(target: _Target, *, launches: int = 2, **tuning: int) -> Scheme:
    """Plan one time step after the other, in `launches` launches a step."""
    if launches == 1:
        whole = one_step.plan_whole(target.work, **tuning)

        def whole_steps(batch: int, step: int, end: int) -> Iterator[Launch]:
            for n in range(step, end):
                yield Launch(
                    kernel="whole_step", grid=(batch,), threads=whole.threads, arguments=(n,), shared=whole.shared_bytes
                )

        return target.scheme("one_step/whole.cu", whole, whole_steps, _ONE_STEP)
    if launches != 2:
        raise Unsuitable(f"one_step takes launches = 1 or 2 a step, not {launches}")
    made = one_step.plan(target.work, **tuning)

    def half_steps(batch: int, step: int, end: int) -> Iterator[Launch]:
        for n in range(step, end):
            for kernel in ("e_step", "h_step"):
                yield Launch(kernel=kernel, grid=(made.blocks, batch), threads=made.threads, arguments=(n,))

    return target.scheme("one_step/kernel.cu", made, half_steps, _ONE_STEP)


def _wavefront(target: _Target, **tuning: Any) -> Scheme:
    """Plan a block an antenna: all steps up to the next look in one launch, and the look."""
    grid, spans, limits = target.problem.grid, target.problem.media.spans, target.limits
    check_every = target.problem.sampling.check_every
    made = wavefront.plan(
        target.work,
        wavefront.Filled(
            reach=_last(spans.filled_columns),
            cuts=(int(np.argmax(spans.cut_columns)), _last(spans.cut_columns)),
            coupled=spans.coupled,
        ),
        **tuning,
    )

    def launches(batch: int, step: int, end: int) -> Iterator[Launch]:
        count = end - step
        yield Launch(
            kernel="wavefront", grid=(batch,), threads=made.threads, shared=made.shared_bytes,
            arguments=(step, count, made.iterations(grid.nz, count), int(end % check_every == 0)),
        )  # fmt: skip

    pieces = max(made.cells * made.size // _PIECE, 1)
    row = _ROW_SECONDS[pieces - 1]
    pace = limits.multiprocessors * made.levels * grid.nr * grid.nz / (grid.nz + 1) / row
    pace *= _WAVES_IN_METAL[pieces - 1] if target.problem.metal else 1.0
    return target.scheme(
        "wavefront/kernel.cu",
        made,
        launches,
        pace,
        at_once=made.blocks * limits.multiprocessors,
        records=True,
        looks=True,
    )


def _last(columns: np.ndarray) -> int:
    """Columns, from the axis, up to the last one that is marked."""
    return int(columns.nonzero()[0].max()) + 1 if columns.any() else 0


def _trapezoidal(target: _Target, **tuning: Any) -> Scheme:
    """Plan tiles with halos: a launch every few steps, from one buffer to the other and back."""
    limits = target.limits
    made = trapezoidal.plan(target.work, **tuning)
    at_once = clusters_at_once(limits.multiprocessors, made.cluster)

    def launches(batch: int, step: int, end: int, second: bool = False, returns: bool = True) -> Iterator[Launch]:
        clusters = max(1, min(at_once, batch * made.tiles * made.segments))
        for odd, count in enumerate(made.launches(end - step, second, returns), start=int(second)):
            yield Launch(
                kernel="trapezoidal", grid=(clusters * made.cluster,), threads=made.threads,
                arguments=(step, count, odd % 2), shared=limits.shared_bytes, cluster=made.cluster,
            )  # fmt: skip
            step += count

    pace = made.pace(target.work) * (_TILES_IN_METAL if target.problem.metal else 1.0)
    return _by_need(target.scheme("trapezoidal/kernel.cu", made, launches, pace, doubled=True))


def _resident(target: _Target, **tuning: Any) -> Scheme:
    """Plan a cluster an antenna: all steps up to the next look in one launch."""
    metal: dict[str, Any] = {"warps": _WARPS_IN_METAL} if target.problem.metal else {}
    made = resident.plan(target.work, **metal | tuning)
    at_once = clusters_at_once(target.limits.multiprocessors, made.cluster)

    def launches(batch: int, step: int, end: int) -> Iterator[Launch]:
        yield Launch(
            kernel="resident", grid=(made.cluster, batch), threads=made.threads, arguments=(step, end - step),
            shared=made.shared_bytes, cluster=made.cluster,
        )  # fmt: skip

    shape = max(made.march.cells * made.march.size // _PIECE, 1), made.march.rows
    seconds = _STEP_SECONDS.get(shape, _STEP_SECONDS_OF_OTHERS)[made.cluster > 8]
    pace = at_once * target.problem.grid.cells / seconds
    pace *= _RESIDENT_IN_METAL if target.problem.metal else 1.0
    scheme = target.scheme("resident/kernel.cu", made, launches, pace, at_once=at_once, records=True)
    return _by_need(scheme) if target.problem.metal else scheme


def _by_need(scheme: Scheme) -> Scheme:
    """Return a scheme whose rows keep on chip the coefficients that are not air's alone."""
    return replace(scheme, macros=scheme.macros | {"BY_NEED": 1})


Maker = Callable[..., Scheme]
"""Plan a scheme for a problem, a precision and a device's limits; keywords are the plan's own. Raises `Unsuitable`."""


def _maker(make: Callable[..., Scheme]) -> Maker:
    def made(problem: Problem, precision: str, limits: Limits, **tuning: Any) -> Scheme:
        return make(_Target(problem=problem, precision=precision, limits=limits), **tuning)

    return made


SCHEMES: dict[str, Maker] = {
    "one_step": _maker(_one_step),
    "wavefront": _maker(_wavefront),
    "trapezoidal": _maker(_trapezoidal),
    "resident": _maker(_resident),
}
