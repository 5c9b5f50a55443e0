"""The kernels of antennas in space that have shapes of their own compile, with the settings of real plans."""

from __future__ import annotations

import struct
from collections.abc import Iterator

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
        pytest.param((96, 40, 112), 8, "float", marks=pytest.mark.slow),
    ],
)
def test_resident_compiles(sizes: tuple[int, int, int], layers: int, real: str) -> None:
    """What the plan counts of shared memory is enough: the text asserts it."""
    made = plan_yee([counts(*sizes, layers)], 4 if real == "float" else 8, 1, HOPPER)
    text = flatten("schemes/resident/yee.cu", {"REAL": real, "NUMBER": "unsigned char", **made.macros})
    assert compile_for(text, "sm_90").startswith(b"\x7fELF")


def strong_loads(code: bytes) -> Iterator[int]:
    """Bits of each load from device memory that other blocks write at the same time, in machine code for sm_90."""
    (headers,), (count, names) = struct.unpack_from("<Q", code, 0x28), struct.unpack_from("<HH", code, 0x3C)
    sections = [struct.unpack_from("<IIQQQQ", code, headers + 64 * at) for at in range(count)]
    for name, _, _, _, start, size in sections:
        if code[sections[names][4] + name :].startswith(b".text.resident\0"):
            for low, high in struct.iter_unpack("<QQ", code[start : start + size]):
                if low & 0xFFF == 0x981 and high >> 13 & 0xFF == 247:  # LDG, STRONG.GPU
                    yield {4: 32, 5: 64, 6: 128}.get(high >> 9 & 7, 8)


@pytest.mark.parametrize(("cells", "columns"), [((64, 16, 64), 2), ((96, 16, 64), 3), ((120, 16, 64), 4)])
def test_parcels_are_read_whole(cells: tuple[int, int, int], columns: int) -> None:
    """A parcel that is read in parts can have an old number next to a new stamp.

    The compiler split loads of parcels with unused words: 16 of 24 had 32 bits, and fields were wrong on a device.
    """
    made = plan_yee([counts(*cells, 0)], 4, 1, HOPPER, spread=1, columns=columns, planes=1, warps=8, rows=2)
    text = flatten("schemes/resident/yee.cu", {"REAL": "float", "NUMBER": "unsigned char", **made.macros})
    found = list(strong_loads(compile_for(text, "sm_90")))
    assert set(found) == {64, 128}  # counters of arrivals, and parcels
    assert found.count(128) >= 2 * 2 * -(-2 * columns // 3)
