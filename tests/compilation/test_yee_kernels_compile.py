"""The kernels of antennas in space that have shapes of their own compile, with the settings of real plans."""

from __future__ import annotations

import pytest
from nvrtc import compile_for

from fdtd.backends.cuda.text import flatten
from fdtd.schemes.machine import HOPPER
from fdtd.schemes.resident.yee import plan_yee


def counts(nx: int, ny: int, nz: int, layers: int) -> dict[str, int]:
    sizes = {"NX": nx, "NY": ny, "NZ": nz, "END_X": nx, "END_Y": ny, "END_Z": nz}
    cells = {f"{side}_{axis}": layers for side in ("LOW", "HIGH") for axis in "XYZ"}
    return sizes | cells | {"KINDS": 60, "SOURCES": 4, "PROBES": 4}


@pytest.mark.parametrize(
    ("sizes", "layers", "real"),
    [
        ((64, 64, 32), 8, "float"),
        pytest.param((52, 48, 38), 8, "float", marks=pytest.mark.slow),
        pytest.param((40, 30, 16), 0, "double", marks=pytest.mark.slow),
    ],
)
def test_resident_compiles(sizes: tuple[int, int, int], layers: int, real: str) -> None:
    """What the plan counts of shared memory is enough: the text asserts it."""
    made = plan_yee([counts(*sizes, layers)], 4 if real == "float" else 8, 1, HOPPER)
    text = flatten("schemes/resident/yee.cu", {"REAL": real, "NUMBER": "unsigned char", **made.macros})
    assert compile_for(text, "sm_90").startswith(b"\x7fELF")
