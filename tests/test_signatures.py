"""Rules for functions: few parameters, and one type of problem for each stencil.

At most eight parameters, outside the commands that click calls with one an option.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST = 8

STILL = {
    # Compiled loops: named tuples in place of plain arguments cost 5 % (docs/decisions/0025-compiled-arguments.md).
    "fdtd": {
        "fdtd.backends.cpu.bor.e_radial",
        "fdtd.backends.cpu.bor.e_radial_filled",
        "fdtd.backends.cpu.bor.e_row",
        "fdtd.backends.cpu.bor.h_cut",
        "fdtd.backends.cpu.bor.h_radial",
        "fdtd.backends.cpu.bor.stretch",
        "fdtd.backends.cpu.walk.advance_e",
        "fdtd.backends.cpu.walk.advance_h",
        "fdtd.backends.cpu.walk.sweep",
    },
}
"""Functions that have more for now; none is added, and those that are mended go."""


def long_signatures(source: str) -> Iterator[str]:
    """Names of the functions of a text that take too many parameters; `self` and `cls` do not count."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        count = sum(one.arg not in ("self", "cls") for one in every)
        command = any(".command(" in ast.unparse(decorator) for decorator in node.decorator_list)
        if count > MOST and not command:
            yield node.name


@pytest.mark.parametrize("package", ["fdtd", "antennaopt"])
def test_no_function_takes_more_than_eight_parameters(package: str) -> None:
    found = {
        f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}.{name}"
        for path in (ROOT / package).rglob("*.py")
        for name in long_signatures(path.read_text("utf-8"))
    }
    assert sorted(found - STILL.get(package, set())) == []


def test_problems_are_told_apart_by_their_stencil() -> None:
    """`isinstance` on a problem would be another place to change for a new kind."""
    calls = [
        f"{path.relative_to(ROOT)}: {ast.unparse(node)}"
        for package in ("fdtd", "antennaopt")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance" and "Problem" in ast.unparse(node)
    ]
    assert calls == []


def test_the_counter_counts() -> None:
    source = """
class A:
    def method(self, a, b, c, d, e, f, g, h): ...
def many(a, b, c, d, /, e, *rest, f, g, **more): ...
def enough(a, b, c, d, *, e, f, g, h): ...
@click.command()
def command(a, b, c, d, e, f, g, h, i): ...
"""
    assert list(long_signatures(source)) == ["many"]
