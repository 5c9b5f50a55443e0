"""The structure `Parameters` of the kernels' constant memory, built from its own CUDA text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from fdtd.backends.cuda.kernel_text import kernel_text

_STRUCT = re.compile(r"struct Parameters \{(.*?)\n\};", re.DOTALL)
_MEMBER = re.compile(r"(?:const )?(real|int|double) (\*?)(\w+);")


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
