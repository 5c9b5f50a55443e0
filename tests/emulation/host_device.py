"""A `fdtd.backends.cuda.device.Device` on the CPU: kernel text compiled by g++ with `host_cuda.h` before it."""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fdtd.schemes.machine import HOPPER, Limits

_HEADER, _RUNTIME = Path(__file__).with_name("host_cuda.h"), Path(__file__).with_name("host_cuda.cpp")
_KERNEL = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(([^)]*)\)')
_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-shared", "-fno-gnu-unique", "-ffp-contract=fast", "-Wall",
          "-Wno-unknown-pragmas", "-Wno-unused-function", "-Wno-unused-variable",
          "-Wno-maybe-uninitialized")  # fmt: skip
BUILDS = "FDTD_EMULATION_BUILDS"
"""Variable with the folder of what g++ has made, for all processes of a test run and the next run; see conftest.py."""
_BUILDING = threading.Lock()


def compiler() -> str:
    """g++, which these tests need."""
    found = shutil.which("g++")
    if found is None:
        raise RuntimeError("the kernels' emulation needs g++ on the PATH; install a C++ compiler (see CONTRIBUTING)")
    return found


@lru_cache
def _builds(folder: str | None) -> Path:
    if folder is None:
        folder = tempfile.mkdtemp(prefix="fdtd-emulation-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@lru_cache
def _ready(builds: Path, flags: tuple[str, ...]) -> Path:
    """Folder with what is common to all texts: the header, compiled ahead, and the runtime's object.

    Its name is made of all that a library depends on next to its text.
    """
    version = subprocess.run([compiler(), "--version"], capture_output=True, check=True).stdout
    parts = (_HEADER.read_bytes(), _RUNTIME.read_bytes(), repr(flags).encode(), version)
    folder = builds / hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]
    if not folder.exists():
        made = Path(tempfile.mkdtemp(dir=builds))
        header = made / _HEADER.name
        shutil.copyfile(_HEADER, header)
        _compile(*flags, "-x", "c++-header", str(header), "-o", f"{header}.gch")
        _compile(*flags, "-O2", "-c", str(_RUNTIME), "-o", str(made / "host_cuda.o"))
        try:
            made.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(made)
    os.utime(folder)
    return folder


def _compile(*arguments: str) -> None:
    done = subprocess.run([compiler(), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"g++ refuses the kernel text:\n{done.stderr[:4000]}")


class HostDevice:
    """Memory is NumPy's; programs are shared libraries."""

    def __init__(self, limits: Limits = HOPPER) -> None:
        self.limits = limits

    def upload(self, array: np.ndarray, copies: int = 1) -> np.ndarray:
        return np.concatenate([array] * copies) if copies > 1 else np.array(array, order="C")

    def zeros(self, count: int, dtype: np.dtype | type) -> np.ndarray:
        return np.zeros(count, dtype)

    def free_bytes(self) -> int:
        return self.limits.memory_bytes

    def address(self, buffer: np.ndarray) -> int:
        return buffer.ctypes.data

    def download(self, buffer: np.ndarray) -> np.ndarray:
        return buffer.copy()

    def start_download(self, buffer: np.ndarray) -> Callable[[], np.ndarray]:
        now = buffer.copy()
        return lambda: now

    def program(self, text: str, place: int = 0) -> HostProgram:
        return HostProgram(f"{text}// place {place}\n" if place else text)

    def start(self, text: str, kernel: str, grid: tuple[int, int], threads: int, *arguments: Any) -> None:
        HostLauncher()(text, kernel, grid, threads, *arguments)

    def apart(self, place: int, rank: int) -> AbstractContextManager[None]:
        return nullcontext()

    def ahead(self) -> AbstractContextManager[None]:
        return nullcontext()


class HostProgram:
    """One compiled text; the library is kept for the process."""

    def __init__(self, text: str) -> None:
        launchers = "".join(_launcher(name, arguments) for name, arguments in _KERNEL.findall(text))
        whole = f'#include "{_HEADER.name}"\n{text}\n{launchers}'
        with _BUILDING:
            ready = _ready(_builds(os.environ.get(BUILDS)), _FLAGS)
            library = ready / f"{hashlib.sha256(whole.encode()).hexdigest()[:24]}.so"
            if library.exists():
                os.utime(library)
            else:
                self._build(library, whole)
        self._library = ctypes.CDLL(str(library))

    @staticmethod
    def _build(library: Path, whole: str) -> None:
        """Compile under a name of this process; another may build the same text at the same time."""
        own = library.with_suffix(f".{os.getpid()}")
        source, built = own.with_suffix(f"{own.suffix}.cpp"), own.with_suffix(f"{own.suffix}.so")
        source.write_text(whole, "utf-8")
        runtime = library.with_name("host_cuda.o")
        _compile(*_FLAGS, f"-I{library.parent}", str(source), str(runtime), "-o", str(built))
        source.unlink()
        built.rename(library)

    def set_parameters(self, data: bytes) -> None:
        ctypes.memmove(ctypes.addressof(ctypes.c_char.in_dll(self._library, "P")), data, len(data))

    def launch(
        self,
        kernel: str,
        grid: tuple[int, ...],
        threads: int,
        *arguments: int,
        shared: int = 0,
        cluster: int = 1,
        together: bool = False,
    ) -> None:
        x, y, z = (*grid, 1, 1)[:3]
        cluster = x if together else cluster
        self._library[f"emulated_{kernel}"](x, y, z, threads, shared, cluster, *arguments)


class HostLauncher:
    """A `fdtd.backends.cuda.rasterise.Launcher`: kernels that take their arrays as arguments."""

    arrays = np

    def __call__(self, text: str, kernel: str, grid: tuple[int, int], threads: int, *arguments: Any) -> None:
        library = HostProgram(text)._library
        library[f"emulated_{kernel}"](*grid, 1, threads, 0, 1, *map(_argument, arguments))


def _argument(value: Any) -> Any:
    if value is None:
        return ctypes.c_void_p()
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int(value)


def _launcher(name: str, arguments: str) -> str:
    """A plain function that runs a kernel's grid."""
    typed = [argument.rsplit(maxsplit=1) for argument in arguments.split(",") if argument.strip()]
    names = [name for _, name in typed]
    fields = "".join(f"{kind} {field}; " for kind, field in typed)
    numbers = "".join(f", {kind} {field}" for kind, field in typed)
    return f"""
struct {name}_arguments {{ {fields}}};
extern "C" void emulated_{name}(int grid_x_, int grid_y_, int grid_z_, int block_, int bytes_, int cluster_{numbers}) {{
    {name}_arguments packed{{{", ".join(names)}}};
    host::launch({{grid_x_, grid_y_, grid_z_}}, block_, bytes_, cluster_, [](void *data) {{
        const auto &a = *static_cast<{name}_arguments *>(data);
        {name}({", ".join(f"a.{n}" for n in names)});
    }}, &packed);
}}
"""
