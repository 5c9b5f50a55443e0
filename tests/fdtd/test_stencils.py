"""The stencil table against the kernels' text: fields, counts and reach are those that the CUDA files declare."""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import replace
from importlib.resources import files

import pytest

from fdtd.stencils import BOR, COUPLED_TEZ, JACOBI5, TEZ, TMZ, PlanarStencil, Stencil

ALL = (BOR, TMZ, TEZ, COUPLED_TEZ, JACOBI5)


def disagreements(stencil: Stencil) -> list[str]:
    """Compare the table with the CUDA text: what differs, one line each; empty if they agree."""
    return _planar(stencil) if isinstance(stencil, PlanarStencil) else _axisymmetric(stencil)


def _axisymmetric(stencil: Stencil) -> list[str]:
    """Compare with the components and strides of the CUDA text."""
    text = _code(stencil.text)
    listed = re.search(r"enum Component \{([\w\s,]*)\}", text)
    declared = tuple(name.strip().lower().removesuffix("_phi") for name in listed[1].split(",")) if listed else ()
    found = [] if declared == stencil.fields else [f"{stencil.text} declares {declared}, not {stencil.fields}"]
    strides = _code("kernels/axisymmetric/parameters.cuh")
    for array, count in (("fields", len(stencil.fields)), ("media", stencil.coefficients)):
        if f"P.{array} + (((long long)antenna * P.nz + k) * {count} + component)" not in strides:
            found.append(f"rows of `{array}` do not have {count} components")
    return found


def _planar(stencil: PlanarStencil) -> list[str]:
    """Compare with the enumerations of the CUDA text."""
    text = _code(stencil.text)
    known = {name: value for name, value in stencil.macros.items() if isinstance(value, int)}
    values: dict[str, int] = {}
    for body in re.findall(r"enum \w*\s*\{([^}]*)\}", text):
        at = 0
        for entry in filter(None, (one.strip() for one in body.split(","))):
            name, _, value = (part.strip() for part in entry.partition("="))
            at = _value(value, known | values) if value else at
            values[name] = at
            at += 1
    expected = {name.upper(): place for place, name in enumerate(stencil.fields) if name.upper() in text}
    expected |= {"KEPT": stencil.kept, "PLANES": stencil.planes, "COEFFICIENTS": stencil.coefficients}
    expected |= {"PHASES": stencil.phases, "BACK": stencil.back, "IDLE": stencil.idle}
    found = [
        f"{stencil.text}: {name} is {values.get(name)}, not {value}"
        for name, value in expected.items()
        if values.get(name) != value
    ]
    for reach, total in (("low", stencil.low), ("high", stencil.high)):
        rule = re.search(rf"int {reach}\(int ?(?:phase)?\) \{{ return ([^;]*); \}}", text)
        phases = range(stencil.phases)
        if rule is None or sum(_value(rule[1], {"phase": phase}) for phase in phases) != total:
            found.append(f"{stencil.text}: {reach} of {stencil.phases} phases is not {total}")
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


@pytest.mark.parametrize("stencil", ALL, ids=lambda one: f"{one.name}{one.phases}")
def test_the_table_is_what_the_kernels_have(stencil: Stencil) -> None:
    assert disagreements(stencil) == []


@pytest.mark.parametrize(
    ("stencil", "changes", "said"),
    [
        (BOR, {"fields": (*BOR.fields[:5], "b_z")}, "b_z"),
        (BOR, {"coefficients": 5}, "`media` do not have 5"),
        (TMZ, {"fields": ("e_z", "h_y", "h_x")}, "H_Y is 2, not 1"),
        (TMZ, {"coefficients": 5}, "COEFFICIENTS is 4, not 5"),
        (TEZ, {"phases": 3}, "PHASES is 2, not 3"),
        (COUPLED_TEZ, {"scratch": 0}, "PLANES is 5, not 3"),
        (COUPLED_TEZ, {"low": 1}, "low of 3 phases is not 1"),
        (JACOBI5, {"idle": 1}, "IDLE is 0, not 1"),
    ],
)
def test_a_wrong_table_is_found(stencil: Stencil, changes: dict[str, object], said: str) -> None:
    assert any(said in line for line in disagreements(replace(stencil, **changes)))


@pytest.mark.parametrize("stencil", [TMZ, TEZ, COUPLED_TEZ, JACOBI5], ids=lambda one: f"{one.name}{one.phases}")
def test_planes_are_fields_and_scratch(stencil: PlanarStencil) -> None:
    assert stencil.planes == len(stencil.fields) + stencil.scratch
