"""A scheme of the axisymmetric stencil made ready for one problem: text, settings, layout, launches. No device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fdtd.axisymmetric.problem import Problem
from fdtd.schemes.machine import Limits
from fdtd.schemes.pace import Plan, at_once, pace
from fdtd.schemes.workload import Workload
from fdtd.stencils import BOR, Stencil

_BYTES = {"float32": 4, "float64": 8}


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


Launches = Callable[[int, int, int], Iterator[Launch]]
"""Yield what takes a batch of so many antennas from one step to a later one."""


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A scheme ready for one problem.

    Attributes:
        name: As the command line spells it.
        text: Kernel file.
        macros: Its settings.
        lead, pitch: Layout of the rows.
        launches: What steps a batch.
        records: Whether its launches record; if not, they are never asked to pass a sample.
        doubled: Whether it has two buffers of fields; `launches` end in the first.
        at_once: Antennas that the device steps at a time; 1 where any number keeps it busy.
        pace: Cell-steps a second of a large batch, by the plan.
    """

    name: str
    text: str
    macros: dict[str, int]
    lead: int
    pitch: int
    launches: Launches
    records: bool
    doubled: bool = False
    at_once: int = 1
    pace: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a scheme is made for."""

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
        self, name: str, text: str, plan: Plan, launches: Launches, *, records: bool = False, doubled: bool = False
    ) -> Scheme:
        """Return the scheme whose settings and layout are its plan's."""
        grid = self.problem.grid
        return Scheme(
            name=name,
            text=text,
            macros=plan.macros,
            lead=plan.lead,
            pitch=plan.pitch,
            launches=launches,
            records=records,
            doubled=doubled,
            at_once=at_once(plan, self.limits),
            pace=pace(plan, grid.nr, grid.nz, _BYTES[self.precision], self.limits),
        )
