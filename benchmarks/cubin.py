"""Read a cubin, the ELF file that NVRTC makes: code, registers and stack of its functions."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Any

_NO_BITS = 8  # type of a section without bytes in the file
_FRAME_SIZE, _REGISTER_COUNT = 0x11, 0x2F  # attributes of .nv.info


def functions_of(cubin: bytes) -> dict[str, dict[str, Any]]:
    """Functions of a cubin by name: bytes and digest of .text; registers and stack frame from the records of .nv.info.

    The frame holds spilled registers, and arrays that found no registers.
    """
    start, size, count, names = (
        struct.unpack_from(kind, cubin, at)[0] for kind, at in (("<Q", 40), ("<H", 58), ("<H", 60), ("<H", 62))
    )
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + n * size) for n in range(count)]

    def text_at(place: int) -> str:
        return cubin[place : cubin.index(b"\0", place)].decode()

    sections = {
        text_at(headers[names][4] + one[0]): cubin[one[4] : one[4] + one[5]] for one in headers if one[1] != _NO_BITS
    }
    symbols = [entry[0] for entry in struct.iter_unpack("<IBBHQQ", sections[".symtab"])]
    strings = sections[".strtab"]
    numbers: dict[int, dict[str, int]] = {_REGISTER_COUNT: {}, _FRAME_SIZE: {}}
    for attribute, symbol, number in _records(sections[".nv.info"]):
        if attribute in numbers:
            place = symbols[symbol]
            numbers[attribute][strings[place : strings.index(b"\0", place)].decode()] = number
    return {
        name: {
            "registers": numbers[_REGISTER_COUNT].get(name, 0),
            "stack": numbers[_FRAME_SIZE].get(name, 0),
            "code": len(code),
            "digest": hashlib.sha256(code).hexdigest()[:16],
        }
        for name, code in ((key[len(".text.") :], code) for key, code in sections.items() if key.startswith(".text."))
    }


def _records(info: bytes) -> Iterator[tuple[int, int, int]]:
    """Attribute, symbol and number of the records of .nv.info that have these."""
    at = 0
    while at + 4 <= len(info):
        kind, attribute, length = struct.unpack_from("<BBH", info, at)
        at += 4
        if kind == 4:  # a payload of `length` bytes
            if length >= 8:
                yield attribute, *struct.unpack_from("<II", info, at)
            at += length
