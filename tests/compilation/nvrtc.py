"""NVIDIA's run-time compiler from its Python package, without a GPU or a driver."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from importlib.metadata import files


class RefusedError(Exception):
    """The text does not compile; the message is the compiler's log."""


@lru_cache
def library() -> ctypes.CDLL:
    """The compiler.

    Raises:
        PackageNotFoundError: The package nvidia-cuda-nvrtc is not installed.
    """
    paths = {file.name.partition(".so")[0]: str(file.locate()) for file in files("nvidia-cuda-nvrtc") or ()}
    ctypes.CDLL(paths["libnvrtc-builtins"])  # which it asks for by name alone
    return ctypes.CDLL(paths["libnvrtc"])


def compile_for(text: str, architecture: str, *more: str) -> bytes:
    """Machine code of a flattened text.

    Args:
        text: CUDA C++.
        architecture: Such as "sm_90".
        more: Further options of the compiler.

    Raises:
        RefusedError: It does not compile.
    """
    nvrtc, program = library(), ctypes.c_void_p()
    code = nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    assert code == 0, f"nvrtcCreateProgram: {code}"
    given = [f"--gpu-architecture={architecture}", "-std=c++17", *more]
    options = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
    try:
        if nvrtc.nvrtcCompileProgram(program, len(options), options):
            raise RefusedError(_text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).decode())
        return _text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _text(size_of, get, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    assert size_of(program, ctypes.byref(size)) == 0
    buffer = ctypes.create_string_buffer(size.value)
    assert get(program, buffer) == 0
    return buffer.raw
