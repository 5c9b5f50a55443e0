"""Update equations of one cell, as data that schemes, plans and benches need: no loops and no tile sizes.

`BOR` is the set of axisymmetric Maxwell equations of one azimuthal order, six components on (r, z), as in
`fdtd.axisymmetric.problem`; `TMZ` and `TEZ`, without and with coupled nodes, are the planar ones of
`fdtd.planar.problem`; `JACOBI5` is the five-point sum.
"""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass, field
from importlib.resources import files


@dataclass(frozen=True, kw_only=True)
class Stencil:
    """One cell's update, both half steps together; the CUDA text holds the same numbers, and `disagreements` compares.

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

    def disagreements(self) -> list[str]:
        """Compare this table with the CUDA text: what differs, one line each; empty if they agree."""
        text = _code(self.text)
        listed = re.search(r"enum Component \{([\w\s,]*)\}", text)
        declared = tuple(name.strip().lower().removesuffix("_phi") for name in listed[1].split(",")) if listed else ()
        found = [] if declared == self.fields else [f"{self.text} declares {declared}, not {self.fields}"]
        strides = _code("kernels/axisymmetric/parameters.cuh")
        for array, count in (("fields", len(self.fields)), ("media", self.coefficients)):
            if f"P.{array} + (((long long)antenna * P.nz + k) * {count} + component)" not in strides:
                found.append(f"rows of `{array}` do not have {count} components")
        return found


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

    def disagreements(self) -> list[str]:
        """Compare with the enumerations of the CUDA text."""
        text = _code(self.text)
        known = {name: value for name, value in self.macros.items() if isinstance(value, int)}
        values: dict[str, int] = {}
        for body in re.findall(r"enum \w*\s*\{([^}]*)\}", text):
            at = 0
            for entry in filter(None, (one.strip() for one in body.split(","))):
                name, _, value = (part.strip() for part in entry.partition("="))
                at = _value(value, known | values) if value else at
                values[name] = at
                at += 1
        expected = {name.upper(): place for place, name in enumerate(self.fields) if name.upper() in text}
        expected |= {"KEPT": self.kept, "PLANES": self.planes, "COEFFICIENTS": self.coefficients}
        expected |= {"PHASES": self.phases, "BACK": self.back, "IDLE": self.idle}
        found = [
            f"{self.text}: {name} is {values.get(name)}, not {value}"
            for name, value in expected.items()
            if values.get(name) != value
        ]
        for reach, total in (("low", self.low), ("high", self.high)):
            rule = re.search(rf"int {reach}\(int ?(?:phase)?\) \{{ return ([^;]*); \}}", text)
            phases = range(self.phases)
            if rule is None or sum(_value(rule[1], {"phase": phase}) for phase in phases) != total:
                found.append(f"{self.text}: {reach} of {self.phases} phases is not {total}")
        return found


def _code(name: str) -> str:
    """Return a CUDA file of this package without its comments."""
    return re.sub(r"//.*", "", files("fdtd").joinpath(name).read_text("utf-8"))


def _value(expression: str, names: dict[str, int]) -> int:
    """Return a whole-number expression of C."""
    python = re.sub(r"[A-Za-z_]\w*", lambda name: str(names[name[0]]), expression).replace("||", " or ")
    if not re.fullmatch(r"[\d\s+*=<>()or-]*", python):
        raise ValueError(f"{expression!r} is no expression of whole numbers")
    return int(_reckoned(ast.parse(python.strip(), mode="eval").body))


def _reckoned(node: ast.expr) -> int:
    """Return the value of a parsed expression of numbers, sums, products, comparisons and `or`."""
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SUMS:
            return _SUMS[type(op)](_reckoned(left), _reckoned(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _SUMS:
            return int(_SUMS[type(op)](_reckoned(left), _reckoned(right)))
        case ast.BoolOp(op=ast.Or(), values=values):
            return int(any(_reckoned(value) for value in values))
    raise ValueError(f"{ast.unparse(node)!r} is no expression of whole numbers")


_SUMS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Eq: operator.eq, ast.Lt: operator.lt,
    ast.Gt: operator.gt, ast.LtE: operator.le, ast.GtE: operator.ge,
}  # fmt: skip


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
