"""Turns kernel text from the package into one compilable text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

_INCLUDE = re.compile(r'^\s*#include "([\w./]+)"\s*$')


def kernel_text(name: str) -> str:
    """Return the text of one file of the package, by its path below `fdtd`."""
    return files("fdtd").joinpath(*name.split("/")).read_text("utf-8")


def kernel_texts() -> Iterator[tuple[str, str]]:
    """Yield path below `fdtd` and text of every kernel file."""
    for folder in ("kernels", "schemes"):
        yield from _texts_in(files("fdtd") / folder, folder)


def _texts_in(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        inside = f"{path}/{entry.name}"
        if entry.is_dir():
            yield from _texts_in(entry, inside)
        elif entry.name.endswith((".cu", ".cuh")) and not entry.name.startswith("."):
            yield inside, entry.read_text("utf-8")


def flatten(name: str, macros: Mapping[str, int | str]) -> str:
    """One text from a kernel file and all that it includes, each file once, with `#line` so that errors name it.

    Compilers' caches are keyed by the text that they are given and do not see included files.

    Args:
        name: Path of the file below `fdtd`; includes are written so too.
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
