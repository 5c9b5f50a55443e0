"""Kernel text: the package's files as one compilable text, and the structure `Parameters` that they declare."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from fdtd.backends.cuda.formula_text import stencil_text
from fdtd.errors import ConfigError
from fdtd.stencils import FORMULAS, Formula

REALS = {"float32": "float", "float64": "double"}
"""What `REAL` of a text is set to, by precision."""

STENCIL_TEXT = "stencil.cuh"
"""Included by schemes in place of a stencil; written from a formula when a text is flattened."""

Packed = tuple[dict[str, np.ndarray], dict[str, float]]
"""Arrays by the name of their pointer, and every other member of `Parameters`."""

_INCLUDE = re.compile(r'^\s*#include "([\w./]+)"\s*$')
_STRUCT = re.compile(r"struct Parameters \{(.*?)\n\};", re.DOTALL)
_MEMBER = re.compile(r"(?:const )?(real|int|double|number|place) (\*?)(\w+);")


def check_precision(precision: str) -> None:
    """Refuse what no kernel computes in.

    Raises:
        ConfigError: It is not one of `REALS`.
    """
    if precision not in REALS:
        raise ConfigError(f"precision = {precision!r} is unknown (allowed: {', '.join(REALS)})")


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


def kernel_digest() -> str:
    """Return the digest of all kernel text: another text, other winners."""
    digest = hashlib.sha256()
    written = ((formula.name, stencil_text(formula)) for formula in FORMULAS)
    for name, text in (*sorted(kernel_texts()), *written):
        digest.update(f"{name}\n{text}".encode())
    return digest.hexdigest()[:16]


def flatten(name: str, macros: Mapping[str, int | str], formula: Formula | None = None) -> str:
    """One text from a kernel file and all that it includes, each file once, with `#line` so that errors name it.

    Compilers' caches are keyed by the text that they are given and do not see included files.

    Args:
        name: Path of the file below `fdtd`; includes are written so too.
        macros: Settings, defined before anything else.
        formula: Whose text stands for the include of `STENCIL_TEXT`.
    """
    lines = [f"#define {key} {value}" for key, value in sorted(macros.items())]
    if formula is None:
        lines.append(_whole(name))
    else:
        _inline(name, lines, set(), {STENCIL_TEXT: stencil_text(formula)})
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=64)
def _whole(name: str) -> str:
    """Return a file with all that it includes; it is asked for with every batch."""
    lines: list[str] = []
    _inline(name, lines, set(), {})
    return "\n".join(lines)


def _inline(name: str, lines: list[str], seen: set[str], written: Mapping[str, str]) -> None:
    seen.add(name)
    lines.append(f'#line 1 "{name}"')
    text = written[name] if name in written else kernel_text(name)
    for number, line in enumerate(text.splitlines(), start=1):
        include = _INCLUDE.match(line)
        if include is None:
            lines.append(line)
        elif include[1] not in seen:
            _inline(include[1], lines, seen, written)
            lines.append(f'#line {number + 1} "{name}"')
        else:
            lines.append("")


@lru_cache
def enumerators(name: str, enum: str) -> tuple[str, ...]:
    """Return the names of an enumeration without values of its own, in order.

    Args:
        name: The kernel file that declares it, by its path below `fdtd`.
        enum: Its name.
    """
    found = re.search(rf"enum {enum} \{{(.*?)\}};", kernel_text(name), re.DOTALL)
    if found is None:
        raise ValueError(f"{name} declares no enumeration {enum}")
    return tuple(re.findall(r"\w+", re.sub(r"//.*", "", found[1])))


@lru_cache
def parameter_layout(precision: str, text: str = "kernels/axisymmetric/parameters.cuh") -> np.dtype:
    """The structure as NumPy sees it, with C's alignment; pointers are 64-bit numbers.

    Args:
        precision: "float32" or "float64".
        text: The kernel file that declares the structure.
    """
    struct = _STRUCT.search(kernel_text(text))
    if struct is None:
        raise ValueError(f"{text} declares no structure Parameters")
    types = {"real": np.dtype(precision), "int": np.dtype(np.int32), "double": np.dtype(np.float64)}
    members: list[tuple[str, Any]] = []
    for line in struct[1].splitlines():
        member = _MEMBER.fullmatch(line.strip())
        if member is not None:
            members.append((member[3], np.dtype(np.uint64) if member[2] else types[member[1]]))
        elif line.strip() and not line.strip().startswith("//"):
            raise ValueError(f"{text}: cannot read {line.strip()!r}")
    return np.dtype(members, align=True)


def pack_parameters(
    precision: str, values: Mapping[str, float], text: str = "kernels/axisymmetric/parameters.cuh"
) -> bytes:
    """The bytes of the structure; every member must have a value."""
    layout = parameter_layout(precision, text)
    names = layout.names or ()
    if set(names) != set(values):
        raise ValueError(f"parameters differ: {sorted(set(names) ^ set(values))}")
    packed = np.zeros((), layout)
    for name in names:
        packed[name] = values[name]
    return packed.tobytes()
