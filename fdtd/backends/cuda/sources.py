"""Turns kernel text from the package into one compilable text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

_INCLUDE = re.compile(r'^\s*#include "([\w.]+)"\s*$')


def kernel_text(name: str) -> str:
    """The text of one file of `fdtd/kernels`."""
    return (files("fdtd") / "kernels" / name).read_text("utf-8")


def flatten(name: str, macros: Mapping[str, int | str]) -> str:
    """One text from a kernel file and all that it includes, each file once, with `#line` so that errors name it.

    Compilers' caches are keyed by the text that they are given and do not see included files.

    Args:
        name: File in `fdtd/kernels`.
        macros: Settings, defined before anything else.
    """
    lines = [f"#define {key} {value}" for key, value in sorted(macros.items())]
    _inline(name, lines, set())
    return "\n".join(lines) + "\n"


def _inline(name: str, lines: list[str], seen: set[str]) -> None:
    seen.add(name)
    lines.append(f'#line 1 "{name}"')
    for number, line in enumerate(kernel_text(name).splitlines(), start=1):
        include = _INCLUDE.match(line)
        if include is None:
            lines.append(line)
        elif include[1] not in seen:
            _inline(include[1], lines, seen)
            lines.append(f'#line {number + 1} "{name}"')
        else:
            lines.append("")
