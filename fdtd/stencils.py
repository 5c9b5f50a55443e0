"""Update equations of one cell, as data that schemes, plans and benches need: no loops and no tile sizes.

`BOR` is the set of axisymmetric Maxwell equations of one azimuthal order, six components on (r, z), as in
`fdtd.axisymmetric.problem`; `TMZ` and `TEZ`, without and with coupled nodes, are the planar ones of
`fdtd.planar.problem`; `JACOBI5` is the five-point sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Stencil:
    """One cell's update, both half steps together; the CUDA text holds the same numbers.

    Attributes:
        name: As the command line spells it.
        text: CUDA file that declares the fields.
        fields: State of a cell as it is stored, in the order of the arrays.
        coefficients: Numbers of a cell where the medium is neither air nor metal.
        phases: Updates of a step that must follow each other.
        additions: Additions a cell and step, air.
        multiply_adds: Fused multiply-adds a cell and step, air.
    """

    name: str
    text: str
    fields: tuple[str, ...]
    coefficients: int
    phases: int
    additions: int
    multiply_adds: int

    def bytes_per_step(self, size: int, steps: int = 1) -> float:
        """Memory traffic a cell and step when the fields are read and written once for `steps` steps.

        Args:
            size: Bytes of a number.
            steps: Time steps a trip; one step in separate launches of each half costs `split_bytes`.
        """
        return 2 * len(self.fields) * size / steps

    def split_bytes(self, size: int) -> float:
        """Memory traffic a cell and step with one launch a half step: each reads all fields and writes its share."""
        return (min(self.phases, 2) + 1) * len(self.fields) * size


@dataclass(frozen=True, kw_only=True)
class PlanarStencil(Stencil):
    """A planar stencil, with what the planar schemes need.

    Attributes:
        macros: Settings of the text.
        scratch: Planes of a cell on chip that are not kept in memory.
        memories: Filter states of a cell in the absorbing layers.
        low: Cells before its own that a step reads, all phases together.
        high: Cells after its own.
        back: Rows behind the first phase at which the last one can be done.
        idle: Last rows and columns that never change, walls and padding.
    """

    macros: dict[str, str | int] = field(default_factory=dict)
    scratch: int = 0
    memories: int
    low: int
    high: int
    back: int = 0
    idle: int

    @property
    def kept(self) -> int:
        """Planes of a cell that are read from and written to memory."""
        return len(self.fields)

    @property
    def planes(self) -> int:
        """Planes of a cell on chip."""
        return self.kept + self.scratch


BOR = Stencil(
    name="bor",
    text="kernels/axisymmetric/curl.cuh",
    fields=("e_r", "e", "e_z", "h_r", "h", "h_z"),
    coefficients=6,
    phases=2,
    additions=10,
    multiply_adds=10,
)
TMZ = PlanarStencil(
    name="tmz", text="kernels/planar/tmz.cuh", macros={"STENCIL": "TMZ"}, fields=("e_z", "h_x", "h_y"), coefficients=4,
    memories=4, phases=2, low=1, high=1, idle=1, additions=5, multiply_adds=4,
)  # fmt: skip
TEZ = PlanarStencil(
    name="tez", text="kernels/planar/tez.cuh", macros={"STENCIL": "TEZ", "COUPLED": 0}, fields=("h_z", "e_x", "e_y"),
    coefficients=7, memories=4, phases=2, low=1, high=1, idle=1, additions=3, multiply_adds=9,
)  # fmt: skip
COUPLED_TEZ = PlanarStencil(
    name="tez", text="kernels/planar/tez.cuh", macros={"STENCIL": "TEZ", "COUPLED": 1}, fields=("h_z", "e_x", "e_y"),
    scratch=2, coefficients=8, memories=4, phases=3, low=2, high=2, back=1, idle=1, additions=3, multiply_adds=9,
)  # fmt: skip
JACOBI5 = PlanarStencil(
    name="jacobi5", text="kernels/planar/jacobi5.cuh", macros={"STENCIL": "JACOBI5"}, fields=("value",), scratch=1,
    coefficients=0, memories=0, phases=1, low=1, high=1, idle=0, additions=5, multiply_adds=0,
)  # fmt: skip

STENCILS: dict[str, Stencil] = {stencil.name: stencil for stencil in (BOR, TMZ, TEZ, JACOBI5)}
"""Stencils by name; TE_z without coupled nodes."""
